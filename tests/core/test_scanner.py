"""scanner.py: what a reading returns does not depend on where the text is cut."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.readings import read
from toolmend.core.scanner import Reading, Scanner

WORD = re.compile(r"[a-z]*")
TAGS = ("<a>", "<a>>", "<ab")

READINGS: dict[str, tuple[str, Callable[[Scanner], Reading[Any]], Any, str]] = {
    "the next character": ("ab", Scanner.peek, "a", "ab"),
    "no character": ("", Scanner.peek, "", ""),
    "blanks": (" \t\r\n x", Scanner.blanks, None, "x"),
    "only blanks": ("  ", Scanner.blanks, None, ""),
    "no blanks": ("x ", Scanner.blanks, None, "x "),
    "the longest literal": ("<a>>x", lambda scanner: scanner.literal(TAGS), "<a>>", "x"),
    "a shorter literal": ("<a>x", lambda scanner: scanner.literal(TAGS), "<a>", "x"),
    "a literal at the end": ("<a>", lambda scanner: scanner.literal(TAGS), "<a>", ""),
    "a beginning of literals": ("<a", lambda scanner: scanner.literal(TAGS), None, "<a"),
    "another character": ("x<a>", lambda scanner: scanner.literal(TAGS), None, "x<a>"),
    "a literal that stays": ("<ab<", lambda scanner: scanner.ahead(TAGS), "<ab", "<ab<"),
    "no literal that stays": ("<b", lambda scanner: scanner.ahead(TAGS), None, "<b"),
    "a run": ("abc1", lambda scanner: scanner.run(WORD, 3), "abc", "1"),
    "a run to the end": ("abc", lambda scanner: scanner.run(WORD, 3), "abc", ""),
    "an empty run": ("1abc", lambda scanner: scanner.run(WORD, 3), "", "1abc"),
    "a run over its limit": ("abcd1", lambda scanner: scanner.run(WORD, 3), None, "1"),
}


@pytest.mark.parametrize("name", READINGS)
def test_cuts_change_nothing(name: str) -> None:
    text, start, value, rest = READINGS[name]
    for pieces in ([text], [*text], *([text[:at], text[at:]] for at in range(1, len(text)))):
        got, left = read(pieces, start)
        assert got == value, pieces
        assert name == "a run over its limit" or left == rest, pieces


def test_undecided_text_is_kept() -> None:
    scanner = Scanner()
    scanner.feed("abcd")
    scanner.start, scanner.pos = 2, 3
    scanner.feed("ef")
    assert (scanner.text, scanner.start, scanner.pos) == ("cdef", 0, 1)
    assert scanner.text[scanner.pos] == "d"
    assert scanner.place == 3


def test_end_is_abnormal_until_known() -> None:
    assert (Scanner().ended, Scanner().broken) == (False, True)
