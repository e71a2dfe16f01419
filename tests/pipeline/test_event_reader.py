"""Bytes → events, for those who look on: the same at every cut, and whatever the bytes are."""

import json

import pytest

from tests.support.cuts import cuts
from tests.support.fastpath import FAST
from tests.support.legal_streams import MESSAGES, RESPONSES, sse
from tests.support.streams import chunk, event, stream
from toolmend.apis import APIS
from toolmend.core.events import Event, Finish, MessageEnd, MessageStart, StreamError, TextDelta, ToolCallStart, Usage
from toolmend.core.fold import fold
from toolmend.pipeline.event_reader import EventReader, events_of

CHAT = stream(["Hi ", "日本"])
CHAT_EVENTS = [MessageStart(), TextDelta("Hi "), TextDelta("日本"), Finish("stop"), Usage(10, 5), MessageEnd()]
MASKED = CHAT.replace(b"Hi ", b"***").replace(b"data: [DONE]", b"*" * 12)

STREAMS: dict[str, tuple[str, bytes, list[Event]]] = {
    "chat": ("chat", CHAT, CHAT_EVENTS),
    "no blank line at the end": ("chat", CHAT.rstrip(), CHAT_EVENTS),
    "a masked line": ("chat", MASKED, [MessageStart(), TextDelta("***"), *CHAT_EVENTS[2:-1]]),
    "no JSON": ("chat", b"data: {\n\n: x\n\n" + CHAT, CHAT_EVENTS),
    "an error": ("chat", event({"error": {"message": "busy", "type": "x"}}), [StreamError("x", "busy")]),
    "nothing": ("chat", b"", []),
    "no stream at all": ("chat", b"<html>\n\n</html>", []),
    "another API": ("cohere", CHAT, []),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str) -> None:
    api, body, events = STREAMS[name]
    for chunks in cuts(body):
        assert list(events_of(api, chunks, stream=True)) == events


WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (json.dumps(WHOLE).encode(), [MessageStart(), TextDelta("Hi"), Finish("stop")]),
        (b'{"error": {"message": "busy", "type": "x"}}', [StreamError("x", "busy")]),
        (b"<html>", []),
        (b"[1]", []),
        (b"", []),
    ],
)
def test_whole_bodies(body: bytes, events: list[Event]) -> None:
    for chunks in cuts(body):
        assert list(events_of("chat", chunks, stream=False)) == events


@pytest.mark.parametrize("api", ["messages", "responses"])
def test_other_apis(api: str) -> None:
    body = sse({"messages": MESSAGES, "responses": RESPONSES}[api]["all"])
    expected = list(events_of(api, [body], stream=True))
    message = fold(expected)
    assert (message.reasoning, message.text) == ("Hm", "Let me.")
    assert (message.calls[0].name, message.calls[0].arguments, message.calls[0].complete) == ("f", '{"a":1}', True)
    assert message.finish == Finish("tool_calls")
    assert message.ended
    for chunks in cuts(body):
        assert list(events_of(api, chunks, stream=True)) == expected


@pytest.mark.parametrize("api", APIS)
def test_every_api(api: str) -> None:
    """What is none of its own is nothing, and no error."""
    for body in (CHAT, sse(MESSAGES["all"]), sse(RESPONSES["all"]), b"data: []\n\ndata: {}\n\ndata: 1\n\n"):
        assert fold(events_of(api, [body], stream=True)).text in ("", "Hi 日本", "Let me.")
    for whole in (b"", b"{}", b"[]", b'"x"', b"{", json.dumps(WHOLE).encode()):
        assert fold(events_of(api, [whole], stream=False)).text in ("", "Hi")


@pytest.mark.parametrize("text", ['{"a": "b c"}', "no JSON {", '{"a": 1} more', '"\\"\\u00e9 \ud83c', "日本\n"])
@pytest.mark.parametrize("kind", ["content", "reasoning_content", "arguments"])
def test_a_run_of_deltas_is_told_as_one(kind: str, text: str) -> None:
    """And what it says, and when a call is complete, is what they say one by one."""
    opens = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}]}
    deltas = [{kind: char} if kind != "arguments" else {"tool_calls": [{"index": 0, "function": {kind: char}}]} for char in text * 9]
    odd = [{"content": None}, {}, {"content": "and"}]
    told = [opens] * (kind == "arguments") + [each for at, delta in enumerate(deltas) for each in (delta, *odd[: at % 31 == 0 and 3])]
    parts = [*(event(chunk(delta)) for delta in told), event(chunk({}, "stop")), b"data: [DONE]\n\n"]
    one_by_one, at_once = (list(events_of("chat", chunks, stream=True)) for chunks in (parts, [b"".join(parts)]))
    assert fold(at_once) == fold(one_by_one)
    assert len(at_once) < len(one_by_one) or kind == "arguments" or not FAST  # of arguments, only strings pass in runs


def test_ids_that_must_be_made_are_the_same_each_time() -> None:
    calls = [{"tool_calls": [{"index": n, "type": "function", "function": {"name": "f", "arguments": "{}"}}]} for n in range(2)]
    body = b"".join(event(chunk(delta)) for delta in calls) + event(chunk({}, "tool_calls"))
    events = list(events_of("chat", [body], stream=True))
    assert events == list(events_of("chat", [body], stream=True))
    ids = [event.id for event in events if isinstance(event, ToolCallStart)]
    assert len(set(ids)) == 2


def test_a_stream_that_is_left_tells_no_more() -> None:
    stream = EventReader("chat")
    assert stream.feed(CHAT) == CHAT_EVENTS
    assert stream.close() == []
