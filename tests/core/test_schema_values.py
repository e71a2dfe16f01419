"""schema_values.py: the typing rule as tables, what it must hold for all text, and hostile schemas and texts."""

import json
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmend.core.schema_values import MAX_LITERAL, is_string, json_or_text, to_json, types_of

NAMES = ["null", "integer", "number", "boolean", "object", "array", "string"]
ANY = frozenset(NAMES)

ROOT: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "array"}]}},
    "$defs": {
        "Limit": {"type": "integer"},
        "a/b ~c": {"type": "boolean"},
        "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"$ref": "#/$defs/Pool"}, {"type": "number"}]},
        "Pool": {"$ref": "#/$defs/Loop", "type": "null"},
        "Self": {"$ref": "#/$defs/Self"},
    },
    "definitions": {"Colour": {"enum": ["red", "green"]}},
}

SCHEMAS: list[tuple[Any, str]] = [
    ({"type": "string"}, "string"),
    ({"type": "STRING"}, "string"),
    ({"type": "float"}, "number"),
    ({"type": ["int", "bool"]}, "integer boolean"),
    ({"type": "dict"}, "object"),
    ({"type": ["string", "null"]}, "string null"),
    ({"type": ["string", 3, None, {}, "any"]}, "string"),
    ({"type": "string", "nullable": True}, "string null"),
    ({"type": "string", "nullable": "yes"}, "string"),
    ({"anyOf": [{"type": "integer"}, {"oneOf": [{"type": "null"}]}]}, "integer null"),
    ({"allOf": [{"type": "object"}, {"description": "x"}]}, "object"),
    ({"anyOf": [{"type": "string"}], "type": "number"}, "string number"),
    ({"enum": ["a", 1, 1.5, None, True, {}, []]}, " ".join(NAMES)),
    ({"enum": [True, False]}, "boolean"),
    ({"enum": [1, 2], "type": "string"}, "string"),
    ({"const": None}, "null"),
    ({"const": 3}, "integer"),
    ({"properties": {}}, "object"),
    ({"items": {"type": "string"}}, "array"),
    ({"$ref": "#/$defs/Limit"}, "integer"),
    ({"$ref": "#/definitions/Colour"}, "string"),
    ({"$ref": "#/definitions/Colour", "nullable": True}, "string null"),
    ({"$ref": "#/$defs/a~1b%20~0c"}, "boolean"),
    ({"$ref": "#/properties/a/anyOf/1"}, "array"),
    ({"$ref": "#"}, "object"),
    ({"$ref": "#/$defs/Loop"}, "number null"),
    ({"$ref": "#/$defs/Self"}, ""),
    ({"$ref": "#/properties/a/anyOf/2"}, ""),
    ({"$ref": "#/properties/a/anyOf/-1"}, ""),
    ({"$ref": "#/properties/a/anyOf/" + "9" * 5000}, ""),
    ({"$ref": "#/$defs/Limit/type/x"}, ""),
    ({"$ref": "#/$defs/Missing"}, ""),
    ({"$ref": "#Limit"}, ""),
    ({"$ref": "https://example.com/schema"}, ""),
    ({"$ref": ["#"]}, ""),
    ({"description": "anything"}, ""),
    ({"type": "any", "anyOf": {"type": "null"}, "enum": "abc", "oneOf": [1, None, "string"]}, ""),
    ({}, ""),
    (True, ""),
    (None, ""),
    ("string", ""),
    ([{"type": "string"}], ""),
]


def ids(table: list[Any], column: int) -> list[str]:
    return [f"{n} {str(row[column])[:30]!r}" for n, row in enumerate(table)]


