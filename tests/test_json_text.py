"""JSON text: what is written can be read line by line, whatever a client takes for the end of a line."""

import json

import pytest

from toolmend import json_text

TEXTS = ["plain", 'a "b" \\ \n', "é 🌤", "a\u2028b\u2029c\u0085d", "\ud83d", "\x0b\x0c\x1c\x1d\x1e"]


@pytest.mark.parametrize("text", TEXTS)
def test_strings_are_one_line(text: str) -> None:
    for written in (json_text.quote(text), json_text.dumps(text)):
        assert json.loads(written) == text
        assert written.splitlines() == [written]


def test_characters_stay_as_they_are() -> None:
    assert json_text.quote("é 🌤 ｜") == json_text.dumps("é 🌤 ｜") == '"é 🌤 ｜"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "b": [2]}', '{"a": 1, "b": 0}'), ('{"b": 1, "b": 2}', '{"b": 0, "b": 2}'), (" { } ", ' { "b":0} '), ('{"a":{"b":1}}', '{"a":{"b":1},"b":0}'),
        ('{"\\u0062" : 1}', '{"\\u0062" : 0}'),
    ],
)  # fmt: skip
def test_a_member_is_replaced_or_added(text: str, expected: str) -> None:
    assert json_text.replace_member(text, "b", "0") == expected


@pytest.mark.parametrize("text", ["", "[1]", "{", "{1: 2}", '{"a" 1}', '{"a": 1 "c": 2}', '{"a": 1', '{"a": }', '{"a": ' + "[" * 100_000])
def test_of_what_is_no_object_nothing_is_replaced(text: str) -> None:
    with pytest.raises(json_text.NotJSON):
        json_text.replace_member(text, "b", "0")
