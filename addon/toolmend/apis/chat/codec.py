"""OpenAI Chat Completions ⇄ neutral events: streams of `chat.completion.chunk` and whole messages.

    data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",
           "choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}

Rule of this file: a chunk that every client understands leaves as it came; any other is written anew. What is read of it stands
in chat_read.py, how it is written in chat_write.py. Source: the openai SDK's types, and the irregular streams that were seen in
the wild (missing index or role, `delta: null`, empty finish reasons …).
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
from ..shared.delta_template_learner import Learning
from ..shared.errors import Fault, write_error
from .chunk_form import COMMON, fits, meant_by, usage_of_types
from .decode import ChatDecoder
from .delta_shape import Learnt, learn_chunk, may_vary, with_arguments
from .rewrite import rewrite


class Chat:
    """The codec of one response."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._reading = ChatDecoder(reply)
        self._made = COMMON  # what nobody says
        self._common: dict[str, Any] = {}  # what chunks have that have nothing of their own there
        self._last: ServerSentEvent | None = None  # with choices: what goes out behind it is written as it is
        self._learning = Learning(may_vary)
        self._learnt: Learnt | None = None  # chunks of that shape need not be parsed

    def decode(self, sse: ServerSentEvent) -> Frame:
        """One server-sent event → its frame. Raises json_text.NotJSON where the data is no JSON."""
        if not sse.data:
            return Frame(sse)
        if sse.ends:
            held, regular = self._reading.over()
            return Frame(sse, (*held, MessageEnd()), touched=not regular)
        learnt = self._learnt
        text = learnt.shape.text(sse.data) if learnt else None
        if learnt and text is not None:
            self._learning.hit()
            if not learnt.more:
                return self._run_frame(sse, learnt, text)
        chunk = json_text.loads(sse.data)
        if not isinstance(chunk, dict):
            return Frame(sse)
        events, regular = self._reading.feed(chunk, "delta", named=sse.event == b"error")
        regular &= not self._hides_error(sse, chunk, events) and self._is_complete(chunk)
        if chunk.get("choices"):
            self._last = sse
        if text is None:
            found = learn_chunk(self._learning, sse.data, chunk, events, regular=regular)
            self._learnt = found or (None if self._reading.waits else learnt)
        return Frame(sse, tuple(events), touched=not regular)

    def _run_frame(self, sse: ServerSentEvent, learnt: Learnt, text: str) -> Frame:
        """What a chunk of a shape says."""
        shape = learnt.shape
        if shape.kind is not ToolCallDelta:
            event = TextDelta if shape.kind is TextDelta else ReasoningDelta
            return Frame(sse, (event(text, shape.choice),), touched=not learnt.regular)
        calls = self._reading.calls[shape.choice]
        more, regular = calls.feed([with_arguments(learnt.entry, text)]) if learnt.entry else calls.more(shape.key, text)
        return Frame(sse, tuple(more), touched=not (regular and learnt.regular))

    def course(self) -> tuple[DeltaTemplate, TextState | None] | None:
        """See codec.Flowing."""
        learnt = self._learnt
        if learnt is None:
            return None
        shape = learnt.shape
        if shape.kind is not ToolCallDelta:
            return shape, None
        calls = self._reading.calls.get(shape.choice)
        return (shape, IN_STRING) if calls and calls.flows(shape.key, learnt.entry) else None

    def decode_message(self, body: bytes) -> Frame:
        """A whole `chat.completion` → one frame, whose data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        self._made = {**COMMON, "object": "chat.completion"}
        events, regular = self._reading.feed(message, "message")
        regular &= self._is_complete(message, "message")
        choices = message.get("choices")
        if isinstance(choices, list) and any(isinstance(choice, dict) and not choice.get("finish_reason") for choice in choices):
            events.append(MessageEnd())  # whatever it lacks, nothing more comes
        return Frame(ServerSentEvent(body, body), tuple(events), touched=not regular)

    def close(self) -> Frame:
        """The body is over: calls that waited behind a finish reason have no arguments; what waits of others was broken off."""
        return Frame(None, tuple(self._reading.broken_off()), touched=True)

    def encode(self, frame: Frame) -> bytes:
        """A frame → the bytes of its server-sent event; none where nothing is left of it."""
        if not frame.touched and frame.sse is not None:
            return frame.sse.raw
        sse = frame.sse or self._last
        assert sse is not None
        assert sse.data is not None
        if frame.events and _is_alone(frame.events[-1], sse):  # in front of it a chunk for what came with it
            events = frame.events[:-1]
            before = self.encode(Frame(None, events, touched=True)) if events else b""
            return before + (_alone(frame.events[-1], frame.sse) if frame.sse else sse.with_data(b"[DONE]"))
        data = self._of_text(frame)
        if data is None:
            data = self._write(sse.data, frame, "delta")
        return sse.with_data(data.encode()) if data else b""

    def held(self) -> bytes:
        """Nothing: every frame leaves with what it says."""
        return b""

    def encode_message(self, frame: Frame) -> bytes:
        """A frame that `decode_message` made, and that was touched → the body."""
        assert frame.sse is not None
        return self._write(frame.sse.raw, frame, "message").encode()

    def _write(self, data: bytes, frame: Frame, key: str) -> str:
        return rewrite(data, frame, key, self._reading, self._common)

    def _of_text(self, frame: Frame) -> str | None:
        """A chunk of text that became a piece of arguments, or nothing: nearly all that is ever mended."""
        event = frame.events[0] if len(frame.events) == 1 else None
        learnt = self._learnt
        if (frame.events and not isinstance(event, ToolCallDelta)) or not learnt or frame.sse is None or not frame.sse.data:
            return None
        if learnt.shape.varies or learnt.shape.text(frame.sse.data) is None:
            return None
        if not isinstance(event, ToolCallDelta):
            if learnt.nothing is None:
                learnt.nothing = self._write(frame.sse.data, frame, "delta")
            return learnt.nothing
        wrap = learnt.wraps.get(event.index)
        if wrap is None:
            probe = self._write(frame.sse.data, replace(frame, events=(replace(event, arguments="?"),)), "delta")
            head, _, tail = probe.partition('"arguments":"?"')
            wrap = learnt.wraps[event.index] = (head + '"arguments":', tail)
        return wrap[0] + json_text.quote(event.arguments) + wrap[1]

    def _hides_error(self, sse: ServerSentEvent, chunk: Mapping[str, Any], events: Sequence[Event]) -> bool:
        """Whether a chunk that says nothing else tells an error where clients do not look for one."""
        if self._reply.translates or chunk.get("choices") or _tells_error(sse, chunk):
            return False
        hidden = any(isinstance(event, StreamError) for event in events)
        if hidden:
            self._reply.fired("error_form")
        return hidden

    def _is_complete(self, chunk: Mapping[str, Any], key: str = "delta") -> bool:
        """Whether a chunk has what all have, and clients ask for. If not, it gets what the first had that had it.

        XX an event of a gateway's own, `{"warning": …}` (langwatch#7421), passes as it came, and ends clients that go through the
        choices of each: what is not understood is nobody's to change.
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
        speaks = any(isinstance(choice, dict) and not choice.keys().isdisjoint(("delta", "message")) for choice in choices)
        if speaks or (self._reading.begun and usage):
            missing = [name for name in COMMON if not fits(name, chunk.get(name), self._made)]
            if len(self._common) < len(COMMON):
                if chunk.get("id") is None and not self._common:
                    self._common["id"] = f"chatcmpl-{self._reply.new_id().removeprefix('call_')}"
                for name in COMMON:
                    self._common.setdefault(name, meant_by(name, chunk.get(name), self._made))
        if missing or not right:
            self._reply.fired("chunk_fields")
        return right and not missing


