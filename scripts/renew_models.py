"""Regenerates addon/toolmend/providers/models.json from the price list in the wheel of litellm.

    "claude-opus-4-8": {"max_output_tokens": 128000, "supports_sampling_params": false, …}    in the wheel, with prices and more
    "claude-opus-4-8": {"max_tokens": 128000, "sampling": "none", …}                          here

The table contains the hosts of hosts.py and the fields that request_limits.py uses, one line per model, so that `git diff` shows
what changed. If a line of models_overlay.toml, which is edited by hand, disagrees, the script prints it: check it, and correct
or remove the line.
"""

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

from toolmend.providers.model_facts import GENERATED, LISTS, layers, plain_id

FILE = "litellm/model_prices_and_context_window_backup.json"

HOSTS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "chatgpt": "chatgpt",
    "github_copilot": "copilot",
    "gemini": "google",
    "vertex_ai-anthropic_models": "vertex",
    "bedrock": "bedrock",
    "deepseek": "deepseek",
    "moonshot": "moonshot",
    "zai": "zai",
    "dashscope": "dashscope",
    "minimax": "minimax",
    "mistral": "mistral",
    "xai": "xai",
    "groq": "groq",
    "cerebras": "cerebras",
    "together_ai": "together",
}
"""litellm's name of each provider, and the name in hosts.py."""

PLACES = {"anthropic": "api.anthropic.com", "openai": "api.openai.com", "google": "generativelanguage.googleapis.com",
          "deepseek": "api.deepseek.com", "moonshot": "api.moonshot.ai", "zai": "api.z.ai", "xai": "api.x.ai",
          "mistral": "api.mistral.ai",
          "dashscope": "dashscope.aliyuncs.com", "minimax": "api.minimax.io"}  # fmt: skip
"""The host for which each provider's lines of models_overlay.toml are compared with the table."""

WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def print_line(line: str) -> None:
    """Writes a line to standard output."""
    sys.stdout.write(f"{line}\n")


def wheel(wanted: str, folder: str) -> Path:
    """The path of the requested wheel, downloaded if necessary."""
    if wanted.endswith(".whl"):
        return Path(wanted)
    package = f"litellm=={wanted}" if wanted else "litellm"
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder]
    subprocess.run([sys.executable, "-I", "-m", "pip", "download", *options, package], check=True)
    return next(Path(folder).glob("litellm-*.whl"))


def read(path: Path) -> tuple[str, dict[str, dict[str, Any]]]:
    """The version of a wheel, and its entries, completed by its rules."""
    with zipfile.ZipFile(path) as archive:
        entries = json.loads(archive.read(FILE))
    rules = entries.pop("fallback_generalizations", {}).get("rules", [])
    entries.pop("sample_spec", None)
    filled = {name: {**_by_rule(name, entry, rules), **entry} for name, entry in entries.items()}
    return path.name.split("-")[1], filled


