"""lenient_json.py: which objects are repaired, to what, and which are left alone."""

import json

import pytest

from toolmend.core.lenient_json import closers, repaired

REPAIRED = {
    "right JSON": ('{"a": 1}', '{"a": 1}'),
    "an unquoted name": ("{a: 1}", '{"a": 1}'),
    "a name with a hyphen": ("{a-b: 1}", '{"a-b": 1}'),
    "single quotes": ("{'a': 'b'}", '{"a": "b"}'),
    "a double quote in single quotes": ("""{'a': 'say "b"'}""", r'{"a": "say \"b\""}'),
    "an apostrophe": ("{'a': 'it's'}", '{"a": "it\'s"}'),
    "an escaped apostrophe": (r"{'a': 'it\'s'}", '{"a": "it\'s"}'),
    "words of Python": ('{"a": True, "b": False, "c": None}', '{"a": true, "b": false, "c": null}'),
    "a name that is such a word": ("{True: 1}", '{"True": 1}'),
    "a comma too many": ('{"a": [1, 2,],}', '{"a": [1, 2]}'),
    "a comma too few": ('{"a": 1 "b": 2}', '{"a": 1 ,"b": 2}'),
    "a comma too few after a string": ('{"a": "1" "b": 2}', '{"a": "1" ,"b": 2}'),
    "a line comment": ('{"a": 1 // one\n}', '{"a": 1 \n}'),
    "a block comment": ('{/* x */"a": 1}', '{"a": 1}'),
    "a comment of a shell": ('{"a": 1 # one\n}', '{"a": 1 \n}'),
    "a tuple": ('{"a": (1, 2)}', '{"a": [1, 2]}'),
    "brackets around a number": ('{"a": (1)}', None),
    "an open list": ('{"a": [1}', '{"a": [1]}'),
    "an open object": ('{"a": {"b": 1}', '{"a": {"b": 1}}'),
    "a bracket too many": ('{"a": 1]}', '{"a": 1}'),
    "a line end in a string": ('{"a": "x\ny"}', r'{"a": "x\ny"}'),
    "an escape that is none": (r'{"a": "\d"}', r'{"a": "\\d"}'),
    "text after it": ('{"a": 1} done', '{"a": 1}'),
    "the same object twice": ('{"a": 1}{"a": 1}', '{"a": 1}'),
    "two objects": ('{"a": 1}{"b": 1}', None),
    "a string that goes on after it": ('{"a": 1}, "b"', None),
    "an unknown word": ('{"a": yes}', None),
    "a function call": ('{"a": f(1)}', None),
    "a list": ("[1]", None),
    "nothing": ("", None),
    "a sign of no language": ('{"a": @}', None),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_repaired(name: str) -> None:
    text, out = REPAIRED[name]
    assert repaired(text) == out
    if out:
        json.loads(out)
        assert repaired(out) == out


def test_a_rest_follows_what_was_sent() -> None:
    assert repaired(" 'x',}", before='{"a":') == ' "x"}'


@pytest.mark.parametrize(("text", "ended", "out"), [('{"a": 1', True, '{"a": 1}'), ('{"a": 1', False, None), ('{"a": 1,', True, '{"a": 1}')])
def test_only_an_ended_text_is_closed(text: str, ended: bool, out: str | None) -> None:
    assert repaired(text, ended=ended) == out


@pytest.mark.parametrize(
    ("text", "lacks"),
    [('{"a": [1', "]}"), ('{"a": {', "}}"), ('{"a": 1,', "}"), ('{"a": 1}', ""), ('{"a": "x', ""), ("{a: 1", ""), ("x", "")],
)
def test_closers(text: str, lacks: str) -> None:
    assert closers(text) == lacks
