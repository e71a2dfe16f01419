"""Anthropic Messages ⇄ neutral events: streams and whole messages.

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}

An event that the strictest client can read is regular, and its frame untouched. Any other is corrected under the name of a
rule, and everything after it is rewritten (rewrite.py). Blocks of server tools, citations and unknown content have no events.

If a whole message has such a block, its place must be kept: each block is then announced by a further MessageStart, which no
other consumer reads.
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
from .decode import MessagesDecoder
from .errors import status_of
from .rewrite import MessagesRewriter, type_of
from .rewrite_whole import blocks_of, needs_order, rewrite_message
from .usage import CUT_OFF, counted, finish_of, is_foreign, miscounted, read_usage, uncounted

_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")

_DECODED = frozenset({"type", "index", "delta", "error"})
"""Members of a delta that are decoded."""


class Messages:
    """Decodes and encodes one response."""

    def __init__(self, reply: Reply) -> None:
        self._rewriter = MessagesRewriter(reply)
        self._decoder = MessagesDecoder(reply)
        self._started = self._over = self._failed = False
        self._translates = reply.translates
        self._initial_content: Any = None  # the content in message_start, until a block starts
        self._pending_finish: Finish | None = None  # the stop reason, received before a call was complete
        self._stopped = False  # a stop reason was received
        self._shape: DeltaTemplate | None = None  # template of the deltas of the open block
        self._regular = True  # these deltas are regular; if not, the reason is outside of their text
        self._event_name = b""  # the name of their SSE event
        self._learning = TemplateLearner(lambda path: path[0] not in _DECODED)
        self._usage: dict[str, Any] = {}
        self._handlers: Mapping[str, Callable[[Mapping[str, Any], list[Event]], None]] = {
            "message_start": self._start,
            "content_block_start": self._decoder.start,
            "content_block_delta": self._decoder.delta,
            "content_block_stop": self._decoder.stop,
            "message_delta": self._delta,
            "message_stop": self._stop,
            "message": self._whole,
            "error": self._error,
        }

    def decode(self, sse: ServerSentEvent) -> Frame:
        """Returns the frame of one SSE event. Raises json_text.NotJSON."""
        if not sse.data or sse.ends or self._over:
            return Frame(sse)
        if (shape := self._shape) is not None and sse.event == self._event_name and (text := shape.text(sse.data)) is not None:
            self._learning.hit()
            if shape.kind is TextDelta or shape.kind is ReasoningDelta:
                return Frame(sse, (shape.kind(text),), touched=not self._regular)
            arguments = self._decoder.more(shape.key, text)
            return Frame(sse, arguments, touched=not (self._regular and self._decoder.regular))
        if sse.event != b"ping":
            self._shape = None
        data = json_text.loads(sse.data)
        if not isinstance(data, dict):
            return Frame(sse)
        self._decoder.regular = True
        events: list[Event] = []
        name = type_of(sse, data)
        if name.startswith("content_block"):
            self._initial_content = None
        if read := self._handlers.get(name):
            if not self._started and name not in ("message_start", "message", "error"):
                self._start({}, events)
            read(data, events)
        if name and (sse.event != name.encode(errors="replace") or data.get("type") != name):
            self._decoder.mended("event_name")
        if name == "content_block_delta" and len(events) == 1:
            self._learn(sse, events[0])
        return Frame(sse, tuple(events), touched=not self._decoder.regular)

    def _learn(self, sse: ServerSentEvent, event: Event) -> None:
        assert sse.data
        self._regular, self._event_name = self._decoder.regular, sse.event
        if isinstance(event, TextDelta):
            self._shape = self._learning.learn(sse.data, event.text, ("delta", "text"), TextDelta)
        elif isinstance(event, ReasoningDelta):
            self._shape = self._learning.learn(sse.data, event.text, ("delta", "thinking"), ReasoningDelta)
        elif isinstance(event, ToolCallDelta) and (at := self._decoder.place(event.index)) is not None:
            path = ("delta", "partial_json")
            self._shape = self._learning.learn(sse.data, event.arguments, path, ToolCallDelta, key=at)

    def run_template(self) -> tuple[DeltaTemplate, TextState | None] | None:
        """See codec.SupportsRuns."""
        shape = self._shape
        if shape is None:
            return None
        if shape.kind is not ToolCallDelta:
            return shape, None
        return (shape, IN_STRING) if self._decoder.supports_run(shape.key) else None

    def decode_message(self, body: bytes) -> Frame:
        """Returns one frame for a whole message; its data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        events: list[Event] = []
        if message.get("error"):
            self._error(message, events)
            return Frame(ServerSentEvent(body, body), tuple(events))
        self._decoder.regular = True
        self._message(message, events)
        if is_foreign(message):
            self._decoder.mended("finish_reason")
        if isinstance(message.get("content"), list) and uncounted(message.get("usage")):
            self._decoder.mended("usage")
        return Frame(ServerSentEvent(body, body), tuple(events), touched=not self._decoder.regular)

    def _message(self, message: Mapping[str, Any], events: list[Event]) -> None:
        events.append(MessageStart())
        self._blocks(message.get("content"), events)
        if finish := finish_of(message):
            events.append(finish)
        if isinstance(message.get("usage"), dict):
            events.append(read_usage(message["usage"]))

    def _blocks(self, content: Any, events: list[Event]) -> None:
        """Decodes whole blocks."""
        blocks = blocks_of(content)
        if content is not None and blocks != content:
            self._decoder.mended("block_type")
        keeps_order = needs_order(blocks)
        for block in blocks:
            if keeps_order:
                events.append(MessageStart())
            self._decoder.whole(block, events)

    def _whole(self, message: Mapping[str, Any], events: list[Event]) -> None:
        """Decodes a stream whose only event is a whole message."""
        if not self._started:
            self._started = self._over = True
            self._message(message, events)
            events.append(MessageEnd())

    def close(self) -> Frame:
        """Ends the stream: open calls, and the message if a stop reason was received (better-ccflare#307)."""
        events: list[Event] = []
        whole = self._stopped and not (self._over or self._failed or self._decoder.unfinished)
        if self._pending_finish:
            self._close(events, self._pending_finish)
        if whole and not self._translates:
            self._decoder.mended("message_stop")
            events.append(MessageEnd())
        return Frame(None, tuple(events), touched=bool(events))

    def encode(self, frame: Frame) -> bytes:
        """Returns the bytes of a frame for the client: the upstream's own until the first touched frame."""
        return self._rewriter.encode(frame)

    def held(self) -> bytes:
        """Returns what `encode` held: the start of a text."""
        return self._rewriter.held()

    def encode_message(self, frame: Frame) -> bytes:
        """Returns the body for a touched frame of `decode_message`."""
        assert frame.sse is not None
        return rewrite_message(frame.sse.raw, frame.events)

    def _start(self, data: Mapping[str, Any], events: list[Event]) -> None:
        """Decodes message_start; with empty data, supplies a missing one."""
        message = data.get("message")
        usage, content = (message.get("usage"), message.get("content")) if isinstance(message, dict) else (None, None)
        if self._started or not (isinstance(usage, dict) and isinstance(content, list)):
            self._decoder.mended("message_start")
        elif miscounted(usage, "input_tokens"):
            self._decoder.mended("usage")
        if self._started:
            return
        self._started = True
        events.append(MessageStart())
        if isinstance(usage, dict):
            self._usage = counted(usage)
            events.append(read_usage(self._usage))
        if self._translates and isinstance(message, dict):
            self._initial_content = message.get("content")

    def _close(self, events: list[Event], finish: Finish | None) -> None:
        """Ends the content; `finish` is the reason, if known."""
        reason = finish.finish_reason if finish else ""
        initial_content, self._initial_content = self._initial_content, None
        self._blocks(initial_content, events)
        self._decoder.close(events, broken=reason in CUT_OFF, called=reason == "tool_calls")
        if pending := self._pending_finish:
            self._pending_finish = None
            events.append(pending)

    def _delta(self, data: Mapping[str, Any], events: list[Event]) -> None:
        delta = data.get("delta")
        if not isinstance(delta, dict):
            self._decoder.mended("delta")
            delta = {}
        finish = finish_of(delta)
        if finish and is_foreign(delta):
            self._decoder.mended("finish_reason")
        if self._stopped and not finish:  # SDKs overwrite the first reason with null
            self._decoder.mended("finish_repeated")
        self._stopped |= finish is not None
        if finish and self._decoder.unfinished and finish.finish_reason not in CUT_OFF:
            self._decoder.mended("block_stop")
            self._pending_finish = finish
        elif finish:
            self._close(events, finish)
            events.append(finish)
        usage = data.get("usage")
        if miscounted(usage, "output_tokens"):
            self._decoder.mended("usage")
        if isinstance(usage, dict):
            counts = {name: count for name, count in counted(usage).items() if count is not None}
            repeated = any(counts.get(name) for name in _INPUT)  # some providers send 0 for everything in message_start
            self._usage |= {name: count for name, count in counts.items() if repeated or name not in _INPUT}
            events.append(read_usage(self._usage))

    def _stop(self, data: Mapping[str, Any], events: list[Event]) -> None:
        self._over = True
        self._close(events, self._pending_finish)
        events.append(MessageEnd())

    def _error(self, data: Mapping[str, Any], events: list[Event]) -> None:
        self._failed = True
        read = stream_error(error_in(data) or data, data)
        events.append(replace(read, status=read.status or status_of(read.type)))
        error = data.get("error")
        if not (isinstance(error, dict) and all(isinstance(error.get(name), str) for name in ("type", "message"))):
            self._decoder.mended("error_form")
