"""`toolmend providers`: what it says of a model, and its table of all profiles."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.terminals import at_terminal
from toolmend.cli import main
from toolmend.dialects import DIALECTS
from toolmend.dialects.engine.strict_dialect import FOR_UNKNOWN_MODELS
from toolmend.dialects.families.role_tokens import role_tokens
from toolmend.pipeline.dialect_choice import armed
from toolmend.providers.model_profiles import PROFILES, profile_for

PLAIN = sum(not dialect.ambiguous for dialect in DIALECTS.values())
CONFIG = '[[provider]]\nname = "my-vllm"\nmodels = ["my-*"]\nhosts = ["llm.example.com"]\ndialects = ["hermes"]\n'


def say(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["providers", *args]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def ask(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    return json.loads(say(capsys, "--json", *args))


def write(folder: Path, text: str) -> str:
    file = folder / "toolmend.toml"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        (
            ["qwen/qwen3-coder-480b"],
            [
                "profile    qwen: the model matches qwen/*",
                f"dialects   qwen3_coder, qwen3_named, qwen3_cut, hermes, hermes_openerless, minimax_arrow, json_tools, xml_call, and {PLAIN} that are unambiguous, as for every model",
                "reasoning  in reasoning_content",
                "<think>    is reasoning",
                "tools      the model's own",
            ],
        ),
        (
            ["deepseek/deepseek-r1", "--host", "api.together.xyz"],
            [
                "profile    deepseek: the model matches deepseek/*",
                f"dialects   dsml, minimax_arrow, anthropic, deepseek_v3, xml_call, xml_misspelt, and {PLAIN - 2} that are unambiguous, as for every model",
                "reasoning  in reasoning",
                "<think>    is reasoning, and the text begins inside it",
                "tools      the model's own",
            ],
        ),
        (
            ["claude-3-opus"],
            [
                "profile    standard: neither model nor host is known",
                f"dialects   minimax_arrow, xml_call, and {PLAIN} that are unambiguous, as for every model",
                "reasoning  in reasoning_content",
                "<think>    is left in the text",
                "tools      the model's own",
            ],
        ),
    ],
)
def test_a_model(args: list[str], lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, *args).splitlines()
    assert [line for line in said if not line.startswith("if certain")][:5] == lines
    strangers = next(line for line in said if line.startswith("if certain"))
    assert strangers.endswith(": the maker does not serve it")
    assert ("json_object" in strangers, "hermes" in strangers) == (True, "qwen" not in args[0])
    assert "if certain" not in say(capsys, "gpt-5.5", "--host", "api.openai.com")


def test_a_model_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    answer = ask(capsys, "kimi-k2-thinking", "--host", "openrouter.ai")
    assert answer.pop("facts")["thinking"] == {"value": "reasoning", "from": "built in, by the host"}
    assert answer == {
        "format": 1,
        "model": "kimi-k2-thinking",
        "host": "openrouter.ai",
        "profile": "kimi",
        "matched": {"model": "*kimi*"},
        "dialects": [dialect.name for dialect in armed(None, profile_for("kimi", ""), known=True)],
        "if_certain": [name for name in DIALECTS if name in FOR_UNKNOWN_MODELS],
        "own": [],
        "first_party": False,
        "reasoning_field": "reasoning",
        "think_tags": True,
        "think_unopened": False,  # this host parses reasoning
        "role_tokens": [*role_tokens("kimi").openers],
        "tools": "native",
        "system_role": True,
    }


def test_facts_have_their_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = say(capsys, "claude-sonnet-4-5", "--host", "api.anthropic.com")
    assert "  max_tokens = 64000    (Anthropic's models overview)" in shown
    assert '  ends = "2026-11-30"    (Anthropic\'s deprecations page)' in shown
    assert "  sampling = " in shown and "AionUi#912" in shown
    chat, responses = (ask(capsys, "gpt-6-sol", "--host", "api.openai.com", *words)["facts"]["efforts"]["value"] for words in ([], ["--api", "responses"]))
    assert (chat[-1], responses[-1]) == ("xhigh", "max")
    file = write(tmp_path, '[[provider]]\nname = "fix"\nhosts = ["api.openai.com"]\nmodels = ["gpt-6*"]\ntakes = { max_tokens = 7, efforts = ["low"] }\n')
    answer = ask(capsys, "gpt-6-sol", "--host", "api.openai.com", "--config", file)
    assert answer["profile"] == "gpt"  # the table is no profile
    assert answer["facts"]["max_tokens"] == {"value": 7, "from": "your table fix"}
    assert "your table" not in say(capsys, "gpt-6-sol", "--host", "openrouter.ai", "--config", file)
    assert "your table" not in say(capsys, "gpt-5", "--host", "api.openai.com", "--config", file)
    assert main(["providers", "m", "--api", "grpc"]) == 2


def test_a_host_alone(capsys: pytest.CaptureFixture[str]) -> None:
    answer = ask(capsys, "--host", "api.z.ai")
    assert (answer["profile"], answer["matched"]) == ("glm", {"host": "api.z.ai"})
    assert ask(capsys, "--host", "llm.example.com")["matched"] == {}


def test_the_file_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, CONFIG)
    assert ask(capsys, "my-qwen", "--config", file)["profile"] == "my-vllm"
    assert say(capsys, "x", "--host", "llm.example.com", "--config", file).startswith(
        "profile    my-vllm: the host matches llm.example.com\ndialects   hermes, minimax_arrow, xml_call, and "
    )
    assert [row["name"] for row in ask(capsys, "--config", file)["profiles"]] == ["my-vllm", *(row.name for row in PROFILES)]


@pytest.mark.parametrize(("dialects", "looked"), [('"off"', "none"), ('["hermes", "dsml"]', "hermes, dsml")])
def test_the_setting_of_dialects_beats_the_profile(
    dialects: str, looked: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, f"dialects = {dialects}\n")
    assert say(capsys, "glm-4.6", "--config", file).splitlines()[1] == f"dialects   {looked}: by the settings"


def test_a_wrong_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, "[[provider]]\nmodel = 1\n")
    assert main(["providers", "--config", file]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {file}:2: model is not a field of a provider (did you mean models?), ")


def test_all_profiles_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = [line.split("\t") for line in say(capsys).splitlines()]
    assert head == ["profile", "models", "hosts", "dialects", "reasoning", "<think>"]
    assert [row[0] for row in rows] == [row.name for row in PROFILES]
    assert {len(row) for row in rows} == {len(head)}
    assert rows[-1] == ["standard", "", "", "", "by host", "text"]


def test_all_profiles_at_a_terminal() -> None:
    text = at_terminal("providers", width=200, NO_COLOR="1")
    assert b"\t" not in text
    for row in PROFILES:
        assert f"\n{row.name} ".encode() in text
    assert b"*qwen2[.p]5-coder*" in text  # rich takes brackets for its markup if it may
