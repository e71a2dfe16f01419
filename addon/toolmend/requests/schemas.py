"""JSON schemas, as upstreams take them.

Rule of this file: only what is no more than a hint goes (`$schema`, the `format` of a string that is not known), and what
is added says nothing new (`properties: {}`). A parameter that is called `format` is a parameter.
"""

from collections.abc import Mapping
from typing import Any

from .fields import Object, tell

_OF_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_OF_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties")


def cleaned(schema: Object | None, formats: frozenset[str], notes: list[str]) -> dict[str, Any]:
    """The schema of a tool's parameters: that of an object in any case."""
    return of_object(_cleaned(schema or {}, formats, notes))


def of_object(schema: Object) -> dict[str, Any]:
    """The schema as that of an object that tells its properties: OpenAI refuses any other for a tool."""
    given = schema if "type" in schema else {"type": "object", "properties": {}, **schema}
    return {**given, "properties": given.get("properties", {})} if given["type"] == "object" else dict(given)


def _cleaned(node: Any, formats: frozenset[str], notes: list[str]) -> Any:
    if not isinstance(node, Mapping):
        return node
    clean: dict[str, Any] = {}
    for key, value in node.items():
        if key == "$schema":
            continue
        if key == "format" and isinstance(value, str) and value not in formats:
            tell(notes, f"`format: {value}` of a schema is left out: upstreams refuse formats they do not know")
            continue
        if key in _OF_ONE:
            clean[key] = _cleaned(value, formats, notes)
        elif key in _OF_MANY and isinstance(value, list):
            clean[key] = [_cleaned(inner, formats, notes) for inner in value]
        elif key in _BY_NAME and isinstance(value, Mapping):
            clean[key] = {name: _cleaned(inner, formats, notes) for name, inner in value.items()}
        else:
            clean[key] = value
    if clean.get("type") == "object":
        clean.setdefault("properties", {})
    return clean


def is_strict(node: Any) -> bool:
    """Whether OpenAI's strict mode takes a schema: each object has no other members than these, and requires them all."""
    if not isinstance(node, Mapping):
        return True
    if node.get("type") == "object" or "properties" in node:
        properties, required = node.get("properties"), node.get("required")
        if node.get("additionalProperties") is not False or not isinstance(properties, Mapping):
            return False
        if not isinstance(required, list) or not all(name in required for name in properties):
            return False
    inner = [node.get(key) for key in _OF_ONE]
    for key in _OF_MANY:
        inner += node[key] if isinstance(node.get(key), list) else []
    for key in _BY_NAME:
        inner += node[key].values() if isinstance(node.get(key), Mapping) else []
    return all(map(is_strict, inner))
