"""text_state.py: what a state calls safe changes nothing of what a parser would do, in whatever spelling JSON has it."""

import json
import re

import pytest

from toolmend.core.text_state import ANYTHING, HALF, IN_LEAKED_STRING, IN_STRING, TextState, cut_off, escaped, without

WITHOUT = without(("<tool", "<|x"), frozenset(), re.compile(r"<(?:t(?:o(?:o(?:l)?)?)?)?\Z|<tool|<\|x|<\|?\Z").search)
WORDS = without(("call",), frozenset(("call",)), re.compile(r"\bcall").search)
LINES = without(("#",), frozenset(), re.compile(r"^#", re.MULTILINE).search, lines=frozenset("#"))
QUOTED = escaped("'", lambda text: text)

SAFE = [
    (ANYTHING, "any <tool", True),
    (ANYTHING, 'with "quotes" and \n lines', True),
    (WITHOUT, "plain text", True),
    (WITHOUT, "a < b", True),
    (WITHOUT, "日本", True),
    (WITHOUT, "<tool", False),
    (WITHOUT, "ends in <", False),
    (WITHOUT, "<|x", False),
    (WORDS, "recall is one word", True),
    (WORDS, "to call it", False),
    (LINES, "issue #5", True),
    (LINES, "# a title", False),
    (LINES, "text\n# a title", False),
    (IN_STRING, "inside", True),
    (IN_STRING, '"', False),
    (IN_STRING, "a\nb", False),
    (IN_STRING, r"a\nb", True),
    (IN_STRING, r"a\qb", False),
    (IN_LEAKED_STRING, "inside", True),
    (IN_LEAKED_STRING, "a\nb", True),
    (IN_LEAKED_STRING, '"', False),
    (QUOTED, "inside", True),
    (QUOTED, 'a "double" quote', True),
    (QUOTED, "a 'single' quote", False),
    (QUOTED, r"\x41", False),
]


@pytest.mark.parametrize(("state", "text", "safe"), SAFE)
def test_safe(state: TextState, text: str, safe: bool) -> None:
    for spelling in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        assert state.is_safe_after([], spelling[1:-1].encode()) == safe, spelling


@pytest.mark.parametrize(("state", "text", "safe"), SAFE)
def test_what_is_safe_is_no_stop(state: TextState, text: str, safe: bool) -> None:
    if safe:
        found = state.find_stop(text)
        assert not found or found.start() == found.end() == len(text)


def test_an_escaped_literal_is_not_safe() -> None:
    r"""`\u003c` is `<`."""
    assert not WITHOUT.is_safe_after([], rb"\u003ctool")
    assert not WITHOUT.is_safe_after([], rb"half of a pair \ud83d")
    assert WITHOUT.is_safe_after([], rb"\u65e5\u672c")


@pytest.mark.parametrize(
    ("run", "half"),
    [([], b""), ([b"a"], b""), ([HALF], HALF), ([b"a" + HALF], HALF), ([HALF, HALF], b""), ([b"a", HALF, HALF, HALF], HALF), ([HALF, b"n"], b"")],
)
def test_a_run_may_end_in_an_escape(run: list[bytes], half: bytes) -> None:
    assert cut_off(run) == half


def test_a_cut_escape_is_read_with_what_follows() -> None:
    assert IN_STRING.is_safe_after([HALF], b"n")
    assert not IN_STRING.is_safe_after([HALF], b"q")
    assert IN_STRING.is_safe_after([], b"q")


def test_what_may_go_on_after_the_piece() -> None:
    text = "text <"
    found = WITHOUT.find_stop(text)
    assert found
    assert WITHOUT.pending_at(text, found) == len(text) - 1
    found = WITHOUT.find_stop("a <tool")
    assert found
    assert WITHOUT.pending_at("a <tool", found) == -1
