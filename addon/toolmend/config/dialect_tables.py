r"""The `[[dialect]]` tables of a settings file: the user's own dialects, which are looked for with every model.

    [[dialect]]
    name = "acme"                                   # in rules; not a built-in name
    arguments = "json"                              # or "parameters", "attributes", "lines", "envelope": see dialects/own.py
    begin = ["<|tool_start|>"]                      # before the tool's name
    separator = ["<|tool_args|>"]                   # between name and arguments
    end = ["<|tool_stop|>"]                         # `{name}` in it is the tool's name, `{id}` the id that the pattern binds
    pattern = '(?P<name>[\\w.-]+?)'                  # between begin and separator, if not only a name; may bind `id`, too
    wrapper = { begin = ["<tools>"], end = ["</tools>"] }                       # around calls
    parameter = { begin = ["<"], separator = [">"], end = ["</{key}>"] }        # around parameters
    keys = { name = ["fn"], arguments = ["with"], id = ["call"] }               # members of an envelope
    bare = true                                     # a call needs no wrapper
    place = "line"                                  # where a call may begin: "line", "any", "message"
    strict = true                                   # a call is held to its end and must fit its tool's schema

Unknown content is an error with its line. A pattern that could be slow is refused, as the engine's patterns are bounded, too.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..dialects import DIALECTS
from ..dialects.engine.tag import NO_TAG, Tag
from ..dialects.own import NAME_PATTERN, Arguments, Keys, OwnDialect
from .checks import SettingsError, suggestion
from .provider_tables import line_of

ARGUMENTS: tuple[Arguments, ...] = ("json", "parameters", "attributes", "lines", "envelope")
PLACES = ("line", "any", "message")
MOST_TEXTS, LONGEST = 32, 200
"""Texts per field, and characters per text."""

MOST_REPEATS, MOST_OPTIONAL = 2, 4
"""Repetitions of variable length, and optional parts, in a pattern: with more, or with a repeated group, the time of a match
grows faster than the square of the text."""

_RIGHT = {
    "name": '"acme"',
    "arguments": '"json", "parameters", "attributes", "lines" or "envelope"',
    "begin": '["<|tool_start|>"]',
    "separator": '["<|tool_args|>"]',
    "end": '["<|tool_stop|>"]',
    "pattern": r"'(?P<name>[\w.-]+?)'",
    "wrapper": '{ begin = ["<tools>"], end = ["</tools>"] }',
    "parameter": '{ begin = ["<"], separator = [">"], end = ["</{key}>"] }',
    "keys": '{ name = ["fn"], arguments = ["with"] }',
    "place": '"line", "any" or "message"',
    "bare": "true or false",
    "strict": "true or false",
}
_PARTS = {
    "wrapper": ("begin", "end"),
    "parameter": ("begin", "separator", "end", "pattern"),
    "keys": ("name", "arguments", "id"),
}
_HEAD = re.compile(r"""\s*\[\[\s*["']?dialect["']?\s*\]\]""")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?:|\(\?>|\((?!\?)|[*+?][+?]?|\{\d*,?\d*\}[+?]?|.", re.DOTALL)
_GIVES_NOTHING_BACK = re.compile(r"\{\d+\}[+?]?|(?:[*+]|\{[\d,]*\})\+")
"""A repetition of fixed length, or a possessive one."""
_PARAMETER_NAME = r"(?P<name>[\w.:-]+)"


def dialects(file: str, source: str, tables: Any) -> tuple[OwnDialect, ...]:
    """Returns the dialects of the `dialect` value in a file. Raises SettingsError."""
    if not (isinstance(tables, list) and all(isinstance(fields, dict) for fields in tables)):
        where = f"{file}:{line_of('dialect', source)}: dialect"
        raise SettingsError(f"{where}: {tables!r} is not a list of tables, write [[dialect]] and its fields below")
    heads = [number for number, line in enumerate(source.splitlines(), 1) if _HEAD.match(line)]
    if len(heads) != len(tables):  # in another TOML notation
        heads = [line_of("dialect", source)] * len(tables)
    rows: dict[str, OwnDialect] = {}
    for fields, head in zip(tables, heads, strict=True):
        row = _dialect(fields, {key: f"{file}:{line_of(key, source, head)}: {key}" for key in fields}, f"{file}:{head}: dialect")
        if row.name in rows:
            raise SettingsError(f"{file}:{head}: dialect: {row.name!r} is there already, write one table of that name")
        rows[row.name] = row
    return tuple(rows.values())


def of_json(text: str) -> tuple[OwnDialect, ...]:
    """Returns the dialects of a recording's settings. Raises SettingsError."""
    try:
        tables = json.loads(text)
    except ValueError:
        raise SettingsError(f"own_dialects: {text!r} is not JSON") from None
    return dialects("meta.json", "", tables)


def to_json(rows: Sequence[OwnDialect]) -> str:
    """Returns dialects as a recording stores them."""
    return json.dumps([fields_of(row) for row in rows], ensure_ascii=False)


def _dialect(fields: Mapping[str, Any], wheres: Mapping[str, str], head: str) -> OwnDialect:
    given = {key: _field(wheres[key], key, value) for key, value in fields.items()}
    for key in ("name", "begin"):
        if not given.get(key):
            raise SettingsError(f"{head}: it has no {key}, write {key} = {_RIGHT[key]}")
    name, body = given["name"], given.get("arguments", "json")
    if name in DIALECTS:
        raise SettingsError(f"{wheres['name']}: {name!r} is a built-in dialect, write another name, as in my-{name}")
    parameter = given.get("parameter", {})
    if body == "parameters" and not (parameter.get("begin") and parameter.get("separator")):
        raise SettingsError(f"{head}: its parameters have no tag, write parameter = {_RIGHT['parameter']}")
    if body == "lines" and not parameter.get("separator"):
        raise SettingsError(f'{head}: its lines have no separator, write parameter = {{ separator = [": "] }}')
    if body == "parameters" and not parameter.get("end"):
        raise SettingsError(f"{head}: its parameters have no end, write parameter = {_RIGHT['parameter']}")
    if body in ("parameters", "attributes") and not given.get("end"):
        raise SettingsError(f"{head}: its calls have no end, write end = {_RIGHT['end']}")
    return make(given, name, body)


def make(given: Mapping[str, Any], name: str, body: Arguments) -> OwnDialect:
    """Returns the dialect of checked fields."""
    parameter, wrapper, keys = (given.get(key, {}) for key in ("parameter", "wrapper", "keys"))
    begin, separator, end = (_with_crlf(given.get(part, ())) for part in ("begin", "separator", "end"))
    return OwnDialect(
        name,
        call=Tag(begin, separator, end),
        wrapper=Tag(_with_crlf(wrapper.get("begin", ())), end=_with_crlf(wrapper.get("end", ()))) if wrapper else NO_TAG,
        arguments="envelope" if body == "envelope" else "parameters" if body == "parameters" else "json",
        parameter=_parameter(**parameter) if parameter else NO_TAG,
        ambiguous=True,
        place=given.get("place", "line"),
        body=body,
        pattern=given.get("pattern", NAME_PATTERN),
        keys=Keys(**keys),
        strict=given.get("strict", True),
        bare=given.get("bare", True),
    )


def _with_crlf(texts: Sequence[str]) -> tuple[str, ...]:
    """Returns texts, and those with a line end also with CRLF (R19)."""
    return tuple(dict.fromkeys((*texts, *(text.replace("\n", "\r\n") for text in texts if "\n" in text and "\r" not in text))))


def _without_crlf(texts: Sequence[str]) -> list[str]:
    """Returns texts without what `_with_crlf` added."""
    return [text for text in texts if "\r\n" not in text or text.replace("\r\n", "\n") not in texts]


def _parameter(
    begin: tuple[str, ...] = (), separator: tuple[str, ...] = (), end: tuple[str, ...] = (), pattern: str = _PARAMETER_NAME
) -> Tag:
    firsts = "".join(re.escape(first) for first in sorted({text[0] for text in separator}))
    begin, separator, end = _with_crlf(begin), _with_crlf(separator), _with_crlf(end)
    return Tag(begin, separator, end, re.compile(pattern), re.compile(rf"[^<>{{}}\n{firsts}]*"))


def _field(where: str, key: str, given: object) -> Any:
    match key, given:
        case "name", str() if _NAME.fullmatch(given.strip().lower()):
            return given.strip().lower()
        case ("arguments", str()) if given in ARGUMENTS:
            return given
        case ("place", str()) if given in PLACES:
            return given
        case ("strict" | "bare"), bool():
            return given
        case "pattern", str():
            return _pattern(where, given)
        case ("begin" | "separator" | "end"), list():
            return _texts(where, key, given)
        case ("wrapper" | "parameter" | "keys"), dict():
            for part in given:
                if part not in _PARTS[key]:
                    right = f"write some of: {', '.join(_PARTS[key])}"
                    raise SettingsError(f"{where}: {part!r} is not a part of it{suggestion(part, _PARTS[key])}, {right}")
            return {
                part: _pattern(where, value) if part == "pattern" else _texts(where, f"{key}.{part}", value)
                for part, value in given.items()
            }
    if key not in _RIGHT:
        right = f"write some of: {', '.join(_RIGHT)}"
        raise SettingsError(f"{where} is not a field of a dialect{suggestion(key, _RIGHT)}, {right}")
    known = {"arguments": ARGUMENTS, "place": PLACES}.get(key, ())
    hint = suggestion(given, known) if isinstance(given, str) and known else ""
    raise SettingsError(f"{where}: {given!r} is not understood{hint}, write {key} = {_RIGHT[key]}")


def _texts(where: str, key: str, given: Any) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    fine = isinstance(texts, list) and 0 < len(texts) <= MOST_TEXTS
    blank = key.endswith(("separator", "end"))  # a line end is allowed
    fine = fine and all(isinstance(text, str) and (text if blank else text.strip()) for text in texts)
    if not fine or any(len(text) > LONGEST for text in texts):
        kind = "empty" if blank else "blank"
        right = f"write a list of 1 to {MOST_TEXTS} texts of at most {LONGEST} characters, none of them {kind}"
        raise SettingsError(f"{where}: {key} = {given!r} is not understood, {right}")
    return tuple(dict.fromkeys(texts))


def _pattern(where: str, given: Any) -> str:
    """Checks that a regex is fast for every text: no group is repeated, and few parts can give back what they took."""
    try:
        groups = re.compile(given).groupindex if isinstance(given, str) and len(given) <= LONGEST else {}
    except re.error as error:
        raise SettingsError(f"{where}: {given!r} is not a pattern ({error.msg}), write {_RIGHT['pattern']}") from None
    if "name" not in groups:
        raise SettingsError(f"{where}: {given!r} binds no name, write {_RIGHT['pattern']}")
    repeats = optional = 0
    before = ""
    for piece in _PIECE.findall(given):
        if piece[0] in "*+{" and not _GIVES_NOTHING_BACK.fullmatch(piece):
            repeats += 1
        optional += piece[0] == "?"
        if before == ")" and piece[0] in "*+{":
            raise SettingsError(f"{where}: {given!r} may be slow, as it repeats a group, write {_RIGHT['pattern']}")
        before = piece
    if repeats > MOST_REPEATS or optional > MOST_OPTIONAL or re.search(r"\(\?[=!<](?!\w+>)|\(\?P=|\\[1-9]", given):
        many = f"it has more than {MOST_REPEATS} repetitions or {MOST_OPTIONAL} optional parts, or looks around itself"
        raise SettingsError(f"{where}: {given!r} may be slow: {many}, write {_RIGHT['pattern']}")
    return str(given)


def fields_of(row: OwnDialect) -> dict[str, Any]:
    """Returns the table fields of a dialect."""
    found: dict[str, Any] = {"name": row.name, "arguments": row.body, "begin": _without_crlf(row.call.begin)}
    found |= {"separator": _without_crlf(row.call.separator)} if row.call.separator else {}
    found |= {"end": _without_crlf(row.call.end)} if row.call.end else {}
    found |= {"pattern": row.pattern} if row.pattern != NAME_PATTERN else {}
    if row.wrapper.begin or row.wrapper.end:
        parts = {"begin": row.wrapper.begin, "end": row.wrapper.end}
        found["wrapper"] = {part: _without_crlf(texts) for part, texts in parts.items() if texts}
    tag = row.parameter
    if tag.begin or tag.separator:
        texts = {"begin": tag.begin, "separator": tag.separator, "end": tag.end}
        found["parameter"] = {part: _without_crlf(given) for part, given in texts.items() if given}
        found["parameter"] |= {"pattern": tag.header.pattern} if tag.header.pattern != _PARAMETER_NAME else {}
    keys = {part: list(given) for part in _PARTS["keys"] if (given := getattr(row.keys, part))}
    found |= {"keys": keys} if keys else {}
    found |= {} if row.bare else {"bare": False}
    return found | {"place": row.place} | ({} if row.strict else {"strict": False})


def to_toml(fields: Mapping[str, Any]) -> str:
    """Returns a table as TOML."""
    return "[[dialect]]\n" + "".join(f"{key} = {_spelled(given)}\n" for key, given in fields.items())


def _spelled(given: Any) -> str:
    match given:
        case bool():
            return "true" if given else "false"
        case dict():
            return f"{{ {', '.join(f'{key} = {_spelled(part)}' for key, part in given.items())} }}"
        case list():
            return f"[{', '.join(map(_spelled, given))}]"
        case _:
            return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007F")
