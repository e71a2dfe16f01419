"""quoted.py: strings in quotes become JSON strings, wherever they are cut."""

import json

import pytest

from tests.support.readings import read
from toolmend.core.scanner import Scanner
from toolmend.dialects.engine.quoted import PYTHON_QUOTES, read_string


def quoted(text: str, opener: str, *, escapes: bool, size: int) -> tuple[str, bool, str]:
    """The JSON text, whether the string has its end, and the rest."""
    out: list[str] = []
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    ended, rest = read(pieces, lambda scanner: read_string(scanner, opener, out.append, escapes=escapes))
    return "".join(out), ended, rest


STRINGS = [
    ("'", True, "abc' rest", "abc"),
    ("'", True, "it's fine' rest", "it's fine"),
    ("'", True, r"it\'s' rest", "it's"),
    ("'", True, 'say "x"\' rest', 'say "x"'),
    ('"', True, r'a\nb\t\\" rest', "a\nb\t\\"),
    ('"', True, r'\u00e9\x41\101" rest', "éAA"),
    ('r"', True, r'\d+\." rest', r"\d+\."),
    ("'''", True, "two\nlines and 'one''' rest", "two\nlines and 'one"),
    ('"""', True, 'two\nlines, "one""" rest', 'two\nlines, "one'),
    ('<|"|>', False, 'C:\\new "x"<|"|> rest', 'C:\\new "x"'),
    ('<|"|>', False, 'a <|"x<|"|> rest', 'a <|"x'),
    ("'", True, "' rest", ""),
]


@pytest.mark.parametrize(("opener", "escapes", "text", "value"), STRINGS)
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_a_string(opener: str, escapes: bool, text: str, value: str, size: int) -> None:
    made, ended, rest = quoted(text, opener, escapes=escapes, size=size)
    assert ended
    assert (json.loads(made), rest) == (value, " rest")


@pytest.mark.parametrize("text", ["abc", "a\\", "a\\u00", "it's"])
@pytest.mark.parametrize("size", [1, 100])
def test_a_string_that_is_cut_off(text: str, size: int) -> None:
    made, ended, rest = quoted(text, "'", escapes=True, size=size)
    assert not ended
    assert made.startswith('"')
    assert rest in ("", "\\", "\\u00")


def test_text_goes_out_as_it_arrives() -> None:
    scanner, out = Scanner(), list[str]()
    reading = read_string(scanner, "'", out.append, escapes=True)
    next(reading)
    scanner.feed("abc")
    next(reading)
    assert "".join(out) == '"abc'
    assert scanner.text_state is not None
    assert scanner.text_state.is_safe_after([], b"more")
    assert not scanner.text_state.is_safe_after([], b"it's")


def test_quotes_of_python() -> None:
    assert len(PYTHON_QUOTES) == 20
    assert PYTHON_QUOTES.index('"""') < PYTHON_QUOTES.index('"')
