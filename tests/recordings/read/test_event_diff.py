"""The difference of two bodies, event by event."""

import pytest

from tests.support.streams import event
from toolmend.recordings.read.event_diff import MAX_EVENTS, WIDTH, diff


def body(*texts: str) -> bytes:
    return b"".join(event(text) for text in texts)


@pytest.mark.parametrize(
    ("expected", "got", "lines"),
    [
        (body("a", "b"), body("a", "b"), []),
        (b"", b"", []),
        (body("a", "b", "c"), body("a", "x", "c"), ["  1 event alike", "- 2  data: b", "+ 2  data: x", "  1 event alike"]),
        (body("a"), body("a", "b"), ["  1 event alike", "+ 2  data: b"]),
        (body("a", "b", "c"), body("a", "c"), ["  1 event alike", "- 2  data: b", "  1 event alike"]),
        (body("a", "b"), b"", ["- 1  data: a", "- 2  data: b"]),
        (b"data: a\r\n\r\n", b"data: a\n\n", ["- 1  data: a", "+ 1  data: a"]),
        (b'{"a": 1}', b'{"a": 2}', ['- 1  {"a": 1}', '+ 1  {"a": 2}']),
        (body("\x1b[2J"), body("\u2028"), ["- 1  data: \\x1b[2J", "+ 1  data: \\u2028"]),
        (b"\xff\n\n", b"\xfe\n\n", ["- 1  \\xff", "+ 1  \\xfe"]),
    ],
)
def test_lines(expected: bytes, got: bytes, lines: list[str]) -> None:
    assert diff(expected, got) == lines


def test_a_long_event_is_told_around_its_difference() -> None:
    old, new = diff(body("a" * 5000 + "b" * 5000), body("a" * 5000 + "c" * 5000))
    assert old.startswith("- 1  … aaa")
    assert old.endswith("bbb …")
    assert "ac" in new
    assert len(new) < WIDTH + 20


def test_it_is_bounded() -> None:
    before = body(*map(str, range(2000)))
    after = body(*(f"x{n}" for n in range(3000)))
    lines = diff(before, after)
    assert len(lines) == 41
    assert lines[-1] == f"  … and {2 * MAX_EVENTS - 40 + 1} more lines"
    assert diff(before, after, lines=10_000)[-1] == f"  … and {3000 - MAX_EVENTS} events more, which are not compared"
