"""A Responses stream for a client of the same API: as it came up to the first mended event, and written anew from there on.

    upstream   item 0 message ["Look: <tool_call>…"]                                    completed
    client     item 0 message ["Look: "] ─► item 1 function_call ─► item 2 message …    completed, output [0, 1, 2]

Rule of this file: while all passes, `follow` keeps up with what the client was told, so that the change is seamless; then
`rewrite` tells the items from the events, under the upstream's ids, and keeps what is not understood, its number and place
corrected.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import json_text
from ..events import Event, Finish, MessageEnd, StreamError, Usage
from ..sse import ServerSentEvent
from .codec import Reply
from .responses_follow import FRAMES, LIFE, TEXTS, Announced, Followed, announced_as
from .responses_items import Output
from .responses_object import ENDS, begun, estimate, failed, usage_object
from .responses_shapes import CALLS, TERMINAL, Item, Shape, understood
from .responses_whole import Wires

_TOLD = ("id", "call_id", "name", "content", "summary")


class Mending(Followed):
    """One response."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self.reason: str | None = None  # why it finishes

    def rewrite(self, sse: ServerSentEvent | None, data: Mapping[str, Any], events: Sequence[Event]) -> bytes:
        """An event, and what it says now."""
        type_, place, wire = data.get("type"), data.get("output_index"), data.get("item")
        item = self._places.get(place) if type(place) is int else None
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
        for event in events:
            self._say(event)
        if type_ == "response.output_item.done" and understood(wire):
            self._done(item or (self._places.get(place) if type(place) is int else None), wire)
        elif type_ in FRAMES:
            if item and not item.done:
                self.close_part(item)
        elif shape is None and sse is not None and not announced:
            self._keep(sse, data, item)
        return self.take()

    def _note_announced(self, wire: Mapping[str, Any], place: int | None) -> None:
        if wire["type"] not in CALLS:
            self.hush()
        self._announced[announced_as(wire)] = Announced(wire, place)
        if place is not None:
            self._places[place] = None

    def _say(self, event: Event) -> None:
        match event:
            case Finish():
                self.reason = event.finish_reason
            case MessageEnd():
                response = mended(self._response or begun(self._reply), self.reason or "stop", self)
                response["usage"] = usage_object(estimate(self._reply, self.size))
                self.event(f"response.{response['status']}", response=response)
            case StreamError():
                self.break_off()
            case _:
                self.say(event)

    def fail(self, message: str) -> bytes:
        """The end, for a reason of our own."""
        error = StreamError("server_error", message)
        self.break_off()
        response = failed(self._response or begun(self._reply), error, self.output(), None)
        self.event("response.failed", response=response)
        return self.take()

    def _done(self, item: Item | None, wire: Mapping[str, Any]) -> None:
        """The upstream closes an item. Of its own calls it knows the arguments best."""
        if item is None or item.done:
            return
        member = CALLS[wire["type"]].member if wire["type"] in CALLS else ""
        if item.part and member and isinstance(wire.get(member), str):
            item.part.pieces = [wire[member]]
        own = {name: value for name, value in wire.items() if name not in (*_TOLD, member)}
        status = wire.get("status")
        self.finish(item, status if isinstance(status, str) else "completed", own)
        self._drain()

    def _keep(self, sse: ServerSentEvent, data: Mapping[str, Any], item: Item | None) -> None:
        """An event that is not understood. It goes only with an item that the client does not have."""
        place = data.get("output_index")
        changed = {**data, "sequence_number": self.sequence}
        if data.get("type") in LIFE:
            self._note_response(data)
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
        response = data.get("response")
        response = response if isinstance(response, dict) else self._response
        if not self.sequence:  # an upstream that sends nothing else
            first = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
            self.event("response.created", response=first)
            self.event("response.in_progress", response=first)
        self.whole(events, response)
        response = mended(response, self.reason, self)
        self.event(type_ if self.reason is None else f"response.{response['status']}", response=response)

    def whole(self, events: Sequence[Event], response: Mapping[str, Any]) -> None:
        """Says the events of a response whose items may not have been told; `response` holds them."""
        known = [item.wire.get(name) for item in self.items for name in ("id", "call_id")]
        wires = Wires(response.get("output"), {id_ for id_ in known if isinstance(id_, str)})
        for event in events:
            if isinstance(event, Finish):
                self.reason = event.finish_reason
            elif not isinstance(event, MessageEnd | Usage | StreamError):
                wire, shape = wires.of(event)
                if wire is not None:
                    self._begin_with(wire, shape, wires)
                self.say(event)
        self._foreign(wires.foreign(None))

    def _begin_with(self, wire: Mapping[str, Any], shape: Shape | None, wires: Wires) -> None:
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
            return super()._announce(type_, call_id, members)
        gone = ("content", "summary", "encrypted_content", "id" if announced.told else "")
        wire = {name: value for name, value in announced.wire.items() if name not in gone}
        announced.told = True
        item = super()._announce(type_, call_id, {**wire, **(members or {})})
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
    return changed
