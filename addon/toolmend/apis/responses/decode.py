"""A Responses stream, however irregular, as neutral events.

    {"type": "response.output_item.added", "output_index": 1,
     "item": {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_time", "arguments": ""}}
    {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 1, "delta": "{\\"zone\\""}
    {"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 1, "arguments": "{\\"zone\\":1}"}

Everything is said up to four times: as deltas, by a `done`, by output_item.done, and by the output of the last event. Some
upstreams send only one of them, LM Studio the `done` without deltas.

Rule of this file: each event tells what is new in it, by item. What was told cannot be taken back: where a `done` says
something else than the deltas, the deltas stand, and a call of which this is true has no end.
"""

from collections.abc import Mapping
from typing import Any

from ...core import json_text
from ...core.events import (
    Citation,
    Event,
    Finish,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    ReasoningSeal,
    RefusalDelta,
    StreamError,
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ...core.fold import BETWEEN
from ...core.reasoning_state import ReasoningState
from ...core.text_state import ANYTHING, IN_STRING, TextState
from ..codec import Reply
from ..shared.call_identity import bare, is_other, only_fitting
from ..shared.error_words import error_in
from ..shared.named_arguments import named_arguments
from ..shared.translation_notes import CITED, OTHER
from ..shared.web_search import CALL, MAX_LINKS, cited, searched
from .item_state import Heard, Known, Unclaimed
from .items import MAX_KEPT
from .missing_events import MissingEvents
from .part_kinds import (
    ARGUMENTS,
    CALLS,
    DELTAS,
    DONES,
    ENDS,
    FRAMES,
    INPUT,
    PARTS,
    TERMINAL,
    TEXT,
    PartKind,
    parts_of,
    understood,
)
from .usage import error_of, fails_badly, finish_reason, miscounted, response_in, tells_error, usage_of

_SPOKEN: dict[str, type[TextDelta | RefusalDelta | ReasoningDelta]] = {"output_text": TextDelta, "refusal": RefusalDelta}
_SPOKEN |= {"summary_text": ReasoningDelta, "reasoning_text": ReasoningDelta}


class ResponsesDecoder:
    """One response. `regular`: whether a client of this API finds in the last event what it needs. `size`: of what is told.

    `text_state`: of the call whose delta was the last event, if known.
    """

    def __init__(self, reply: Reply) -> None:
        self._tools = reply.tools
        self._new_id = reply.new_id
        self._fired = reply.fired
        self._note = reply.note
        self._translates = reply.translates
        self._repairs = reply.repairs
        self._form = MissingEvents(self._mended, watching=not reply.translates, bare_end=reply.bare_end)
        self._known = Known()
        self._unclaimed = Unclaimed()
        self._seals: set[str] = set()
        self._texts = 0  # parts of text that began
        self._thought = False  # the last that was told is reasoning, and it has no seal yet
        self._cited: set[tuple[int, Citation]] = set()  # with the identity of the item
        self._searched: set[str] = set()  # ids of web searches
        self._events: list[Event] = []
        self._started = False
        self._first = True
        self._over = False
        self._calls = 0
        self.size = 0
        self.regular = True
        self.text_state: TextState | None = None

    def feed(self, type_: str, data: Mapping[str, Any]) -> tuple[Event, ...]:
        """The data of one server-sent event."""
        self._events = []
        self.regular, self.text_state = True, None
        if self._over:
            return ()
        if self._first:
            self._first = False
            self._form.begins(type_, data.get("sequence_number"))
        delta, done = DELTAS.get(type_), DONES.get(type_)
        if (shape := delta or done) and self._known.of_other_kind(data.get("item_id"), shape.item):
            self._mended("arguments_type")  # LiteLLM, of a custom call: its input in JSON, and as it is when the item ends
        elif delta:
            self._delta(delta, data)
        elif done:
            item = self._item(data, done)
            self._form.told(item, done, data, data.get(done.member))
            self._done(done, item, data)
            item.said = True
        elif type_ in FRAMES:
            self._framed(data, ended=type_.endswith("done"))
        elif type_ in ("response.output_item.added", "response.output_item.done"):
            wire = data.get("item")
            if understood(wire):
                new = type_.endswith("added")
                call_id = wire.get("call_id", "")
                item = self._known.find(wire.get("id"), data.get("output_index"), wire["type"], new=new, call_id=call_id)
                if new:
                    self._announced(item, wire, data.get("output_index"))
                else:
                    self._form.placed(item, wire.get("id"), data.get("output_index"))
                    self._done_with(item, wire)
            elif isinstance(wire, dict) and wire.get("type"):
                self._form.foreign(data.get("output_index"))
                self._other(wire, over=type_.endswith("done"))
        elif type_ == "response.output_text.annotation.added" and self._translates:
            self._cite(self._known.find(data.get("item_id"), data.get("output_index"), TEXT.item), [data.get("annotation")])
        elif type_ in TERMINAL:
            if type_ == "response.done" and self._form.watching:
                self._mended("event_name")
            response = response_in(data)
            if not isinstance(response, dict) and error_in(data):
                response = {"error": error_in(data)}
            status = response.get("status") if isinstance(response, dict) else None
            # some upstreams have one event for every end, and the response tells which it is
            self._last(status if status in ENDS else type_.partition(".")[2], response)
        elif type_ in ("error", "response.error") or (not type_ and error_in(data)):
            self._over = True
            self._events.append(error_of(error_in(data) or data, data))
            if not tells_error(data):
                self._mended("error_form")
        elif type_ in ("response.created", "response.in_progress", "response.queued"):
            self._start()
            self._form.names(data.get("response"))
        elif data.get("object") == "response":  # a whole one as the only event
            self._form.watching = False
            self._last(data.get("status"), data)
        return tuple(self._events)

    @property
    def anew(self) -> bool:
        """Whether the last event called its item by an id that was not known."""
        return self._known.anew

    def done(self) -> tuple[Event, ...]:
        """`[DONE]`, which is none of this API's, says that nothing more will come."""
        self.regular = True
        if self._over:
            return ()
        self._over = True
        if self._translates:  # it may be cut anywhere
            return (StreamError("server_error", "The upstream's answer was cut off: response.completed is missing."),)
        if self._started and self._form.watching:
            self._mended("response_output")
        return (MessageEnd(),)

    def message(self, response: Mapping[str, Any]) -> tuple[Event, ...]:
        """A whole response."""
        if response.get("error"):
            return (error_of(response["error"]),)
        self._counts(response)
        output = response.get("output")
        self._form.whole(output if isinstance(output, list) else [])
        self._last(response.get("status"), response)
        return tuple(event for event in self._events if not isinstance(event, MessageEnd))

    def _counts(self, response: Mapping[str, Any]) -> None:
        """The tokens that it tells."""
        if self._form.watching and miscounted(response.get("usage")):
            self._mended("usage")

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._events.append(MessageStart())

    def _item(self, data: Mapping[str, Any], shape: PartKind) -> Heard:
        item = self._known.find(data.get("item_id"), data.get("output_index"), shape.item)
        self._form.placed(item, data.get("item_id"), data.get("output_index"))
        return item

    def _delta(self, shape: PartKind, data: Mapping[str, Any]) -> None:
        delta = data.get("delta")
        if delta is None:
            self._mended("block_text")
        elif isinstance(delta, str) and delta:
            item = self._item(data, shape)
            self._form.said_in(item, shape, data)
            item.last = (shape.part, shape.index_in(data))
            now = item.after_first(delta)
            if now is None:
                self._mended("arguments")
                return
            self._append(item, shape, item.last[1], now, live=True, named=item.id != "" and data.get("item_id") == item.id)

    def _append(self, item: Heard, shape: PartKind, index: int, text: str, *, live: bool = False, named: bool = False) -> None:
        """More of an item. `named`: by its id; behind complete arguments another call's may stand, or the same again."""
        if item.ended or (item.arguments.complete and not named):
            return
        if item.part is not shape:
            self._form.tells(item, shape, live=live)
        self.size += len(text)
        if self.size > MAX_KEPT:
            self._over = True
            self._events.append(StreamError("server_error", "The upstream's answer is too long to be read."))
            return
        new = not any(item.told.get((shape.part, index), ()))
        item.told.setdefault((shape.part, index), []).append(text)
        if not item.placed:
            self._unclaimed.add(shape.part, text)
        self._start()
        if new and shape is TEXT:
            apart = not any(part == shape.part and other != index and any(text) for (part, other), text in item.told.items())
            self._events += [TextStart(apart)] if self._texts and self._translates else []
            self._texts += 1
        thinks = shape.item == "reasoning"
        if new and thinks and self._thought and self._translates:
            self._events.append(ReasoningDelta(BETWEEN))
        self._thought = thinks
        if shape.part:
            self._events.append(_SPOKEN[shape.part](text))
        elif shape is INPUT:
            self.text_state = ANYTHING
            self._argue(item, text)
        else:
            item.arguments.as_is = not self._repairs
            sent, behind = item.arguments.feed(text)
            self.text_state = IN_STRING if item.arguments.in_string else None
            if sent != text:
                self._mended(item.arguments.rule)
            self._argue(item, sent)
            for arguments in item.behind.feed(behind) if behind else ():
                if is_other(arguments, item.twins[-1] if item.twins else "".join(item.sent)):
                    item.twins.append(arguments)
                    self._twin(item, arguments)

    def _argue(self, item: Heard, text: str) -> None:
        """A piece of a call's arguments, as they are to be."""
        if text:
            item.sent.append(text)
            if item.index >= 0:
                self._events.append(ToolCallDelta(item.index, text))

    def _twin(self, item: Heard, arguments: str) -> None:
        """A call that stood behind the arguments of another, once that has begun."""
        if item.index >= 0:
            self._mended("tool_call_index")
            index, self._calls = self._calls, self._calls + 1
            self._events.append(ToolCallStart(index, self._new_id(), item.name))
            self._events += (ToolCallDelta(index, arguments), ToolCallEnd(index))

    def _rest(self, item: Heard, shape: PartKind, index: int, text: Any) -> bool:
        """Tells what a text says and the deltas did not. Whether they say the same."""
        if not isinstance(text, str):
            return True
        told = item.told_at(shape.part, index, text)
        told[:] = ["".join(told)]
        if not told[0] and item.placed and shape.part:
            told[0] = self._unclaimed.claim(shape.part, text)
        if not text.startswith(told[0]):
            return False
        if shape.item == "reasoning" and any(
            part != shape.part and "".join(pieces) == text for (part, _), pieces in item.told.items()
        ):
            return True  # it was told as reasoning of the other kind
        if len(text) > len(told[0]):
            self._append(item, shape, index, text[len(told[0]) :])
        return True

    def _done(self, shape: PartKind, item: Heard, data: Mapping[str, Any], *, complete: bool = True) -> None:
        text = data.get(shape.member)
        if shape.part:
            self._rest(item, shape, shape.index_in(data), text)
            return
        self._begin(item)
        if text is not None and not isinstance(text, str):
            text = json_text.dumps(text)  # some send the object
            self._mended("arguments_type")
        self._end(item, shape, text, complete=complete)

    def _framed(self, data: Mapping[str, Any], *, ended: bool) -> None:
        """A part is announced, or ended."""
        part = data.get("part")
        shape = PARTS.get(str(part.get("type"))) if isinstance(part, dict) else None
        if not shape or not isinstance(part, dict):
            self._form.counting = False  # it is counted, too
            return
        item, index = self._item(data, shape), shape.index_in(data)
        if ended:
            self._form.told(item, shape, data, part.get(shape.member))
            self._rest(item, shape, index, part.get(shape.member))
            self._form.part_done(item, shape)
        else:
            self._form.part_added(item, shape, data)

    def _mended(self, rule: str) -> None:
        self._fired(rule)
        self.regular = False

    # items

    def _announced(self, item: Heard, wire: Mapping[str, Any], place: Any) -> None:
        self._start()
        self._form.added(item, place, wire)
        if item.type not in CALLS:
            return
        self._names(item, wire)
        arguments = wire.get(CALLS[item.type].member)
        item.first = arguments if isinstance(arguments, str) else ""
        if not item.name:
            self._mended("tool_call_name")
        self._begin(item)

    def _done_with(self, item: Heard, wire: Mapping[str, Any]) -> None:
        """The end of an item."""
        self._whole(item, wire)
        self._form.item_done(item, wire)

    def _whole(self, item: Heard, wire: Mapping[str, Any]) -> None:
        """An item that says all of it."""
        self._start()
        if item.type in CALLS:
            self._names(item, wire)
            self._done(CALLS[item.type], item, wire, complete=wire.get("status") != "incomplete")
            self._guess(item, complete=wire.get("status") != "incomplete")
            if wire.get("status") == "completed":
                self._close(item)
            return
        for holder in ("summary", "content"):
            parts = parts_of(wire, holder)
            if wire.get(holder) and parts != wire[holder]:
                self._mended("block_type")
            strays = item.strays(len(parts))
            for index, part in enumerate(parts):
                shape = PARTS.get(str(part.get("type"))) if isinstance(part, dict) else None
                if shape and (shape.item, shape.holder) == (item.type, holder):
                    place = next(strays[shape.part]) if shape.part in strays else index
                    self._rest(item, shape, place, part.get(shape.member))
                    self._cite(item, part.get("annotations"))
        content = wire.get("encrypted_content")
        if item.type == "reasoning" and isinstance(content, str) and content and not (item.sealed or content in self._seals):
            item.sealed = True
            self._seals.add(content)
            data = json_text.dumps({"id": wire.get("id"), "encrypted_content": content})
            self._thought = False
            self._events.append(ReasoningSeal(ReasoningState("encrypted", data)))

    def _cite(self, item: Heard, annotations: Any) -> None:
        """Emits citations of an item's text, each once: they come in events of their own, and again with each end."""
        if not self._translates:
            return
        for given in annotations if isinstance(annotations, list) else ():
            citation = cited(given)
            if citation is None:
                self._note(CITED)
            elif (id(item), citation) not in self._cited and len(self._cited) < MAX_LINKS:
                self._cited.add((id(item), citation))
                self._start()
                self._events.append(citation)

    def _other(self, wire: Mapping[str, Any], *, over: bool) -> None:
        """An item that is neither text nor reasoning nor a call of a function."""
        search = searched(wire) if wire.get("type") == CALL and self._translates else None
        if search is None:
            self._note(OTHER)
        elif over and wire.get("status") != "in_progress" and search.id not in self._searched:
            self._searched.add(search.id)
            self._start()
            self._events.append(search)

    def _names(self, item: Heard, wire: Mapping[str, Any]) -> None:
        self._known.name(item, wire)
        if item.index < 0 and (name := bare(item.name, self._tools)) != item.name:
            self._mended("tool_call_name")
            item.arguments.named = named_arguments(item.name, name, self._tools)
            item.name = name
        if not item.call_id and item.index < 0 and item.name:
            self._mended("tool_call_id")
            item.call_id = item.id or self._new_id()

    def _begin(self, item: Heard) -> None:
        """A call starts when its name is known; what came of its arguments before comes then."""
        if item.index >= 0 or item.ended or not item.name:
            return
        item.index = self._calls
        item.arguments.demands = self._tools.requires(item.name)
        self._calls += 1
        self._start()
        kind: Any = "custom" if item.type == INPUT.item else "function"
        self._events.append(ToolCallStart(item.index, item.call_id or item.id or self._new_id(), item.name, kind=kind))
        if held := "".join(item.sent):
            self._events.append(ToolCallDelta(item.index, held))
        for arguments in item.twins:
            self._twin(item, arguments)

    def _end(self, item: Heard, shape: PartKind, arguments: str | None, *, complete: bool) -> None:
        if item.ended:
            return
        if arguments is None:
            arguments = "" if item.told.get(("", 0)) else item.first + item.early
        if item.arguments.waits and arguments:
            item.told["", 0] = []  # `{}` says nothing
        same = self._rest(item, shape, 0, arguments) or not arguments
        if item.index < 0:
            return  # its name may come with output_item.done
        told, whole = _value("".join(item.sent)), _value(arguments)
        if not same and (shape is INPUT or (told != whole and not (told and whole == {}))):  # which says nothing
            self._fired("arguments")
            complete = False
        if shape is not INPUT:
            self._argue(item, item.arguments.end(broken=not complete))
            complete = complete and (item.arguments.complete or isinstance(_value("".join(item.sent)), dict))
        item.ended = True
        if complete:
            self._events.append(ToolCallEnd(item.index))

    def _close(self, item: Heard) -> None:
        """A call that the upstream takes for complete."""
        if item.type == ARGUMENTS.item and item.index >= 0 and item.ended:
            rest = item.arguments.closing("".join(item.sent), self._tools, item.name)
            if rest:
                self._mended(item.arguments.rule)
                self._argue(item, rest)
                self._events.append(ToolCallEnd(item.index))

    def _guess(self, item: Heard, *, complete: bool) -> None:
        """A call whose name nobody told is of the one tool that its arguments fit, or text."""
        if item.index >= 0 or item.ended:
            return
        self._mended("tool_call_name")
        text = "".join(item.sent)
        item.name = only_fitting(text, self._tools)
        if item.name:
            self._begin(item)
            self._end(item, CALLS[item.type], None, complete=complete)
        else:
            item.ended = True
            self._events += [TextDelta(text)] if text else []

    def _last(self, status: Any, response: Any) -> None:
        """The end: what was not told before, and why it ends."""
        response = response if isinstance(response, dict) else {}
        if status in ("failed", "cancelled") or response.get("error"):
            self._over = True
            told = response.get("error") or {"type": status, "message": f"The upstream's answer is {status}."}
            self._events.append(error_of(told, response))
            if self._form.watching and fails_badly(response):
                self._mended("error_form")
            return
        if status in ("queued", "in_progress"):
            self._over = True
            self._events.append(StreamError("server_error", f"The upstream's answer is not there yet: it is {status}."))
            return
        output = response.get("output")
        self._counts(response)
        self._form.named(response)
        self._output(output if isinstance(output, list) else [], complete=status != "incomplete")
        self._start()
        if status in ("completed", "incomplete"):
            self._over = True
            self._events.append(Finish(finish_reason(status, response, called=self._calls > 0)))
        if isinstance(response.get("usage"), dict):
            self._events.append(usage_of(response["usage"], response.get("tool_usage")))
        self._events.append(MessageEnd())

    def _output(self, output: list[Any], *, complete: bool) -> None:
        """All items of a response, once more; of calls that it leaves out nothing more comes, either."""
        told = self._known.items[:]
        self._form.last(told, [wire for wire in output if understood(wire)])
        wires: list[tuple[Heard, Mapping[str, Any]]] = []
        found: set[int] = set()
        for place, wire in enumerate(output):
            if understood(wire):
                item = self._known.find_call(wire, place, found)
                found.add(id(item))
                wires.append((item, wire))
            elif isinstance(wire, dict) and wire.get("type"):
                self._other(wire, over=True)
        for item in told:
            if item.placed and id(item) not in found:
                for (part, _), pieces in item.told.items():
                    self._unclaimed.add(part, "".join(pieces))
        for item, wire in wires:
            self._whole(item, wire)
        for item in self._known.items:
            if item.type in CALLS:
                self._end(item, CALLS[item.type], None, complete=complete)
                self._guess(item, complete=complete)


def _value(text: str) -> Any:
    """What arguments say; None where that is nothing."""
    try:
        # where deltas cut a character in two, its halves are one again
        return json_text.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode())
    except json_text.NotJSON:
        return None
