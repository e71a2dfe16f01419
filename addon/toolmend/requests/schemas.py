"""Adapts JSON schemas to what upstreams accept.

    {"oneOf": [{"properties": {"url": …}},          {"type": "object", "properties": {"url": …, "id": …},
               {"properties": {"id": …}}]}     →     "description": "Give one of: url; id"}

1. A removed constraint is written into the description, so that the model still sees it. Mere hints (`$schema`, an unknown
   `format`) are dropped. Additions have no meaning of their own (`properties: {}`).
2. Only keywords are changed, never a parameter that has a keyword's name, such as `format`.

`Quirks.schema_rules` selects the rules of an upstream.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from ..core import json_text
from .fields import Object, add_note, words

if TYPE_CHECKING:
    from .request_limits import Quirks

_OF_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_OF_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties")
_UNIONS = ("oneOf", "anyOf", "allOf")

MAX_DEPTH = 40
"""Depth to which references are followed and schemas are changed."""

MAX_CACHED = 8 * 1024
"""Characters of a schema, at most, whose changed form is cached for the next request."""

MAX_NODES = 4000
"""Nodes of a schema, at most, after references are inlined."""

_TYPES = {
    "str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
    "bool": "boolean", "dict": "object", "map": "object", "list": "array", "tuple": "array",
}  # fmt: skip
"""Type names of programming languages that tools use → type names of JSON Schema."""

OPTIONAL = words(
    "$schema $id $comment $anchor title default examples example deprecated readOnly writeOnly format pattern const minimum "
    "maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems contains "
    "minContains maxContains minProperties maxProperties patternProperties propertyNames prefixItems additionalProperties "
    "additionalItems nullable unevaluatedProperties unevaluatedItems dependentRequired dependentSchemas not if then else "
    "discriminator strict contentEncoding contentMediaType"
)
"""Keywords whose removal only makes a schema more permissive."""

_HINTS = words("$schema $id $comment $anchor title examples example deprecated readOnly writeOnly discriminator strict")

_KNOWN_TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


def cleaned(schema: Object | None, formats: frozenset[str], notes: list[str]) -> dict[str, Any]:
    """The schema of a tool's parameters for Chat Completions: always of an object, without unknown formats."""
    return of_object(_cleaned(schema or {}, formats, notes))


def adapted(schema: Object | None, quirks: "Quirks", notes: list[str], subject: str) -> dict[str, Any]:
    """Returns the schema with the upstream's rules applied.

    Args:
        schema: The schema.
        quirks: `schema_rules` and `schema_lacks` of the upstream.
        notes: Collects what was changed.
        subject: What the schema belongs to, for the notes.
    """
    if not (schema and (quirks.schema_rules or quirks.schema_lacks)):
        return dict(schema or {})
    text = json_text.dumps(schema)
    apply = _apply_rules if len(text) <= MAX_CACHED else _apply_rules.__wrapped__
    changed, applied = apply(text, quirks.schema_rules)
    for name in applied:
        add_note(notes, f"The schema of {subject} is changed: {WHY[name]}")
    return without(dict(changed), quirks.schema_lacks, notes, subject)


def changed(schema: Object, names: Sequence[str]) -> Object:
    """Returns the schema with the named rules applied, and without the keywords that are named as `-KEYWORD`."""
    given: Any = schema
    for name in names:
        if name in RULES:
            given = RULES[name](given)
    lacks = [name[1:] for name in names if name.startswith("-")]
    return without(dict(given), lacks, [], "a tool")


def without(schema: dict[str, Any], keywords: Sequence[str], notes: list[str], subject: str) -> dict[str, Any]:
    """Returns the schema without unknown keywords; the descriptions contain their constraints.

    Args:
        schema: The schema.
        keywords: The keywords to remove; only those in OPTIONAL are removed.
        notes: Collects what was changed.
        subject: What the schema belongs to, for the notes.
    """
    if not keywords:
        return schema
    changed = _everywhere(partial(_without, keywords=frozenset(keywords) & OPTIONAL))(schema)
    if changed != schema:
        add_note(notes, f"The schema of {subject} is changed: this upstream does not know {', '.join(keywords)}")
    return dict(changed)


