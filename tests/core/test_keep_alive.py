"""keep_alive.py: keep-alives that are data become comments, wherever the stream is cut; all else passes as it came."""

from typing import Any

import pytest

from tests.support.cuts import cuts, everywhere
from tests.support.streams import chunk, event
from tests.support.upstream_answers import APIS, PAIRS, WEATHER, Text, asked, speak
from toolmend.config.settings import Settings
from toolmend.core.keep_alive import MAX_LINE, KeepAlives
from toolmend.pipeline.pipeline import Pipeline

ONE = b"data: : keepalive\n\n"


def repaired(chunks: list[bytes], *, comments: bool = True) -> tuple[bytes, list[str]]:
    rules: list[str] = []
    made = KeepAlives(rules.append, comments=comments)
    return b"".join([*(made.feed(data) for data in chunks), made.close()]), rules


ROWS = {
    "alone": (ONE, b": keepalive\n"),
    "between": (b"data: {}\n\n" + ONE + b"data: {}\n\n", b"data: {}\n\n: keepalive\ndata: {}\n\n"),
    "several": (ONE * 3 + b"data: 1\n\n" + ONE, b": keepalive\n" * 3 + b"data: 1\n\n: keepalive\n"),
    "no blank": (b"data::x\n\n", b":x\n"),
    "many blanks": (b"data: \t  : x : y\n\n", b": x : y\n"),
    "nothing in it": (b"data: :\n\ndata: 1\n\n", b":\ndata: 1\n\n"),
    "CRLF": (b"data: 1\r\n\r\ndata: : x\r\n\r\ndata: 1\r\n\r\n", b"data: 1\r\n\r\n: x\r\ndata: 1\r\n\r\n"),
    "CR": (b"data: 1\r\rdata: : x\r\rdata: 1\r\r", b"data: 1\r\r: x\rdata: 1\r\r"),
    "CR, then LF": (b"data: {}\r\rdata: : x\n\n", b"data: {}\r\r: x\n"),
    "as long as may be": (b"data: :" + b"x" * 256 + b"\n\n", b":" + b"x" * 256 + b"\n"),
    "no data": (b"data:\n\ndata: 1\n\ndata: \t\n\ndata:\n\n", b":\ndata: 1\n\n:\n:\n"),
    "no data, CRLF": (b"data: 1\r\n\r\ndata:\r\n\r\ndata: 1\r\n\r\n", b"data: 1\r\n\r\n:\r\ndata: 1\r\n\r\n"),
    "no data, CR": (b"data: 1\r\rdata: \r\rdata: 1\r\r", b"data: 1\r\r:\rdata: 1\r\r"),
    "no data at the end": (b"data: 1\n\ndata:\n", b"data: 1\n\ndata:\n"),
    "null": (b"data: null\n\ndata: 1\n\ndata:null\r\n\r\n", b":\ndata: 1\n\n:\r\n"),
    "null, CR": (b"data: 1\r\rdata: null\r\rdata: 1\r\r", b"data: 1\r\r:\rdata: 1\r\r"),
    "with a field": (b"data: : x\nid: 1\n\n", b": x\nid: 1\n\n"),
    "at the end": (b"data: 1\n\ndata: : x", b"data: 1\n\ndata: : x"),
    "at the end of a line": (b"data: 1\n\ndata: : x\n", b"data: 1\n\n: x\n"),
}
SAME = {
    "a comment": b": keepalive\n\ndata: 1\n\n",
    "in a text": event({"a": "data: : x", "b": "\n\ndata: : x"}),
    "behind a name": b"event: ping\ndata: : x\n\n",
    "a second line of data": b"data: 1\ndata: : x\n\n",
    "another field": b"datadata: : x\n\nxdata: : y\n\n",
    "no colon": b"data: x : y\n\ndata\n\nd\n\n",
    "no data in a line": b"data:\ndata: 1\n\ndata: 1\ndata:\n\nevent: ping\ndata:\n\ndata:\nid: 1\n\n",
    "what is not null": b"data: nullable\n\ndata: nu\n\ndata: null\ndata: 1\n\ndata: null\nid: 1\n\n",
    "too long": b"data: : " + b"x" * (MAX_LINE + 1) + b"\n\n",
    "too many blanks": b"data: " + b" " * 99 + b": x\n\n",
    "nothing": b"",
    "a little too long": b"data: :" + b"x" * 257 + b"\n\n",
}


@pytest.mark.parametrize("name", [*ROWS, *SAME])
def test_every_cut(name: str) -> None:
    body, expected = ROWS.get(name) or (SAME[name], SAME[name])
    for chunks in everywhere(body):
        out, rules = repaired(chunks)
        assert out == expected
        assert set(rules) == ({"keep_alive"} if out != body else set())


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_what_stands_behind_a_line_is_not_held(newline: bytes) -> None:
    made = KeepAlives(pytest.fail, comments=True)
    cut = b"event: ping" + newline + b"da"
    assert made.feed(cut) is cut


def test_what_was_held_is_given_once() -> None:
    made = KeepAlives(pytest.fail, comments=True)
    assert made.feed(b"data: 1\n\ndata: : x") == b"data: 1\n\n"
    assert (made.close(), made.close()) == (b"data: : x", b"")


def test_behind_what_passed_at_a_glance() -> None:
    assert repaired([b"data: 1\n", b"\ndata: 2\n\n", ONE]) == (b"data: 1\n\ndata: 2\n\n: keepalive\n", ["keep_alive"])


