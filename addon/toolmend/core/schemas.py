"""What a JSON Schema allows: the kinds of a value, the schemas of its members and items, and whether a value fits.

    {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}
        kinds       {"array", "null"}
        item(0)     {"type": "integer"}

A place in a schema has alternatives (`anyOf`, `oneOf`), each a tuple of schemas that all apply (`$ref`, `allOf`, itself).

1. An unsupported keyword allows anything: the value then has more than one reading and is not changed.
2. Nothing raises, and nothing costs more than the length of schema and value. Regular expressions of a schema are not run.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard
from urllib.parse import unquote

from .json_access import as_list

KINDS = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})

MOST_ALTERNATIVES = 64
"""Alternatives of one place: generated schemas have a dozen. A place with more allows anything."""

MOST_REFERENCES = 64
"""Length of a chain of references; a longer one is a cycle."""

_WIDER = {"number": {"number", "integer"}}
_TEXT_RULES = ("enum", "const", "pattern", "format", "maxLength", "contentEncoding", "contentMediaType")
_OPEN = ("patternProperties", "unevaluatedProperties", "propertyNames", "dependentSchemas", "$dynamicRef", "$recursiveRef")

type _Rules = tuple[Mapping[str, Any], ...]


class Schema:
    """One place of a tool's parameters."""

    __slots__ = ("_alternatives", "_inner", "_items", "_members", "_root", "kinds")

    def __init__(self, root: Any, schemas: Iterable[Any] | None = None) -> None:
        """`schemas`: one of them applies. None: the place is the root itself."""
        self._root = root
        self._inner: dict[tuple[int, ...], Schema] = {}
        found = [rules for schema in ((root,) if schemas is None else schemas) for rules in _alternatives(schema, root)]
        self._alternatives: list[_Rules] = found if len(found) <= MOST_ALTERNATIVES else [()]
        self._members: dict[str, Schema | None] = {}
        self._items: dict[int, Schema | None] = {}
        self.kinds = frozenset().union(*map(_kinds, self._alternatives))

    @property
    def takes_any_text(self) -> bool:
        """Whether only a string (or null) is allowed, and no rule restricts the string."""
        if self.kinds - {"null"} != {"string"}:
            return False
        texts = (rules for rules in self._alternatives if "string" in _kinds(rules))
        free = (rules for rules in texts if not any(name in rule for rule in rules for name in _TEXT_RULES))
        return any(_least(rules) <= len("{}") for rules in free)

    @property
    def closed(self) -> bool:
        """Whether the place is an object that declares its members and accepts no others."""
        objects = self._of("object")
        declare = all(any(isinstance(rule.get("properties"), Mapping) for rule in rules) for rules in objects)
        return bool(objects) and declare and not any(map(_is_open, objects))

    @property
    def names(self) -> frozenset[str]:
        """The names of the declared members."""
        found = (rule.get("properties") for rules in self._of("object") for rule in rules)
        return frozenset(name for properties in found if isinstance(properties, Mapping) for name in properties)

    @property
    def required(self) -> frozenset[str]:
        """The names of the members that every alternative requires."""
        each = [{name for rule in rules for name in as_list(rule.get("required"))} for rules in self._of("object")]
        return frozenset(set.intersection(*each)) if each else frozenset()

    def member(self, name: str) -> "Schema | None":
        """Returns the schema of a member; None if anything is allowed."""
        if name not in self._members:
            self._members[name] = self._joined([_member(rules, name) for rules in self._of("object")])
        return self._members[name]

    def item(self, index: int) -> "Schema | None":
        """Returns the schema of an item; None if anything is allowed."""
        longest = max((len(as_list(rule.get("prefixItems"))) for rules in self._alternatives for rule in rules), default=0)
        index = min(index, longest)
        if index not in self._items:
            self._items[index] = self._joined([_item(rules, index) for rules in self._of("array")])
        return self._items[index]

    def fits(self, value: Any) -> bool:
        """Whether a value is valid by the supported keywords."""
        try:
            return any(self._follows(rules, value) for rules in self._alternatives)
        except RecursionError:
            return False

    def _of(self, kind: str) -> list[_Rules]:
        return [rules for rules in self._alternatives if kind in _kinds(rules)]

    def _joined(self, found: list[_Rules | bool | None]) -> "Schema | None":
        """Returns the place for the schemas found in each alternative. In these, None allows anything, False allows nothing."""
        schemas = [rules for rules in found if rules is not False]
        if not schemas or None in schemas:
            return None
        return Schema(self._root, [{"allOf": list(rules)} for rules in schemas if isinstance(rules, tuple)])

    def _follows(self, rules: _Rules, value: Any) -> bool:
        return _kind(value) in _kinds(rules) and all(self._keeps(rule, value) for rule in rules)

    def _keeps(self, rule: Mapping[str, Any], value: Any) -> bool:
        """Whether a value satisfies one schema, apart from the schemas that it combines."""
        if "enum" in rule and not any(_same(value, allowed) for allowed in as_list(rule["enum"])):
            return value is None and rule.get("nullable") is True
        if "const" in rule and not _same(value, rule["const"]):
            return False
        if "not" in rule and self._at((rule["not"],)).fits(value):
            return False
        match value:
            case bool() | None:
                return True
            case str():
                return _within(len(value), rule, "minLength", "maxLength")
            case int() | float():
                return _within(value, rule, "minimum", "maximum") and _is_inside(value, rule)
            case list():
                return _within(len(value), rule, "minItems", "maxItems") and self._items_fit(rule, value)
            case dict():
                return _within(len(value), rule, "minProperties", "maxProperties") and self._members_fit(rule, value)
            case _:
                return False

    def _items_fit(self, rule: Mapping[str, Any], value: list[Any]) -> bool:
        for index, item in enumerate(value):
            rules = _item((rule,), index)
            if rules is False or (isinstance(rules, tuple) and not self._at(rules).fits(item)):
                return False
        return not (rule.get("uniqueItems") is True and any(_same(a, b) for n, a in enumerate(value[:64]) for b in value[:n]))

    def _members_fit(self, rule: Mapping[str, Any], value: dict[str, Any]) -> bool:
        if not all(name in value for name in as_list(rule.get("required")) if isinstance(name, str)):
            return False
        for name, inner in value.items():
            rules = _member((rule,), name)
            if rules is False or (isinstance(rules, tuple) and not self._at(rules).fits(inner)):
                return False
        return True

    def _at(self, rules: _Rules) -> "Schema":
        """Returns the place where all of these apply; created once."""
        key = tuple(map(id, rules))
        if key not in self._inner:
            self._inner[key] = Schema(self._root, [{"allOf": list(rules)}])
        return self._inner[key]