def _without(node: dict[str, Any], keywords: frozenset[str]) -> Mapping[str, Any]:
    gone = {key: value for key, value in node.items() if key in keywords}
    if not gone:
        return node
    sentences = [f"{key}: {json_text.dumps(value)}" for key, value in gone.items() if key not in _HINTS]
    return _described({key: value for key, value in node.items() if key not in gone}, sentences)


@lru_cache(256)  # an agent sends the same tools with every request
def _apply_rules(text: str, rules: tuple[str, ...]) -> tuple[Object, list[str]]:
    """Applies rules to the schema in a text; returns it with the names of the rules that changed its meaning."""
    schema: Any = json_text.loads(text.encode(errors="surrogatepass"))
    applied: list[str] = []
    for name in rules:
        changed = RULES[name](schema)
        applied += [name] if name in WHY and changed != schema else []
        schema = changed
    return schema, applied


def of_object(schema: Object) -> dict[str, Any]:
    """The schema with `type: object` and `properties`: OpenAI refuses a tool without them."""
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
            add_note(notes, f"`format: {value}` of a schema is left out: upstreams refuse formats they do not know")
            continue
        clean[key] = value
    clean = _inside(clean, lambda inner: _cleaned(inner, formats, notes))
    if clean.get("type") == "object":
        clean.setdefault("properties", {})
    return clean


