"""OpenAI Responses ⇄ neutral events: streams and whole responses.

    event: response.output_text.delta
    data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,
           "delta":"Hi","logprobs":[]}

Rule of this file: all passes as it came, up to the first event that is mended. Source: the openai SDK's types, and the
irregular streams that were seen in the wild. What is read of an event stands in responses_read.py, how the rest is written
anew in rewrite.py.
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
from .part_kinds import DELTAS, OTHERWISE, newer, understood
from .rewrite import Mending, mended
from .rewrite_whole import kept

_SAYS = frozenset({"type", "item_id", "output_index", "content_index", "summary_index", "delta"})
"""What is read of a delta."""

_PARTS_BEGIN = ("response.content_part.added", "response.reasoning_summary_part.added")


class Responses:
    """The codec of one response. Keeps at most MAX_KEPT characters: a longer one passes unread, or fails if it was mended."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._reading = ResponsesDecoder(reply)
        self._mending = Mending(reply)
        self._state: Literal["passing", "mending", "blind", "over"] = "passing"
        self._last: tuple[ServerSentEvent | None, dict[str, Any]] = None, {}
        self._sent: bytes | None = None  # the data of the last event that was encoded
        self._doubles = True  # each event so far came twice
        self._repeated = False  # the last one was one again
        self._counts = False  # the upstream numbers its events: some send 0 with each
        self._held: list[tuple[ServerSentEvent, dict[str, Any]]] = []  # no data: the one before again
        self._shape: DeltaTemplate | None = None  # of the deltas of the part, or of the call, that is open
        self._learning = TemplateLearner(self._may_vary)

    def decode(self, sse: ServerSentEvent) -> Frame:
        """One server-sent event → its frame. Raises json_text.NotJSON where the data is no JSON."""
        if sse.ends:
            events = self._reading.done()
            return Frame(sse, events, touched=not self._reading.regular)
        said = _object_in(sse)
        data = _typed(sse, said)
        if not data or self._is_again(sse, data):
            return Frame(sse)
        before = _number(self._last[1])
        self._counts |= before is not None and before != _number(data)
        self._last = sse, data
        events = self._reading.feed(*(newer(data) if self._reply.translates else (data["type"], data)))
        if data is not said and data["type"].startswith(("response.", "error")):
            self._reply.fired("event_name")
            self._reading.regular = False
        self._learn(sse, data, events)
        return Frame(sse, events, touched=not self._reading.regular)

    def run_template(self) -> tuple[DeltaTemplate, TextState | None] | None:
        """See codec.SupportsRuns."""
        full = max(self._reading.size, self._mending.size) + ROOM > MAX_KEPT
        shape = self._shape
        same = self._reply.translates and not self._counts and _number(self._last[1]) is not None  # no lane tells two of one text
        if shape is None or full or same or self._held or self._state not in ("passing", "mending"):
            return None
        state = self._reading.text_state
        return (shape, state) if state or shape.kind is not ToolCallDelta else None

    def skip(self, count: int) -> None:
        """See codec.Numbered."""
        self._mending.sequence += count

    def decode_message(self, body: bytes) -> Frame:
        """A whole response → one frame, whose data is the body. Raises json_text.NotJSON."""
        response = json_text.loads(body)
        if not isinstance(response, dict):
            raise json_text.NotJSON("no JSON object")
        events = self._reading.message(response)
        return Frame(ServerSentEvent(body, body), events, touched=not self._reading.regular)

    def close(self) -> Frame:
        """Nothing: a call is over when its item is."""
        return Frame(None)

    def encode(self, frame: Frame) -> bytes:
        """A frame → the bytes for the client. What announces a text waits for it: it may turn out to be a call."""
        sse = frame.sse
        if self._state == "over":
            return b""
        if self._state == "blind":
            return self.held() + (sse.raw if sse else b"")
        data = self._read(sse) if sse else {}
        if sse and sse.data and sse.data == self._sent and not frame.events and self._counts and self._doubles:
            return self._repeat(sse)  # as `_is_again` found it
        self._sent = sse.data if sse else self._sent
        if sse and self._state == "passing" and not frame.touched:
            return self._pass(sse, data, frame)
        out = b""
        if self._state == "passing":
            self._state = "mending"
            held, self._held = self._held, []
            out = b"".join([self._mending.rewrite(before, announced, ()) for before, announced in held if announced])
        out += self._mending.rewrite(sse if data else None, data, frame.events)
        if self._mending.size > MAX_KEPT:
            self._state = "over"
            return out + self._mending.fail("The upstream's answer is too long to be mended.")
        return out if data or not sse else out + sse.raw

    def held(self) -> bytes:
        """What is kept back: for the end of the body, and where the rest of it passes unread."""
        held, self._held = self._held, []
        self._mending.break_off()
        return b"".join([sse.raw for sse, _ in held]) + self._mending.take()

    def encode_message(self, frame: Frame) -> bytes:
        """A frame that `decode_message` made, and that was touched → the body."""
        assert frame.sse is not None
        body = frame.sse.raw.decode()
        response = json_text.loads(frame.sse.raw)
        mending = Mending(self._reply)
        mending.whole(frame.events, response)
        changed = mended(response, mending.reason, mending)
        if isinstance(response.get("output"), list):
            changed["output"] = kept(response["output"], changed["output"])
        if isinstance(response.get("output_text"), str):
            changed["output_text"] = "".join(event.text for event in frame.events if isinstance(event, TextDelta))
        for name, value in changed.items():
            if name not in response or value is not response[name]:
                body = json_text.replace_member(body, name, json_text.dumps(value))
        return body.encode()

    def _repeat(self, sse: ServerSentEvent) -> bytes:
        """The last event again: it passes where all does, behind the one that it repeats."""
        if self._state == "passing" and self._held:
            self._held.append((sse, {}))
            return b""
        return sse.raw if self._state == "passing" else b""

    def _is_again(self, sse: ServerSentEvent, data: dict[str, Any]) -> bool:
        """Whether it is the last event again, number and all. Then each is looked at.

        Where some have to leave as they came, it counts only in a stream that has had every event twice.
        """
        last, _ = self._last
        same = last is not None and last.data == sse.data
        self._doubles = self._doubles and (same != self._repeated or last is None)
        self._repeated = same and not self._repeated
        again = same and self._counts and _number(data) is not None and (self._reply.translates or self._doubles)
        if again:
            self._shape = None
            self._learning.stop()
        return again

    def _learn(self, sse: ServerSentEvent, data: dict[str, Any], events: tuple[Event, ...]) -> None:
        event = events[0] if len(events) == 1 and data["type"] in DELTAS and self._reading.regular else None
        if not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta) or not sse.data:
            self._shape = None
        elif self._shape and self._shape.span(sse.data):
            self._learning.hit()
        else:
            text = event.arguments if isinstance(event, ToolCallDelta) else event.text
            self._shape = self._learning.learn(sse.data, text, ("delta",), type(event))

    def _may_vary(self, path: Path) -> bool:
        """Whether what stands at a path of a delta says nothing: log probabilities; an id, where each delta has another."""
        return path[0] not in _SAYS or (path == ("item_id",) and self._reading.anew)

    def _pass(self, sse: ServerSentEvent, data: dict[str, Any], frame: Frame) -> bytes:
        if _announces(data) or _breaks_off(data, frame.events):
            self._held.append((sse, data))
            return b""
        for _, announced in self._held:
            if announced:
                self._mending.follow(announced, ())
        if data:
            self._mending.follow(data, frame.events)
        if self._mending.size > MAX_KEPT:
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
    """The object that an event holds; an empty one if there is none."""
    data = json_text.loads(sse.data) if sse.data else None
    return data if isinstance(data, dict) else {}


def _typed(sse: ServerSentEvent, said: dict[str, Any]) -> dict[str, Any]:
    """The same with its type, as OpenAI calls it: where the data have none, the event is named by it."""
    type_ = said.get("type")
    name = type_ if isinstance(type_, str) and type_ else sse.event.decode(errors="replace")
    name = OTHERWISE.get(name, name)
    return said if not said or name == type_ else {**said, "type": name}


def _breaks_off(data: dict[str, Any], events: Sequence[Event]) -> bool:
    """Whether an event ends arguments that are not complete: where their item ends, brackets that they lack are added."""
    ends = data.get("type") == "response.function_call_arguments.done"
    return ends and not any(isinstance(event, ToolCallEnd) for event in events)


def _announces(data: dict[str, Any]) -> bool:
    """Whether an event announces a text, and says nothing yet."""
    type_, item = data.get("type"), data.get("item")
    if type_ == "response.output_item.added":
        return understood(item) and item["type"] == "message"  # reasoning may go on for minutes without a word
    return type_ in _PARTS_BEGIN
