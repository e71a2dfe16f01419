"""sse.py: the examples of the standard, every line end, every cut."""

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cuts import everywhere
from toolmend.core.sse import MAX_EVENT, ServerSentEvent, SseDecoder, begins

CASES = {
    "one event": (b"data: a\n\n", [b"a"]),
    "several lines of data": (b"data: YHOO\ndata: +2\ndata: 10\n\n", [b"YHOO\n+2\n10"]),
    "a comment, then data": (b": test stream\n\ndata: first event\nid: 1\n\n", [b"first event"]),
    "one blank behind the colon goes": (b"data:test\n\ndata:  test\n\n", [b"test", b" test"]),
    "no colon": (b"data\n\ndata\ndata\n\n", [b"", b"\n"]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "cr": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "mixed": (b"data: a\n\r\ndata: b\r\n\ndata: c\r\rdata: d\n\rdata: e\n\n", [b"a", b"b", b"c", b"d", b"e"]),
    "bom": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "a second bom is no bom": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a"]),
    "no blank line at the end": (b"data: a\n\ndata: [DONE]", [b"a", b"[DONE]"]),
    "the beginning of a line at the end": (b"data: a\ni", [b"a"]),
    "a short line at the end": (b"data: a\ni\n", [b"a"]),
    "more blank lines": (b"\n\ndata: a\n\n\n\ndata: b\n\n", [b"a", b"b"]),
    "utf-8": ("data: 天气 🌤 \u2028 \x85\n\n".encode(), ["天气 🌤 \u2028 \x85".encode()]),
    "unknown fields": (b"foo: bar\ndata: a\n\n", [b"a"]),
    "cr, then lf, of two events": (b"data: a\r\r\ndata: b\r\r", [b"a", b"b"]),
    "no blank lines": (b'data: {"a":1}\ndata:{"b":2} \r\ndata: {}\rdata: [DONE]\n', [b'{"a":1}', b'{"b":2} ', b"{}", b"[DONE]"]),
    "no blank lines, names": (b"event: a\ndata: {}\nevent: b\nid: 1\ndata: {}\n: c\n\n", [b"{}", b"{}"]),
    "no blank lines, bom": (b"\xef\xbb\xbfdata: {}\ndata: {}\n\xef\xbb\xbfdata: {}\ndata: {}\n\n", [b"{}"] * 3),
    "blank lines here and there": (b"data: {}\ndata: []\n\ndata: {}\n\ndata: {}\ndata: a\ndata: {}\n\n", [b"{}", b"[]", b"{}", b"{}", b"a\n{}"]),
    "no blank line behind what is no object": (b"data: []\ndata: {}\n\n", [b"[]\n{}"]),
    "json in lines": (b'data: {"a":\ndata: {"b":2}\ndata: }\n\n', [b'{"a":\n{"b":2}\n}']),
    "a name behind the data": (b"data: {}\nevent: a\n\ndata: {}\n\n", [b"{}", b"{}"]),
}


def decode(chunks: list[bytes]) -> list[ServerSentEvent]:
    decoder = SseDecoder()
    return [event for data in chunks for event in decoder.feed(data)] + decoder.close()


def told(events: list[ServerSentEvent]) -> list[ServerSentEvent]:
    """Without those that say nothing: how many they are is told by the chunks."""
    return [event for event in events if event != ServerSentEvent(event.raw)]


@pytest.mark.parametrize("name", CASES)
def test_any_cut(name: str) -> None:
    body, expected = CASES[name]
    whole = decode([body])
    assert [event.data for event in whole if event.data is not None] == expected
    for chunks in everywhere(body):
        assert told(decode(chunks)) == told(whole)
        assert b"".join(event.raw for event in decode(chunks)) == body


@pytest.mark.parametrize(("raw", "data", "name"), [
    (b'error: {"code":500}\n\n', b'{"code":500}', b"error"),
    (b'error: {"code":500}\ndata: {}\n\n', b"{}", b""),
    (b"error: none\n\n", None, b""),
])  # fmt: skip
def test_an_error_in_a_field_of_its_own(raw: bytes, data: bytes | None, name: bytes) -> None:
    for chunks in everywhere(raw):
        assert decode(chunks) == [ServerSentEvent(raw, data, name)]


@pytest.mark.parametrize("data", [b"[DONE]", b" [DONE] ", b"[DONE]\t"])
def test_the_end_has_blanks_around_it(data: bytes) -> None:
    assert decode([b"data: " + data + b"\n\n"])[0].ends
    assert not decode([b"data: {}\n\n"])[0].ends


def test_fields() -> None:
    body = b": hello\nevent: delta\nid: 7\nretry: 3000\ndata: {}\n\nretry: soon\nid: a\0b\ndata: {}\n\n"
    first, second = decode([body])
    assert decode([b"data: {}\n\n"]) == [ServerSentEvent(b"data: {}\n\n", b"{}", b"", None, None)]
    assert (first.event, first.id, first.retry, first.data) == (b"delta", b"7", 3000, b"{}")
    assert (second.event, second.id, second.retry) == (b"", None, None)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"data: a\n\n", b"data: b\n\n"),
        (b"data: a\r\n\r\n", b"data: b\r\n\r\n"),
        (b"data: a\r\r", b"data: b\r\r"),
        (b"data:a\n\n", b"data: b\n\n"),
        (b": note\nevent: x\ndata: a\ndata: c\nid: 1\n\n", b": note\nevent: x\ndata: b\nid: 1\n\n"),
        (b"\xef\xbb\xbfdata: a\n\n", b"\xef\xbb\xbfdata: b\n\n"),
        (b"data: a", b"data: b\n\n"),
        (b"error: {}\n\n", b"error: {}\ndata: b\n\n"),
        (b"data\nid: 1\n\n", b"data: b\nid: 1\n\n"),
        (b": note\n\n", b": note\ndata: b\n\n"),
    ],
)
def test_with_data(raw: bytes, expected: bytes) -> None:
    (event,) = decode([raw])
    assert event.with_data(b"b") == expected