def _inside(node: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Applies `change` to each direct subschema of a node."""
    changed: dict[str, Any] = {}
    for key, value in node.items():
        if key in _OF_ONE and not isinstance(value, list):
            changed[key] = change(value)
        elif key in (*_OF_ONE, *_OF_MANY) and isinstance(value, list):  # `items` was a list before 2020-12
            changed[key] = [change(inner) for inner in value]
        elif key in _BY_NAME and isinstance(value, Mapping):
            changed[key] = {name: change(inner) for name, inner in value.items()}
        else:
            changed[key] = value
    return changed


def _schemas(node: Any) -> Iterator[Any]:
    """The direct subschemas of a node."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in _OF_ONE and not isinstance(value, list):
                yield value
            elif key in (*_OF_ONE, *_OF_MANY) and isinstance(value, list):
                yield from value
            elif key in _BY_NAME and isinstance(value, Mapping):
                yield from value.values()


def is_strict(node: Any) -> bool:
    """Whether OpenAI's strict mode accepts a schema: each object requires all its properties and allows no others."""
    if not isinstance(node, Mapping):
        return True
    if node.get("type") == "object" or "properties" in node:
        properties, required = node.get("properties"), node.get("required")
        if node.get("additionalProperties") is not False or not isinstance(properties, Mapping):
            return False
        if not isinstance(required, list) or not all(name in required for name in properties):
            return False
    if not _STRICT_LACKS.isdisjoint(node):
        return False
    return all(map(is_strict, _schemas(node)))


_STRICT_LACKS = words(
    "allOf oneOf not if then else patternProperties propertyNames minProperties maxProperties contains minContains maxContains "
    "uniqueItems unevaluatedProperties unevaluatedItems dependentRequired dependentSchemas"
)
"""Keywords that OpenAI's strict mode refuses."""


def is_recursive(schema: Object) -> bool:
    """Whether a local reference is recursive: Anthropic's structured outputs refuse such schemas."""
    try:
        _inlined(schema, schema, [], [MAX_NODES], strict=True)
    except _Recursive:
        return True
    return False


class _Recursive(Exception):
    """A reference is recursive, or the inlined schema exceeds MAX_NODES."""


def _inlined(node: Any, root: Object, on: list[str], left: list[int], *, strict: bool = False) -> Any:
    """The node with local references inlined; a recursive one is removed, so that it accepts any value.

    `on`: the references being inlined; `left`: the nodes still allowed, counted down.
    """
    left[0] -= 1
    if isinstance(node, Mapping) and isinstance(node.get("$ref"), str):
        path = node["$ref"]
        target = _target(root, path)
        if target is None or path in on or left[0] < 0 or len(on) > MAX_DEPTH:
            if strict and target is not None:
                raise _Recursive
            return {key: value for key, value in node.items() if key != "$ref"}
        others = {key: value for key, value in node.items() if key != "$ref"}
        return {**_inlined(target, root, [*on, path], left, strict=strict), **others}
    if not isinstance(node, Mapping):
        return node
    return _inside(
        {key: value for key, value in node.items() if key not in ("$defs", "definitions", "$id", "$schema", "$anchor")},
        lambda inner: _inlined(inner, root, on, left, strict=strict),
    )


def _target(root: Object, path: str) -> Object | None:
    node: Any = root
    if not path.startswith("#"):
        return None
    for name in filter(None, path[1:].split("/")):
        name = name.replace("~1", "/").replace("~0", "~")  # noqa: PLW2901  JSON pointer
        node = node.get(name) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else None


def _references(node: Any) -> bool:
    return isinstance(node, Mapping) and ("$ref" in node or any(map(_references, _schemas(node))))


# the rules


def _without_references(schema: Object) -> Object:
    if not _references(schema) and not {"$id", "$schema", "$anchor"} & schema.keys():
        return schema
    return _inlined(schema, schema, [], [MAX_NODES])  # type: ignore[no-any-return]


def _flat_root(schema: Object) -> Object:
    """Merges the union at the root into one object and describes it; inlines a reference at the root."""
    if isinstance(schema.get("$ref"), str) and (target := _target(schema, schema["$ref"])) is not None and target is not schema:
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    if not any(key in schema for key in (*_UNIONS, "not", "enum", "if")) and schema.get("type", "object") == "object":
        return schema
    kept = {key: value for key, value in schema.items() if key not in (*_UNIONS, "not", "enum", "if", "then", "else", "type")}
    properties = dict(kept.get("properties") or {})
    required = [name for name in kept.get("required") or () if isinstance(name, str)]
    sentences: list[str] = []
    for key in _UNIONS:
        branches = [_resolved(branch, schema) for branch in schema.get(key) or () if isinstance(branch, Mapping)]
        if not branches:
            continue
        for branch in branches:
            given = branch.get("properties") or {}
            properties |= {name: _either(properties.get(name), inner) for name, inner in given.items()}
        needs = [[name for name in branch.get("required") or () if isinstance(name, str)] for branch in branches]
        if key == "allOf":
            required = list(dict.fromkeys([*required, *(name for names in needs for name in names)]))
            continue
        required = list(dict.fromkeys([*required, *(name for name in needs[0] if all(name in names for names in needs))]))
        sentences.append("Give one of: " + "; ".join(map(_branch_words, branches)))
    others = (("not", "Not"), ("enum", "One of"))
    sentences += [f"{word}: {json_text.dumps(schema[key])}" for key, word in others if key in schema]
    flat: dict[str, Any] = {"type": "object", **kept, "properties": properties}
    if required:
        flat["required"] = required
    return _described(flat, sentences)


def _resolved(branch: Mapping[str, Any], root: Object) -> Mapping[str, Any]:
    path = branch.get("$ref")
    return (_target(root, path) or branch) if isinstance(path, str) else branch


def _either(one: Any, other: Any) -> Any:
    """The schema of a property that two branches have: an enum of their `const` values, or `anyOf`."""
    if one is None or one == other:
        return other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        values = [value for schema in (one, other) for value in _values(schema)]
        if values and all(_values(schema) for schema in (one, other)):
            both = {key: value for key, value in {**other, **one}.items() if key not in ("const", "enum")}
            return {**both, "enum": [value for at, value in enumerate(values) if value not in values[:at]]}
    known = one["anyOf"] if isinstance(one, Mapping) and one.keys() == {"anyOf"} else [one]
    return {"anyOf": [*known, other]} if other not in known else one


def _values(schema: Mapping[str, Any]) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    return list(schema["enum"]) if isinstance(schema.get("enum"), list) else []


def _branch_words(branch: Mapping[str, Any]) -> str:
    """The short text for a branch: the properties that it requires, or else has."""
    names = branch.get("required") or list(branch.get("properties") or ())
    values = {name: _values(inner) for name, inner in (branch.get("properties") or {}).items() if isinstance(inner, Mapping)}
    words = [f"{name} = {json_text.dumps(values[name][0])}" if len(values.get(name, ())) == 1 else str(name) for name in names]
    text = ", ".join(words) or "nothing more"
    title = branch.get("title") or branch.get("description")
    return f"{text} ({title})" if isinstance(title, str) and len(title) <= 80 else text


def _described(node: Mapping[str, Any], sentences: Sequence[str]) -> dict[str, Any]:
    given = node.get("description")
    text = ". ".join([*([given.rstrip(".")] if isinstance(given, str) and given else []), *sentences])
    return {**node, "description": text} if sentences else dict(node)


def _everywhere(change: Callable[[dict[str, Any]], Mapping[str, Any]], *, depth: int = 0) -> Callable[[Any], Any]:
    """Makes a rule that applies `change` to each subschema of a schema, the inner ones first."""

    def changed(node: Any, depth: int = depth) -> Any:
        if not isinstance(node, Mapping) or depth > MAX_DEPTH:
            return node
        return change(_inside(node, lambda inner: changed(inner, depth + 1)))

    return changed


def _valid(node: dict[str, Any]) -> Mapping[str, Any]:
    """Corrects what is not valid in draft 2020-12."""
    made: dict[str, Any] = {}
    for key, value in node.items():
        if value is None and key not in ("default", "const", "example"):
            continue
        if key in ("properties", "$defs", "definitions", "patternProperties") and not isinstance(value, Mapping):
            continue  # PHP's empty object is a list
        if key in ("anyOf", "oneOf", "allOf", "enum") and not (isinstance(value, list) and value):
            continue
        made[key] = value
    if "required" in made:
        names = [name for name in made["required"] if isinstance(name, str)] if isinstance(made["required"], list) else []
        made["required"] = list(dict.fromkeys(names))
        if not isinstance(node.get("required"), list):
            del made["required"]
    for key, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(key), bool):  # draft 4
            exclusive = made.pop(key)
            if exclusive and bound in made:
                made[key] = made.pop(bound)
    if isinstance(made.get("items"), list):  # before 2020-12
        tuple_ = made.pop("items")
        made = {**made, "prefixItems": tuple_} if tuple_ else made
    if "type" in made:
        made = _typed(made)
    if isinstance(made.get("pattern"), str) and not _compiles(made["pattern"]):
        made = _described({key: value for key, value in made.items() if key != "pattern"}, [f"Pattern: {made['pattern']}"])
    return made if made != node else node


