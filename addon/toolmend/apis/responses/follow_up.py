"""Tracks what the client of a Responses stream received while events pass unchanged.

It records the open items and parts and their text, so that rewriting can start after any event.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.events import Event, ToolCallDelta, ToolCallStart
from ...core.fastclass import mutable
from ..codec import Reply
from .items import Output
from .part_kinds import CALLS, FRAMES, PARTS, SHAPES, Item, OpenPart, understood

LIFE = frozenset({"response.created", "response.in_progress", "response.queued"})
TEXTS = {f"{shape.events}.{end}": shape for shape in SHAPES for end in ("delta", "done")}
"""The events of the response's state, and those with a text."""


@mutable
class Announced:
    """An item that the upstream announced. `sent`: the client received its id."""

    wire: Mapping[str, Any]
    place: int | None
    sent: bool = False


class FollowedOutput(Output):
    """The tracked output of one response."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.new_id)
        self._reply = reply
        self._response: dict[str, Any] = {}
        self._announced: dict[str, Announced] = {}  # by type; calls by call_id
        self._ids: dict[str, Item] = {}  # by the client's id
        self._places: dict[int, Item | None] = {}  # by the upstream's index; None: announced, but not sent to the client

    def follow(self, data: Mapping[str, Any], events: Sequence[Event]) -> None:
        """Tracks an event that passes unchanged."""
        number, place, type_ = data.get("sequence_number"), data.get("output_index"), data.get("type")
        self.sequence = number + 1 if type(number) is int else self.sequence + 1
        item = self._of(data)
        if type_ in LIFE:
            self._note_response(data)
        elif type_ == "response.output_item.added":
            self._follow_added(data.get("item"), place)
        elif item is not None and not item.done:
            self._follow_item(str(type_), item, data, events)
        for event in events:
            if isinstance(event, ToolCallStart):
                self._call_ids.add(event.id)
                call = next((item for item in reversed(self.items) if item.wire.get("call_id") == event.id), None)
                if call and not call.done:
                    self._open_calls[event.index] = call

    def _of(self, data: Mapping[str, Any]) -> Item | None:
        """The client's item that an event belongs to: by its index, else by its id, else the last open one."""
        place, wire = data.get("output_index"), data.get("item")
        if type(place) is int and place in self._places:
            return self._places[place]
        id_ = data.get("item_id") or (wire.get("id") if isinstance(wire, dict) else None)
        if isinstance(id_, str) and id_:
            return self._ids.get(id_)
        shape = TEXTS.get(str(data.get("type")))
        kind = wire.get("type") if isinstance(wire, dict) else shape.item if shape else None
        for item in (*self.items[-1:], self._open_item):
            if item and not item.done and kind in (None, item.wire.get("type")):
                return item
        return None

    def _follow_added(self, wire: Any, place: Any) -> None:
        if not isinstance(wire, dict):
            return
        item = Item(place if type(place) is int else self.place, dict(wire))
        self.place = max(self.place, item.place + 1)
        self.items.append(item)
        self._places[item.place] = item
        if isinstance(wire.get("id"), str):
            self._ids[wire["id"]] = item
        if not understood(wire):
            return
        self._announced[announcement_key(wire)] = Announced(wire, item.place, sent=True)
        if wire["type"] in CALLS:
            item.part = OpenPart(CALLS[wire["type"]])
        else:
            item.wire |= {"summary": []} if wire["type"] == "reasoning" else {"content": []}
            self._open_item = item

    def _follow_item(self, type_: str, item: Item, data: Mapping[str, Any], events: Sequence[Event]) -> None:
        shape = TEXTS.get(type_)
        if type_ == "response.output_item.done" and isinstance(data.get("item"), dict):
            item.wire, item.done, item.part = dict(data["item"]), True, None
            if item is self._open_item:
                self._open_item = None
            self._open_calls = {index: call for index, call in self._open_calls.items() if call is not item}
        elif type_ in FRAMES and isinstance(data.get("part"), dict):
            kind, before = PARTS.get(str(data["part"].get("type"))), item.part
            item.part = OpenPart(kind) if kind and type_.endswith("added") else None
            if kind and item.part is None:
                item.wire[kind.holder] = [*item.wire.get(kind.holder, ()), data["part"]]
            elif before and before.shape.part and not kind:  # it ends as an unknown type
                item.wire[before.shape.holder] = [*item.wire.get(before.shape.holder, ()), before.wire()]
        elif shape and (item.part is None or item.part.shape is shape):
            if item.part is None:  # parts of reasoning may not be announced
                if shape.item != item.wire.get("type") or len(item.wire.get(shape.holder, ())) > shape.index_in(data):
                    return
                item.part = OpenPart(shape, framed=False)
            text = data.get("delta" if type_.endswith("delta") else shape.member)
            if shape.item in CALLS and type_.endswith("delta"):  # some deltas are sent twice
                text = "".join(event.arguments for event in events if isinstance(event, ToolCallDelta))
            if isinstance(text, str):
                self._follow_text(item.part, text, done=type_.endswith("done"))
        elif "annotation" in data and item.part:
            item.part.annotations.append(data["annotation"])

    def _follow_text(self, part: OpenPart, text: str, *, done: bool) -> None:
        if done:
            part.pieces, part.done_sent = [text], True
        else:
            part.pieces.append(text)
            self.size += len(text)

    def _note_response(self, data: Mapping[str, Any]) -> None:
        if isinstance(data.get("response"), dict):
            self._response = data["response"]


def announcement_key(wire: Mapping[str, Any]) -> str:
    """The key of an announced item: of a call its id, as decode.py emits it."""
    ids = (wire.get("call_id"), wire.get("id")) if wire["type"] in CALLS else ()
    return next((id_ for id_ in ids if isinstance(id_, str) and id_), str(wire["type"]))
