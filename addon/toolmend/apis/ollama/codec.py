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

from collections.abc import Mapping
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, Frame, StreamError
from ...core.ndjson import IrregularLine, is_plain, is_without_data
from ...core.sse import ServerSentEvent
from ..codec import Reply
from ..shared.error_words import message_of_error
from .decode import OllamaDecoder
from .rewrite import OllamaRewriter


class Ollama:
    """Decodes and encodes one response."""

    def __init__(self, reply: Reply) -> None:
        self._fired = reply.fired
        self._decoder = OllamaDecoder(reply)
        self._chat = False  # its lines have a message
        self._rewriter = OllamaRewriter()
        self._last: ServerSentEvent | None = None

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
        self._decoder.regular = True
        events = tuple(self._decoder.feed(chunk))
        decoded = events if self._decoder.regular else None
        data = self._corrected(sse.data, chunk)
        if isinstance(sse, IrregularLine) or not is_plain(sse):
            self._decoder.mended("event_form")
        if not self._decoder.regular:
            sse = IrregularLine(sse.raw, data, events=decoded)
        if not chunk.get("error"):
            self._last = sse
        return Frame(sse, events, touched=not self._decoder.regular)

    def decode_message(self, body: bytes) -> Frame:
        """Returns one frame for a whole answer; its data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        self._decoder.regular = True
        events = tuple(self._decoder.feed(message))
        decoded = events if self._decoder.regular else None
        line = IrregularLine(body, self._corrected(body, message), events=decoded)
        return Frame(line, events, touched=not self._decoder.regular)

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

    def _corrected(self, data: bytes, chunk: Mapping[str, Any]) -> bytes:
        """Corrects a line that Ollama's SDKs fail at: message and role are required, and an error is a string, or absent."""
        message = chunk.get("message")
        if isinstance(message, dict):
            self._chat = True
            if "error" not in chunk and isinstance(message.get("role"), str):  # nearly all lines
                return data
        error, text = chunk.get("error"), ""
        if error and not isinstance(error, str):
            self._decoder.mended("error_form")
            text = json_text.replace_member(data.decode(), "error", json_text.dumps(message_of_error(error)))
        elif not error and "error" in chunk:
            self._decoder.mended("chunk_fields")
            text = json_text.without_member(data.decode(), "error")
        if isinstance(message, dict) and not isinstance(message.get("role"), str):
            self._decoder.mended("role")
            message = json_text.dumps({**message, "role": "assistant"})
            text = json_text.replace_member(text or data.decode(), "message", message)
        elif not message and not error and self._chat and chunk.get("done") is True:
            self._decoder.mended("chunk_fields")
            text = json_text.replace_member(text or data.decode(), "message", '{"role":"assistant","content":""}')
        return text.encode() if text else data