def _with_items(node: dict[str, Any]) -> Mapping[str, Any]:
    if node.get("type") != "array" or "items" in node or "prefixItems" in node:
        return node
    return {**node, "items": {}}


def _lifted(node: dict[str, Any]) -> Mapping[str, Any]:
    """Moves `required: true` of a property (draft 3) to the object's list."""
    properties = node.get("properties")
    if not isinstance(properties, Mapping):
        return node
    objects = {name: inner for name, inner in properties.items() if isinstance(inner, Mapping)}
    wrong = {name: inner for name, inner in objects.items() if isinstance(inner.get("required"), bool)}
    if not wrong:
        return node
    right = {name: {key: value for key, value in inner.items() if key != "required"} for name, inner in wrong.items()}
    given = node.get("required")
    lifted = [name for name, inner in wrong.items() if inner["required"]]
    required = [*(given if isinstance(given, list) else []), *lifted]
    return {**node, "properties": {**properties, **right}, **({"required": required} if required else {})}


def _typed(made: dict[str, Any]) -> dict[str, Any]:
    given = made["type"]
    words = given if isinstance(given, list) else [given]
    names = [_TYPES.get(str(word).lower(), str(word).lower()) for word in words]
    known = list(dict.fromkeys(name for name in names if name in _KNOWN_TYPES))
    if len(known) < len(set(names)) or not known:
        return {key: value for key, value in made.items() if key != "type"}
    new = known if isinstance(given, list) else known[0]
    return made if new == given else {**made, "type": new}


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _without_const(node: dict[str, Any]) -> Mapping[str, Any]:
    if "const" not in node:
        return node
    return {**{key: value for key, value in node.items() if key != "const"}, "enum": [node["const"]]}


