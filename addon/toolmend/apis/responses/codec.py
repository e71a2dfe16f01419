"""OpenAI Responses ⇄ neutral events: streams and whole responses.

    event: response.output_text.delta
    data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,
           "delta":"Hi","logprobs":[]}

All events pass unchanged, up to the first one that is corrected; from there on rewrite.py writes the stream. decode.py reads
events. Sources: the openai SDK's types, and irregular streams seen in the wild.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ...core import json_text
from ...core.events import Event, Frame, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallEnd
from ...core.sse import ServerSentEvent
from ...core.text_state import ROOM, TextState
from ..codec import Reply
from ..shared.delta_template import DeltaTemplate
from ..shared.delta_template_learner import TemplateLearner
from ..shared.json_spans import Path
from .decode import ResponsesDecoder
from .items import MAX_KEPT
from .part_kinds import DELTAS, RENAMED_EVENTS, current_form, understood
from .rewrite import ResponsesRewriter, rewrite_response
from .rewrite_whole import merge_items

_DECODED = frozenset({"type", "item_id", "output_index", "content_index", "summary_index", "delta"})
"""Members of a delta that are decoded."""

_PARTS_BEGIN = ("response.content_part.added", "response.reasoning_summary_part.added")


class Responses:
    """Decodes and encodes one response.

    Keeps at most MAX_KEPT characters: beyond, the stream passes undecoded, or fails if it was rewritten.
    """

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._decoder = ResponsesDecoder(reply)
        self._rewriter = ResponsesRewriter(reply)
        self._state: Literal["passing", "mending", "blind", "over"] = "passing"
        self._last: tuple[ServerSentEvent | None, dict[str, Any]] = None, {}
        self._sent: bytes | None = None  # data of the last encoded event
        self._all_doubled = True  # every event so far came twice
        self._repeated = False  # the last event was such a repetition
        self._numbered = False  # sequence numbers increase: some upstreams send 0 in all events
        self._held: list[tuple[ServerSentEvent, dict[str, Any]]] = []  # without data: a repetition of the event before
        self._shape: DeltaTemplate | None = None  # template of the deltas of the open part or call
        self._learning = TemplateLearner(self._may_vary)

    def decode(self, sse: ServerSentEvent) -> Frame:
        """Returns the frame of one SSE event. Raises json_text.NotJSON."""
        if sse.ends:
            events = self._decoder.done()
            return Frame(sse, events, touched=not self._decoder.regular)
        read = _object_in(sse)
        data = _typed(sse, read)
        if not data or self._is_repetition(sse, data):
            return Frame(sse)
        before = _number(self._last[1])
        self._numbered |= before is not None and before != _number(data)
        self._last = sse, data
        events = self._decoder.feed(*(current_form(data) if self._reply.translates else (data["type"], data)))
        if data is not read and data["type"].startswith(("response.", "error")):
            self._reply.fired("event_name")
            self._decoder.regular = False
        self._learn(sse, data, events)
        return Frame(sse, events, touched=not self._decoder.regular)

    def run_template(self) -> tuple[DeltaTemplate, TextState | None] | None:
        """See codec.SupportsRuns."""
        full = max(self._decoder.size, self._rewriter.size) + ROOM > MAX_KEPT
        shape = self._shape
        # within a run, an event and its repetition could not be told apart from two deltas of the same text
        doubled = self._reply.translates and not self._numbered and _number(self._last[1]) is not None
        if shape is None or full or doubled or self._held or self._state not in ("passing", "mending"):
            return None
        state = self._decoder.text_state
        return (shape, state) if state or shape.kind is not ToolCallDelta else None

    def skip(self, count: int) -> None:
        """See codec.Numbered."""
        self._rewriter.sequence += count

    def decode_message(self, body: bytes) -> Frame:
        """Returns one frame for a whole response; its data is the body. Raises json_text.NotJSON."""
        response = json_text.loads(body)
        if not isinstance(response, dict):
            raise json_text.NotJSON("no JSON object")
        events = self._decoder.message(response)
        return Frame(ServerSentEvent(body, body), events, touched=not self._decoder.regular)

    def close(self) -> Frame:
        """Returns an empty frame: a call ends with its item."""
        return Frame(None)

    def encode(self, frame: Frame) -> bytes:
        """Returns the bytes of a frame. The events that announce a text are held: it may turn out to be a call."""
        sse = frame.sse
        if self._state == "over":
            return b""
        if self._state == "blind":
            return self.held() + (sse.raw if sse else b"")
        data = self._read(sse) if sse else {}
        if sse and sse.data and sse.data == self._sent and not frame.events and self._numbered and self._all_doubled:
            return self._repeat(sse)  # see _is_repetition
        self._sent = sse.data if sse else self._sent
        if sse and self._state == "passing" and not frame.touched:
            return self._pass(sse, data, frame)
        out = b""
        if self._state == "passing":
            self._state = "mending"
            held, self._held = self._held, []
            out = b"".join([self._rewriter.rewrite(before, announced, ()) for before, announced in held if announced])
        out += self._rewriter.rewrite(sse if data else None, data, frame.events)
        if self._rewriter.size > MAX_KEPT:
            self._state = "over"
            return out + self._rewriter.fail("The upstream's answer is too long to be mended.")
        return out if data or not sse else out + sse.raw

    def held(self) -> bytes:
        """Returns what is held, at the end of the body or when the rest passes undecoded."""
        held, self._held = self._held, []
        self._rewriter.break_off()
        return b"".join([sse.raw for sse, _ in held]) + self._rewriter.take()

    def encode_message(self, frame: Frame) -> bytes:
        """Returns the body for a touched frame of `decode_message`."""
        assert frame.sse is not None
        body = frame.sse.raw.decode()
        response = json_text.loads(frame.sse.raw)
        rewriter = ResponsesRewriter(self._reply)
        rewriter.whole(frame.events, response)
        changed = rewrite_response(response, rewriter.reason, rewriter)
        if isinstance(response.get("output"), list):
            changed["output"] = merge_items(response["output"], changed["output"])
        if isinstance(response.get("output_text"), str):
            changed["output_text"] = "".join(event.text for event in frame.events if isinstance(event, TextDelta))
        for name, value in changed.items():
            if name not in response or value is not response[name]:
                body = json_text.replace_member(body, name, json_text.dumps(value))
        return body.encode()

    def _repeat(self, sse: ServerSentEvent) -> bytes:
        """Encodes a repetition of the last event: it passes after that event if events pass."""
        if self._state == "passing" and self._held:
            self._held.append((sse, {}))
            return b""
        return sse.raw if self._state == "passing" else b""

    def _is_repetition(self, sse: ServerSentEvent, data: dict[str, Any]) -> bool:
        """Whether an event repeats the last one, with its number. If so, deltas are decoded one by one from here on.

        While events may have to pass unchanged, this holds only if every event of the stream came twice.
        """
        last, _ = self._last
        same = last is not None and last.data == sse.data
        self._all_doubled = self._all_doubled and (same != self._repeated or last is None)
        self._repeated = same and not self._repeated
        again = same and self._numbered and _number(data) is not None and (self._reply.translates or self._all_doubled)
        if again:
            self._shape = None
            self._learning.stop()
        return again

    def _learn(self, sse: ServerSentEvent, data: dict[str, Any], events: tuple[Event, ...]) -> None:
        event = events[0] if len(events) == 1 and data["type"] in DELTAS and self._decoder.regular else None
        if not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta) or not sse.data:
            self._shape = None
        elif self._shape and self._shape.span(sse.data):
            self._learning.hit()
        else:
            text = event.arguments if isinstance(event, ToolCallDelta) else event.text
            self._shape = self._learning.learn(sse.data, text, ("delta",), type(event))

    def _may_vary(self, path: Path) -> bool:
        """Whether the value at a path of a delta may vary: log probabilities; the id, if each delta has another one."""
        return path[0] not in _DECODED or (path == ("item_id",) and self._decoder.is_new_id)

    def _pass(self, sse: ServerSentEvent, data: dict[str, Any], frame: Frame) -> bytes:
        if _announces(data) or _breaks_off(data, frame.events):
            self._held.append((sse, data))
            return b""
        for _, announced in self._held:
            if announced:
                self._rewriter.follow(announced, ())
        if data:
            self._rewriter.follow(data, frame.events)
        if self._rewriter.size > MAX_KEPT:
            self._state = "blind"
        return self.held() + sse.raw

    def _read(self, sse: ServerSentEvent) -> dict[str, Any]:
        if self._last[0] is sse:
            return self._last[1]
        try:
            return _typed(sse, _object_in(sse))
        except json_text.NotJSON:
            return {}


def _number(data: Mapping[str, Any]) -> int | None:
    number = data.get("sequence_number")
    return number if type(number) is int else None


def _object_in(sse: ServerSentEvent) -> dict[str, Any]:
    """The object in an event's data; {} if there is none."""
    data = json_text.loads(sse.data) if sse.data else None
    return data if isinstance(data, dict) else {}


def _typed(sse: ServerSentEvent, data: dict[str, Any]) -> dict[str, Any]:
    """Returns the data with its type by OpenAI's name; without a type, the name of the SSE event is used."""
    type_ = data.get("type")
    name = type_ if isinstance(type_, str) and type_ else sse.event.decode(errors="replace")
    name = RENAMED_EVENTS.get(name, name)
    return data if not data or name == type_ else {**data, "type": name}


def _breaks_off(data: dict[str, Any], events: Sequence[Event]) -> bool:
    """Whether an event ends incomplete arguments: missing brackets are added when the item ends."""
    ends = data.get("type") == "response.function_call_arguments.done"
    return ends and not any(isinstance(event, ToolCallEnd) for event in events)


def _announces(data: dict[str, Any]) -> bool:
    """Whether an event announces a text, and has none of it."""
    type_, item = data.get("type"), data.get("item")
    if type_ == "response.output_item.added":
        return understood(item) and item["type"] == "message"  # not so for reasoning, which may start minutes before its text
    return type_ in _PARTS_BEGIN
