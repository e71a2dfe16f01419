"""The `[[provider]]` tables of a settings file, as profiles.

    [[provider]]
    name = "my-vllm"                                # or a built-in name, to override its fields
    models = ["my-*"]                               # globs of model ids
    hosts = ["llm.example.com"]                     # globs of hosts, for models that no glob matches
    dialects = ["hermes", "qwen3_coder"]            # what the models write
    reasoning_field = "reasoning"                   # or "reasoning_content"; by default as the host does
    think_tags = true                               # <think> in the text is reasoning
    think_unopened = true                           # and the text begins inside it
    tools = "prompt"                                # it has no native tool calls: see requests/prompted.py
    system_role = false                             # it accepts no system message
    takes = { max_tokens = 64000, refuses = ["seed"] }    # limits of requests: see requests/request_limits.py

Unknown content is an error with its line.
"""

import re
from collections.abc import Sequence
from typing import Any

from ..core.fastclass import replace
from ..dialects import DIALECTS
from ..providers.model_profiles import BUILT_IN, Profile
from ..requests.request_limits import SETTABLE, checked
from .checks import SettingsError, host_globs, suggestion

_RIGHT = {
    "name": '"my-vllm"',
    "models": '["my-*"]',
    "hosts": '["llm.example.com"]',
    "dialects": '["hermes", "qwen3_coder"]',
    "reasoning_field": '"reasoning_content" or "reasoning"',
    "think_tags": "true or false",
    "think_unopened": "true or false",
    "tools": '"native" or "prompt"',
    "system_role": "true or false",
    "takes": "{ max_tokens = 64000 }",
}
_HEAD = re.compile(r"""\s*\[\[\s*["']?provider["']?\s*\]\]""")


def line_of(key: str, source: str, first: int = 1) -> int:
    """Returns the first line from `first` on that begins with a key or the name of a table; tomllib reports none."""
    start = re.compile(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=.\]]""")
    lines = enumerate(source.splitlines()[first - 1 :], first)
    return next((number for number, line in lines if start.match(line)), first)


def profiles(file: str, source: str, tables: Any, own: Sequence[str] = ()) -> tuple[Profile, ...]:
    """Returns the profiles of the `provider` value in a file; `own`: dialects of the file. Raises SettingsError."""
    if not (isinstance(tables, list) and all(isinstance(fields, dict) for fields in tables)):
        where = f"{file}:{line_of('provider', source)}: provider"
        raise SettingsError(f"{where}: {tables!r} is not a list of tables, write [[provider]] and its fields below")
    heads = [number for number, line in enumerate(source.splitlines(), 1) if _HEAD.match(line)]
    if len(heads) != len(tables):  # in another TOML notation
        heads = [line_of("provider", source)] * len(tables)
    rows: dict[str, Profile] = {}
    for fields, head in zip(tables, heads, strict=True):
        given = {key: _field(f"{file}:{line_of(key, source, head)}: {key}", key, fields[key], own) for key in fields}
        name = given.get("name")
        if name is None:
            raise SettingsError(f"{file}:{head}: provider: it has no name, write name = {_RIGHT['name']}")
        if name in rows:
            raise SettingsError(f"{file}:{head}: provider: {name!r} is there already, write one table of that name")
        alone = name not in BUILT_IN and given.keys() <= {"name", "models", "hosts", "takes"} and "takes" in given
        rows[name] = replace(BUILT_IN.get(name, Profile(name)), **given, only_takes=alone)
        if name not in BUILT_IN and not (rows[name].models or rows[name].hosts):
            right = f"write models = {_RIGHT['models']} or hosts = {_RIGHT['hosts']}"
            raise SettingsError(f"{file}:{head}: provider: {name!r} is for no model and no host, {right}")
    return tuple(rows.values())


def _field(where: str, key: str, value: object, own: Sequence[str] = ()) -> Any:
    """Returns a field's value as a profile has it."""
    match key, value:
        case "name", str() if value.strip():
            return value.strip().lower()
        case ("models" | "hosts" | "dialects"), list() if all(isinstance(word, str) and word.strip() for word in value):
            words = tuple(dict.fromkeys(word.strip().lower() for word in value))
            if key == "hosts":
                return host_globs(where, " ".join(words))
            for word in words if key == "dialects" else ():
                if word not in DIALECTS and word not in own:
                    right = f"write some of: {', '.join((*DIALECTS, *own))}"
                    raise SettingsError(f"{where}: no such dialect: {word!r}{suggestion(word, (*DIALECTS, *own))}, {right}")
            return words
        case ("reasoning_field", "reasoning_content" | "reasoning") | ("tools", "native" | "prompt"):
            return value
        case ("think_tags" | "think_unopened" | "system_role"), bool():
            return value
        case "takes", dict():
            return tuple((fact, _fact(where, fact, given)) for fact, given in value.items())
    if key not in _RIGHT:
        right = f"write some of: {', '.join(_RIGHT)}"
        raise SettingsError(f"{where} is not a field of a provider{suggestion(key, _RIGHT)}, {right}")
    raise SettingsError(f"{where}: {value!r} is not understood, write {key} = {_RIGHT[key]}")


def _fact(where: str, fact: str, given: object) -> Any:
    """Returns a fact of `takes`, as requests/request_limits.py has it."""
    if fact not in SETTABLE:
        right = f"write some of: {', '.join(SETTABLE)}"
        raise SettingsError(f"{where}: no such fact: {fact!r}{suggestion(fact, SETTABLE)}, {right}")
    try:
        return checked(fact, given)
    except ValueError as right:
        raise SettingsError(f"{where}: {given!r} is not understood, write {fact} = {right}") from None
