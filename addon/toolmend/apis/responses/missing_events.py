"""Which required parts of a Responses stream are missing: the names of the rules, by the events.

    item_added         output_item.added, content_part.added, reasoning_summary_part.added
    item_id            an id of each item, and the same one in all of its events
    item_index         an output_index that no other item has, and the same one in all of its events; a content_index, from 0
    item_done          output_text.done, content_part.done, function_call_arguments.done, output_item.done
    response_output    completed with all items, and the id that the response began with
    response_fields    the id, time, model and list of output of the response, from its first event on

Servers omit any of them: output_item.done (hermes-agent#92764, opencode#37159), text.done (ogx#5309), content_part.done
(opencode-llm-proxy#48), content_part.added (sub2api#4468), all events before a delta (litellm#22102), calls in the output
(bifrost#2120), the whole output (litellm#41009). vLLM has put all items at index 0, where OpenAI's SDKs refuse the second one,
and parts at indices that do not exist (vLLM#45742). Lemonade has no indices (lemonade#3607); other servers send no id at the
end, which Codex needs. llama.cpp has calls without an id, and starts without time and model (llama.cpp#20607); Bedrock sends no
id where a call ends (opencode#46885), and Copilot another one in each event (litellm#30071). The Vercel AI SDK fails at all of
these, and OpenAI's at most. Clients take calls from output_item.done alone, texts where a part was announced, and the answer
from the last event; some take a text from its `done` (CliRelay#1053).

1. A missing event is reported once that is certain: a beginning when content comes without it, the end of an item at the last
   event, because some servers close all items there, in any order.
2. The id of an item, and of the response, is the announced one: OpenAI's SDKs refuse another one at the end.

XX A missing `created` is made up, without the response's own members, which are only known at the end (opencode#40325).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

from .item_state import ItemState
from .part_kinds import CALLS, CONTENT_EVENTS, PARTS, PartKind, understood
from .usage import is_incomplete


class MissingEvents:
    """Checks one response. `mended` is called with the rule of what is missing; nothing is checked unless `watching`.

    `bare_end`: see codec.Reply.
    """

    def __init__(self, mended: Callable[[str], None], *, watching: bool, bare_end: bool = False) -> None:
        self._mended = mended
        self.watching = watching
        self._bare_end = bare_end
        self._places: set[int] = set()
        self._id: Any = None
        self._same = {"item_id": True, "item_index": True}  # in all events of an item, so far
        self.checks_index = True  # whether the index of a message's part is checked

    def check_message(self, output: Iterable[Any]) -> None:
        """Checks the items of a response that is not a stream: only their ids may be missing."""
        if self.watching and any(understood(wire) and not wire.get("id") for wire in output):
            self._mended("item_id")
        self.watching = False

    def first_event(self, type_: str, number: Any) -> None:
        """Checks the first event of the response."""
        if type(number) is int and number > 1:
            self.watching = False  # a resumed stream: it starts at the requested event
        elif self.watching and type_ in CONTENT_EVENTS:
            self._mended("response_fields")

    def item_added(self, item: ItemState, place: Any, wire: Mapping[str, Any]) -> None:
        """Records the announcement of an item at an index."""
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

    def other_item(self, place: Any) -> None:
        """Records an item of another type at an index."""
        if type(place) is int:
            self._places.add(place)

    def check_position(self, item: ItemState, id_: Any, place: Any) -> None:
        """Compares id and index in an event with its item's. The first difference is the last check: all is rewritten then."""
        if self.watching and item.added:
            for rule, same in (("item_id", id_ == item.id), ("item_index", place == item.place)):
                if self._same[rule] and not same:
                    self._same[rule] = False
                    self._mended(rule)

    def part_added(self, item: ItemState, shape: PartKind, data: Mapping[str, Any]) -> None:
        """Records the announcement of a part."""
        if item.over or (shape.part, shape.index_in(data)) in item.received:
            return
        index = data.get(shape.index)
        if type(index) is not int or index >= item.parts:
            item.parts += 1
        self._check_index(item, shape, index)
        if self.watching and (not item.added or self._unended(item)):
            self._mended("item_done" if item.added else "item_added")
        elif self.watching and not isinstance(data["part"].get(shape.member), str):
            self._mended("item_added")
        item.added, item.part, item.part_done = True, shape, False

    def check_index(self, item: ItemState, shape: PartKind, data: Mapping[str, Any]) -> None:
        """Checks the index of the part that an event belongs to."""
        if item.parts:
            self._check_index(item, shape, data.get(shape.index))

    def text_done(self, item: ItemState, shape: PartKind, data: Mapping[str, Any], text: Any) -> None:
        """Checks the whole of a text or of arguments, as its `done` event has it."""
        if shape.part:
            self.check_index(item, shape, data)
            self.check_index(item, shape, data)
        blank = text == "" and any(item.received.get((shape.part, shape.index_in(data)), ()))
        if (blank or text is None or _emptied(item, text)) and self.watching and item.added and not item.over:
            self._mended("item_done")

    def _check_index(self, item: ItemState, shape: PartKind, index: Any) -> None:
        parts = item.parts if shape.item == "message" else inf  # reasoning parts may have any index
        if self.watching and self.checks_index and not (type(index) is int and (0 <= index < parts)):
            self._mended("item_index")

    def text_begins(self, item: ItemState, shape: PartKind, *, live: bool) -> None:
        """Records a text that was not announced. `live`: it is in a delta, not in an event that has all of it."""
        if self.watching and (live or not (item.added and shape.item == "reasoning")):
            self._mended("item_added")
        item.added, item.part, item.part_done = True, shape, False

    def part_done(self, item: ItemState, shape: PartKind) -> None:
        """Records the end of a part."""
        if item.part is shape:
            if self.watching and not item.part_done and self._unended(item):
                self._mended("item_done")
            item.part = None

    def item_done(self, item: ItemState, wire: Mapping[str, Any]) -> None:
        """Records the end of an item, whose event contains all of it."""
        if self.watching and not item.over and not item.added:
            self._mended("item_added")
        elif self.watching and not item.over and (self._unended(item) or _is_reduced(item, wire)):
            self._mended("item_done")
        item.added, item.part, item.over = True, None, True

    def response_begins(self, response: Any) -> None:
        """Records the response at its start."""
        if self.watching and is_incomplete(response, self._id):
            self._mended("response_fields")
        self._id = self._id or (response.get("id") if isinstance(response, dict) else None)

    def response_ends(self, response: Mapping[str, Any]) -> None:
        """Compares the response's id at its end."""
        if self.watching and self._id and response.get("id") != self._id:
            self._mended("response_output")

    def last_event(self, items: Iterable[ItemState], wires: Sequence[Mapping[str, Any]]) -> None:
        """Checks the last event, which contains the items `wires`."""
        if not self.watching:
            return
        self.watching = False
        announced = [item for item in items if item.added]
        ended = all(item.over for item in announced)
        if ended and [item.type for item in announced] == [wire["type"] for wire in wires]:
            if any(_lacks(item, wire) for item, wire in zip(announced, wires, strict=True)):
                self._mended("response_output")
            elif any(_is_renamed(item, wire) for item, wire in zip(announced, wires, strict=True)):
                self._mended("item_id")
            return
        if ended and self._bare_end and not wires:
            return
        holds = Counter(wire["type"] for wire in wires)
        if not ended:
            self._mended("item_done")
        if Counter(wire["type"] for wire in wires if _has_content(wire)) - Counter(item.type for item in announced):
            self._mended("item_added")
        if Counter(item.type for item in announced if item.type in CALLS or item.sealed or _has_text(item)) - holds:
            self._mended("response_output")

    def _unended(self, item: ItemState) -> bool:
        """Whether a text is open, or a call whose arguments have no `done`."""
        part = item.part
        if part is None or item.type == "reasoning":
            return False
        return _has_text(item) if part.part else not item.part_done


