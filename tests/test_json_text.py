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
