"""What a Responses stream owes its client, and what of it is missing: the names of the rules, by the events.

    item_added         output_item.added, content_part.added, reasoning_summary_part.added
    item_id            an id of each item, and the same one in all of its events
    item_index         an output_index that no other item has, and the same one in all of its events; a content_index, from 0
    item_done          output_text.done, content_part.done, function_call_arguments.done, output_item.done
    response_output    completed with all items, and the id that the response began with
    response_fields    the id, time, model and list of output of the response, from its first event on

Servers leave out any of them: output_item.done (hermes-agent#92764, opencode#37159), text.done (ogx#5309), content_part.done
(opencode-llm-proxy#48), content_part.added (sub2api#4468), all in front of a delta (litellm#22102), calls in the output
(bifrost#2120), all of the output (litellm#41009); vLLM has put all items at place 0, and OpenAI's SDKs refuse the second one,
and parts at places that they do not have (vLLM#45742); Lemonade has no places (lemonade#3607), and others no id in the end, which
Codex needs. llama.cpp has calls without an id, and no time and model when it begins (llama.cpp#20607); Bedrock has no id where
a call ends (opencode#46885), and Copilot another in each event (litellm#30071): the Vercel AI SDK fails at all of them, and
OpenAI's at most. Clients take calls from output_item.done alone, texts where a part was announced, and the answer from the last
event; some take a text from its `done` (CliRelay#1053).

Rule of this file: what is missing is told once it is missing for certain: a beginning where something is said without it, the
end of an item at the last event, for some close all items there, in any order. The id of an item, and of the response, is the one
that it was announced by: OpenAI's SDKs refuse another one in the end. XX Without a `created` that has one, that is made up, and
the response's own, which is known in the end alone, is not told (opencode#40325).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

from .item_state import Heard
from .part_kinds import CALLS, PARTS, SAYS, PartKind, understood
from .usage import lacks


class MissingEvents:
    """One response. `mended` is told what is missing; nothing is looked at unless `watching`. `bare_end`: see codec.Reply."""

    def __init__(self, mended: Callable[[str], None], *, watching: bool, bare_end: bool = False) -> None:
        self._mended = mended
        self.watching = watching
        self._bare_end = bare_end
        self._places: set[int] = set()
        self._id: Any = None
        self._same = {"item_id": True, "item_index": True}  # so far, in all events of an item
        self.counting = True  # the parts of messages

    def whole(self, output: Iterable[Any]) -> None:
        """The answer is no stream, and holds these items: all that it owes is their ids."""
        if self.watching and any(understood(wire) and not wire.get("id") for wire in output):
            self._mended("item_id")
        self.watching = False

    def begins(self, type_: str, number: Any) -> None:
        """The first event of the response."""
        if type(number) is int and number > 1:
            self.watching = False  # a stream that was asked for from there on
        elif self.watching and type_ in SAYS:
            self._mended("response_fields")

    def added(self, item: Heard, place: Any, wire: Mapping[str, Any]) -> None:
        """An item is announced, at this place."""
        if self.watching and not item.added:
            if place != len(self._places):
                self._mended("item_index")
            if not item.id:
                self._mended("item_id")
            if not _begins(wire):
                self._mended("item_added")
        if type(place) is int:
            self._places.add(place)
        item.added = True
        if not item.over:
            item.part = CALLS.get(item.type, item.part)

    def foreign(self, place: Any) -> None:
        """An item of another kind is at this place."""
        if type(place) is int:
            self._places.add(place)

    def placed(self, item: Heard, id_: Any, place: Any) -> None:
        """An event of an item calls it so. Where they differ once, all is told anew, and nobody looks any more."""
        if self.watching and item.added:
            for rule, same in (("item_id", id_ == item.id), ("item_index", place == item.place)):
                if self._same[rule] and not same:
                    self._same[rule] = False
                    self._mended(rule)

    def part_added(self, item: Heard, shape: PartKind, data: Mapping[str, Any]) -> None:
        """A part is announced."""
        if item.over or (shape.part, shape.index_in(data)) in item.told:
            return
        index = data.get(shape.index)
        if type(index) is not int or index >= item.parts:
            item.parts += 1
        self._counts(item, shape, index)
        if self.watching and (not item.added or self._unended(item)):
            self._mended("item_done" if item.added else "item_added")
        elif self.watching and not isinstance(data["part"].get(shape.member), str):
            self._mended("item_added")
        item.added, item.part, item.said = True, shape, False

    def said_in(self, item: Heard, shape: PartKind, data: Mapping[str, Any]) -> None:
        """Something is said of a part."""
        if item.parts:
            self._counts(item, shape, data.get(shape.index))

    def told(self, item: Heard, shape: PartKind, data: Mapping[str, Any], text: Any) -> None:
        """The whole of a text, or of arguments, is told."""
        if shape.part:
            self.said_in(item, shape, data)
        blank = text == "" and any(item.told.get((shape.part, shape.index_in(data)), ()))
        if (blank or text is None or _emptied(item, text)) and self.watching and item.added and not item.over:
            self._mended("item_done")

    def _counts(self, item: Heard, shape: PartKind, index: Any) -> None:
        parts = item.parts if shape.item == "message" else inf  # reasoning may be counted anyhow
        if self.watching and self.counting and not (type(index) is int and (0 <= index < parts)):
            self._mended("item_index")

    def tells(self, item: Heard, shape: PartKind, *, live: bool) -> None:
        """Something is said that is not known to be announced: in a delta, or when all of it is told."""
        if self.watching and (live or not (item.added and shape.item == "reasoning")):
            self._mended("item_added")
        item.added, item.part, item.said = True, shape, False

    def part_done(self, item: Heard, shape: PartKind) -> None:
        """The end of a part."""
        if item.part is shape:
            if self.watching and not item.said and self._unended(item):
                self._mended("item_done")
            item.part = None

    def item_done(self, item: Heard, wire: Mapping[str, Any]) -> None:
        """The end of an item, which says all of it."""
        if self.watching and not item.over and not item.added:
            self._mended("item_added")
        elif self.watching and not item.over and (self._unended(item) or _says_less(item, wire)):
            self._mended("item_done")
        item.added, item.part, item.over = True, None, True

    def names(self, response: Any) -> None:
        """The response begins, and has its id."""
        if self.watching and lacks(response, self._id):
            self._mended("response_fields")
        self._id = self._id or (response.get("id") if isinstance(response, dict) else None)

    def named(self, response: Mapping[str, Any]) -> None:
        """The response is over, and has its id again."""
        if self.watching and self._id and response.get("id") != self._id:
            self._mended("response_output")

    def last(self, items: Iterable[Heard], wires: Sequence[Mapping[str, Any]]) -> None:
        """The last event, which holds these items."""
        if not self.watching:
            return
        self.watching = False
        told = [item for item in items if item.added]
        ended = all(item.over for item in told)
        if ended and [item.type for item in told] == [wire["type"] for wire in wires]:
            if any(_lacks(item, wire) for item, wire in zip(told, wires, strict=True)):
                self._mended("response_output")
            elif any(_is_renamed(item, wire) for item, wire in zip(told, wires, strict=True)):
                self._mended("item_id")
            return
        if ended and self._bare_end and not wires:
            return
        holds = Counter(wire["type"] for wire in wires)
        if not ended:
            self._mended("item_done")
        if Counter(wire["type"] for wire in wires if _says(wire)) - Counter(item.type for item in told):
            self._mended("item_added")
        if Counter(item.type for item in told if item.type in CALLS or item.sealed or _has_text(item)) - holds:
            self._mended("response_output")

    def _unended(self, item: Heard) -> bool:
        """Whether a text is open, or a call whose arguments nobody said to be complete."""
        part = item.part
        if part is None or item.type == "reasoning":
            return False
        return _has_text(item) if part.part else not item.said


def _begins(wire: Mapping[str, Any]) -> bool:
    """Whether the announcement of an item has what is to become of it."""
    call = CALLS.get(wire["type"])
    if call:
        return isinstance(wire.get(call.member), str)
    return isinstance(wire.get("content" if wire["type"] == "message" else "summary"), list)


def _has_text(item: Heard) -> bool:
    return any(piece for pieces in item.told.values() for piece in pieces)


def _says(wire: Mapping[str, Any]) -> bool:
    return wire["type"] in CALLS or any(wire.get(name) for name in ("content", "summary", "encrypted_content"))


def _says_less(item: Heard, wire: Mapping[str, Any]) -> bool:
    """Whether the end of an item leaves out what was told of it, or that it is over."""
    if item.type == "reasoning":
        return not isinstance(wire.get("summary"), list)
    if item.type == "message":
        return _has_text(item) and not (wire.get("role") and wire.get("status") and not _lacks(item, wire))
    return not wire.get("status") or _lacks(item, wire)


def _is_renamed(item: Heard, wire: Mapping[str, Any]) -> bool:
    """Whether a call has another id in the end, but the call_id that it had, by which OpenAI's SDKs find it there."""
    return bool(item.id and wire.get("id") not in (None, item.id) and item.call_id and item.call_id == wire.get("call_id"))


def _emptied(item: Heard, text: Any) -> bool:
    """Whether the arguments of a call are none in the end, for want of better knowledge, though they were told."""
    emptied = item.arguments.complete and isinstance(text, str) and text.strip() == "{}"
    return emptied and "".join(item.sent).strip() != "{}"


def _lacks(item: Heard, wire: Mapping[str, Any]) -> bool:
    """Whether an item, as it is told when all is over, lacks what was told of it."""
    if item.type in CALLS:
        whole = wire.get(CALLS[item.type].member)
        told = (_has_text(item), item.name, item.call_id not in ("", item.id))
        tells = (whole and not _emptied(item, whole), wire.get("name"), wire.get("call_id"))
        return any(before and not now for before, now in zip(told, tells, strict=True))
    parts = wire.get("content") if item.type == "message" else None
    parts = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    said = [part.get(shape.member) for part in parts if (shape := PARTS.get(str(part.get("type"))))]
    return item.type == "message" and _has_text(item) and not any(said)