def _typed_branches(node: dict[str, Any]) -> Mapping[str, Any]:
    """Moves `type` into the branches of `anyOf`, where Moonshot requires it."""
    branches = node.get("anyOf")
    if not isinstance(branches, list) or "type" not in node:
        return node
    typed = [{"type": node["type"], **branch} if isinstance(branch, Mapping) else branch for branch in branches]
    return {**{key: value for key, value in node.items() if key != "type"}, "anyOf": typed}


def _without_bare_required(node: dict[str, Any]) -> Mapping[str, Any]:
    """Removes branches with only `required`, which Fireworks refuses."""
    for key in ("anyOf", "oneOf", "allOf"):
        branches = node.get(key)
        if not isinstance(branches, list):
            continue
        kept = [branch for branch in branches if not (isinstance(branch, Mapping) and branch.keys() == {"required"})]
        if len(kept) < len(branches):
            choices = "; ".join(_branch_words(branch) for branch in branches if isinstance(branch, Mapping))
            rest = {name: value for name, value in node.items() if name != key}
            node = _described({**rest, **({key: kept} if kept else {})}, [f"Give one of: {choices}"])
    return node


def _nameable(node: dict[str, Any]) -> Mapping[str, Any]:
    """Removes properties with names that Anthropic refuses."""
    properties = node.get("properties")
    if not isinstance(properties, Mapping) or all(map(_PROPERTY.fullmatch, properties)):
        return node
    kept = {name: inner for name, inner in properties.items() if _PROPERTY.fullmatch(name)}
    made = {**node, "properties": kept}
    if isinstance(node.get("required"), list):
        made["required"] = [name for name in node["required"] if name in kept or name not in properties]
    return made


RULES: Mapping[str, Callable[[Any], Any]] = {
    "valid": lambda schema: _everywhere(_valid)(_everywhere(_lifted)(schema)),
    "items": _everywhere(_with_items),
    "refs": _without_references,
    "root": _flat_root,
    "names": _everywhere(_nameable),
    "const": _everywhere(_without_const),
    "moonshot": _everywhere(_typed_branches),
    "bare_required": _everywhere(_without_bare_required),
}

WHY = {  # without the rules that keep the meaning
    "valid": "upstreams refuse what is not JSON Schema",
    "refs": "this upstream takes no references in it",
    "root": "this upstream takes no union at its root; what it means is in the description",
    "names": "this upstream refuses the names of some properties, which are left out",
    "const": "this upstream does not know `const`",
    "moonshot": "this upstream wants the type inside `anyOf`",
    "bare_required": "this upstream takes no branch of `required` alone",
}

# structured outputs of Anthropic

_FORMAT_LACKS = words(
    "not if then else minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems "
    "contains minContains maxContains prefixItems patternProperties propertyNames minProperties maxProperties dependentRequired "
    "dependentSchemas unevaluatedProperties unevaluatedItems"
)
_FORMATS = words("date-time time date duration email hostname uri ipv4 ipv6 uuid")


def close_objects(schema: Object) -> dict[str, Any]:
    """Returns the schema for Anthropic's structured outputs: each object closed, and without the keywords they refuse."""
    valid = RULES["valid"](schema)
    return _everywhere(_closed)(valid)  # type: ignore[no-any-return]


def _closed(node: dict[str, Any]) -> Mapping[str, Any]:
    gone = {key: value for key, value in node.items() if key in _FORMAT_LACKS}
    if isinstance(node.get("minItems"), int) and node["minItems"] > 1:
        gone["minItems"] = node["minItems"]
    if isinstance(node.get("format"), str) and node["format"] not in _FORMATS:
        gone["format"] = node["format"]
    made = {key: value for key, value in node.items() if key not in gone and key != "$schema"}
    if "oneOf" in made:
        one_of = made.pop("oneOf")
        made["anyOf"] = [*made.get("anyOf", ()), *one_of]
    if made.get("type") == "object" or "properties" in made:
        if made.get("additionalProperties") not in (None, False):
            gone["additionalProperties"] = made["additionalProperties"]
        made["additionalProperties"] = False
    return _described(made, [f"{key}: {json_text.dumps(value)}" for key, value in gone.items()]) if gone else made
