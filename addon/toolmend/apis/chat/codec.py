"""OpenAI Chat Completions ⇄ neutral events: streams of `chat.completion.chunk` and whole messages.

    data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",
           "choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}

A chunk that every client understands passes unchanged; any other is rewritten. decode.py reads chunks, rewrite.py writes them.
Sources: the types of the openai SDK, and irregular streams seen in the wild (missing index or role, `delta: null`, empty finish
reasons …).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import json_text
from ...core.events import Event, Frame, MessageEnd, ReasoningDelta, StreamError, TextDelta, ToolCallDelta
from ...core.fastclass import replace
from ...core.sse import BOM, ServerSentEvent, parse
from ...core.text_state import IN_STRING, TextState
from ..codec import Reply
from ..shared.delta_template import DeltaTemplate
from ..shared.delta_template_learner import TemplateLearner
from ..shared.errors import Fault, write_error
from .chunk_form import COMMON, fits, intended_value, usage_of_types
from .decode import ChatDecoder
from .delta_shape import ChunkShape, learn_chunk, may_vary, with_arguments
from .rewrite import rewrite


class Chat:
    """Decodes and encodes one response."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._decoder = ChatDecoder(reply)
        self._defaults = COMMON  # for members that no chunk has
        self._common: dict[str, Any] = {}  # the first value of each common member, for chunks that lack it
        self._last: ServerSentEvent | None = None  # the last one with choices: the model for chunks without one of their own
        self._learning = TemplateLearner(may_vary)
        self._shape: ChunkShape | None = None  # chunks of this shape need not be parsed

    def decode(self, sse: ServerSentEvent) -> Frame:
        """Returns the frame of one SSE event. Raises json_text.NotJSON."""
        if not sse.data:
            return Frame(sse)
        if sse.ends:
            held, regular = self._decoder.end_of_message()
            return Frame(sse, (*held, MessageEnd()), touched=not regular)
        shape = self._shape
        text = shape.template.text(sse.data) if shape else None
        if shape and text is not None:
            self._learning.hit()
            if not shape.more:
                return self._run_frame(sse, shape, text)
        chunk = json_text.loads(sse.data)
        if not isinstance(chunk, dict):
            return Frame(sse)
        events, regular = self._decoder.feed(chunk, "delta", named=sse.event == b"error")
        regular &= not self._hides_error(sse, chunk, events) and self._is_complete(chunk)
        if chunk.get("choices"):
            self._last = sse
        if text is None:
            found = learn_chunk(self._learning, sse.data, chunk, events, regular=regular)
            self._shape = found or (None if self._decoder.waits else shape)
        return Frame(sse, tuple(events), touched=not regular)

    def _run_frame(self, sse: ServerSentEvent, shape: ChunkShape, text: str) -> Frame:
        """The frame of a chunk of a known shape."""
        template = shape.template
        if template.kind is not ToolCallDelta:
            event = TextDelta if template.kind is TextDelta else ReasoningDelta
            return Frame(sse, (event(text, template.choice),), touched=not shape.regular)
        calls = self._decoder.calls[template.choice]
        more, regular = calls.feed([with_arguments(shape.entry, text)]) if shape.entry else calls.more(template.key, text)
        return Frame(sse, tuple(more), touched=not (regular and shape.regular))

    def run_template(self) -> tuple[DeltaTemplate, TextState | None] | None:
        """See codec.SupportsRuns."""
        shape = self._shape
        if shape is None:
            return None
        template = shape.template
        if template.kind is not ToolCallDelta:
            return template, None
        calls = self._decoder.calls.get(template.choice)
        return (template, IN_STRING) if calls and calls.supports_run(template.key, shape.entry) else None

    def decode_message(self, body: bytes) -> Frame:
        """Returns one frame for a whole `chat.completion`; its data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        self._defaults = {**COMMON, "object": "chat.completion"}
        events, regular = self._decoder.feed(message, "message")
        regular &= self._is_complete(message, "message")
        choices = message.get("choices")
        if isinstance(choices, list) and any(isinstance(choice, dict) and not choice.get("finish_reason") for choice in choices):
            events.append(MessageEnd())  # nothing more comes, even if a finish reason is missing
        return Frame(ServerSentEvent(body, body), tuple(events), touched=not regular)

    def close(self) -> Frame:
        """Ends the calls that are still open.

        A call that waited after a finish reason has no arguments; one without a finish reason was broken off.
        """
        return Frame(None, tuple(self._decoder.broken_off()), touched=True)

    def encode(self, frame: Frame) -> bytes:
        """Returns the bytes of a frame; b"" if nothing is left of it."""
        if not frame.touched and frame.sse is not None:
            return frame.sse.raw
        sse = frame.sse or self._last
        assert sse is not None
        assert sse.data is not None
        if frame.events and _is_alone(frame.events[-1], sse):  # its own event, after a chunk with the other events
            events = frame.events[:-1]
            before = self.encode(Frame(None, events, touched=True)) if events else b""
            return before + (_encode_alone(frame.events[-1], frame.sse) if frame.sse else sse.with_data(b"[DONE]"))
        data = self._of_text(frame)
        if data is None:
            data = self._write(sse.data, frame, "delta")
        return sse.with_data(data.encode()) if data else b""

    def held(self) -> bytes:
        """Returns b"": frames are never held."""
        return b""

    def encode_message(self, frame: Frame) -> bytes:
        """Returns the body for a touched frame of `decode_message`."""
        assert frame.sse is not None
        return self._write(frame.sse.raw, frame, "message").encode()

    def _write(self, data: bytes, frame: Frame, key: str) -> str:
        return rewrite(data, frame, key, self._decoder, self._common)

    def _of_text(self, frame: Frame) -> str | None:
        """The fast way for a text chunk that became a piece of arguments, or nothing: nearly all chunks that are ever changed."""
        event = frame.events[0] if len(frame.events) == 1 else None
        shape = self._shape
        if (frame.events and not isinstance(event, ToolCallDelta)) or not shape or frame.sse is None or not frame.sse.data:
            return None
        if shape.template.varies or shape.template.text(frame.sse.data) is None:
            return None
        if not isinstance(event, ToolCallDelta):
            if shape.nothing is None:
                shape.nothing = self._write(frame.sse.data, frame, "delta")
            return shape.nothing
        wrap = shape.wraps.get(event.index)
        if wrap is None:
            probe = self._write(frame.sse.data, replace(frame, events=(replace(event, arguments="?"),)), "delta")
            head, _, tail = probe.partition('"arguments":"?"')
            wrap = shape.wraps[event.index] = (head + '"arguments":', tail)
        return wrap[0] + json_text.quote(event.arguments) + wrap[1]

    def _hides_error(self, sse: ServerSentEvent, chunk: Mapping[str, Any], events: Sequence[Event]) -> bool:
        """Whether a chunk without choices has an error where clients do not look for it."""
        if self._reply.translates or chunk.get("choices") or _shows_error(sse, chunk):
            return False
        hidden = any(isinstance(event, StreamError) for event in events)
        if hidden:
            self._reply.fired("error_form")
        return hidden

    def _is_complete(self, chunk: Mapping[str, Any], key: str = "delta") -> bool:
        """Whether a chunk has what clients require of every chunk. If not, it is rewritten with the first values of the stream.

        XX a gateway's own event, `{"warning": …}` (langwatch#7421), passes, and ends clients that iterate over the choices of
        each chunk: what is not understood is not changed.
        """
        choices = chunk.get("choices")
        is_chunk = "choices" in chunk or chunk.get("object") == COMMON["object"]  # an empty list in Go is null
        is_chunk |= key == "delta" and chunk.get("type") == "ping"  # Anthropic's (sub2api#7097)
        is_chunk |= key == "delta" and bool(usage_of_types(chunk.get("usage")))  # where there is nothing else (opencode#1298)
        if choices is None and is_chunk and not chunk.get("error"):
            self._reply.fired("chunk_fields")
            return False
        if not isinstance(choices, list) or chunk.get("error"):
            return True
        usage = chunk.get("usage")
        right = "error" not in chunk and (usage is None or usage_of_types(usage) is usage)
        missing = []
        has_delta = any(isinstance(choice, dict) and not choice.keys().isdisjoint(("delta", "message")) for choice in choices)
        if has_delta or (self._decoder.begun and usage):
            missing = [name for name in COMMON if not fits(name, chunk.get(name), self._defaults)]
            if len(self._common) < len(COMMON):
                if chunk.get("id") is None and not self._common:
                    self._common["id"] = f"chatcmpl-{self._reply.new_id().removeprefix('call_')}"
                for name in COMMON:
                    self._common.setdefault(name, intended_value(name, chunk.get(name), self._defaults))
        if missing or not right:
            self._reply.fired("chunk_fields")
        return right and not missing


def _encode_alone(last: Event, sse: ServerSentEvent) -> bytes:
    """The SSE event for a MessageEnd or a StreamError that cannot share a chunk; an error is moved to the member clients read."""
    if not isinstance(last, StreamError):
        return sse.raw
    chunk = json_text.loads(sse.data or b"")
    if not isinstance(chunk, dict) or _shows_error(sse, chunk):
        return sse.raw
    fault = Fault(last.status or 500, last.message, last.type)
    body = json_text.loads(write_error(fault, "chat", "")[1])
    return sse.with_data(json_text.dumps(chunk if isinstance(chunk.get("error"), dict) else {**chunk, **body}).encode())


def _shows_error(sse: ServerSentEvent, chunk: Mapping[str, Any]) -> bool:
    """Whether the raw data of an event shows an error: `sse.data` may have been corrected by the decoder."""
    if not isinstance(chunk.get("error"), dict):
        return False
    block = sse.raw.removeprefix(BOM)
    return any(line.startswith(b"data:") for line in block.splitlines()) and parse(sse.raw, block).data == sse.data


def _is_alone(last: Event, sse: ServerSentEvent) -> bool:
    """Whether an event needs an SSE event of its own: the end of the message, and an error of a chunk without choices."""
    if not isinstance(last, StreamError):
        return isinstance(last, MessageEnd)
    chunk = json_text.loads(sse.data or b"")
    return not (isinstance(chunk, dict) and chunk.get("choices"))
