"""Gemini (generateContent) ⇄ neutral events: streams of GenerateContentResponse, and whole ones.

    data: {"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"index":0}],"modelVersion":"gemini-2.5-pro"}
    data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{"path":"a"}}}]},"finishReason":"STOP"}]}
    data: {"response":{"candidates":[ … ]},"traceId":"…"}                          Code Assist wraps it

A thought is a part with `"thought": true`. A call is whole, its `args` an object, and it has no finish reason of its own. The
reason comes with the last text; some models put STOP on every chunk, so it counts only if no more content follows.

What is not decoded stays: other parts, other members, and every chunk that no transformer changed. Sources:
ai.google.dev/api/generate-content, the types of google-genai.
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
)
from ...core.json_array import Element, IrregularElement, end, event_after, is_plain
from ...core.sse import ServerSentEvent
from ..codec import Reply
from ..shared.call_identity import offered_name, parse_object
from ..shared.indices import MAX_CHOICES, index_of
from ..shared.named_arguments import named_arguments
from .rewrite import GeminiRewriter, inner, is_call, is_text, parts_of
from .usage import blocked, malformed_call, read_error, read_usage, reason_of, standard_error


class Gemini:
    """Decodes and encodes one response."""

    def __init__(self, reply: Reply) -> None:
        self._tools, self._fired = reply.tools, reply.fired
        self._calls: dict[int, int] = {}  # number of calls by choice, minus one
        self._late: dict[int, str] = {}  # finish reasons that came with text or calls
        self._ended: set[int] = set()  # choices with a finish reason
        self._choices: set[int] = set()  # choices that are decoded
        self._rewriter = GeminiRewriter(self._choices, str(reply.request.get("model")))
        self._last: ServerSentEvent | None = None
        self._regular = True

    def decode(self, sse: ServerSentEvent) -> Frame:
        """Returns the frame of one event. Raises json_text.NotJSON."""
        if isinstance(sse, Element) and sse.closes:
            return Frame(sse, (*self._late_reasons(), MessageEnd()))
        if not sse.data:
            return self._empty_frame(sse)
        listed = sse.data.startswith(b"[") and not isinstance(sse, Element)
        if listed and sse.ends:
            self._fired("event_form")
            return Frame(IrregularElement(sse.raw), (*self._late_reasons(), MessageEnd()), touched=True)
        chunk = json_text.loads(sse.data)
        if listed and len(chunk) == 1:
            chunk = chunk[0]
        if not isinstance(chunk, dict):
            return Frame(sse)
        self._regular = True
        events = tuple(self._decode(inner(chunk)))
        if isinstance(sse, Element) and sse.lone:
            events += tuple(self._late_reasons())
        if not isinstance(sse, Element) and (listed or "error" in chunk or not is_plain(sse)):
            sse = self._readable_event(sse, chunk, listed=listed, decoded=events if self._regular else None)
        if inner(chunk).get("candidates"):
            self._last = sse
        return Frame(sse, events, touched=not self._regular)

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
            self._mended("error_form")
            return IrregularElement(sse.raw, json_text.dumps(error).encode(), events=decoded)
        if is_plain(sse) and not listed:
            return sse
        self._mended("event_form")
        return IrregularElement(sse.raw, json_text.dumps(chunk).encode() if listed else sse.data, events=decoded)

    def decode_message(self, body: bytes) -> Frame:
        """Returns one frame for a whole response; its data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        self._regular = True
        events = (*self._decode(inner(message)), *self._late_reasons())
        return Frame(ServerSentEvent(body, body), events, touched=not self._regular)

    def close(self) -> Frame:
        """Ends the stream: the last finish reasons count."""
        return Frame(None, tuple(self._late_reasons()))

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
        return tuple(Finish("", choice) for choice in self._choices)

    def _extra_chunk(self, events: tuple[Event, ...]) -> bytes:
        """Writes events that the upstream has no chunk for."""
        if self._last is None or not self._last.data:
            return b""
        data = self._rewriter.extra_chunk(self._last.data, events, self._ended)
        return event_after(self._last, data) if data else b""

    def _decode(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        candidates = chunk.get("candidates")
        for place, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
            if isinstance(candidate, dict):
                yield from self._candidate(candidate, index_of(candidate.get("index"), place))
        if blocked(chunk):
            yield Finish("content_filter")
        if usage := read_usage(chunk):
            yield usage
        if error := read_error(chunk):
            yield error

    def _candidate(self, candidate: Mapping[str, Any], choice: int) -> Iterator[Event]:
        if choice not in self._choices:
            if len(self._choices) == MAX_CHOICES:
                return
            self._choices.add(choice)
        has_content = False
        for part in parts_of(candidate):
            for event in self._part(part, choice):
                has_content = True
                yield event
        if (text := malformed_call(candidate)) and any(name in text for name in self._tools.schemas):
            has_content = True
            yield TextDelta(f"\n{text}", choice)
        reason = reason_of(candidate.get("finishReason"))
        if has_content:
            self._late.pop(choice, None)
        if reason:
            self._ended.add(choice)
        stops = reason == "stop"
        if stops and choice in self._calls:
            reason = "tool_calls"
        if stops and has_content:
            self._late[choice] = reason
        elif reason:
            self._late.pop(choice, None)
            yield Finish(reason, choice)

    def _late_reasons(self) -> Iterator[Finish]:
        late, self._late = self._late, {}
        return (Finish(reason, choice) for choice, reason in late.items())

    def _part(self, part: Any, choice: int) -> Iterator[Event]:
        if is_text(part):
            kind = ReasoningDelta if part.get("thought") is True else TextDelta
            yield kind(part["text"], choice)
        elif is_call(part):
            yield from self._call(part, part["functionCall"], choice)

    def _call(self, part: Mapping[str, Any], call: Mapping[str, Any], choice: int) -> Iterator[Event]:
        """Decodes a call of the upstream."""
        name, args = offered_name(call["name"], self._tools), call.get("args")
        if name != call["name"]:
            self._mended("tool_call_name")
        if name not in self._tools:
            self._rewriter.add_unknown(choice)
        if isinstance(args, str) and (value := parse_object(args)) is not None:
            args = value
            self._mended("arguments")
        elif not args and not isinstance(args, dict | None):
            self._mended("arguments")
        args = args or json_text.loads((named_arguments(call["name"], name, self._tools) or "{}").encode())
        index = self._calls[choice] = self._calls.get(choice, -1) + 1
        yield ToolCallStart(index, str(call.get("id") or ""), name, choice, extra={"part": part})
        yield ToolCallDelta(index, args if isinstance(args, str) else json_text.dumps(args), choice)
        yield ToolCallEnd(index, choice)

    def _mended(self, rule: str) -> None:
        self._fired(rule)
        self._regular = False


def _own_bytes(sse: ServerSentEvent, *, touched: bool) -> bytes:
    """Returns the bytes of an unchanged event."""
    return sse.plain if touched and isinstance(sse, IrregularElement) else sse.raw