@pytest.mark.parametrize("name", ROWS)
def test_where_comments_are_not_read(name: str) -> None:
    body, expected = ROWS[name]
    without = b"".join(line for line in expected.splitlines(keepends=True) if not line.startswith(b":"))
    for chunks in cuts(body):
        assert repaired(chunks, comments=False)[0] == without


@pytest.mark.parametrize("ping", [ONE, b"data:\n\n"])
@pytest.mark.parametrize("tools", [True, False])
def test_in_a_stream_of_gemini(tools: bool, ping: bytes) -> None:
    said = b'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP","index":0}]}\n\n'
    request = {"tools": [{"functionDeclarations": [{"name": "a"}]}]} if tools else {}
    for chunks in cuts(ping + said + ping):
        made = Pipeline(request, source="gemini", target="gemini")
        assert b"".join([made.feed(data) for data in chunks]) + made.close() == said
        assert made.rules == ["keep_alive"]


@pytest.mark.parametrize("body", SAME.values(), ids=SAME)
def test_the_very_same_object_passes(body: bytes) -> None:
    made = KeepAlives(pytest.fail, comments=True)
    assert made.feed(body) is body
    half = b'data: {"choices": ['
    assert made.feed(half) is half


@pytest.mark.parametrize("name", SAME)
def test_what_is_none_stays_in_a_stream(name: str) -> None:
    said = [event(chunk({"role": "assistant"})), event(chunk({"content": "a <"})), event(chunk({"content": "b>"}))]
    body = b"".join((*said[:2], SAME[name], said[2]))
    for chunks in cuts(body):
        made = Pipeline(asked("chat", *WEATHER))
        assert b"".join([made.feed(data) for data in chunks]) + made.close() == body
        assert (made.rules, made.error) == ([], None)


def lines(text: bytes) -> list[bytes]:
    """The events and comments of a stream."""
    return [line for line in text.splitlines() if line.startswith((b"data", b":"))]


@pytest.mark.parametrize("tools", [WEATHER, ()], ids=["tools", "no tools"])
@pytest.mark.parametrize(("ping", "comment"), [(ONE, b": keepalive\n"), (b"data: null\n\n", b":\n"), (b"data: \n\n", b":\n")])
@pytest.mark.parametrize("api", APIS)
def test_in_a_stream(api: str, ping: bytes, comment: bytes, tools: Any) -> None:
    body = speak(api, [Text("Let me look at it. " * 9)])
    events = [part + b"\n\n" for part in body.split(b"\n\n") if part]
    at = len(events) // 2
    broken = b"".join([ping, *events[:at], ping, *events[at:]])
    for chunks in cuts(broken):
        made = Pipeline(asked(api, *tools), source=api, target=api)
        out = b"".join([made.feed(data) for data in chunks]) + made.close()
        assert lines(out) == lines(b"".join([comment, *events[:at], comment, *events[at:]]))
        assert made.rules == ["keep_alive"]
        assert made.notes == []
        assert made.error is None


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_in_another_api(source: str, target: str) -> None:
    body = speak(source, [Text("Let me look at it.")])
    first, found, rest = body.partition(b"\n\n")
    outs = []
    for ping in (b": keepalive\n\n", ONE, b"data:\n\n"):
        numbers = iter(range(99))
        made = Pipeline(asked(target, *WEATHER), source=source, target=target, new_id=lambda n=numbers: f"call_{next(n)}")
        outs.append(made.feed(first + found + ping + rest) + made.close())
        assert ("keep_alive" in made.rules) is (ping[0] != ord(":"))
        assert made.notes == []
    assert outs[0] == outs[1] == outs[2]


def test_inside_a_call() -> None:
    """It goes ahead of what is held, as a comment does."""
    made = Pipeline(asked("chat", *WEATHER))
    made.feed(event(chunk({"role": "assistant"})) + event(chunk({"content": "<|tool_call_begin|>"})))
    assert made.feed(ONE) == b": keepalive\n"


def test_behind_an_event_that_the_codec_keeps_back() -> None:
    """It went ahead of that one, which is not lost if all has to pass from here on."""
    events = [part + b"\n\n" for part in speak("messages", [Text("Hi")]).split(b"\n\n") if part]
    for at in range(len(events) + 1):
        made = Pipeline(asked("messages", *WEATHER), source="messages", target="messages")
        out = [made.feed(data) for data in (*events[:at], ONE)] + [made.give_up("it is time")]
        assert b"".join((*out, *events[at:])).replace(b": keepalive\n", b"", 1) == b"".join(events)


@pytest.mark.parametrize("settings", [Settings(dialects=())], ids=["no dialects"])
def test_switched_off(settings: Settings) -> None:
    made = Pipeline(asked("chat", *WEATHER), settings=settings)
    assert made.feed(ONE) is ONE


def test_what_is_held_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    body = event(chunk({"role": "assistant"})) + event(chunk({"content": "a"}))
    made = Pipeline(asked("chat", *WEATHER))
    out = made.feed(body + b"data: ")
    monkeypatch.setattr(KeepAlives, "repaired", lambda *_: 1 / 0)
    out += made.feed(b": x") + made.feed(b"\n\n" + body) + made.close()
    assert out == body + ONE.replace(b"keepalive", b"x") + body
    assert made.error
