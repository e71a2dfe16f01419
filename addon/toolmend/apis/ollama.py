"""Ollama's own API ⇄ neutral events: streams of lines (NDJSON), and whole answers.

    {"model":"qwen3","created_at":"…","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}
    {"model":"qwen3","created_at":"…","message":{"role":"assistant","content":"",
     "tool_calls":[{"function":{"name":"read","arguments":{"path":"a"}}}]},"done":false}
    {"model":"qwen3","created_at":"…","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",
     "total_duration":1,"prompt_eval_count":26,"eval_count":9}
    {"error":"model not found"}

/api/generate has `response` and `thinking` instead of the message. A call is whole, its arguments an object; `done_reason` is
stop with calls, too.

Rule of this file: what is not understood stays, and everything that nobody changed. Source: ollama/docs/api.md.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from .. import json_text
from ..events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    ReasoningDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from ..sse import ServerSentEvent
from .call_identity import bare, object_of
from .codec import Reply
from .counts import count
from .ollama_write import Builder


class Ollama:
    """The codec of one response."""

    def __init__(self, reply: Reply) -> None:
        self._tools, self._fired = reply.tools, reply.fired
        self._calls = 0
        self._builder = Builder()
        self._last: ServerSentEvent | None = None
        self._regular = True

    def decode(self, sse: ServerSentEvent) -> Frame:
        """One line → its frame. Raises json_text.NotJSON where it is no JSON."""
        if not sse.data:
            return Frame(sse)
        chunk = json_text.loads(sse.data)
        if not isinstance(chunk, dict):
            return Frame(sse)
        self._regular = True
        events = tuple(self._decode(chunk))
        if "error" not in chunk:
            self._last = sse
        return Frame(sse, events, touched=not self._regular)

    def decode_message(self, body: bytes) -> Frame:
        """A whole answer → one frame, whose data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        self._regular = True
        events = tuple(self._decode(message))
        return Frame(ServerSentEvent(body, body), events, touched=not self._regular)

    def close(self) -> Frame:
        """Nothing: the last line says that it is the last."""
        return Frame(None)

    def encode(self, frame: Frame) -> bytes:
        """A frame → the bytes for the client; none where nothing is left of it."""
        sse = frame.sse
        if sse is None:
            return self._more(frame.events)
        if not frame.touched:
            return sse.raw
        assert sse.data is not None
        data = self._builder.chunk(sse.data, frame.events)
        return sse.with_data(data) if data else b""

    def held(self) -> bytes:
        """Calls that were broken off, as text."""
        return self._more(())

    def encode_message(self, frame: Frame) -> bytes:
        """A frame that `decode_message` made → the body."""
        assert frame.sse is not None
        if not frame.touched:
            return frame.sse.raw
        return self._builder.chunk(frame.sse.raw, frame.events, whole=True)

    def _more(self, events: tuple[Event, ...]) -> bytes:
        """Events for which the upstream has no line."""
        if self._last is None or not self._last.data:
            return b""
        data = self._builder.more(self._last.data, events)
        return self._last.with_data(data) if data else b""

    def _decode(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        message = chunk.get("message")
        said = message if isinstance(message, dict) else chunk
        if isinstance(text := said.get("thinking"), str) and text:
            yield ReasoningDelta(text)
        if isinstance(text := said.get("response" if said is chunk else "content"), str) and text:
            yield TextDelta(text)
        entries = said.get("tool_calls")
        if isinstance(entries, dict):
            entries = [entries]
            self._mended("tool_calls")
        for entry in entries if isinstance(entries, list) else ():
            function = entry.get("function") if isinstance(entry, dict) else None
            if isinstance(function, dict) and isinstance(function.get("name"), str):
                yield from self._call(entry, function)
        if error := chunk.get("error"):
            yield StreamError("error", error if isinstance(error, str) else json_text.dumps(error))
        if chunk.get("done") is True:
            yield from self._done(chunk)

    def _call(self, entry: Mapping[str, Any], function: Mapping[str, Any]) -> Iterator[Event]:
        """A call of the upstream's own."""
        said, arguments = function["name"], function.get("arguments")
        name = bare(said, self._tools)
        if name != said:
            self._mended("tool_call_name")
        if isinstance(arguments, str):
            if (value := object_of(arguments)) is not None:
                arguments = value
                self._mended("arguments")
        elif arguments is None:
            self._mended("arguments")  # clients go through them
        index, self._calls = self._calls, self._calls + 1
        id_ = entry.get("id")
        yield ToolCallStart(index, id_ if isinstance(id_, str) else "", name, extra={"entry": entry})
        yield ToolCallDelta(index, arguments if isinstance(arguments, str) else json_text.dumps(arguments or {}))
        yield ToolCallEnd(index)

    def _done(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        reason = chunk.get("done_reason")
        reason = reason if isinstance(reason, str) and reason else "stop"
        yield Finish("tool_calls" if reason == "stop" and self._calls else reason)
        if "eval_count" in chunk or "prompt_eval_count" in chunk:
            yield Usage(count(chunk.get("prompt_eval_count")), count(chunk.get("eval_count")))
        yield MessageEnd()

    def _mended(self, rule: str) -> None:
        self._fired(rule)
        self._regular = False
