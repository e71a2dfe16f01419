"""Finds the item of a whole output that each event belongs to, after transformers changed some events.

    output  [reasoning rs_1 "Hm", message msg_1 "Look: <tool_call>…", web_search_call ws_1, message msg_2 "Bye"]
    events  Hm → rs_1, "Look: " → msg_1, the call → a new item, "Bye" → msg_2; ws_1 comes before msg_2

Transformers only remove from a text. So a text belongs to the next part that equals it, or else to one that contains it.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ...core import json_text
from ...core.events import Event, ReasoningDelta, ReasoningSeal, RefusalDelta, TextDelta, ToolCallStart
from .part_kinds import PARTS, REFUSAL, SUMMARY, TEXT, THOUGHT, PartKind, parts_of, understood

_SHAPES: dict[type[Event], tuple[PartKind, ...]] = {
    TextDelta: (TEXT,),
    RefusalDelta: (REFUSAL,),
    ReasoningDelta: (SUMMARY, THOUGHT),
}


class WireItems:
    """The items of an output, except for those with a `known` id."""

    def __init__(self, output: Any, known: AbstractSet[str]) -> None:
        wires = [wire for wire in output if isinstance(wire, dict)] if isinstance(output, list) else []
        self._wires = [wire for wire in wires if not known & {_text(wire.get("id")), _text(wire.get("call_id"))}]
        decoded_wires = [(number, wire) for number, wire in enumerate(self._wires) if understood(wire)]
        self._numbers = {_text(wire.get(name)): number for number, wire in decoded_wires for name in ("id", "call_id")}
        self._places = {id(wire): number for number, wire in enumerate(self._wires)}
        self._parts = [part for number, wire in enumerate(self._wires) for part in _parts(number, wire)]
        self._next = 0  # the first part that a text may belong to
        self._open = -1  # the part of the last text
        self._used: set[int] = set()
        self._passed = 0  # the items before this one that are not decoded were returned

    def of(self, event: Event) -> tuple[Mapping[str, Any] | None, PartKind | None]:
        """Returns the item and the kind of its part that the event begins; None if the event continues the last part."""
        if isinstance(event, ToolCallStart):
            number = self._numbers.get(event.id)
            return (None if number is None else self._wires[number]), None
        if isinstance(event, ReasoningSeal):
            return self._sealed(event), SUMMARY
        shapes = _SHAPES.get(type(event), ())
        text = getattr(event, "text", "")
        found = None
        for at in range(self._next, len(self._parts)):
            _, shape, whole = self._parts[at]
            if shape in shapes and whole == text:
                found, self._next = at, at + 1
                break
            if shape in shapes and text in whole and found is None:
                found = at
        if found is None or found == self._open:
            return None, None
        self._open, self._next = found, max(found, self._next)
        number, shape, _ = self._parts[found]
        self._used.add(number)
        return self._wires[number], shape

    def _sealed(self, event: ReasoningSeal) -> Mapping[str, Any] | None:
        """The item of a seal, unless it has begun with a text."""
        id_ = json_text.loads(event.seal.data.encode(errors="surrogatepass"))["id"]  # written by decode.py
        number = self._numbers.get(id_) if isinstance(id_, str) else None
        if number is None or number in self._used:
            return None
        self._used.add(number)
        return self._wires[number]

    def foreign(self, before: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
        """Returns the items before this one (None: the end) that are not decoded, each once."""
        end = len(self._wires) if before is None else self._places[id(before)]
        found = [wire for wire in self._wires[self._passed : end] if not understood(wire)]
        self._passed = max(self._passed, end)
        return found


def _parts(number: int, wire: Mapping[str, Any]) -> list[tuple[int, PartKind, str]]:
    found = []
    for holder in ("summary", "content") if understood(wire) else ():
        for part in parts_of(wire, holder):
            shape = PARTS.get(str(part.get("type"))) if isinstance(part, dict) else None
            if shape and (shape.item, shape.holder) == (wire["type"], holder) and _text(part.get(shape.member)):
                found.append((number, shape, part[shape.member]))
    return found


def merge_items(upstream_items: Sequence[Any], built: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Merges the built items with members of the upstream's that no event represents.

    Those are citations, probabilities, parts of unknown types; and empty items, in their places.
    """
    places = {_key(wire): place for place, wire in reversed(list(enumerate(built)))}
    contents = [_content_of(wire) for wire in built]
    out: list[Mapping[str, Any]] = []
    at = 0
    for wire in (wire for wire in upstream_items if isinstance(wire, dict)):
        words, place = _content_of(wire), places.get(_key(wire), -1)
        if place < at < len(built) and not wire.get("id") and contents[at] == words:
            place = at
        if place >= at:
            same = understood(wire) and contents[place] == words
            out += (*built[at:place], _merge(built[place], wire) if same else built[place])
            at = place + 1
        elif wire.get("type") in ("message", "reasoning") and words == [wire["type"]]:
            out.append(wire)
    return [*out, *built[at:]]


def _key(wire: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return _text(wire.get("type")), _text(wire.get("id"))


def _content_of(wire: Mapping[str, Any]) -> list[Any]:
    """What events represent of an item."""
    members = (wire.get(name) for name in ("name", "call_id", "arguments", "input", "encrypted_content"))
    return [wire.get("type"), *filter(None, members), *(text for _, _, text in _parts(0, wire))]


def _merge(built: Mapping[str, Any], wire: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a built item with the other members of the upstream's item, which has the same content."""
    filled = {**built, **{name: value for name, value in wire.items() if value}}
    for holder in ("summary", "content"):
        if isinstance(wire.get(holder), list):
            made = iter(built.get(holder, ()))
            parts = ((part, _parts(0, {"type": wire["type"], holder: [part]})) for part in parts_of(wire, holder))
            filled[holder] = [{**next(made, {}), **part} if text else part for part, text in parts]
    return filled


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
