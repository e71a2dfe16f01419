"""Ollama's own API ⇄ neutral events: streams of lines (NDJSON), and whole answers.

    {"model":"qwen3","created_at":"…","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}
    {"model":"qwen3","created_at":"…","message":{"role":"assistant","content":"",
     "tool_calls":[{"function":{"name":"read","arguments":{"path":"a"}}}]},"done":false}
    {"model":"qwen3","created_at":"…","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",
     "total_duration":1,"prompt_eval_count":26,"eval_count":9}
    {"error":"model not found"}

/api/generate has `response` and `thinking` instead of the message. A call is whole, its arguments an object; `done_reason` is
"stop" with calls, too. What is not decoded stays. Source: ollama/docs/api.md.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...core import json_text
from ...core.events import (
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
from ...core.ndjson import IrregularLine, is_plain, is_without_data
from ...core.sse import ServerSentEvent
from ..codec import Reply
from ..shared.call_identity import INNER, entries_of, inner_of, offered_name, parse_object
from ..shared.counts import count
from ..shared.error_words import message_of_error
from ..shared.named_arguments import named_arguments
from .rewrite import OllamaRewriter


class Ollama:
    """Decodes and encodes one response."""

    def __init__(self, reply: Reply) -> None:
        self._tools, self._fired = reply.tools, reply.fired
        self._calls = 0
        self._chat = False  # its lines have a message
        self._rewriter = OllamaRewriter()
        self._last: ServerSentEvent | None = None
        self._regular = True

    def decode(self, sse: ServerSentEvent) -> Frame:
        """Returns the frame of one line. Raises json_text.NotJSON."""
        if sse.data is None:
            return Frame(sse)
        if is_without_data(sse.data):
            self._fired("event_form")
            return Frame(IrregularLine(sse.raw, b"", events=()), touched=True)
        chunk = json_text.loads(sse.data)
        if not isinstance(chunk, dict):
            return Frame(sse)
        self._regular = True
        events = tuple(self._decode(chunk))
        decoded = events if self._regular else None
        data = self._corrected(sse.data, chunk)
        if isinstance(sse, IrregularLine) or not is_plain(sse):
            self._mended("event_form")
        if not self._regular:
            sse = IrregularLine(sse.raw, data, events=decoded)
        if not chunk.get("error"):
            self._last = sse
        return Frame(sse, events, touched=not self._regular)

    def decode_message(self, body: bytes) -> Frame:
        """Returns one frame for a whole answer; its data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        self._regular = True
        events = tuple(self._decode(message))
        decoded = events if self._regular else None
        return Frame(IrregularLine(body, self._corrected(body, message), events=decoded), events, touched=not self._regular)

    def close(self) -> Frame:
        """Returns an empty frame: the last line ends the answer."""
        return Frame(None)

    def encode(self, frame: Frame) -> bytes:
        """Returns the bytes of a frame; b"" if nothing is left of it."""
        sse, events = frame.sse, frame.events
        if sse is None:
            return self._extra_line(events)
        # clients stop reading at an error
        before = self.held() if any(isinstance(event, StreamError) for event in events) else b""
        if not self._rewriter.calls.broken_by(events):
            if not frame.touched:
                return before + sse.raw
            if isinstance(sse, IrregularLine) and sse.events == events:
                return before + sse.plain
        assert sse.data is not None
        data = self._rewriter.chunk(sse.data, events)
        return before + (sse.with_data(data) if data else b"")

    def held(self) -> bytes:
        """Returns broken calls, as text."""
        return self._extra_line(())

    def encode_message(self, frame: Frame) -> bytes:
        """Returns the body for a touched frame of `decode_message`."""
        sse, events = frame.sse, frame.events
        assert isinstance(sse, IrregularLine)
        assert sse.data
        return sse.data if sse.events == events else self._rewriter.chunk(sse.data, (*events, Finish("")), whole=True)

    def _extra_line(self, events: tuple[Event, ...]) -> bytes:
        """Writes events that the upstream has no line for."""
        if self._last is None or not self._last.data:
            return b""
        data = self._rewriter.extra_line(self._last.data, events)
        return self._last.with_data(data) if data else b""

    def _decode(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        message = chunk.get("message")
        body = message if isinstance(message, dict) else chunk
        if isinstance(text := body.get("thinking"), str) and text:
            yield ReasoningDelta(text)
        if isinstance(text := body.get("response" if body is chunk else "content"), str) and text:
            yield TextDelta(text)
        if calls := body.get("tool_calls"):
            yield from self._entries(calls)
        if error := chunk.get("error"):
            yield StreamError("error", error if isinstance(error, str) else json_text.dumps(error))
        if chunk.get("done") is True:
            yield from self._done(chunk)

    def _entries(self, calls: Any) -> Iterator[Event]:
        """Decodes calls of the upstream, in any form."""
        listed = isinstance(calls, list) and not any(isinstance(entry, list) for entry in calls)
        for entry in entries_of(calls):
            if not isinstance(entry, dict):
                continue
            function, stands = inner_of(entry, "function")
            if not isinstance(function.get("name"), str):
                continue
            if not (stands and listed):
                self._mended("tool_calls")
            own = entry if stands else {**_other_members(entry), "function": _other_members(entry.get("function"))}
            yield from self._call(own, function)

    def _corrected(self, data: bytes, chunk: Mapping[str, Any]) -> bytes:
        """Corrects a line that Ollama's SDKs fail at: message and role are required, and an error is a string, or absent."""
        message = chunk.get("message")
        if isinstance(message, dict):
            self._chat = True
            if "error" not in chunk and isinstance(message.get("role"), str):  # nearly all lines
                return data
        error, text = chunk.get("error"), ""
        if error and not isinstance(error, str):
            self._mended("error_form")
            text = json_text.replace_member(data.decode(), "error", json_text.dumps(message_of_error(error)))
        elif not error and "error" in chunk:
            self._mended("chunk_fields")
            text = json_text.without_member(data.decode(), "error")
        if isinstance(message, dict) and not isinstance(message.get("role"), str):
            self._mended("role")
            message = json_text.dumps({**message, "role": "assistant"})
            text = json_text.replace_member(text or data.decode(), "message", message)
        elif not message and not error and self._chat and chunk.get("done") is True:
            self._mended("chunk_fields")
            text = json_text.replace_member(text or data.decode(), "message", '{"role":"assistant","content":""}')
        return text.encode() if text else data

    def _call(self, entry: Mapping[str, Any], function: Mapping[str, Any]) -> Iterator[Event]:
        """Decodes a call."""
        upstream_name, arguments = function["name"], function.get("arguments")
        name = offered_name(upstream_name, self._tools)
        if name != upstream_name:
            self._mended("tool_call_name")
        if isinstance(arguments, str):
            if (value := parse_object(arguments)) is not None:
                arguments = value
                self._mended("arguments")
        elif not arguments and not isinstance(arguments, dict):
            self._mended("arguments")  # clients iterate over them
        arguments = arguments or json_text.loads((named_arguments(upstream_name, name, self._tools) or "{}").encode())
        index, self._calls = self._calls, self._calls + 1
        id_ = entry.get("id")
        yield ToolCallStart(index, id_ if isinstance(id_, str) else "", name, extra={"entry": entry})
        yield ToolCallDelta(index, arguments if isinstance(arguments, str) else json_text.dumps(arguments))
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


def _other_members(call: Any) -> dict[str, Any]:
    """The other members of an entry or its function."""
    return {name: value for name, value in call.items() if name not in INNER} if isinstance(call, dict) else {}
