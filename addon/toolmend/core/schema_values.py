"""Text between tags, as the JSON value that the parameter's schema asks for.

    limit: {"type": "integer"}   `<parameter=limit>20</parameter>`   →   20

Rule of this file: the types of dialect-rules.md, and nothing is guessed. What fits no type that is allowed stays text, and
what is JSON as it stands is never written anew. No schema and no text raises, or costs more than its length.
"""

import ast
import json
import re
import warnings
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from . import json_text
from .schemas import target_of

MAX_LITERAL = 65_536
"""Characters of a Python literal: its syntax tree takes a microsecond and hundreds of bytes for each."""

_NONE = type(None)
_KIND = {_NONE: "null", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array", str: "string"}
_NAMES = frozenset(_KIND.values())


def types_of(schema: Any, root: Any) -> frozenset[str]:
    """The names of the JSON types that a parameter's schema allows; none where it says nothing.

    `root` is the schema that holds it, of all the tool's parameters: `$ref` is looked up there.
    """
    return frozenset().union(*map(_own_types, _parts(schema, root)))


def properties_of(schema: Any, root: Any) -> Mapping[str, Any]:
    """The members that a parameter's schema declares."""
    found: dict[str, Any] = {}
    for part in _parts(schema, root):
        properties = part.get("properties")
        found = {**properties, **found} if isinstance(properties, Mapping) else found
    return found


def items_of(schema: Any, root: Any) -> Any:
    """The schema of the items of an array that a parameter's schema declares; None if it declares none."""
    return next((part["items"] for part in _parts(schema, root) if "items" in part), None)


def is_string(schema: Any, root: Any) -> bool:
    """Whether only a string is allowed: then the value need not be seen whole."""
    return types_of(schema, root) == {"string"}


def to_json(text: str, types: AbstractSet[str]) -> str:
    """The JSON text of a value: of the first allowed type that fits, in the rule's order; else the text as a string."""
    value = text.strip(" \t\r\n")
    for name, fit in _FITS:
        if name in types and (fitting := fit(value)) is not None:
            return fitting
    return json_text.quote(text)


def json_or_text(text: str) -> str:
    """The JSON of a value that the markup says is JSON; where it is none, the raw text as a string."""
    try:
        json_text.loads(text.encode())
    except ValueError:
        return json_text.quote(text)
    return text.strip(" \t\r\n")


def _parts(schema: Any, root: Any) -> list[Mapping[Any, Any]]:
    """A schema, and those that it refers to or is made of."""
    found: dict[int, Mapping[Any, Any]] = {}
    pending = [schema]
    while pending:
        node = pending.pop()
        if not isinstance(node, Mapping) or id(node) in found:
            continue
        found[id(node)] = node
        if isinstance(ref := node.get("$ref"), str):
            pending.append(target_of(ref, root))
        for key in ("anyOf", "oneOf", "allOf"):
            pending += _list(node.get(key))
    return list(found.values())


def _own_types(node: Mapping[Any, Any]) -> set[str]:
    """What a schema says itself, without those it refers to."""
    declared = node.get("type")
    types = {name.lower() for name in (declared, *_list(declared)) if isinstance(name, str)} & _NAMES
    if not types:
        values = [*_list(node.get("enum")), *([node["const"]] if "const" in node else [])]
        types = {_KIND[type(value)] for value in values if type(value) in _KIND}
    if not types:
        types = {name for key, name in (("properties", "object"), ("items", "array")) if key in node}
    return types | {"null"} if node.get("nullable") is True else types


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# Possessive, so that a value that almost fits is not read again and again. JSON has no leading zeros.
_INTEGER = re.compile(r"(-?)(?=[0-9])0*+([0-9]*+)(?:\.0++)?")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_RAW = re.compile(r"[\x00-\x1f\ud800-\udfff]")
_IN_QUOTES = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


def _integer(text: str) -> str | None:
    match = _INTEGER.fullmatch(text)
    return f"{match[1]}{match[2] or 0}" if match else None


def _nested(text: str, kind: type | tuple[type, ...]) -> str | None:
    """An object or array: JSON as it stands, with raw characters escaped; else a Python literal of that `kind`."""
    try:
        _decoder.decode(text)
    except (ValueError, RecursionError):
        return _literal(text, kind) if len(text) <= MAX_LITERAL else None
    if not _RAW.search(text):
        return text
    return _IN_QUOTES.sub(lambda string: _RAW.sub(lambda raw: json_text.inside(raw[0]), string[0]), text)


def object_of(text: str) -> str | None:
    """The JSON text of an object that is JSON, or a dict of Python's of up to MAX_LITERAL characters; None if it is neither."""
    return _nested(text, dict)


def _literal(text: str, kind: type | tuple[type, ...]) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a "\d" in the model's text is no business of the operator's
            value = ast.literal_eval(text)
        if isinstance(value, kind):
            json.dumps(value, allow_nan=False)  # 1e999 is no JSON
            return json_text.dumps(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):  # the last: the parser's stack is full
        pass
    return None


def _refuse(constant: str) -> None:
    raise json_text.NotJSON(constant)


# Only whether it is JSON is asked: NaN is not, raw control characters will be mended, and no number is worth computing.
_decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse, strict=False)

_FITS: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    ("null", lambda text: "null" if text in ("null", "None") else None),
    ("integer", _integer),
    ("number", lambda text: text if _NUMBER.fullmatch(text) else None),
    ("boolean", lambda text: text.lower() if text.lower() in ("true", "false") else None),
    ("object", lambda text: _nested(text, dict) if text.startswith("{") else None),
    ("array", lambda text: _nested(text, (list, tuple)) if text.startswith(("[", "(")) else None),
)