def _begins(wire: Mapping[str, Any]) -> bool:
    """Whether the announcement of an item has the members that deltas fill."""
    call = CALLS.get(wire["type"])
    if call:
        return isinstance(wire.get(call.member), str)
    return isinstance(wire.get("content" if wire["type"] == "message" else "summary"), list)


def _has_text(item: ItemState) -> bool:
    return any(piece for pieces in item.received.values() for piece in pieces)


def _has_content(wire: Mapping[str, Any]) -> bool:
    return wire["type"] in CALLS or any(wire.get(name) for name in ("content", "summary", "encrypted_content"))


def _is_reduced(item: ItemState, wire: Mapping[str, Any]) -> bool:
    """Whether the event that ends an item omits its content or its status."""
    if item.type == "reasoning":
        return not isinstance(wire.get("summary"), list)
    if item.type == "message":
        return _has_text(item) and not (wire.get("role") and wire.get("status") and not _lacks(item, wire))
    return not wire.get("status") or _lacks(item, wire)


def _is_renamed(item: ItemState, wire: Mapping[str, Any]) -> bool:
    """Whether a call has another id at the end, but its call_id, by which OpenAI's SDKs find it."""
    return bool(item.id and wire.get("id") not in (None, item.id) and item.call_id and item.call_id == wire.get("call_id"))


def _emptied(item: ItemState, text: Any) -> bool:
    """Whether the final arguments of a call are an empty placeholder, though others were received."""
    emptied = item.arguments.complete and isinstance(text, str) and text.strip() == "{}"
    return emptied and "".join(item.sent).strip() != "{}"


def _lacks(item: ItemState, wire: Mapping[str, Any]) -> bool:
    """Whether an item in the last event lacks what was received of it."""
    if item.type in CALLS:
        whole = wire.get(CALLS[item.type].member)
        before = (_has_text(item), item.name, item.call_id not in ("", item.id))
        now = (whole and not _emptied(item, whole), wire.get("name"), wire.get("call_id"))
        return any(had and not has for had, has in zip(before, now, strict=True))
    parts = wire.get("content") if item.type == "message" else None
    parts = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    texts = [part.get(shape.member) for part in parts if (shape := PARTS.get(str(part.get("type"))))]
    return item.type == "message" and _has_text(item) and not any(texts)
