"""schemas.py: what each rule makes of a schema, and that none fails on what is no schema."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.example_counts import examples
from toolmend.requests.request_limits import RULE_NAMES, Quirks
from toolmend.requests.schemas import RULES, adapted, close_objects, is_recursive, is_strict

TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def an_object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


# rule, the schema, what becomes of it; None: it stays
ROWS: list[tuple[str, Any, Any]] = [
    ("root", an_object("a", a=TEXT), None),
    ("root", {"oneOf": [an_object("url", url=TEXT), an_object("id", id=TEXT)]}, {**an_object(url=TEXT, id=TEXT), "description": "Give one of: url; id"}),
    ("root", {"description": "Goes.", "anyOf": [an_object("a", "b", a=TEXT, b=TEXT), an_object("a", a=NUMBER)]},
     {"type": "object", "description": "Goes. Give one of: a, b; a", "properties": {"a": {"anyOf": [TEXT, NUMBER]}, "b": TEXT}, "required": ["a"]}),
    ("root", {"allOf": [an_object("a", a=TEXT), an_object("b", b=TEXT)]}, an_object("a", "b", a=TEXT, b=TEXT)),
    ("root", {**an_object(a=TEXT, b=TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {**an_object(a=TEXT, b=TEXT), "description": "Give one of: a; b"}),
    ("root", {"oneOf": [an_object("kind", kind={"const": "x"}), an_object("kind", kind={"const": "y"})]},
     {"type": "object", "properties": {"kind": {"enum": ["x", "y"]}}, "required": ["kind"], "description": 'Give one of: kind = "x"; kind = "y"'}),
    ("root", {"$ref": "#/$defs/t", "$defs": {"t": an_object("a", a=TEXT)}}, {**an_object("a", a=TEXT), "$defs": {"t": an_object("a", a=TEXT)}}),
    ("root", {"oneOf": [{"$ref": "#/$defs/t"}], "$defs": {"t": an_object("a", a=TEXT)}},
     {**an_object("a", a=TEXT), "$defs": {"t": an_object("a", a=TEXT)}, "description": "Give one of: a"}),
    ("root", {"type": "object", "properties": {}, "not": {"required": ["a"]}}, {**an_object(), "description": 'Not: {"required":["a"]}'}),
    ("valid", an_object("a", a={**TEXT, "minLength": 1, "default": None}), None),
    ("valid", {"type": "object", "properties": None, "required": None, "description": None}, {"type": "object"}),
    ("valid", {"type": "object", "properties": []}, {"type": "object"}),
    ("valid", an_object(a={**NUMBER, "minimum": 0, "exclusiveMinimum": True}), an_object(a={**NUMBER, "exclusiveMinimum": 0})),
    ("valid", an_object(a={**TEXT, "required": True}, b={**TEXT, "required": False}), an_object("a", a=TEXT, b=TEXT)),
    ("valid", {"type": "array", "items": [TEXT, NUMBER]}, {"type": "array", "prefixItems": [TEXT, NUMBER]}),
    ("valid", an_object(a={"type": "int"}, b={"type": ["str", "null"]}, c={"type": "any"}), an_object(a={"type": "integer"}, b={"type": ["string", "null"]}, c={})),
    ("valid", {**TEXT, "pattern": "(?<x"}, {**TEXT, "description": "Pattern: (?<x"}),
    ("valid", {**TEXT, "enum": []}, TEXT),
    ("valid", an_object(required=TEXT, type=TEXT, properties=TEXT, enum=TEXT), None),  # names of parameters
    ("items", an_object(a={"type": "array"}), an_object(a={"type": "array", "items": {}})),
    ("items", {"type": "array", "prefixItems": [TEXT]}, None),
    ("refs", {**an_object(a={"$ref": "#/$defs/t", "description": "D"}), "$defs": {"t": TEXT}, "$schema": "x"}, an_object(a={**TEXT, "description": "D"})),
    ("refs", {**an_object(a={"$ref": "#/$defs/t"}), "$defs": {"t": an_object(b={"$ref": "#/$defs/t"})}}, an_object(a=an_object(b={}))),
    ("refs", an_object(a={"$ref": "https://e.com/s.json"}), an_object(a={})),
    ("const", an_object(a={"const": 1}), an_object(a={"enum": [1]})),
    ("moonshot", an_object(a={"type": "object", "anyOf": [{"required": ["x"]}]}), an_object(a={"anyOf": [{"type": "object", "required": ["x"]}]})),
    ("moonshot", an_object(a={"anyOf": [TEXT, NUMBER]}), None),
    ("bare_required", an_object(a={"type": "object", "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}), an_object(a={"type": "object", "description": "Give one of: x; y"})),
    ("names", an_object("$top", "a", **{"$top": TEXT, "a": TEXT}), an_object("a", a=TEXT)),
]  # fmt: skip

KEYS = ["type", "properties", "items", "required", "anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "$defs", "pattern", "additionalProperties", "a", "format"]
RUBBISH = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["object", "string", "#", "#/$defs/a", "a", "("]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(KEYS),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)


def test_rules(subtests: pytest.Subtests) -> None:
    for rule, schema, expected in ROWS:
        with subtests.test(rule, schema=json.dumps(schema)[:60]):
            before = json.dumps(schema)
            assert RULES[rule](schema) == (schema if expected is None else expected)
            assert json.dumps(schema) == before


@given(schema=st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "$defs", "$ref", "required", "items"]), RUBBISH))
@examples(1)
def test_nothing_fails_on_rubbish(schema: dict[str, Any]) -> None:
    for rules in (("valid", "items", "root", "names"), ("valid", "refs"), ("valid", "root", "moonshot"), ("valid", "bare_required"), ("valid", "const")):
        once = adapted(schema, Quirks(schema_rules=rules), [], "x")
        json.dumps(once)
    valid = RULES["valid"](schema)
    close_objects(schema)
    assert is_recursive(valid) in (True, False) and is_strict(valid) in (True, False)


def test_rules_that_change_no_meaning_are_not_noted() -> None:
    notes: list[str] = []
    adapted(an_object(a={"type": "array"}), Quirks(schema_rules=RULE_NAMES), notes, "x")
    assert notes == []
    adapted({"oneOf": [TEXT]}, Quirks(schema_rules=RULE_NAMES), notes, "the tool a")
    assert notes == ["The schema of the tool a is changed: this upstream takes no union at its root; what it means is in the description"]


def test_an_answer_is_closed() -> None:
    schema = an_object("a", a={"type": "integer", "minimum": 0}, b={"oneOf": [TEXT, {"type": "null"}]}, c={"type": "object", "additionalProperties": TEXT})
    assert close_objects(schema) == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "minimum: 0"},
            "b": {"anyOf": [TEXT, {"type": "null"}]},
            "c": {"type": "object", "additionalProperties": False, "description": 'additionalProperties: {"type":"string"}'},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "recursive"),
    [
        (an_object(a={"$ref": "#"}), True),
        ({**an_object(a={"$ref": "#/$defs/t"}), "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}, True),
        ({**an_object(a={"$ref": "#/$defs/t"}, b={"$ref": "#/$defs/t"}), "$defs": {"t": TEXT}}, False),
        (an_object(), False),
    ],
)
def test_recursion(schema: dict[str, Any], recursive: bool) -> None:
    assert is_recursive(schema) is recursive


def test_references_do_not_grow_without_end() -> None:
    """Each refers twice to the next: written out, it would be a million."""
    defs = {f"t{n}": an_object(a={"$ref": f"#/$defs/t{n + 1}"}, b={"$ref": f"#/$defs/t{n + 1}"}) for n in range(20)}
    flat = RULES["refs"]({**an_object(a={"$ref": "#/$defs/t0"}), "$defs": {**defs, "t20": TEXT}})
    assert len(json.dumps(flat)) < 1_000_000