@pytest.mark.parametrize(("schema", "types"), SCHEMAS, ids=ids(SCHEMAS, 0))
def test_types(schema: Any, types: str) -> None:
    assert types_of(schema, ROOT) == set(types.split())
    assert is_string(schema, ROOT) == (types == "string")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from([*NAMES, "#", "#/a", "#/a/0"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["$ref", "anyOf", "allOf", "oneOf", "type", "enum", "const", "nullable", "a", "0"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(JUNK, JUNK)
def test_any_schema_gives_types(schema: Any, root: Any) -> None:
    assert types_of(schema, root) <= ANY


def test_hostile_schemas() -> None:
    deep: Any = {"type": "null"}
    for _ in range(100_000):
        deep = {"anyOf": [deep]}
    assert types_of(deep, {}) == {"null"}
    every = {str(n): {"anyOf": [{"$ref": f"#/{m}"} for m in range(200)], "type": "number"} for n in range(200)}
    assert types_of(every["0"], every) == {"number"}
    assert types_of({"$ref": "#" + "/a" * 500_000}, ROOT) == set()


TEXTS = ["", "a", " a\n", "123", "true", "null", "None", '{"a": 1}', "[1]", '"a"', "a\\n", "\x00\x1f", "日本 😀"]
NO_INTEGERS = ["3.5", "3.", "+3", "-", "", "1e3", "1_000", "0x10", "3 4", "0b1", "3.0.0", "true"]
NO_NUMBERS = ["NaN", "Infinity", "-Infinity", "inf", "007", ".5", "5.", "1e", "+1", "1,5"]
NO_LITERALS = [
    *("(1)", "{1, 2}", "[{1}]", "{'a': b'x'}", "['a', 1e999]", "[...]", "{(1, 2): 3}", "{[]: 1}", "{'a': f()}"),
    *("[x for x in y]", "[1j]", "{'a': 1}, {'b': 2}", "{'a': true}", "[0x" + "f" * 9000 + "]", "['a\0']"),
    *("1, 2", "{", "[", "("),
]

VALUES: list[tuple[str, str, str]] = [  # types allowed, text, JSON text
    # only a string, or nothing known: the raw text
    *(("string", text, json.dumps(text, ensure_ascii=False)) for text in TEXTS),
    *(("", text, json.dumps(text, ensure_ascii=False)) for text in TEXTS),
    # null: exactly that
    ("null string", "null", "null"),
    ("null string", "\n None\t", "null"),
    ("null string", "NULL", '"NULL"'),
    ("null string", "none", '"none"'),
    ("null string", "", '""'),
    # integer
    ("integer", "20", "20"),
    ("integer", "\n-20\n", "-20"),
    ("integer", "3.0", "3"),
    ("integer", "-3.000", "-3"),
    ("integer", "007", "7"),
    ("integer", "000", "0"),
    ("integer", "-0", "-0"),
    ("integer", "\f20\xa0", '"\\f20\xa0"'),
    ("integer", "٣", '"٣"'),
    ("integer", "9" * 5000, "9" * 5000),
    *(("integer", text, json.dumps(text)) for text in NO_INTEGERS),
    # number: digits as written
    ("number", "1.10", "1.10"),
    ("number", " 1e3 ", "1e3"),
    ("number", "3.0", "3.0"),
    ("number", "-0.5E-7", "-0.5E-7"),
    ("number", "20", "20"),
    *(("number", text, json.dumps(text)) for text in NO_NUMBERS),
    ("integer number", "3.0", "3"),
    ("integer number", "3.5", "3.5"),
    ("integer string", "42", "42"),
    ("integer string", " 42a ", '" 42a "'),
    # boolean in any case
    ("boolean", "true", "true"),
    ("boolean", "\nTrue ", "true"),
    ("boolean", "FALSE", "false"),
    ("boolean", "yes", '"yes"'),
    ("boolean", "1", '"1"'),
    # objects and arrays: JSON as it stands
    ("object", ' {"a" :1.10, "b":[1e3]}\n', '{"a" :1.10, "b":[1e3]}'),
    ("object", '{"a": ' + "9" * 5000 + "}", '{"a": ' + "9" * 5000 + "}"),
    ("object", '{\n\t"a": "b\n\tc\\n\\"\x01"\n}', '{\n\t"a": "b\\n\\tc\\n\\"\\u0001"\n}'),
    ("object", '{"a": "\ud800"}', '{"a": "\\ud800"}'),
    ("array", '["日本", "\\u65e5"]', '["日本", "\\u65e5"]'),
    ("array", "[]", "[]"),
    ("array", "[1e999]", "[1e999]"),
    ("object array", "[{}]", "[{}]"),
    ("object string", "[1]", '"[1]"'),
    ("array string", '{"a": 1}', '"{\\"a\\": 1}"'),
    ("object", '{"a": NaN}', '"{\\"a\\": NaN}"'),
    ("array", "[1, -Infinity]", '"[1, -Infinity]"'),
    ("object", '{"a": 1', '"{\\"a\\": 1"'),
    ("object", '{"a": 1} x', '"{\\"a\\": 1} x"'),
    # else a Python literal
    ("object", "{'a': True, 'b': None, 'c': 'it\\'s \"x\"'}", '{"a":true,"b":null,"c":"it\'s \\"x\\""}'),
    ("object", '{"a": 1,}', '{"a":1}'),
    ("object", "{1: 'é'}", '{"1":"é"}'),
    ("object", r"{'a': '\d+'}", r'{"a":"\\d+"}'),
    ("array", "['a', (1, 2), []]", '["a",[1,2],[]]'),
    ("array", "(1, 'a')", '[1,"a"]'),
    ("array", "()", "[]"),
    *(("object array", text, json.dumps(text)) for text in NO_LITERALS),
    # the order decides
    ("string null integer number boolean object array", "null", "null"),
    ("string null integer number boolean object array", "1", "1"),
    ("string null integer number boolean object array", "1.5", "1.5"),
    ("string null integer number boolean object array", "True", "true"),
    ("string null integer number boolean object array", "['a']", '["a"]'),
    ("string null integer number boolean object array", " a ", '" a "'),
]


@pytest.mark.parametrize(("types", "text", "expected"), VALUES, ids=ids(VALUES, 1))
def test_values(types: str, text: str, expected: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is told to the operator
        assert to_json(text, frozenset(types.split())) == expected


TYPES = st.frozensets(st.sampled_from(NAMES))
SIGNS = st.sampled_from("{}[]()'\"\\,:. \n\t-+0123eETtrueNnl\ud800")
TEXT = st.text() | st.text(SIGNS) | st.from_regex(r"\A-?[0-9.eE+]*\Z")


@given(TEXT, TYPES)
def test_the_value_is_json_of_a_type_that_is_allowed(text: str, types: frozenset[str]) -> None:
    value = json.loads(to_json(text, types), parse_constant=pytest.fail)
    kinds = types_of({"const": value}, {})
    assert kinds <= types or value == text or (kinds == {"integer"} and "number" in types)


@given(TEXT)
def test_a_string_is_the_text(text: str) -> None:
    assert json.loads(to_json(text, frozenset({"string"}))) == text
    assert json.loads(to_json(text, frozenset())) == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON.filter(lambda value: not isinstance(value, str)), st.booleans(), st.sampled_from([None, 1]))
def test_json_comes_back(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert to_json(f"\n{text}\n", types_of({"const": value}, {}) | {"string"}) == text


@given(JSON.filter(lambda value: isinstance(value, list | dict)))
def test_python_literals_come_back(value: Any) -> None:
    assert json.loads(to_json(repr(value), frozenset({"object", "array"}))) == value


@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=4))
def test_raw_control_characters_are_escaped(texts: list[str]) -> None:
    raw = ", ".join('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts)
    assert json.loads(to_json(f"[\n{raw}\t]", frozenset({"array"}))) == texts


MEGABYTE = 1_000_000
HOSTILE = [
    "[" * 100_000,
    "[" * 100_000 + "]" * 100_000,
    '{"a":' * 100_000 + "1" + "}" * 100_000,
    "[" * 150 + "'a'",
    "[" + "-" * 60_000 + "1]",
    "[" + "1+" * 30_000 + "1]",
    "[" + "f(" * 30_000,
    "[1" + "()" * 30_000 + "]",
    "[" + "not " * 15_000 + "1]",
    "[" + "1," * MEGABYTE + "'a']",
    '["' + '\\"' * MEGABYTE,
    '["' + "\n" * MEGABYTE,
    '[\n"' + '\\"' * MEGABYTE,
    "0" * MEGABYTE + "x",
    "0" * MEGABYTE + ".0x",
    "1." + "0" * MEGABYTE + "x",
    "1e" + "1" * MEGABYTE + "x",
    " " * MEGABYTE + "x",
    "[" + " " * MEGABYTE,
    "[" + "1" * MEGABYTE + "x]",
]


@pytest.mark.parametrize("text", HOSTILE, ids=[f"{n} {text[:9]!r}" for n, text in enumerate(HOSTILE)])
def test_hostile_text_stays_text(text: str) -> None:
    assert to_json(text, ANY) == json.dumps(text, ensure_ascii=False)


def test_large_values_are_read() -> None:
    lines = '["' + 'a\n\\"\t' * 200_000 + '"]'
    assert json.loads(to_json(lines, ANY)) == ['a\n"\t' * 200_000]
    numbers = "[" + "1," * 500_000 + "1]"
    assert to_json(numbers, ANY) == numbers
    literal = "['" + "a" * (MAX_LITERAL - 4) + "']"
    assert len(json.loads(to_json(literal, ANY))) == 1
    assert json.loads(to_json(literal[:-2] + "a']", ANY)) == literal[:-2] + "a']"


@pytest.mark.parametrize(
    ("text", "expected"),
    [(" 20\n", "20"), ('"abc"', '"abc"'), ("[1.10, {}]", "[1.10, {}]"), ("True", '"True"'), ("[a, b", '"[a, b"'), (" x ", '" x "')],
)
def test_json_or_text(text: str, expected: str) -> None:
    assert json_or_text(text) == expected
