"""Anthropic Messages ⇄ neutral events: streams and whole messages.

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}

Rule of this file: an event that the strictest client can read is regular, and its frame untouched; any other is mended under a
name that says what was wrong, and all behind it is written anew (rewrite.py). What is not ours has no events: blocks of
server tools, citations, whatever comes next year.

Where a whole message says what events cannot, the place of such a block, each block is announced by a further MessageStart,
which means nothing to anybody else.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, Frame, MessageEnd, MessageStart, ReasoningDelta, TextDelta, ToolCallDelta
from ...core.fastclass import replace
from ...core.sse import ServerSentEvent
from ...core.text_state import IN_STRING, TextState
from ..codec import Reply
from ..shared.delta_template import DeltaTemplate
from ..shared.delta_template_learner import TemplateLearner
from ..shared.error_words import error_in, stream_error
from .decode import MessagesContent
from .errors import status_of
from .rewrite import Encoder, type_of
from .rewrite_whole import blocks_of, in_order, rewrite_message
from .usage import BROKEN_OFF, counted, finish_of, is_foreign, miscounted, uncounted, usage_of

_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")

_SAYS = frozenset({"type", "index", "delta", "error"})
"""What is read of a delta."""


class Messages:
    """The codec of one response."""

    def __init__(self, reply: Reply) -> None:
        self._encoder = Encoder(reply)
        self._content = MessagesContent(reply)
        self._started = self._over = self._failed = False
        self._translates = reply.translates
        self._announced: Any = None  # the content that the message starts with, as long as no block comes
        self._reason: Finish | None = None  # why it stopped, told within a call that is not complete
        self._stopped = False  # it was told
        self._shape: DeltaTemplate | None = None  # of the deltas of the block that is open
        self._regular = True  # they are; if not, it is not for their text
        self._named = b""  # their event
        self._learning = TemplateLearner(lambda path: path[0] not in _SAYS)
        self._usage: dict[str, Any] = {}
        self._readers: Mapping[str, Callable[[Mapping[str, Any], list[Event]], None]] = {
            "message_start": self._start,
            "content_block_start": self._content.start,
            "content_block_delta": self._content.delta,
            "content_block_stop": self._content.stop,
            "message_delta": self._delta,
            "message_stop": self._stop,
            "message": self._whole,
            "error": self._error,
        }

    def decode(self, sse: ServerSentEvent) -> Frame:
        """One server-sent event → its frame. Raises json_text.NotJSON where the data is no JSON."""
        if not sse.data or sse.ends or self._over:
            return Frame(sse)
        if (shape := self._shape) is not None and sse.event == self._named and (text := shape.text(sse.data)) is not None:
            self._learning.hit()
            if shape.kind is TextDelta or shape.kind is ReasoningDelta:
                return Frame(sse, (shape.kind(text),), touched=not self._regular)
            given = self._content.more(shape.key, text)
            return Frame(sse, given, touched=not (self._regular and self._content.regular))
        if sse.event != b"ping":
            self._shape = None
        data = json_text.loads(sse.data)
        if not isinstance(data, dict):
            return Frame(sse)
        self._content.regular = True
        events: list[Event] = []
        name = type_of(sse, data)
        if name.startswith("content_block"):
            self._announced = None
        if read := self._readers.get(name):
            if not self._started and name not in ("message_start", "message", "error"):
                self._start({}, events)
            read(data, events)
        if name and (sse.event != name.encode(errors="replace") or data.get("type") != name):
            self._content.mended("event_name")
        if name == "content_block_delta" and len(events) == 1:
            self._learn(sse, events[0])
        return Frame(sse, tuple(events), touched=not self._content.regular)

    def _learn(self, sse: ServerSentEvent, event: Event) -> None:
        assert sse.data
        self._regular, self._named = self._content.regular, sse.event
        if isinstance(event, TextDelta):
            self._shape = self._learning.learn(sse.data, event.text, ("delta", "text"), TextDelta)
        elif isinstance(event, ReasoningDelta):
            self._shape = self._learning.learn(sse.data, event.text, ("delta", "thinking"), ReasoningDelta)
        elif isinstance(event, ToolCallDelta) and (at := self._content.place(event.index)) is not None:
            path = ("delta", "partial_json")
            self._shape = self._learning.learn(sse.data, event.arguments, path, ToolCallDelta, key=at)

    def run_template(self) -> tuple[DeltaTemplate, TextState | None] | None:
        """See codec.SupportsRuns."""
        shape = self._shape
        if shape is None:
            return None
        if shape.kind is not ToolCallDelta:
            return shape, None
        return (shape, IN_STRING) if self._content.flows(shape.key) else None

    def decode_message(self, body: bytes) -> Frame:
        """A whole message → one frame, whose data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        events: list[Event] = []
        if message.get("error"):
            self._error(message, events)
            return Frame(ServerSentEvent(body, body), tuple(events))
        self._content.regular = True
        self._message(message, events)
        if is_foreign(message):
            self._content.mended("finish_reason")
        if isinstance(message.get("content"), list) and uncounted(message.get("usage")):
            self._content.mended("usage")
        return Frame(ServerSentEvent(body, body), tuple(events), touched=not self._content.regular)

    def _message(self, message: Mapping[str, Any], events: list[Event]) -> None:
        events.append(MessageStart())
        self._blocks(message.get("content"), events)
        if finish := finish_of(message):
            events.append(finish)
        if isinstance(message.get("usage"), dict):
            events.append(usage_of(message["usage"]))

    def _blocks(self, content: Any, events: list[Event]) -> None:
        """Content that comes at once."""
        blocks = blocks_of(content)
        if content is not None and blocks != content:
            self._content.mended("block_type")
        announced = in_order(blocks)
        for block in blocks:
            if announced:
                events.append(MessageStart())
            self._content.whole(block, events)

    def _whole(self, message: Mapping[str, Any], events: list[Event]) -> None:
        """A whole message as the only event."""
        if not self._started:
            self._started = self._over = True
            self._message(message, events)
            events.append(MessageEnd())

    def close(self) -> Frame:
        """What waited for the end of the message; and that, if why it stopped was told (better-ccflare#307)."""
        events: list[Event] = []
        whole = self._stopped and not (self._over or self._failed or self._content.unfinished)
        if self._reason:
            self._close(events, self._reason)
        if whole and not self._translates:
            self._content.mended("message_stop")
            events.append(MessageEnd())
        return Frame(None, tuple(events), touched=bool(events))

    def encode(self, frame: Frame) -> bytes:
        """A frame → the bytes for the client: its own as long as nothing was touched."""
        return self._encoder.encode(frame)

    def held(self) -> bytes:
        """The start of a text that has not begun."""
        return self._encoder.held()

    def encode_message(self, frame: Frame) -> bytes:
        """A frame that `decode_message` made, and that was touched → the body."""
        assert frame.sse is not None
        return rewrite_message(frame.sse.raw, frame.events)

    def _start(self, data: Mapping[str, Any], events: list[Event]) -> None:
        """A message_start; without data, one that did not come."""
        message = data.get("message")
        usage, content = (message.get("usage"), message.get("content")) if isinstance(message, dict) else (None, None)
        if self._started or not (isinstance(usage, dict) and isinstance(content, list)):
            self._content.mended("message_start")
        elif miscounted(usage, "input_tokens"):
            self._content.mended("usage")
        if self._started:
            return
        self._started = True
        events.append(MessageStart())
        if isinstance(usage, dict):
            self._usage = counted(usage)
            events.append(usage_of(self._usage))
        if self._translates and isinstance(message, dict):
            self._announced = message.get("content")

    def _close(self, events: list[Event], finish: Finish | None) -> None:
        """The content is over, for this reason if it is known."""
        why = finish.finish_reason if finish else ""
        announced, self._announced = self._announced, None
        self._blocks(announced, events)
        self._content.close(events, broken=why in BROKEN_OFF, called=why == "tool_calls")
        if reason := self._reason:
            self._reason = None
            events.append(reason)

    def _delta(self, data: Mapping[str, Any], events: list[Event]) -> None:
        said = data.get("delta")
        if not isinstance(said, dict):
            self._content.mended("delta")
            said = {}
        finish = finish_of(said)
        if finish and is_foreign(said):
            self._content.mended("finish_reason")
        if self._stopped and not finish:  # SDKs forget it
            self._content.mended("finish_repeated")
        self._stopped |= finish is not None
        if finish and self._content.unfinished and finish.finish_reason not in BROKEN_OFF:
            self._content.mended("block_stop")
            self._reason = finish
        elif finish:
            self._close(events, finish)
            events.append(finish)
        usage = data.get("usage")
        if miscounted(usage, "output_tokens"):
            self._content.mended("usage")
        if isinstance(usage, dict):
            told = {name: count for name, count in counted(usage).items() if count is not None}
            again = any(told.get(name) for name in _INPUT)  # some have 0 for all that the start has told
            self._usage |= {name: count for name, count in told.items() if again or name not in _INPUT}
            events.append(usage_of(self._usage))

    def _stop(self, data: Mapping[str, Any], events: list[Event]) -> None:
        self._over = True
        self._close(events, self._reason)
        events.append(MessageEnd())

    def _error(self, data: Mapping[str, Any], events: list[Event]) -> None:
        self._failed = True
        told = stream_error(error_in(data) or data, data)
        events.append(replace(told, status=told.status or status_of(told.type)))
        error = data.get("error")
        if not (isinstance(error, dict) and all(isinstance(error.get(name), str) for name in ("type", "message"))):
            self._content.mended("error_form")