@pytest.mark.parametrize(
    ("raw", "lacks"),
    [(b"data: a", b"\n\n"), (b"data: a\n", b"\n"), (b": x\r\ndata: a", b"\r\n\r\n"), (b"data: a\r\n", b"\r\n"), (b"data: a\r", b"\r")],
)
def test_what_it_lacks_to_its_end(raw: bytes, lacks: bytes) -> None:
    (event,) = decode([raw])
    assert event.missing == lacks


def test_with_data_of_several_lines() -> None:
    """A line end that stays in it would end the line of data."""
    (event,) = decode([b'data: {\ndata: "a": 1}\n\n'])
    assert event.data
    assert event.with_data(event.data) == b'data: { "a": 1}\n\n'


def test_with_data_of_several() -> None:
    """Those that were read as one are one then."""
    for newline in (b"\n", b"\r\n"):
        one = newline.join((b"event: a", b"data: x", b"", b""))
        assert ServerSentEvent(one * 3, b"xxx", b"a").with_data(b"y") == one.replace(b"x", b"y")


@pytest.mark.parametrize(("digits", "expected"), [("9" * 18, 10**18 - 1), ("9" * 5000, 10**18 - 1), ("-1", None), ("", None)])
def test_a_time_to_wait(digits: str, expected: int | None) -> None:
    """However long a number is, reading it costs nothing."""
    (event,) = decode([f"retry: {digits}\n\n".encode()])
    assert event.retry == expected


def test_what_was_given_at_the_end_is_given_once() -> None:
    made = SseDecoder()
    assert not made.feed(b"data: a")
    assert made.close()
    assert made.between
    assert made.close() == []


def test_a_chunk_that_is_one_event_is_not_copied() -> None:
    body = b"data: {}\n\n"
    (event,) = SseDecoder().feed(body)
    assert event.raw is body


def test_an_event_without_end_is_not_kept_for_ever() -> None:
    decoder, passed = SseDecoder(), 0
    block = b"data: x\n" * (128 * 1024)
    for _ in range(40):
        passed += sum(len(event.raw) for event in decoder.feed(block))
        assert len(decoder._rest) <= MAX_EVENT
        assert len(decoder._rest) - 3 <= decoder._searched <= len(decoder._rest)  # nothing is looked through twice
    assert 40 * len(block) - passed <= 3
    assert decoder.feed(b"") == []
    tail = decoder.feed(b"\n\ndata: after\n\n")
    assert tail[-1].data == b"after"
    assert [event.data for event in tail[:-1]] == [None] * (len(tail) - 1)


def test_an_event_without_end_is_not_over_where_a_line_is_cut() -> None:
    decoder = SseDecoder()
    decoder.feed(b"data: " + b"x" * MAX_EVENT + b"\r")
    assert [event.data for event in decoder.feed(b"\ndata: still\r\n\r\ndata: after\r\n\r\n")] == [None, b"after"]


ALPHABET = st.sampled_from([b"data: a", b"data: {}", b"data:", b":", b"\n", b"\r", b"\r\n", b"\n\n", b"id: 1", b"\xef\xbb\xbf", b"\xe5\xa4"])


