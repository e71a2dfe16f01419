"""What the client of a Responses stream was told so far, while all passes as it came.

Rule of this file: nothing is written. It is known which items and parts are open and what was said of them, so that whoever
goes on from here writes the next event as if it had written all before.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.events import Event, ToolCallDelta, ToolCallStart
from ...core.fastclass import mutable
from ..codec import Reply
from .items import Output
from .part_kinds import CALLS, PARTS, SHAPES, Item, Part, understood

LIFE = frozenset({"response.created", "response.in_progress", "response.queued"})
TEXTS = {f"{shape.events}.{end}": shape for shape in SHAPES for end in ("delta", "done")}
FRAMES = frozenset(f"{shape.frame}.{end}" for shape in SHAPES if shape.frame for end in ("added", "done"))
"""The events that tell of the response, of a text, of a part."""


@mutable
class Announced:
    """An item that the upstream announced; `told`: the client was told its id."""

    wire: Mapping[str, Any]
    place: int | None
    told: bool = False


class Followed(Output):
    """One response."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.new_id)
        self._reply = reply
        self._response: dict[str, Any] = {}
        self._announced: dict[str, Announced] = {}  # by type, of calls by call_id
        self._ids: dict[str, Item] = {}  # by what the client calls them
        self._places: dict[int, Item | None] = {}  # by the upstream's place; None: announced, and not told to the client

    def follow(self, data: Mapping[str, Any], events: Sequence[Event]) -> None:
        """An event that the client gets as it came."""
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
                    self._open[event.index] = call

    def _of(self, data: Mapping[str, Any]) -> Item | None:
        """The item that an event is of, if the client has it: told by its place, else by its id, else the last that is open."""
        place, wire = data.get("output_index"), data.get("item")
        if type(place) is int and place in self._places:
            return self._places[place]
        id_ = data.get("item_id") or (wire.get("id") if isinstance(wire, dict) else None)
        if isinstance(id_, str) and id_:
            return self._ids.get(id_)
        shape = TEXTS.get(str(data.get("type")))
        kind = wire.get("type") if isinstance(wire, dict) else shape.item if shape else None
        for item in (*self.items[-1:], self._speaking):
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
        self._announced[announced_as(wire)] = Announced(wire, item.place, told=True)
        if wire["type"] in CALLS:
            item.part = Part(CALLS[wire["type"]])
        else:
            item.wire |= {"summary": []} if wire["type"] == "reasoning" else {"content": []}
            self._speaking = item

    def _follow_item(self, type_: str, item: Item, data: Mapping[str, Any], events: Sequence[Event]) -> None:
        shape = TEXTS.get(type_)
        if type_ == "response.output_item.done" and isinstance(data.get("item"), dict):
            item.wire, item.done, item.part = dict(data["item"]), True, None
            if item is self._speaking:
                self._speaking = None
            self._open = {index: call for index, call in self._open.items() if call is not item}
        elif type_ in FRAMES and isinstance(data.get("part"), dict):
            kind, before = PARTS.get(str(data["part"].get("type"))), item.part
            item.part = Part(kind) if kind and type_.endswith("added") else None
            if kind and item.part is None:
                item.wire[kind.holder] = [*item.wire.get(kind.holder, ()), data["part"]]
            elif before and before.shape.part and not kind:  # it ends as what nobody knows
                item.wire[before.shape.holder] = [*item.wire.get(before.shape.holder, ()), before.wire()]
        elif shape and (item.part is None or item.part.shape is shape):
            if item.part is None:  # some do not tell the parts of reasoning
                if shape.item != item.wire.get("type") or len(item.wire.get(shape.holder, ())) > shape.index_in(data):
                    return
                item.part = Part(shape, framed=False)
            text = data.get("delta" if type_.endswith("delta") else shape.member)
            if shape.item in CALLS and type_.endswith("delta"):  # some are said twice
                text = "".join(event.arguments for event in events if isinstance(event, ToolCallDelta))
            if isinstance(text, str):
                self._follow_text(item.part, text, done=type_.endswith("done"))
        elif "annotation" in data and item.part:
            item.part.annotations.append(data["annotation"])

    def _follow_text(self, part: Part, text: str, *, done: bool) -> None:
        if done:
            part.pieces, part.said = [text], True
        else:
            part.pieces.append(text)
            self.size += len(text)

    def _note_response(self, data: Mapping[str, Any]) -> None:
        if isinstance(data.get("response"), dict):
            self._response = data["response"]


def announced_as(wire: Mapping[str, Any]) -> str:
    """What an announced item is found by: a call by its id, as the reading tells it."""
    ids = (wire.get("call_id"), wire.get("id")) if wire["type"] in CALLS else ()
    return next((id_ for id_ in ids if isinstance(id_, str) and id_), str(wire["type"]))
