"""model_facts.py: the facts of models, their order, and the script that writes the generated table."""

import json
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from toolmend.providers import model_facts
from toolmend.providers.model_facts import GENERATED, LISTS, OVERLAY, ending_text, layers, plain_id
from toolmend.requests.request_limits import RULE_NAMES, Quirks, checked, quirks_for
from toolmend.requests.schemas import RULES

IDS = {
    "gpt-5.5-2026-04-01": "gpt-5.5",
    "openai/gpt-5.5": "gpt-5.5",
    "claude-sonnet-4-5-20250929": "claude-sonnet-4-5",
    "anthropic/claude-sonnet-4.5": "claude-sonnet-4-5",
    "us.anthropic.claude-opus-4-6-v1": "claude-opus-4-6",
    "eu.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
    "claude-opus-4-5@20251101": "claude-opus-4-5",
    "Claude-Opus-4-8[1m]": "claude-opus-4-8",
    "deepseek-v4": "deepseek-v4",
    "qwen3:8b": "qwen3",
    "moonshotai/kimi-k2-0905-preview": "kimi-k2-0905-preview",
    "devstral-medium-latest": "devstral-medium",
    "/": "",
    "": "",
}


def test_plain_ids(subtests: pytest.Subtests) -> None:
    for given, plain in IDS.items():
        with subtests.test(given):
            assert plain_id(given) == plain


def test_files_hold_what_quirks_knows() -> None:
    known = {field.name for field in fields(Quirks)}  # type: ignore[arg-type]
    generated = json.loads(GENERATED.read_bytes())
    assert date.fromisoformat(generated["about"]["date"])
    assert sum(map(len, generated["models"].values())) > 300
    for rows in generated["models"].values():
        for name, said in rows.items():
            assert said.keys() <= known and plain_id(name) == name
    overlay = tomllib.loads(OVERLAY.read_text())
    for row in overlay["family"] + overlay["model"]:
        assert row["source"]
        said = {key: value for key, value in row.items() if key not in ("models", "not", "hosts", "api", "source")}
        assert said and said.keys() <= known
        for name, given in said.items():
            assert checked(name, given.split() if name in LISTS else given) is not None


def test_rules_of_schemas_are_named() -> None:
    assert set(RULE_NAMES) == set(RULES)


def test_order_of_layers() -> None:
    sources = [layer.source for layer in layers("chat", "api.openai.com", "gpt-5.4")]
    generated = next(at for at, source in enumerate(sources) if source.startswith("litellm"))
    assert 0 < generated < len(sources) - 1
    assert not list(layers("chat", "api.openai.com", ""))


def test_facts_of_a_host_hold_there_alone() -> None:
    assert quirks_for("messages", "api.anthropic.com", "claude-opus-5").system_inside
    assert not quirks_for("messages", "llm.example.com", "claude-opus-5").system_inside
    assert quirks_for("chat", "llm.example.com", "gpt-4o").ends == ""


@pytest.mark.parametrize(
    ("ends", "said"),
    [("2026-01-30", "ends on"), ("2026-03-02", "ends on"), ("2026-03-03", ""), ("2025-12-31", "ended on"), ("", ""), ("soon", "")],
)
def test_a_model_that_ends(ends: str, said: str) -> None:
    text = ending_text("m", ends, date(2026, 1, 1))
    assert said in text and bool(said) == bool(text)


WHEEL = {
    "sample_spec": {},
    "gpt-9": {"litellm_provider": "openai", "mode": "chat", "max_output_tokens": 5, "max_input_tokens": 9, "supports_reasoning": True,
              "supports_none_reasoning_effort": True, "default_reasoning_effort": "low", "deprecation_date": "2030-01-01"},
    "gpt-9-2029-01-01": {"litellm_provider": "openai", "mode": "chat", "max_output_tokens": 4},
    "openai/embedding": {"litellm_provider": "openai", "mode": "embedding"},
    "claude-new-7": {"litellm_provider": "anthropic", "mode": "chat", "supports_sampling_params": False, "supports_assistant_prefill": False,
                     "supports_forced_tool_use": False, "supports_reasoning": True, "supports_native_structured_output": True},
    "moonshot/kimi-k9": {"litellm_provider": "moonshot", "mode": "chat", "reasoning_effort_levels": ["max", "low"], "supports_vision": False},
    "elsewhere/x": {"litellm_provider": "elsewhere", "mode": "chat", "max_output_tokens": 5},
    "fallback_generalizations": {"rules": [
        {"pattern": "claude-", "fill_missing_for_providers": ["anthropic"], "model_info": {"supports_adaptive_thinking": True, "thinking_always_on": True}},
    ]},
}  # fmt: skip


def test_the_script_writes_a_line_a_model(tmp_path: Path) -> None:
    wheel = tmp_path / "litellm-9.9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("litellm/model_prices_and_context_window_backup.json", json.dumps(WHEEL))
    code = (
        f"import runpy, sys, pathlib; sys.path.insert(0, {str(ROOT / 'addon')!r})\n"
        "from toolmend.providers import model_facts\n"
        f"model_facts.GENERATED = pathlib.Path({str(tmp_path / 'models.json')!r})\n"
        f"model_facts.GENERATED.write_text({GENERATED.read_text()!r})\n"
        f"sys.argv = ['renew-models', {str(wheel)!r}]\n"
        f"runpy.run_path({str(ROOT / 'scripts/renew_models.py')!r}, run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "models.json").read_text()
    models = json.loads(written)["models"]
    assert models["openai"] == {"gpt-9": {"max_tokens": 5, "context": 9, "efforts": "none low medium high", "default_effort": "low", "ends": "2030-01-01"}}
    assert models["anthropic"]["claude-new-7"] == {
        "thinking_kinds": "adaptive", "thinks": True, "prefill": "", "forced_choice": "never", "json_schema": True, "sampling": "none",
    }  # fmt: skip
    assert models["moonshot"] == {"kimi-k9": {"efforts": "low max", "images": False}}
    assert sum(line.strip().startswith('"gpt-9"') for line in written.splitlines()) == 1
    assert "openai/gpt-9: new -> " in done.stdout and "-> gone" in done.stdout
    assert model_facts.about()["source"] in GENERATED.read_text()  # the package's own is as it was