def _alternatives(schema: Any, root: Any, depth: int = 0) -> list[_Rules]:
    """Returns the alternatives of a schema; `()` allows anything."""
    if schema is False:
        return []
    if not isinstance(schema, Mapping) or depth > MOST_REFERENCES:
        return [()]
    found: list[_Rules] = [(schema,)]
    if isinstance(ref := schema.get("$ref"), str):
        found = _product(found, _alternatives(target_of(ref, root), root, depth + 1))
    for key in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(key), list):
            found = _product(found, [rules for branch in branches for rules in _alternatives(branch, root, depth + 1)])
    for part in as_list(schema.get("allOf")):
        found = _product(found, _alternatives(part, root, depth + 1))
    return found


def _product(some: list[_Rules], others: list[_Rules]) -> list[_Rules]:
    if len(some) * len(others) > MOST_ALTERNATIVES:
        return [()]
    return [a + b for a in some for b in others]


def _kinds(rules: _Rules) -> frozenset[str]:
    """Returns the kinds of values that are allowed where all of these apply."""
    kinds = KINDS
    for rule in rules:
        declared = rule.get("type")
        names = {name.lower() for name in (declared, *as_list(declared)) if isinstance(name, str)}
        if names and names <= KINDS:
            kinds &= frozenset().union(*(_WIDER.get(name, {name}) for name in names)) | (
                {"null"} if rule.get("nullable") is True else set()
            )
        values = [*as_list(rule.get("enum")), *([rule["const"]] if "const" in rule else [])]
        if values:
            listed = {_kind(value) for value in values} | ({"null"} if rule.get("nullable") is True else set())
            kinds &= frozenset().union(*(_WIDER.get(name, {name}) for name in listed))
    return kinds


def _member(rules: _Rules, name: str) -> _Rules | bool | None:
    """Returns the schemas of a member where all of these apply. None: anything is allowed; False: the member is forbidden."""
    found: list[Mapping[str, Any]] = []
    closed = False
    for rule in rules:
        properties = rule.get("properties")
        more = rule.get("additionalProperties")
        if isinstance(properties, Mapping) and name in properties:
            if isinstance(properties[name], Mapping):
                found.append(properties[name])
        elif any(key in rule for key in _OPEN):
            return None
        elif isinstance(more, Mapping) and more:
            found.append(more)
        elif more is False:
            closed = True
    return tuple(found) if found else False if closed else None


def _item(rules: _Rules, index: int) -> _Rules | bool | None:
    """Returns the schemas of an item, likewise."""
    found: list[Mapping[str, Any]] = []
    for rule in rules:
        listed = rule["items"] if isinstance(rule.get("items"), list) else rule.get("prefixItems")
        rest = rule.get("additionalItems") if isinstance(rule.get("items"), list) else rule.get("items")
        schema = listed[index] if isinstance(listed, list) and index < len(listed) else rest
        if schema is False:
            return False
        if isinstance(schema, Mapping):
            found.append(schema)
    return tuple(found) or None


def _is_open(rules: _Rules) -> bool:
    """Whether undeclared members are accepted."""
    more = [rule["additionalProperties"] for rule in rules if "additionalProperties" in rule]
    return any(each is True or isinstance(each, Mapping) for each in more) or any(key in rule for rule in rules for key in _OPEN)


def target_of(ref: str, root: Any) -> Any:
    """Resolves a JSON pointer in a URI fragment (`#/$defs/X`, RFC 6901); None if it does not exist in `root`."""
    start, *parts = ref.split("/")
    node = root if start == "#" else None
    for part in parts:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, list) and re.fullmatch("[0-9]{1,9}", key) and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal in JSON: true is not 1."""
    return _kind(a) == _kind(b) and bool(a == b)


def _within(size: float, rule: Mapping[str, Any], least: str, most: str) -> bool:
    low, high = rule.get(least), rule.get(most)
    return not (_is_number(low) and size < low) and not (_is_number(high) and size > high)


def _is_inside(value: float, rule: Mapping[str, Any]) -> bool:
    """Whether a number satisfies the exclusive bounds and `multipleOf`."""
    low, high, step = rule.get("exclusiveMinimum"), rule.get("exclusiveMaximum"), rule.get("multipleOf")
    low, high = (rule.get("minimum") if low is True else low), (rule.get("maximum") if high is True else high)  # draft 4
    if (_is_number(low) and value <= low) or (_is_number(high) and value >= high):
        return False
    return not (_is_number(step) and step > 0) or abs(value / step - round(value / step)) < 1e-9


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _least(rules: _Rules) -> float:
    return max((rule["minLength"] for rule in rules if _is_number(rule.get("minLength"))), default=0)
