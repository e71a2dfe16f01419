"""message.json: what it says of a body, and how much of one it reads."""

import io
from typing import Any

import pytest

from tests.patterns import recorded_patterns
from tests.support.streams import body_of, chunk, event, stream
from toolmend.apis import APIS
from toolmend.core.tools import OF
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.read import message_json
from toolmend.recordings.read.message_json import message_of
from toolmend.requests import Translated

NOTHING: dict[str, Any] = {
    "text": "",
    "reasoning": "",
    "refusal": "",
    "tool_calls": [],
    "finish_reason": None,
    "stop_sequence": None,
    "usage": None,
    "error": None,
    "ended": False,
}
USAGE = {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 0, "cache_write_tokens": 0, "reasoning_tokens": 0}
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": '{"zone": "日本"}'}}
CALL_TOLD = {"index": 0, "id": "call_1", "type": "function", "name": "get_time", "arguments": '{"zone": "日本"}', "complete": True}

BODIES: dict[str, tuple[bytes, dict[str, Any] | None]] = {
    "a stream": (
        stream([{"reasoning_content": "hm"}, "Hi ", "you", {"tool_calls": [CALL]}], finish="tool_calls"),
        {**NOTHING, "text": "Hi you", "reasoning": "hm", "tool_calls": [CALL_TOLD], "finish_reason": "tool_calls", "usage": USAGE, "ended": True},
    ),
    "an error": (
        event({"error": {"message": "busy", "type": "overloaded", "code": 529}}),
        {**NOTHING, "error": {"type": "overloaded", "message": "busy", "status": 529}},
    ),
    "two choices": (
        event(chunk({"content": "a"}, "stop")) + event(chunk({"content": "b"}, "length", 1)),
        {**NOTHING, "text": "a", "finish_reason": "stop", "choices": [{**NOTHING, "text": "b", "finish_reason": "length"}]},
    ),
    "nothing": (b"", None),
    "nothing that is understood": (b"data: x\n\n", None),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_streams(name: str) -> None:
    body, told = BODIES[name]
    assert message_of("chat", io.BytesIO(body), stream=True) == told


def test_a_whole_body() -> None:
    body = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}'
    assert message_of("chat", io.BytesIO(body), stream=False) == {**NOTHING, "text": "Hi", "finish_reason": "stop"}


@pytest.mark.parametrize("api", [api for api, row in APIS.items() if row.writer])
@pytest.mark.parametrize("name", recorded_patterns())
def test_it_says_what_the_client_got(name: str, api: str) -> None:
    """Of every dialect that is mended, in every API."""
    pattern = recorded_patterns()[name]
    translated = Translated(pattern.request, OF["chat"](pattern.request))
    pipeline = Pipeline({}, target=api, translated=translated)
    told = message_of(api, io.BytesIO(pipeline.feed(body_of(pattern)) + pipeline.close()), stream=True)
    assert told
    assert [(call["name"], call["arguments"]) for call in told["tool_calls"]] == [call[1:] for call in pattern.calls]
    assert (told["text"], told["reasoning"]) == (pattern.content, pattern.reasoning)
    assert told["ended"]


def test_what_is_not_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_json, "BLOCK", 16)
    parts = [event(chunk({"content": "a"})), event(chunk({"content": "b"}))]
    size = len(parts[0]) // 16 * 16 + 16  # the first event and a little more
    monkeypatch.setattr(message_json, "MAX_READ", size)
    body = b"".join(parts)
    assert message_of("chat", io.BytesIO(body), stream=True) == {**NOTHING, "text": "a", "unread_bytes": len(body) - size}
    assert message_of("chat", io.BytesIO(body[:size]), stream=True) == {**NOTHING, "text": "a"}
    whole = b'{"choices": [{"message": {"content": "' + b"x" * 1000 + b'"}}]}'
    assert message_of("chat", io.BytesIO(whole), stream=False) == {**NOTHING, "unread_bytes": len(whole) - size}


def test_what_is_not_kept_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_json, "MAX_KEPT", 9)
    body = stream(["I will ", "look.", "Now"])
    told = {**NOTHING, "text": "I will ", "finish_reason": "stop", "usage": USAGE, "ended": True, "omitted_characters": 8}
    assert message_of("chat", io.BytesIO(body), stream=True) == told
