"""Rewrites a Responses stream for a client of the same API, from the first corrected event on.

    upstream   item 0 message ["Look: <tool_call>…"]                                    completed
    client     item 0 message ["Look: "] ─► item 1 function_call ─► item 2 message …    completed, output [0, 1, 2]

Until then, `follow` tracks what the client received. From there on, `rewrite` writes items from events, under the upstream's
ids, and passes events that are not decoded, with number and index corrected.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, MessageEnd, ReasoningSeal, StreamError, ToolCallEnd, Usage
from ...core.sse import ServerSentEvent
from ..codec import Reply
from .follow_up import LIFE, TEXTS, Announced, FollowedOutput, announcement_key
from .items import Output
from .part_kinds import CALLS, CONTENT_EVENTS, FRAMES, TERMINAL, Item, PartKind, understood
from .rewrite_whole import WireItems
from .usage import (
    ENDS,
    counted,
    error_object,
    estimate,
    failed_response,
    fails_irregularly,
    fill_response,
    is_incomplete,
    miscounted,
    new_response,
    response_in,
    shows_error,
    write_usage,
)

_BROKEN_CALL = "A tool call of the upstream's answer was broken off."

_FROM_EVENTS = ("id", "call_id", "name", "content", "summary")


class ResponsesRewriter(FollowedOutput):
    """Rewrites one response."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self.reason: str | None = None  # the finish reason
        self._unfinished: deque[Item] = deque()  # messages and reasoning that are open at the last event
        self._ends: dict[str, Mapping[str, Any]] = {}  # these items in the last event, by id

    def rewrite(self, sse: ServerSentEvent | None, data: Mapping[str, Any], events: Sequence[Event]) -> bytes:
        """Returns the bytes for an event of the upstream and the neutral events that replace it."""
        type_, place, wire = data.get("type"), data.get("output_index"), data.get("item")
        if type_ in CONTENT_EVENTS and not (self.sequence or self._response):
            self._response = fill_response(response_in(data), {}, new_response(self._reply))
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
            self.reasoning_kind = shape
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
            if error and not shows_error(data):
                self.event("error", **error_object(error), param=None)
            else:
                self._keep(sse, data, item)
        return self.take()

    def _note_announced(self, wire: Mapping[str, Any], place: int | None) -> None:
        if wire["type"] not in CALLS:
            self.close_open_item()
        self._announced[announcement_key(wire)] = Announced(wire, place)
        if place is not None:
            self._places[place] = None

    def _note_unannounced(self, data: Mapping[str, Any], place: Any, shape: PartKind | None) -> None:
        """Records an item that an event belongs to, if it was not announced."""
        wire = data.get("item")
        if shape and shape.part:
            id_ = data.get("item_id")
            wire = {"id": id_ if isinstance(id_, str) else "", "type": shape.item}
        elif data.get("type") != "response.output_item.done" or not understood(wire):
            return
        known = self._announced.get(announcement_key(wire))
        if known is None or known.sent:
            self._note_announced(wire, place if type(place) is int else None)

    def _follow_event(self, event: Event) -> None:
        match event:
            case Finish():
                self.reason = event.finish_reason
            case MessageEnd():
                calls = [*self._open_calls.values()]
                if any(call.part and not call.part.done_sent for call in calls):
                    self._fail(_BROKEN_CALL)
                    return
                self._find_unfinished({})
                for call in calls:
                    self._end_unfinished(call)
                    self.finish(call, "completed")
                self._end_unfinished()
                response = rewrite_response(self._response or new_response(self._reply), self.reason or "stop", self)
                response["usage"] = write_usage(estimate(self._reply, self.size))
                self.event(f"response.{response['status']}", response=response)
            case StreamError():
                self.break_off()
            case _:
                self.feed(event)

    def fail(self, message: str) -> bytes:
        """Ends the stream with an error of toolmend."""
        self._fail(message)
        return self.take()

    def _fail(self, message: str) -> None:
        error = StreamError("server_error", message)
        self.break_off()
        response = failed_response(self._response or new_response(self._reply), error, self.output(), None)
        self.event("response.failed", response=response)

    def _done(self, item: Item | None, wire: Mapping[str, Any]) -> None:
        """Ends an item at the upstream's end of it, whose members (final arguments among them) it takes."""
        if item is None or item.done:
            return
        member = CALLS[wire["type"]].member if wire["type"] in CALLS else ""
        if item.part and member and wire.get(member) and isinstance(wire[member], str):
            item.part.pieces = item.part.pieces if any(item.part.pieces) and wire[member].strip() == "{}" else [wire[member]]
        self._cite(item, wire)
        replaced = (*_FROM_EVENTS, member, *(name for name, value in wire.items() if value is None and name in item.wire))
        own = {name: value for name, value in wire.items() if name not in replaced}
        status = wire.get("status")
        self.finish(item, status if isinstance(status, str) else "completed", own)
        self._drain()

    def _cite(self, item: Item, wire: Mapping[str, Any]) -> None:
        """Takes the citations of the open text from the upstream's end of the item."""
        part, parts = item.part, wire.get(item.part.shape.holder) if item.part else None
        at = len(item.wire.get(part.shape.holder, ())) if part else 0
        upstream_part = parts[at] if isinstance(parts, list) and at < len(parts) else None
        if part and isinstance(upstream_part, dict) and upstream_part.get(part.shape.member) == "".join(part.pieces):
            cited = upstream_part.get("annotations")
            part.annotations = cited if isinstance(cited, list) and cited else part.annotations

    def _keep(self, sse: ServerSentEvent, data: Mapping[str, Any], item: Item | None) -> None:
        """Passes an event that is not decoded, unless its item was not sent to the client."""
        place = data.get("output_index")
        changed = {**data, "sequence_number": self.sequence}
        if data.get("type") in LIFE:
            response = response_in(data)
            if is_incomplete(response, self._response.get("id")):
                response = fill_response(response, self._response, new_response(self._reply))
            changed["response"] = response
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
            self._correct_position(item, changed)
        self.sequence += 1
        self._out.append(sse.with_data(json_text.dumps(changed).encode()))

    def _correct_position(self, item: Item, changed: dict[str, Any]) -> None:
        """Corrects ids and indices in an event of an item."""
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
        if (id_ := self._response.get("id")) and response.get("id") != id_:
            response = {**response, "id": id_}
        if not self.sequence:  # an upstream that sends only this event
            first = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
            self.event("response.created", response=first)
            self.event("response.in_progress", response=first)
        for event in events:
            if isinstance(event, StreamError) and fails_irregularly(response):
                type_, response = "response.failed", {**response, "status": "failed", "error": error_object(event)}
        self._find_unfinished(response)
        self.whole(events, response)
        if self.reason is not None:
            self._end_unfinished()
        response = rewrite_response(response, self.reason, self)
        self.event(type_ if self.reason is None else f"response.{response['status']}", response=response)

    def whole(self, events: Sequence[Event], response: Mapping[str, Any]) -> None:
        """Writes the events of a response with the items `response`, which may not have been announced."""
        known = [item.wire.get(name) for item in self.items for name in ("id", "call_id")]
        wires = WireItems(response.get("output"), {id_ for id_ in known if isinstance(id_, str)})
        for event in events:
            if isinstance(event, Finish):
                self.reason = event.finish_reason
            elif isinstance(event, ToolCallEnd) and (call := self._open_calls.get(event.index)):
                self._end_unfinished(call)
                self.feed(event)
            elif not isinstance(event, MessageEnd | Usage | StreamError) and not (
                isinstance(event, ReasoningSeal) and self._sealed(event)
            ):
                wire, shape = wires.of(event)
                if wire is not None:
                    self._begin_with(wire, shape, wires)
                self.feed(event)
        self._pass_items(wires.foreign(None))

    def _find_unfinished(self, response: Mapping[str, Any]) -> None:
        """Finds the items that are open, and how the last event has them."""
        texts = ("message", "reasoning")
        self._unfinished.extend(item for item in self.items if not item.done and item.wire.get("type") in texts)
        output = response.get("output") if self._unfinished else None
        self._ends = {str(wire.get("id")): wire for wire in output if understood(wire)} if isinstance(output, list) else {}

    def _end_unfinished(self, before: Item | None = None) -> None:
        """Ends the open items before a call (None: all), with the members of the last event."""
        while self._unfinished and (before is None or self._unfinished[0].place < before.place):
            item = self._unfinished.popleft()
            status = "completed" if item is not self.items[-1] else ENDS.get(self.reason or "", ("completed", ""))[0]
            self._done(item, {"type": item.wire["type"], **self._ends.get(str(item.wire.get("id")), {}), "status": status})

    def _sealed(self, event: ReasoningSeal) -> bool:
        """Whether a seal belongs to an open item, which it ends."""
        id_ = json_text.loads(event.seal.data.encode(errors="surrogatepass"))["id"]  # written by decode.py
        item = self._ids.get(id_) if self._unfinished and isinstance(id_, str) else None
        if item is None or item.done or item.wire.get("type") != "reasoning":
            return False
        self._done(item, {**self._ends.get(str(id_), {"type": "reasoning"}), "status": "completed"})
        return True

    def _begin_with(self, wire: Mapping[str, Any], shape: PartKind | None, wires: WireItems) -> None:
        """Starts or continues the item of the next event."""
        self._pass_items(wires.foreign(wire))
        key = announcement_key(wire)
        announced = self._announced.get(key)
        if announced is None or announced.wire is not wire:
            self._announced[key] = Announced(wire, None)
            if shape:
                self.close_open_item()
        elif self._open_item:
            self.close_part(self._open_item)
        if shape and shape.item == "reasoning":
            self.reasoning_kind = shape

    def _pass_items(self, wires: Sequence[Mapping[str, Any]]) -> None:
        for wire in wires:
            self.close_open_item()
            self.items.append(Item(self.place, dict(wire), done=True))
            self.place += 1

    def _announce(self, type_: str, call_id: str = "", members: Mapping[str, Any] | None = None) -> Item:
        announced = self._announced.get(call_id or type_)
        if announced is None or announced.wire.get("type") != type_:
            item = super()._announce(type_, call_id, members)
            self._ids[item.wire["id"]] = item
            return item
        id_ = announced.wire.get("id")
        again = announced.sent or (isinstance(id_, str) and id_ in self._ids)
        gone = ("content", "summary", "encrypted_content", "id" if again else "")
        wire = {name: value for name, value in announced.wire.items() if name not in gone}
        announced.sent = True
        item = super()._announce(type_, call_id, {**wire, **(members or {})})
        self._ids[str(item.wire["id"])] = item
        if announced.place is not None:
            self._places[announced.place] = item
        return item


def rewrite_response(response: Mapping[str, Any], finish_reason: str | None, output: Output) -> dict[str, Any]:
    """Returns the upstream's response with the client's items, and the status that follows from them."""
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
