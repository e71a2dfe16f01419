"""Converts text between tags to the JSON value that the parameter's schema expects.

    limit: {"type": "integer"}   `<parameter=limit>20</parameter>`   →   20

1. The types are those of docs/dev/dialect-rules.md. Text that fits no allowed type stays a string.
2. Text that already is JSON is not serialised again.
3. No schema and no text raises, or costs more than its length.
"""

import ast
import json
import re
import warnings
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from . import json_text
from .json_access import as_list
from .schemas import target_of

MAX_LITERAL = 65_536
"""Characters of a Python literal: its syntax tree takes a microsecond and hundreds of bytes for each."""

_NONE = type(None)
_KIND = {_NONE: "null", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array", str: "string"}
_NAMES: Mapping[str, str] = {
    **{name: name for name in _KIND.values()},
    **dict.fromkeys(("int", "long"), "integer"),
    **dict.fromkeys(("float", "double", "num"), "number"),
    "bool": "boolean",
    "dict": "object",
    "list": "array",
    "str": "string",
}
"""The types of JSON schemas, and what tools written in other languages call them."""



def types_of(schema: Any, root: Any) -> frozenset[str]:
    """Returns the names of the JSON types that a parameter's schema allows; empty if it does not restrict them.

    `root` is the schema of all the tool's parameters, in which `$ref` is resolved.
    """
    return frozenset().union(*map(_own_types, _parts(schema, root)))


def properties_of(schema: Any, root: Any) -> Mapping[str, Any]:
    """Returns the members that a parameter's schema declares."""
    found: dict[str, Any] = {}
    for part in _parts(schema, root):
        properties = part.get("properties")
        found = {**properties, **found} if isinstance(properties, Mapping) else found
    return found


def items_of(schema: Any, root: Any) -> Any:
    """Returns the schema of an array's items that a parameter's schema declares, or None."""
    return next((part["items"] for part in _parts(schema, root) if "items" in part), None)


def is_string(schema: Any, root: Any) -> bool:
    """Whether only a string is allowed; the value can then be emitted before its end."""
    return types_of(schema, root) == {"string"}


def to_json(text: str, types: AbstractSet[str]) -> str:
    """Returns the JSON text of a value, of the first type in `_FITS` that is allowed and fits; otherwise it is a string."""
    value = text.strip(" \t\r\n")
    for name, fit in _FITS:
        if name in types and (fitting := fit(value)) is not None:
            return fitting
    return json_text.quote(text)


def json_or_text(text: str) -> str:
    """Returns a value that the markup declares as JSON; if it is not JSON, the raw text as a string."""
    try:
        json_text.loads(text.encode())
    except ValueError:
        return json_text.quote(text)
    return text.strip(" \t\r\n")


def _parts(schema: Any, root: Any) -> list[Mapping[Any, Any]]:
    """Returns a schema, and those that it references or combines."""
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
            pending += as_list(node.get(key))
    return list(found.values())


def _own_types(node: Mapping[Any, Any]) -> set[str]:
    """Returns the types of a schema itself, without its references."""
    declared = node.get("type")
    names = (name.lower() for name in (declared, *as_list(declared)) if isinstance(name, str))
    types = {_NAMES[name] for name in names if name in _NAMES}
    if not types:
        values = [*as_list(node.get("enum")), *([node["const"]] if "const" in node else [])]
        types = {_KIND[type(value)] for value in values if type(value) in _KIND}
    if not types:
        types = {name for key, name in (("properties", "object"), ("items", "array")) if key in node}
    return types | {"null"} if node.get("nullable") is True else types


# Possessive, so that a value that almost fits is not backtracked. JSON has no leading zeros.
_INTEGER = re.compile(r"(-?)(?=[0-9])0*+([0-9]*+)(?:\.0++)?")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_RAW = re.compile(r"[\x00-\x1f\ud800-\udfff]")
_IN_QUOTES = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


def _integer(text: str) -> str | None:
    match = _INTEGER.fullmatch(text)
    return f"{match[1]}{match[2] or 0}" if match else None


def _nested(text: str, kind: type | tuple[type, ...]) -> str | None:
    """Returns an object or array: JSON with raw control characters escaped, or a Python literal of that `kind`."""
    try:
        _decoder.decode(text)
    except (ValueError, RecursionError):
        return _literal(text, kind) if len(text) <= MAX_LITERAL else None
    if not _RAW.search(text):
        return text
    return _IN_QUOTES.sub(lambda string: _RAW.sub(lambda raw: json_text.inside(raw[0]), string[0]), text)


def object_of(text: str) -> str | None:
    """Returns the JSON text of an object that is JSON, or a Python dict of up to MAX_LITERAL characters; None otherwise."""
    return _nested(text, dict)


def _literal(text: str, kind: type | tuple[type, ...]) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a "\d" in the model's text must not warn the operator
            value = ast.literal_eval(text)
        if isinstance(value, kind):
            json.dumps(value, allow_nan=False)  # 1e999 is not JSON
            return json_text.dumps(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):  # MemoryError: the parser's stack is full
        pass
    return None


def _refuse(constant: str) -> None:
    raise json_text.NotJSON(constant)


# Only validates: NaN is refused, raw control characters are escaped later, and numbers are not converted.
_decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse, strict=False)

_FITS: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    ("null", lambda text: "null" if text in ("null", "None") else None),
    ("integer", _integer),
    ("number", lambda text: text if _NUMBER.fullmatch(text) else None),
    ("boolean", lambda text: text.lower() if text.lower() in ("true", "false") else None),
    ("object", lambda text: _nested(text, dict) if text.startswith("{") else None),
    ("array", lambda text: _nested(text, (list, tuple)) if text.startswith(("[", "(")) else None),
)
