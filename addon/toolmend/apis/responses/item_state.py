"""Finds the item that an event of a Responses stream belongs to: by id, index and call id, any of them missing or wrong.

1. The id decides.
2. Copilot sends another id in each event, so an unknown id is looked up by index. vLLM has put all items at index 0, so a new
   item takes over an index.
3. Some deltas have only a text, and some items have another id and index at the end: these are found by their content.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from io import SEEK_END, StringIO
from itertools import chain, count
from typing import Any

from ...core.fastclass import mutable
from ..shared.arguments import Arguments
from ..shared.trailing_json import TrailingJson
from .part_kinds import ARGUMENTS, CALLS, PartKind


@mutable
class ItemState:
    """What was received of an item: pieces of text by part type and index; of a call by ("", 0), with what was `sent` of them.

    Attributes:
        placed: It has an id or an index.
        index: Of a call that has started.
        added: It was announced (this and the following: see missing_events.py).
        part: The open part.
        part_done: The `done` of the open part was received.
        over: Its output_item.done was received.
    """

    type: str
    id: str
    place: int | None
    placed: bool
    received: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    call_id: str = ""
    name: str = ""
    initial: str = ""  # arguments in its announcement
    early: str = ""  # deltas that may repeat them
    arguments: Arguments = field(default_factory=Arguments)  # as far as they were received
    sent: list[str] = field(default_factory=list)
    trailing: TrailingJson = field(default_factory=TrailingJson)
    twins: list[str] = field(default_factory=list)  # arguments of further calls, after its own
    index: int = -1
    ended: bool = False
    sealed: bool = False
    added: bool = False
    part: PartKind | None = None
    part_done: bool = False
    over: bool = False
    parts: int = 0  # parts announced
    last: tuple[str, int] = ("", -1)  # where the last delta was counted, until its `done`

    def continue_initial(self, delta: str) -> str | None:
        """Returns a call's delta; the first one together with the announced arguments, unless it repeats them.

        None: the delta may be a repetition, in pieces, and is kept until the next one.
        """
        if not self.initial or self.received.get(("", 0)) or CALLS.get(self.type) is not ARGUMENTS:
            return delta
        begun = Arguments()
        begun.feed(self.initial)
        if begun.complete:
            return delta
        self.early += delta
        if self.early != self.initial and self.initial.startswith(self.early):
            return None
        early, self.early = self.early, ""
        return early if early.startswith(self.initial) else self.initial + early

    def pieces_at(self, part: str, index: int, text: str) -> list[str]:
        """The pieces of the part with this text, which its deltas may have counted under another index."""
        at, last = (part, index), self.last
        if at not in self.received and last[0] == part and last in self.received:
            self.received[last] = ["".join(self.received[last])]
            if self.received[last] == [text]:
                self.received[at] = self.received.pop(last)
        self.last = ("", -1)
        return self.received.setdefault(at, [])

    def stray_indices(self, parts: int) -> dict[str, Iterator[int]]:
        """The indices of each part type for which some were received that the item does not have: they do not count from 0."""
        kinds = {kind for kind, at in self.received if not 0 <= at < parts}
        indices = {kind: sorted(at for each, at in self.received if each == kind) for kind in kinds}
        return {kind: chain(places, count(places[-1] + 1)) for kind, places in indices.items()}


class UnclaimedText:
    """Text of unidentified items by part type, until an identified item repeats it."""

    def __init__(self) -> None:
        self._received: dict[str, StringIO] = {}
        self._claimed: dict[str, int] = {}

    def add(self, part: str, text: str) -> None:
        """Adds text."""
        texts = self._received.setdefault(part, StringIO())
        texts.seek(0, SEEK_END)
        texts.write(text)

    def claim(self, part: str, text: str) -> str:
        """Returns the start of `text` that was received before, and removes it from the rest."""
        if part not in self._received:
            return ""
        at = self._claimed.get(part, 0)
        self._received[part].seek(at)
        known = self._received[part].read(len(text))
        if not text.startswith(known):
            return ""
        self._claimed[part] = at + len(known)
        return known


class ItemIndex:
    """The items of one response. `is_new_id`: the last look-up was by an id that no item had."""

    def __init__(self) -> None:
        self.items: list[ItemState] = []
        self.is_new_id = False
        self._by_id: dict[str, ItemState] = {}
        self._by_place: dict[int, ItemState] = {}
        self._by_call_id: dict[str, ItemState] = {}
        self._by_content: dict[tuple[Any, Any, str], list[ItemState]] | None = None  # calls, from the first such look-up on
        self._unplaced: list[ItemState] = []  # at most one of each type, which takes what follows

    def find(self, id_: Any, place: Any, type_: str, *, new: bool = False, call_id: Any = "") -> ItemState:
        """Finds the item with this id, else at this index, else the last one of this type; otherwise makes a new one.

        Args:
            id_: The event's item_id, of any type.
            place: The event's output_index, of any type.
            type_: The type of the item.
            new: The item is being announced.
            call_id: Of an announced call: one with another call id is another call, if the item with that id is over.
        """
        id_ = id_ if isinstance(id_, str) else ""
        place = place if type(place) is int else None
        item = self._by_id.get(id_)
        self.is_new_id = item is None and id_ != ""
        if new and item is not None and item.over and call_id and item.call_id != call_id:
            item = None
        if item is None and not new:
            if place is not None:
                item = self._by_place.get(place)
            elif not id_:
                item = next((item for item in reversed(self.items) if item.type == type_), None)
        if item is None or item.type != type_:
            item = ItemState(type_, id_, place, id_ != "" or place is not None)
            self.items.append(item)
            if not (item.placed or new):
                self._unplaced.append(item)
            if place is not None:
                self._by_place[place] = item
        if id_:
            self._by_id[id_] = item
        return item

    def of_other_kind(self, id_: Any, type_: str) -> bool:
        """Whether the item with this id is a call of another type than `type_`."""
        item = self._by_id.get(id_) if isinstance(id_, str) else None
        return item is not None and item.type != type_ and {item.type, type_} <= CALLS.keys()

    def find_call(self, wire: Mapping[str, Any], place: int, others: Collection[int]) -> ItemState:
        """Finds the item of an entry in a response's output, by its call id first.

        Args:
            wire: The entry.
            place: Its index in the output.
            others: `id()` of items found for other entries: two calls may share a call id.
        """
        call_id = wire.get("call_id")
        item = self._by_call_id.get(call_id) if isinstance(call_id, str) and call_id else None
        if item is not None and item.type == wire["type"] and id(item) not in others:
            return item
        for item in self._unplaced:  # arguments without an announced call
            text = wire.get("arguments", wire.get("input"))
            nameless = item.type == wire["type"] and not item.name
            if nameless and isinstance(text, str) and text.startswith("".join(item.sent)):
                self._unplaced.remove(item)
                return item
        id_, name = wire.get("id"), wire.get("name")
        if not isinstance(id_, str) or id_ not in self._by_id:  # vLLM changes everything in a call except its content
            text = wire.get("arguments", wire.get("input"))
            if self._by_content is None:
                self._by_content = {}
                for item in reversed([item for item in self.items if item.name]):
                    arguments = "".join(item.received.get(("", 0), ()))
                    self._by_content.setdefault((item.type, item.name, arguments), []).append(item)
            named = isinstance(text, str) and isinstance(name, str)
            same = self._by_content.get((wire["type"], name, text), []) if named else []
            while same:
                if id(item := same.pop()) not in others:
                    return item
        known = self._by_id.get(id_) if isinstance(id_, str) else None
        if known is not None and id(known) in others:  # two items may have one id
            return self.find(None, place, wire["type"], new=True)
        return self.find(id_, place, wire["type"])

    def record_name(self, item: ItemState, wire: Mapping[str, Any]) -> None:
        """Records the call id and the name of a call, unless known."""
        call_id, name = wire.get("call_id"), wire.get("name")
        item.call_id = item.call_id or (call_id if isinstance(call_id, str) else "")
        item.name = item.name or (name if isinstance(name, str) else "")
        self._by_call_id.setdefault(item.call_id, item)