def _alone(last: Event, sse: ServerSentEvent) -> bytes:
    """The event that says but that the message is over, or an error, in the member where clients look for that."""
    if not isinstance(last, StreamError):
        return sse.raw
    chunk = json_text.loads(sse.data or b"")
    if not isinstance(chunk, dict) or _tells_error(sse, chunk):
        return sse.raw
    fault = Fault(last.status or 500, last.message, last.type)
    body = json_text.loads(write_error(fault, "chat", "")[1])
    return sse.with_data(json_text.dumps(chunk if isinstance(chunk.get("error"), dict) else {**chunk, **body}).encode())


def _tells_error(sse: ServerSentEvent, chunk: Mapping[str, Any]) -> bool:
    """Whether an event has data that has an error, as it came: it may have been read as what it is meant to be."""
    if not isinstance(chunk.get("error"), dict):
        return False
    block = sse.raw.removeprefix(BOM)
    return any(line.startswith(b"data:") for line in block.splitlines()) and parse(sse.raw, block).data == sse.data


def _is_alone(last: Event, sse: ServerSentEvent) -> bool:
    """Whether an event of the upstream's says but that the message is over, or an error: nothing else can stand in it."""
    if not isinstance(last, StreamError):
        return isinstance(last, MessageEnd)
    chunk = json_text.loads(sse.data or b"")
    return not (isinstance(chunk, dict) and chunk.get("choices"))
