"""Gemini (generateContent) ⇄ neutral events: streams of GenerateContentResponse, and whole ones.

    data: {"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"index":0}],"modelVersion":"gemini-2.5-pro"}
    data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{"path":"a"}}}]},"finishReason":"STOP"}]}
    data: {"response":{"candidates":[ … ]},"traceId":"…"}                          Code Assist wraps it

A thought is a part with `"thought": true`. A call is whole, its `args` an object, and it has no finish reason of its own. The
reason comes with the last text; some models put STOP on every chunk, so it counts only if no more content follows.

decode.py reads a response, rewrite.py writes it. What is not decoded stays: other parts, other members, and every chunk that no
transformer changed. Sources: ai.google.dev/api/generate-content, the types of google-genai.
"""

from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, Frame, MessageEnd, StreamError
from ...core.json_array import Element, IrregularElement, end, event_after, is_plain
from ...core.sse import ServerSentEvent
from ..codec import Reply
from .decode import CandidateDecoder
from .rewrite import GeminiRewriter, inner
from .usage import standard_error


class Gemini:
    """Decodes and encodes one response."""

    def __init__(self, reply: Reply) -> None:
        self._fired = reply.fired
        self._decoder = CandidateDecoder(reply)
        self._rewriter = GeminiRewriter(self._decoder, str(reply.request.get("model")))
        self._last: ServerSentEvent | None = None

    def decode(self, sse: ServerSentEvent) -> Frame:
        """Returns the frame of one event. Raises json_text.NotJSON."""
        if isinstance(sse, Element) and sse.closes:
            return Frame(sse, (*self._decoder.late_reasons(), MessageEnd()))
        if not sse.data:
            return self._empty_frame(sse)
        listed = sse.data.startswith(b"[") and not isinstance(sse, Element)
        if listed and sse.ends:
            self._fired("event_form")
            return Frame(IrregularElement(sse.raw), (*self._decoder.late_reasons(), MessageEnd()), touched=True)
        chunk = json_text.loads(sse.data)
        if listed and len(chunk) == 1:
            chunk = chunk[0]
        if not isinstance(chunk, dict):
            return Frame(sse)
        self._decoder.regular = True
        events = tuple(self._decoder.feed(inner(chunk)))
        if isinstance(sse, Element) and sse.lone:
            events += tuple(self._decoder.late_reasons())
        if not isinstance(sse, Element) and (listed or "error" in chunk or not is_plain(sse)):
            sse = self._readable_event(sse, chunk, listed=listed, decoded=events if self._decoder.regular else None)
        if inner(chunk).get("candidates"):
            self._last = sse
        return Frame(sse, events, touched=not self._decoder.regular)

    def _empty_frame(self, sse: ServerSentEvent) -> Frame:
        """The frame of an event without data; one that has a name is dropped."""
        if sse.data is None or isinstance(sse, Element):
            return Frame(sse)
        self._fired("event_form")
        return Frame(IrregularElement(sse.raw, b"", events=()), touched=True)

    def _readable_event(
        self, sse: ServerSentEvent, chunk: dict[str, Any], *, listed: bool, decoded: tuple[Event, ...] | None
    ) -> ServerSentEvent:
        """Returns an event, or its replacement if SDKs could not read it."""
        if error := standard_error(chunk):
            self._decoder.mended("error_form")
            return IrregularElement(sse.raw, json_text.dumps(error).encode(), events=decoded)
        if is_plain(sse) and not listed:
            return sse
        self._decoder.mended("event_form")
        return IrregularElement(sse.raw, json_text.dumps(chunk).encode() if listed else sse.data, events=decoded)

    def decode_message(self, body: bytes) -> Frame:
        """Returns one frame for a whole response; its data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        self._decoder.regular = True
        events = (*self._decoder.feed(inner(message)), *self._decoder.late_reasons())
        return Frame(ServerSentEvent(body, body), events, touched=not self._decoder.regular)

    def close(self) -> Frame:
        """Ends the stream: the last finish reasons count."""
        return Frame(None, tuple(self._decoder.late_reasons()))

    def encode(self, frame: Frame) -> bytes:
        """Returns the bytes of a frame; b"" if nothing is left of it."""
        sse, events = frame.sse, frame.events
        if events and isinstance(events[-1], MessageEnd):  # a chunk with the other events comes first
            before = self._extra_chunk(events[:-1]) + self.held()
            return before + (_own_bytes(sse, touched=frame.touched) if sse else end(self._last) if self._last else b"")
        if sse is None:
            return self._extra_chunk(events)
        # clients stop reading at an error
        before = self.held() if any(isinstance(event, StreamError) for event in events) else b""
        same = not frame.touched or (isinstance(sse, IrregularElement) and sse.events == events)
        if isinstance(sse, Element) and sse.lone:
            events += self._final_events()
        if same and not self._rewriter.contradicts_finish(events):
            return before + _own_bytes(sse, touched=frame.touched)
        assert sse.data is not None
        must = isinstance(sse, Element) and (sse.opens or sse.lone)
        data = self._rewriter.chunk(sse.data, events, whole=must)
        return before + (sse.with_data(data) if data else b"")

    def held(self) -> bytes:
        """Returns broken calls, as text."""
        return self._extra_chunk(())

    def encode_message(self, frame: Frame) -> bytes:
        """Returns the body for a touched frame of `decode_message`."""
        assert frame.sse is not None
        return self._rewriter.chunk(frame.sse.raw, frame.events + self._final_events(), whole=True)

    def _final_events(self) -> tuple[Finish, ...]:
        """Ends of all choices, which break off open calls."""
        return tuple(Finish("", choice) for choice in self._decoder.choices)

    def _extra_chunk(self, events: tuple[Event, ...]) -> bytes:
        """Writes events that the upstream has no chunk for."""
        if self._last is None or not self._last.data:
            return b""
        data = self._rewriter.extra_chunk(self._last.data, events, self._decoder.ended)
        return event_after(self._last, data) if data else b""


def _own_bytes(sse: ServerSentEvent, *, touched: bool) -> bytes:
    """Returns the bytes of an unchanged event."""
    return sse.plain if touched and isinstance(sse, IrregularElement) else sse.raw