def test_lines_without_end_are_read_as_they_come() -> None:
    """Where no blank line ever comes, nobody waits for it."""
    decoder = SseDecoder()
    line = b'data: {"a":1}\n'
    assert decoder.feed(b": hi\n\n")
    assert not decoder.feed(line)
    for _ in range(3):
        (event,) = decoder.feed(line)
        assert (event.raw, event.data) == (line, b'{"a":1}')
    assert [event.data for event in decoder.close()] == [b'{"a":1}']


@given(st.lists(ALPHABET), st.data())
def test_any_bytes_any_cut(parts: list[bytes], data: st.DataObject) -> None:
    body = b"".join(parts)
    whole = decode([body])
    assert b"".join(event.raw for event in whole) == body
    at = data.draw(st.integers(0, len(body)))
    to = data.draw(st.integers(at, len(body)))
    assert told(decode([body[:at], body[at:to], body[to:]])) == told(whole)


BLOCK = re.compile(rb"\n|\r\n|\r(?=[^\n])|(?s:.+?)(?:\n\n|\n\r\n|\n\r(?=[^\n])|\r\r)|(?s:.+)\Z")


def says(blocks: Iterable[bytes]) -> list[bytes]:
    """Those that are more than blank lines and comments: of these, several may be one."""
    return [block for block in blocks if any(not line.startswith(b":") for line in re.split(rb"[\r\n]+", block) if line)]


@given(st.lists(st.sampled_from([b"data: a", b":", b"x", b"\n", b"\r", b"\r\n", b"\n\n"])), st.integers(0, 9))
def test_each_blank_line_ends_a_block(parts: list[bytes], at: int) -> None:
    """And is one by itself, where none has begun; an event at a time as well."""
    body = b"".join(parts)
    assert says(event.raw for event in decode([body])) == says(BLOCK.findall(body))
    made, begun = SseDecoder(), min(at, len(body))
    events = made.feed(body[:begun])
    while begun < len(body):
        taken, begun = made.take(body, begun)
        events += taken
    assert says(event.raw for event in [*events, *made.close()]) == says(BLOCK.findall(body))


@pytest.mark.parametrize("cut", range(1, 9))
def test_the_end_of_an_event_is_taken_alone(cut: int) -> None:
    made = SseDecoder()
    assert not made.feed(b"data: a\n\n"[:cut])
    taken, end = made.take(b"data: a\n\ndata: b\n\n"[cut:], 0)
    assert [event.data for event in taken] == [b"a"]
    assert end == 9 - cut


@pytest.mark.parametrize("size", [1, 3, 10, 1000])
def test_an_event_at_a_time(size: int) -> None:
    """`take` gives the events that `feed` gives, and says where the next begins."""
    body = b"data: a\n\n: b\r\n\r\nevent: c\ndata: d\n\n\n\ndata: e\r\rdata: f\n\ndata: g"
    whole, made = SseDecoder(), SseDecoder()
    expected = [*whole.feed(body), *whole.close()]
    events = []
    for first in range(0, len(body), size):
        data, at = body[first : first + size], 0
        while at < len(data):
            between = made.between
            taken, end = made.take(data, at)
            assert not between or b"".join(event.raw for event in taken) in (data[at:end], b"")
            assert end > at
            events += taken
            at = end
    assert told([*events, *made.close()]) == told(expected)


@pytest.mark.parametrize("body", [b"\n", b"\r\n", b": a\n\n", b":\r\n\r\n", b"\n: a\n\n\r\n:b\n\n"])
def test_what_says_nothing_is_one(body: bytes) -> None:
    """However often it comes in a chunk: each would be looked at by all that look at events."""
    many = body * 20_000
    made = SseDecoder()
    events = [*made.feed(many + b"data: a\n\n" + many), *made.close()]
    assert events == [ServerSentEvent(many), ServerSentEvent(b"data: a\n\n", b"a"), ServerSentEvent(many)]


def test_within_an_event_that_is_too_long_nothing_begins() -> None:
    made = SseDecoder()
    long = b"data: " + b"x" * MAX_EVENT
    parts = [long + b"\n:a", b"\n:b\ndata: c\n\n", b"data: d\n\n"]
    events = [event for part in parts for event in made.feed(part)]
    assert b"".join(event.raw for event in events) == b"".join(parts)
    assert [event.data for event in events if event.data is not None] == [b"d"]


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: {}", True),
        (b"event:x", True),
        (b": OPENROUTER PROCESSING\n\n", True),
        (b"\xef\xbb\xbf\r\nid: 1", True),
        (b"", False),
        (b'{"data": 1}', False),
        (b'"data: "', False),
        (b"<html>data:", False),
        (b"not found", False),
    ],
)
def test_how_events_begin(body: bytes, events: bool) -> None:
    assert begins(body) is events