def _by_rule(name: str, entry: dict[str, Any], rules: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for rule in rules:
        if entry.get("litellm_provider") in rule.get("fill_missing_for_providers", ()) and re.search(rule["pattern"], name):
            found |= rule["model_info"]
    return found


def facts(entry: dict[str, Any]) -> dict[str, Any]:
    """The facts of an entry, in the fields of Quirks. An absent flag is unknown."""
    get = entry.get
    found: dict[str, Any] = {}
    for name, key in (("max_tokens", "max_output_tokens"), ("context", "max_input_tokens")):
        if isinstance(get(key), int) and get(key) > 0:
            found[name] = get(key)
    if efforts := _efforts(entry):
        found["efforts"] = " ".join(efforts)
    if get("default_reasoning_effort"):
        found["default_effort"] = get("default_reasoning_effort")
    if entry.get("litellm_provider") in ("anthropic", "bedrock", "vertex_ai-anthropic_models"):
        kinds = (("enabled", not get("supports_adaptive_thinking") or get("supports_legacy_thinking")),
                 ("adaptive", get("supports_adaptive_thinking")), ("disabled", not get("thinking_always_on")))  # fmt: skip
        if get("supports_reasoning"):
            found["thinking_kinds"] = " ".join(kind for kind, taken in kinds if taken)
            found["thinks"] = bool(get("thinking_always_on") or get("thinking_on_by_default"))
        if get("supports_assistant_prefill") is not None:
            found["prefill"] = "yes" if get("supports_assistant_prefill") else ""
        if get("supports_forced_tool_use") is False:
            found["forced_choice"] = "never"
        if get("supports_native_structured_output") is not None and entry["litellm_provider"] == "anthropic":
            found["json_schema"] = get("supports_native_structured_output")
        if get("supports_mid_conversation_system") is not None and entry["litellm_provider"] == "anthropic":
            found["system_inside"] = get("supports_mid_conversation_system")
    if get("supports_sampling_params") is False:
        found["sampling"] = "none"
    if get("supports_vision") is False:
        found["images"] = False
    if re.fullmatch(r"\d{4}-\d\d-\d\d", str(get("deprecation_date"))):
        found["ends"] = get("deprecation_date")
    return found


def _efforts(entry: dict[str, Any]) -> list[str]:
    if levels := entry.get("reasoning_effort_levels"):
        return sorted((word for word in levels if word in WORDS), key=WORDS.index)
    if entry.get("litellm_provider") not in ("openai", "chatgpt") or not entry.get("supports_reasoning"):
        return []
    beyond = [word for word in WORDS if entry.get(f"supports_{word}_reasoning_effort")]
    return [word for word in WORDS if word in ("low", "medium", "high", *beyond)] if beyond else []


def table(entries: dict[str, dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Facts by host and plain id. Of several entries with one plain id, the one without a date or variant is used."""
    found: dict[str, dict[str, dict[str, Any]]] = {host: {} for host in sorted(HOSTS.values())}
    exact: set[tuple[str, str]] = set()
    for name, entry in sorted(entries.items()):
        host = HOSTS.get(entry.get("litellm_provider") or "")
        if host is None or entry.get("mode") not in ("chat", "responses") or name.count("/") > 2:
            continue
        if host == "bedrock" and "anthropic." not in name:
            continue
        plain = plain_id(name)
        if (host, plain) in exact or not (model_facts := facts(entry)):
            continue
        if name.rpartition("/")[2].lower() == plain:
            exact.add((host, plain))
        found[host][plain] = model_facts
    return {host: dict(sorted(models.items())) for host, models in found.items()}


def render(about: dict[str, str], models: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The text of the file: one line per model."""
    parts = []
    for host, rows in models.items():
        lines = [f"   {json.dumps(name)}: {json.dumps(model_facts)}" for name, model_facts in rows.items()]
        parts.append(f"  {json.dumps(host)}: {{\n" + ",\n".join(lines) + "\n  }")
    return f'{{\n "about": {json.dumps(about)},\n "models": {{\n' + ",\n".join(parts) + "\n }\n}\n"


def differences(models: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """Descriptions of the lines of models_overlay.toml that disagree with the table."""
    found = []
    for host, rows in models.items():
        for name, model_facts in rows.items() if host in PLACES else ():
            api = "messages" if host == "anthropic" else "chat"
            last = {key: layer for layer in layers(api, PLACES[host], name) if layer.by_hand for key in layer.facts}
            for key, given in model_facts.items():
                generated = tuple(given.split()) if key in LISTS else given
                if key in last and last[key].facts[key] != generated:
                    here = f"{last[key].facts[key]!r} here ({last[key].source})"
                    found.append(f"{host}/{name}: {key} is {generated!r} there, {here}")
    return found


def main(arguments: list[str]) -> int:
    """Writes the table, prints the changes, and returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        version, entries = read(wheel(arguments[0] if arguments else "", folder))
    models = table(entries)
    about = {
        "source": f"litellm {version}",
        "date": date.today().isoformat(),  # noqa: DTZ011  the day here
        "licence": "MIT, Copyright 2023 Berri AI; facts alone, by scripts/renew-models",
    }
    before = json.loads(GENERATED.read_text()) if GENERATED.exists() else {"models": {}}
    GENERATED.write_text(render(about, models))
    old = {(host, name): model_facts for host, rows in before["models"].items() for name, model_facts in rows.items()}
    new = {(host, name): model_facts for host, rows in models.items() for name, model_facts in rows.items()}
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            print_line(f"{'/'.join(key)}: {old.get(key, 'new')} -> {new.get(key, 'gone')}")
    for line in differences(models):
        print_line(f"differs: {line}")
    print_line(f"{sum(map(len, models.values()))} models of {len(models)} hosts, from litellm {version}, in {GENERATED}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
