"""The items of a response, as they are written to a client: the grammar of a Responses stream.

    output_item.added → { part.added → delta* → text.done → part.done }* → output_item.done        message, reasoning
    output_item.added → delta* → arguments.done → output_item.done                                 calls

Rule of this file: one item is open at a time, and one part of it. What is said while a call is open waits for its end:
Codex takes the `done` of any item for the end of the message it shows.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from ...core import json_text
from ...core.builtin_tools import BY_ITEM
from ...core.events import (
    Citation,
    Compacting,
    Compaction,
    Event,
    Kind,
    ReasoningDelta,
    ReasoningSeal,
    RefusalDelta,
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    WebSearch,
)
from ...core.fastclass import mutable
from ...core.fold import in_part
from ...core.reasoning_state import ReasoningState, envelope
from ..shared.web_search import CALL, action_of, annotation_of
from .part_kinds import (
    ARGUMENTS,
    BUILTIN,
    CALLS,
    INPUT,
    REFUSAL,
    SEARCHED,
    SUMMARY,
    TEXT,
    WHOLE,
    WRITTEN,
    Item,
    Part,
    PartKind,
    encrypted,
)

MAX_KEPT = 64 * 1024 * 1024
"""Characters of one response that are kept, for the `done` events and the last event say all of it again. The longest
answer a model can give, some 10⁵ tokens, has less than one MiB."""


_WHOLE = {shape.item: shape.member for shape in WHOLE}

COMPACTION = "compaction"
"""The type of an item with a summary of the conversation. It has no status."""

_CALL: Mapping[Kind, PartKind] = {"function": ARGUMENTS, "custom": INPUT, "search": SEARCHED, **BUILTIN}


@mutable
class _Waiting:
    """What is said while a call is open: a run of text, its citations, a search, a seal, or another call."""

    what: PartKind | ReasoningState | ToolCallStart | TextStart | Citation | WebSearch
    pieces: list[str] = field(default_factory=list)
    ended: bool = False

    @property
    def complete(self) -> bool:
        return self.ended or not isinstance(self.what, ToolCallStart)


class Output:
    """Neutral events in, server-sent events out. `thoughts`: how reasoning is written; `size`: characters kept.

    `sources`: the client asks for those of web searches.
    """

    def __init__(self, new_id: Callable[[], str], *, sources: bool = False) -> None:
        self._new_id = new_id
        self._sources = sources
        self._said = 0  # characters of the part of text that is open
        self._counted = 0  # of the upstream's part of text
        self._out: list[bytes] = []
        self._speaking: Item | None = None
        self._open: dict[int, Item] = {}  # calls that are not complete, by index
        self._queue: deque[_Waiting] = deque()
        self._waiting: dict[int, _Waiting] = {}
        self._call_ids: set[str] = set()
        self.items: list[Item] = []
        self.sequence = 0
        self.place = 0
        self.thoughts = SUMMARY
        self.size = 0

    def event(self, type_: str, **members: Any) -> None:
        """Writes one event."""
        self._write(type_, json_text.dumps({"type": type_, **members})[:-1])

    def _write(self, type_: str, head: str) -> None:
        """`head` is its JSON up to the number."""
        self._out.append(f'event: {type_}\ndata: {head},"sequence_number":{self.sequence}}}\n\n'.encode())
        self.sequence += 1

    def take(self) -> bytes:
        """What is written and not taken yet."""
        out = b"".join(self._out)
        self._out.clear()
        return out

    @property
    def broken(self) -> bool:
        """Whether a call is open."""
        return bool(self._open)

    @property
    def stuck(self) -> bool:
        """Whether something waits behind a call that is not complete: more than a call of which nothing is known yet."""
        return any(waiting.complete or waiting.pieces for waiting in self._queue)

    def say(self, event: Event) -> None:
        """Takes in an event; of those that say nothing of an item, none."""
        match event:
            case TextDelta():
                self._speak(TEXT, event.text)
            case RefusalDelta():
                self._speak(REFUSAL, event.text)
            case ReasoningDelta():
                self._speak(self.thoughts, event.text)
            case ReasoningSeal():
                self._wait_or(_Waiting(event.seal))
            case TextStart() | Citation() | WebSearch():
                self._wait_or(_Waiting(event))
            case Compacting():
                self._compacting()
            case Compaction():
                self._compact(event.summary)
            case ToolCallStart():
                self.size += len(event.id) + len(event.name)
                self._waiting[event.index] = waiting = _Waiting(event)
                self._wait_or(waiting)
            case ToolCallDelta():
                self.size += len(event.arguments)
                if item := self._open.get(event.index):
                    self._delta(item, event.arguments)
                elif later := self._waiting.get(event.index):
                    later.pieces.append(event.arguments)
            case ToolCallEnd():
                if event.index in self._open:
                    self._complete(event.index)
                    self._drain()
                elif later := self._waiting.pop(event.index, None):
                    later.ended = True
            case _:
                pass

    def hush(self, status: str = "completed") -> None:
        """Closes the message or reasoning item that is open."""
        if self._speaking is not None:
            self.finish(self._speaking, status)

    def close(self, status: str) -> None:
        """Nothing more is said: closes what is open. A call that is not complete is incomplete; what waited for it is said."""
        self._break_open()
        self._queue = deque(waiting for waiting in self._queue if waiting.complete)
        self._drain()
        self.hush(status)

    def break_off(self) -> None:
        """Nothing more is said, for something failed. A call stays open then, unless something waits for it: all is said."""
        while self._queue:
            self._break_open()
            self._drain()

    def _break_open(self) -> None:
        for item in list(self._open.values()):
            assert item.part
            self.finish(item, "completed" if item.part.said else "incomplete")

    def finish(self, item: Item, status: str, more: Mapping[str, Any] | None = None) -> None:
        """Closes an item; `more` are members it gets."""
        self.close_part(item)
        item.done = True
        item.wire = {**item.wire, **(more or {}), "status": status}
        self.event("response.output_item.done", output_index=item.place, item=item.wire)
        if item is self._speaking:
            self._speaking = None
        for index in [index for index, call in self._open.items() if call is item]:
            del self._open[index]

    def close_part(self, item: Item) -> None:
        """Closes what is open of an item."""
        part, item.part = item.part, None
        if part is None:
            return
        if part.shape in WHOLE:
            value = _object("".join(part.pieces))
            form = BY_ITEM.get(part.shape.item)
            item.wire[part.shape.member] = form.action(value) if form else value
            return
        shape, text, at = part.shape, "".join(part.pieces), item.at(part.shape)
        if not part.said:
            self.event(f"{shape.events}.done", **at, **{shape.member: text}, **shape.beside)
        if shape.part:
            if part.framed:
                self.event(f"{shape.frame}.done", **at, part=part.wire())
            item.wire[shape.holder] = [*item.wire.get(shape.holder, ()), part.wire()]
        else:
            item.wire[shape.member] = text

    def output(self) -> list[dict[str, Any]]:
        """The items, for the last event; what is open of them is broken off. Half a summary is none."""
        told = [item for item in self.items if item.done or item.wire["type"] != COMPACTION]
        return [item.wire if item.done else item.broken_off() for item in told]

    # what waits

    def _speak(self, shape: PartKind, text: str) -> None:
        self.size += len(text)
        if not text:
            return
        if not self._open:
            self._utter(shape, text)
        elif self._queue and self._queue[-1].what is shape:
            self._queue[-1].pieces.append(text)
        else:
            self._queue.append(_Waiting(shape, [text]))

    def _wait_or(self, waiting: _Waiting) -> None:
        self._queue.append(waiting)
        self._drain()

    def _drain(self) -> None:
        while self._queue and not self._open:
            waiting = self._queue.popleft()
            match waiting.what:
                case PartKind() as shape:
                    self._utter(shape, "".join(waiting.pieces))
                case ReasoningState() as seal:
                    self._seal(seal)
                case TextStart():
                    self._counted = 0
                case Citation() as citation:
                    self._annotate(citation)
                case WebSearch() as search:
                    self._search(search)
                case start:
                    self._start(start, waiting)

    # items

    def _annotate(self, citation: Citation) -> None:
        """A citation of the text that is open; of text that is over none can be sent."""
        item = self._speaking
        if item is None or item.part is None or item.part.shape is not TEXT:
            return
        annotation = annotation_of(in_part(citation, self._said - self._counted, self._said))
        self.size += len(citation.url) + len(citation.title)
        at = {**item.at(TEXT), "annotation_index": len(item.part.annotations)}
        item.part.annotations.append(annotation)
        self.event("response.output_text.annotation.added", **at, annotation=annotation)

    def _search(self, search: WebSearch) -> None:
        self.hush()
        item = self._announce(CALL, members={"id": "ws_" + core} if (core := search.id.removeprefix("ws_")) else {})
        for state in ("in_progress", "searching", "completed"):
            self.event(f"response.{CALL}.{state}", output_index=item.place, item_id=item.wire["id"])
        action = action_of(search, sources=self._sources)
        self.finish(item, "failed" if search.error else "completed", {"action": action})

    def _compacting(self) -> Item:
        """A summary is written: it is announced, and then a sign of life."""
        item = self._speaking
        if item is not None and item.wire["type"] == COMPACTION:
            self.event(f"response.{COMPACTION}.compacting", item_id=item.wire["id"], output_index=item.place)
            return item
        self.hush()
        item = self._speaking = self._announce(COMPACTION)
        return item

    def _compact(self, summary: str) -> None:
        item = self._compacting()
        self._speaking = None
        item.done = True
        item.wire = {**item.wire, "encrypted_content": envelope(ReasoningState("summary", summary))}
        self.event("response.output_item.done", output_index=item.place, item=item.wire)

    def _utter(self, shape: PartKind, text: str) -> None:
        item = self._speaking
        if item is None or item.wire["type"] != shape.item:
            self.hush()
            item = self._speaking = self._announce(shape.item)
        if item.part is None or item.part.shape is not shape:
            self.close_part(item)
            item.part = Part(shape)
            self._said = 0
            self.event(f"{shape.frame}.added", **item.at(shape), part=item.part.wire())
        self._delta(item, text)
        if shape is TEXT:
            self._said += len(text)
            self._counted += len(text)

    def _seal(self, seal: ReasoningState) -> None:
        # whether `include` asks for it or not: DeepSeek and Kimi refuse a tool turn whose reasoning does not come back, and
        # the client cannot know that one of them answers
        if self._speaking is None or self._speaking.wire["type"] != "reasoning":
            self.hush()
            self._speaking = self._announce("reasoning")
        self.finish(self._speaking, "completed", {"encrypted_content": encrypted(seal)})

    def _start(self, start: ToolCallStart, waiting: _Waiting) -> None:
        self.hush()
        self._waiting.pop(start.index, None)
        call_id = start.id
        if not call_id or call_id in self._call_ids:
            call_id = self._new_id()
        self._call_ids.add(call_id)
        shape = _CALL[start.kind]
        namespace = (start.extra or {}).get("namespace")
        members = {"name": start.name, **({"namespace": namespace} if isinstance(namespace, str) else {})}
        if shape in WHOLE:
            members = {"execution": "client"} if shape is SEARCHED else {}
        item = self._announce(shape.item, start.id, {"call_id": call_id, **members})
        item.part = Part(shape)
        self._open[start.index] = item
        self._delta(item, "".join(waiting.pieces))
        if waiting.ended:
            self._complete(start.index)

    def _complete(self, index: int) -> None:
        item = self._open[index]
        if item.part and item.part.shape is ARGUMENTS and not any(item.part.pieces):
            self._delta(item, "{}")
        self.finish(item, "completed")

    def _announce(self, type_: str, call_id: str = "", members: Mapping[str, Any] | None = None) -> Item:
        """Opens an item. `call_id`: as the upstream has it."""
        blank: dict[str, Any] = {"role": "assistant", "content": []} if type_ == "message" else {}
        if type_ == "reasoning":
            blank = {"summary": []}
        elif type_ in CALLS:
            blank = {CALLS[type_].member: ""}
        elif type_ in _WHOLE:
            blank = {_WHOLE[type_]: BY_ITEM[type_].action({}) if type_ in BY_ITEM else {}}
        members = members or {}
        id_ = members.get("id") or WRITTEN[type_] + self._new_id().removeprefix("call_")
        state = {"encrypted_content": ""} if type_ == COMPACTION else {"status": "in_progress"}
        wire = {**members, "id": id_, "type": type_, **state, **blank}
        item = Item(self.place, wire)
        self.place += 1
        self.items.append(item)
        self.event("response.output_item.added", output_index=item.place, item=wire)
        return item

    def _delta(self, item: Item, text: str) -> None:
        part = item.part
        if not text or part is None:
            return
        if part.shape in WHOLE:
            part.pieces.append(text)
            return
        type_ = f"{part.shape.events}.delta"
        if not part.head:
            members = {"type": type_, **item.at(part.shape), **part.shape.beside}
            part.head = f'{json_text.dumps(members)[:-1]},"delta":'
        part.pieces.append(text)
        self._write(type_, part.head + json_text.quote(text))


def _object(text: str) -> Any:
    """The arguments of a search; what is no JSON stays text, and the client tells the model so."""
    try:
        return json_text.loads((text.strip() or "{}").encode(errors="surrogatepass"))
    except json_text.NotJSON:
        return text
