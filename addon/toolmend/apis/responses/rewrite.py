"""A Responses stream for a client of the same API: as it came up to the first mended event, and written anew from there on.

    upstream   item 0 message ["Look: <tool_call>…"]                                    completed
    client     item 0 message ["Look: "] ─► item 1 function_call ─► item 2 message …    completed, output [0, 1, 2]

Rule of this file: while all passes, `follow` keeps up with what the client was told, so that the change is seamless; then
`rewrite` tells the items from the events, under the upstream's ids, and keeps what is not understood, its number and place
corrected.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, MessageEnd, ReasoningSeal, StreamError, ToolCallEnd, Usage
from ...core.sse import ServerSentEvent
from ..codec import Reply
from .follow_up import FRAMES, LIFE, TEXTS, Announced, Followed, announced_as
from .items import Output
from .part_kinds import CALLS, SAYS, TERMINAL, Item, PartKind, understood
from .rewrite_whole import Wires
from .usage import (
    ENDS,
    begun,
    counted,
    error_object,
    estimate,
    failed,
    fails_badly,
    filled,
    lacks,
    miscounted,
    response_in,
    tells_error,
    usage_object,
)

_BROKEN_CALL = "A tool call of the upstream's answer was broken off."

_TOLD = ("id", "call_id", "name", "content", "summary")


class Mending(Followed):
    """One response."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self.reason: str | None = None  # why it finishes
        self._left: deque[Item] = deque()  # what is open of messages and reasoning at the last event
        self._ends: dict[str, Mapping[str, Any]] = {}  # how that has them, by id

    def rewrite(self, sse: ServerSentEvent | None, data: Mapping[str, Any], events: Sequence[Event]) -> bytes:
        """An event, and what it says now."""
        type_, place, wire = data.get("type"), data.get("output_index"), data.get("item")
        if type_ in SAYS and not (self.sequence or self._response):
            self._response = filled(response_in(data), {}, begun(self._reply))
            self.event("response.created", response=self._response)
        item = self._of(data)
        if type_ in TERMINAL:
            self._last(str(type_), data, events)
            return self.take()
        announced = False
        if type_ == "response.output_item.added" and understood(wire):
            announced = True
            self._note_announced(wire, place if type(place) is int else None)
        shape = TEXTS.get(str(type_))
        if shape and shape.item == "reasoning":
            self.thoughts = shape
        if item is None and (type(place) is not int or place not in self._places):
            self._note_unannounced(data, place, shape)
        for event in events:
            self._follow_event(event)
        if type_ == "response.output_item.done" and understood(wire):
            self._done(item or self._of(data), wire)
        elif type_ in FRAMES:
            if item and not item.done:
                self.close_part(item)
        elif shape is None and sse is not None and not announced:
            error = next((event for event in events if isinstance(event, StreamError)), None)
            if error and not tells_error(data):
                self.event("error", **error_object(error), param=None)
            else:
                self._keep(sse, data, item)
        return self.take()

    def _note_announced(self, wire: Mapping[str, Any], place: int | None) -> None:
        if wire["type"] not in CALLS:
            self.hush()
        self._announced[announced_as(wire)] = Announced(wire, place)
        if place is not None:
            self._places[place] = None

    def _note_unannounced(self, data: Mapping[str, Any], place: Any, shape: PartKind | None) -> None:
        """An event of an item that the upstream did not announce."""
        wire = data.get("item")
        if shape and shape.part:
            id_ = data.get("item_id")
            wire = {"id": id_ if isinstance(id_, str) else "", "type": shape.item}
        elif data.get("type") != "response.output_item.done" or not understood(wire):
            return
        known = self._announced.get(announced_as(wire))
        if known is None or known.told:
            self._note_announced(wire, place if type(place) is int else None)

    def _follow_event(self, event: Event) -> None:
        match event:
            case Finish():
                self.reason = event.finish_reason
            case MessageEnd():
                calls = [*self._open.values()]
                if any(call.part and not call.part.said for call in calls):
                    self._fail(_BROKEN_CALL)
                    return
                self._find_left({})
                for call in calls:
                    self._end_left(call)
                    self.finish(call, "completed")
                self._end_left()
                response = mended(self._response or begun(self._reply), self.reason or "stop", self)
                response["usage"] = usage_object(estimate(self._reply, self.size))
                self.event(f"response.{response['status']}", response=response)
            case StreamError():
                self.break_off()
            case _:
                self.say(event)

    def fail(self, message: str) -> bytes:
        """The end, for a reason of our own."""
        self._fail(message)
        return self.take()

    def _fail(self, message: str) -> None:
        error = StreamError("server_error", message)
        self.break_off()
        response = failed(self._response or begun(self._reply), error, self.output(), None)
        self.event("response.failed", response=response)

    def _done(self, item: Item | None, wire: Mapping[str, Any]) -> None:
        """The upstream closes an item. Of its own calls it knows the arguments best."""
        if item is None or item.done:
            return
        member = CALLS[wire["type"]].member if wire["type"] in CALLS else ""
        if item.part and member and wire.get(member) and isinstance(wire[member], str):
            item.part.pieces = item.part.pieces if any(item.part.pieces) and wire[member].strip() == "{}" else [wire[member]]
        self._cite(item, wire)
        kept = (*_TOLD, member, *(name for name, value in wire.items() if value is None and name in item.wire))
        own = {name: value for name, value in wire.items() if name not in kept}
        status = wire.get("status")
        self.finish(item, status if isinstance(status, str) else "completed", own)
        self._drain()

    def _cite(self, item: Item, wire: Mapping[str, Any]) -> None:
        """The citations of the text that is open, where the upstream tells them with the whole of it."""
        part, parts = item.part, wire.get(item.part.shape.holder) if item.part else None
        at = len(item.wire.get(part.shape.holder, ())) if part else 0
        theirs = parts[at] if isinstance(parts, list) and at < len(parts) else None
        if part and isinstance(theirs, dict) and theirs.get(part.shape.member) == "".join(part.pieces):
            cited = theirs.get("annotations")
            part.annotations = cited if isinstance(cited, list) and cited else part.annotations

    def _keep(self, sse: ServerSentEvent, data: Mapping[str, Any], item: Item | None) -> None:
        """An event that is not understood. It goes only with an item that the client does not have."""
        place = data.get("output_index")
        changed = {**data, "sequence_number": self.sequence}
        if data.get("type") in LIFE:
            told = response_in(data)
            if lacks(told, self._response.get("id")):
                told = filled(told, self._response, begun(self._reply))
            changed["response"] = told
            self._note_response(changed)
        elif type(place) is int:
            if item is None and place in self._places:
                return
            if item is None or (data.get("type") == "response.output_item.added" and item.done):
                item = Item(self.place, {})
                self.place += 1
                self.items.append(item)
                self._places[place] = item
            if understood(item.wire) and item.done:
                return
            changed["output_index"] = item.place
            self._point(item, changed)
        self.sequence += 1
        self._out.append(sse.with_data(json_text.dumps(changed).encode()))

    def _point(self, item: Item, changed: dict[str, Any]) -> None:
        """Corrects where an event points to in its item."""
        if isinstance(changed.get("item"), dict):
            item.wire, item.done = changed["item"], changed.get("type") == "response.output_item.done"
        if "item_id" in changed:
            changed["item_id"] = item.wire.get("id", changed["item_id"])
        if item.part is None:
            return
        index = item.part.shape.index
        if index in changed:
            changed[index] = len(item.wire.get(item.part.shape.holder, ()))
        if "annotation" in changed:
            changed["annotation_index"] = len(item.part.annotations)
            item.part.annotations.append(changed["annotation"])

    def _last(self, type_: str, data: Mapping[str, Any], events: Sequence[Event]) -> None:
        response = response_in(data)
        response = response if isinstance(response, dict) else self._response
        if (told := self._response.get("id")) and response.get("id") != told:
            response = {**response, "id": told}
        if not self.sequence:  # an upstream that sends nothing else
            first = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
            self.event("response.created", response=first)
            self.event("response.in_progress", response=first)
        for event in events:
            if isinstance(event, StreamError) and fails_badly(response):
                type_, response = "response.failed", {**response, "status": "failed", "error": error_object(event)}
        self._find_left(response)
        self.whole(events, response)
        if self.reason is not None:
            self._end_left()
        response = mended(response, self.reason, self)
        self.event(type_ if self.reason is None else f"response.{response['status']}", response=response)

    def whole(self, events: Sequence[Event], response: Mapping[str, Any]) -> None:
        """Says the events of a response whose items may not have been told; `response` holds them."""
        known = [item.wire.get(name) for item in self.items for name in ("id", "call_id")]
        wires = Wires(response.get("output"), {id_ for id_ in known if isinstance(id_, str)})
        for event in events:
            if isinstance(event, Finish):
                self.reason = event.finish_reason
            elif isinstance(event, ToolCallEnd) and (call := self._open.get(event.index)):
                self._end_left(call)
                self.say(event)
            elif not isinstance(event, MessageEnd | Usage | StreamError) and not (
                isinstance(event, ReasoningSeal) and self._sealed(event)
            ):
                wire, shape = wires.of(event)
                if wire is not None:
                    self._begin_with(wire, shape, wires)
                self.say(event)
        self._foreign(wires.foreign(None))

    def _find_left(self, response: Mapping[str, Any]) -> None:
        """What the upstream left open, and how its last event has that."""
        self._left.extend(item for item in self.items if not item.done and item.wire.get("type") in ("message", "reasoning"))
        output = response.get("output") if self._left else None
        self._ends = {str(wire.get("id")): wire for wire in output if understood(wire)} if isinstance(output, list) else {}

    def _end_left(self, before: Item | None = None) -> None:
        """Ends what the upstream left open in front of a call, or of the end; that may say more of it than its text."""
        while self._left and (before is None or self._left[0].place < before.place):
            item = self._left.popleft()
            status = "completed" if item is not self.items[-1] else ENDS.get(self.reason or "", ("completed", ""))[0]
            self._done(item, {"type": item.wire["type"], **self._ends.get(str(item.wire.get("id")), {}), "status": status})

    def _sealed(self, event: ReasoningSeal) -> bool:
        """Whether a seal is of an item that the upstream left open, which ends with it."""
        id_ = json_text.loads(event.seal.data.encode(errors="surrogatepass"))["id"]  # as responses_read.py has put it
        item = self._ids.get(id_) if self._left and isinstance(id_, str) else None
        if item is None or item.done or item.wire.get("type") != "reasoning":
            return False
        self._done(item, {**self._ends.get(str(id_), {"type": "reasoning"}), "status": "completed"})
        return True

    def _begin_with(self, wire: Mapping[str, Any], shape: PartKind | None, wires: Wires) -> None:
        """What is said next is of this item."""
        self._foreign(wires.foreign(wire))
        key = announced_as(wire)
        announced = self._announced.get(key)
        if announced is None or announced.wire is not wire:
            self._announced[key] = Announced(wire, None)
            if shape:
                self.hush()
        elif self._speaking:
            self.close_part(self._speaking)
        if shape and shape.item == "reasoning":
            self.thoughts = shape

    def _foreign(self, wires: Sequence[Mapping[str, Any]]) -> None:
        for wire in wires:
            self.hush()
            self.items.append(Item(self.place, dict(wire), done=True))
            self.place += 1

    def _announce(self, type_: str, call_id: str = "", members: Mapping[str, Any] | None = None) -> Item:
        announced = self._announced.get(call_id or type_)
        if announced is None or announced.wire.get("type") != type_:
            item = super()._announce(type_, call_id, members)
            self._ids[item.wire["id"]] = item
            return item
        id_ = announced.wire.get("id")
        again = announced.told or (isinstance(id_, str) and id_ in self._ids)
        gone = ("content", "summary", "encrypted_content", "id" if again else "")
        wire = {name: value for name, value in announced.wire.items() if name not in gone}
        announced.told = True
        item = super()._announce(type_, call_id, {**wire, **(members or {})})
        self._ids[str(item.wire["id"])] = item
        if announced.place is not None:
            self._places[announced.place] = item
        return item


def mended(response: Mapping[str, Any], finish_reason: str | None, output: Output) -> dict[str, Any]:
    """The upstream's response with the items that the client gets, and the status that they have."""
    changed = dict(response)
    if finish_reason is None:  # it failed
        output.break_off()
    else:
        status, reason = ENDS.get(finish_reason, ("completed", ""))
        output.close(status)
        if response.get("status") != status:
            changed |= {"status": status, "incomplete_details": {"reason": reason} if reason else None}
    changed["output"] = output.output()
    if miscounted(changed.get("usage")):
        changed["usage"] = counted(changed["usage"])
    return changed
