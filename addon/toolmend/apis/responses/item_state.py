"""Which item an event of a Responses stream is of: told by id, place and call id, any of them missing or wrong.

Rule of this file: the id decides. Copilot gives an item another id in each event, so an id that is not known is looked for
by its place; vLLM has put all items at place 0, so a new item takes a place over. Some say of a delta nothing but its text, or
call an item by another id and place at the end: what was told so is known by its words.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from io import SEEK_END, StringIO
from itertools import chain, count
from typing import Any

from ...core.fastclass import mutable
from ..shared.arguments import Arguments
from ..shared.trailing_json import Behind
from .part_kinds import ARGUMENTS, CALLS, PartKind


@mutable
class Heard:
    """What was told of an item: pieces by part and index; of a call, by ("", 0), and what of them is `sent`.

    `index`: of a call that has begun. `placed`: it has an id or a place. Of its form, see missing_events.py: `added`: it is
    announced; `part`: what is open of it; `said`: the `done` of that has come; `over`: its own has.
    """

    type: str
    id: str
    place: int | None
    placed: bool
    told: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    call_id: str = ""
    name: str = ""
    first: str = ""  # the arguments that its announcement had
    early: str = ""  # deltas that may send these once more
    arguments: Arguments = field(default_factory=Arguments)  # as far as they were told
    sent: list[str] = field(default_factory=list)
    behind: Behind = field(default_factory=Behind)
    twins: list[str] = field(default_factory=list)  # arguments of the calls that stood there
    index: int = -1
    ended: bool = False
    sealed: bool = False
    added: bool = False
    part: PartKind | None = None
    said: bool = False
    over: bool = False
    parts: int = 0  # so many were announced
    last: tuple[str, int] = ("", -1)  # what the last delta was told of, until all of it was said

    def after_first(self, delta: str) -> str | None:
        """A delta of a call, with what its announcement had where it goes on from that; some send that once more, in any pieces.

        None: not known yet, it waits for the next delta.
        """
        if not self.first or self.told.get(("", 0)) or CALLS.get(self.type) is not ARGUMENTS:
            return delta
        begun = Arguments()
        begun.feed(self.first)
        if begun.complete:
            return delta
        self.early += delta
        if self.early != self.first and self.first.startswith(self.early):
            return None
        early, self.early = self.early, ""
        return early if early.startswith(self.first) else self.first + early

    def told_at(self, part: str, index: int, text: str) -> list[str]:
        """What was told of a part whose text is this; by deltas that count it otherwise, too."""
        at, last = (part, index), self.last
        if at not in self.told and last[0] == part and last in self.told:
            self.told[last] = ["".join(self.told[last])]
            if self.told[last] == [text]:
                self.told[at] = self.told.pop(last)
        self.last = ("", -1)
        return self.told.setdefault(at, [])

    def strays(self, parts: int) -> dict[str, Iterator[int]]:
        """The places of each kind of part, in order, where some were told outside of what the item has: not counted from 0."""
        kinds = {kind for kind, at in self.told if not 0 <= at < parts}
        told = {kind: sorted(at for each, at in self.told if each == kind) for kind in kinds}
        return {kind: chain(places, count(places[-1] + 1)) for kind, places in told.items()}


class Unclaimed:
    """What was told of items that the upstream did not name, by part, until it says it again of one that it does."""

    def __init__(self) -> None:
        self._told: dict[str, StringIO] = {}
        self._claimed: dict[str, int] = {}

    def add(self, part: str, text: str) -> None:
        """More of it."""
        told = self._told.setdefault(part, StringIO())
        told.seek(0, SEEK_END)
        told.write(text)

    def claim(self, part: str, text: str) -> str:
        """How much of a text was told so."""
        if part not in self._told:
            return ""
        at = self._claimed.get(part, 0)
        self._told[part].seek(at)
        told = self._told[part].read(len(text))
        if not text.startswith(told):
            return ""
        self._claimed[part] = at + len(told)
        return told


class Known:
    """The items of one response. `anew`: the last that was looked for was told by an id that none had had."""

    def __init__(self) -> None:
        self.items: list[Heard] = []
        self.anew = False
        self._by_id: dict[str, Heard] = {}
        self._by_place: dict[int, Heard] = {}
        self._by_call_id: dict[str, Heard] = {}
        self._by_words: dict[tuple[Any, Any, str], list[Heard]] | None = None  # calls, once one is looked for so
        self._unplaced: list[Heard] = []  # at most one of each type: what follows goes on with it

    def find(self, id_: Any, place: Any, type_: str, *, new: bool = False, call_id: Any = "") -> Heard:
        """The item with this id, else at this place, else the last of this type; a new one if there is none.

        `call_id`: of one that is announced, and so is another than one of that id that is over.
        """
        id_ = id_ if isinstance(id_, str) else ""
        place = place if type(place) is int else None
        item = self._by_id.get(id_)
        self.anew = item is None and id_ != ""
        if new and item is not None and item.over and call_id and item.call_id != call_id:
            item = None
        if item is None and not new:
            if place is not None:
                item = self._by_place.get(place)
            elif not id_:
                item = next((item for item in reversed(self.items) if item.type == type_), None)
        if item is None or item.type != type_:
            item = Heard(type_, id_, place, id_ != "" or place is not None)
            self.items.append(item)
            if not (item.placed or new):
                self._unplaced.append(item)
            if place is not None:
                self._by_place[place] = item
        if id_:
            self._by_id[id_] = item
        return item

    def of_other_kind(self, id_: Any, type_: str) -> bool:
        """Whether the item with this id is a call, but not of this type, which is one of a call."""
        item = self._by_id.get(id_) if isinstance(id_, str) else None
        return item is not None and item.type != type_ and {item.type, type_} <= CALLS.keys()

    def find_call(self, wire: Mapping[str, Any], place: int, others: Collection[int]) -> Heard:
        """The item of an output, by its call id first. `others` have been found (by `id`): two calls may have one call id."""
        call_id = wire.get("call_id")
        item = self._by_call_id.get(call_id) if isinstance(call_id, str) and call_id else None
        if item is not None and item.type == wire["type"] and id(item) not in others:
            return item
        for item in self._unplaced:  # arguments of a call that nothing was told of
            said = wire.get("arguments", wire.get("input"))
            if item.type == wire["type"] and not item.name and isinstance(said, str) and said.startswith("".join(item.sent)):
                self._unplaced.remove(item)
                return item
        id_, name = wire.get("id"), wire.get("name")
        if not isinstance(id_, str) or id_ not in self._by_id:  # vLLM calls all of a call otherwise, but for what it says
            said = wire.get("arguments", wire.get("input"))
            if self._by_words is None:
                self._by_words = {}
                for item in reversed([item for item in self.items if item.name]):
                    self._by_words.setdefault((item.type, item.name, "".join(item.told.get(("", 0), ()))), []).append(item)
            same = self._by_words.get((wire["type"], name, said), []) if isinstance(said, str) and isinstance(name, str) else []
            while same:
                if id(item := same.pop()) not in others:
                    return item
        known = self._by_id.get(id_) if isinstance(id_, str) else None
        if known is not None and id(known) in others:  # two items may have one id
            return self.find(None, place, wire["type"], new=True)
        return self.find(id_, place, wire["type"])

    def name(self, item: Heard, wire: Mapping[str, Any]) -> None:
        """Takes in the call id and the name that a call has."""
        call_id, name = wire.get("call_id"), wire.get("name")
        item.call_id = item.call_id or (call_id if isinstance(call_id, str) else "")
        item.name = item.name or (name if isinstance(name, str) else "")
        self._by_call_id.setdefault(item.call_id, item)
