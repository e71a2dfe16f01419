"""Writes the items of a response to a client: the grammar of a Responses stream.

    output_item.added → { part.added → delta* → text.done → part.done }* → output_item.done        message, reasoning
    output_item.added → delta* → arguments.done → output_item.done                                 calls

One item is open at a time, and one part of it. Content that comes while a call is open is held until the call ends, because
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
    LogProbs,
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
from ...core.ids import with_prefix
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
    OpenPart,
    PartKind,
    encrypted,
)

MAX_KEPT = 64 * 1024 * 1024
"""Characters kept of one response: the `done` events and the last event repeat all of it. The longest answer a model can give,
some 10⁵ tokens, has less than one MiB.
"""


_WHOLE = {shape.item: shape.member for shape in WHOLE}

_LOGPROB = 100
"""Characters that a token's log probability counts as."""

COMPACTION = "compaction"
"""The type of an item with a summary of the conversation. It has no status."""

_CALL: Mapping[Kind, PartKind] = {"function": ARGUMENTS, "custom": INPUT, "search": SEARCHED, **BUILTIN}


@mutable
class _Held:
    """Content held while a call is open: a run of text, its citations, a search, a seal, or another call."""

    content: PartKind | ReasoningState | ToolCallStart | TextStart | Citation | WebSearch
    pieces: list[str] = field(default_factory=list)
    ended: bool = False

    @property
    def complete(self) -> bool:
        return self.ended or not isinstance(self.content, ToolCallStart)


class Output:
    """Neutral events → SSE events of the items.

    Attributes:
        reasoning_kind: The kind of part that reasoning is written as.
        size: Characters kept.
        items: The items that were announced.
        sequence: The next sequence number.
        place: The next output index.
    """

    def __init__(self, new_id: Callable[[], str], *, sources: bool = False) -> None:
        self._new_id = new_id
        self._sources = sources
        self._part_size = 0  # characters of the open text part
        self._upstream_size = 0  # characters of the upstream's part
        self._logprobs: list[Any] = []  # of the text that follows
        self._out: list[bytes] = []
        self._open_item: Item | None = None
        self._open_calls: dict[int, Item] = {}  # incomplete calls, by index
        self._queue: deque[_Held] = deque()
        self._held_calls: dict[int, _Held] = {}
        self._call_ids: set[str] = set()
        self.items: list[Item] = []
        self.sequence = 0
        self.place = 0
        self.reasoning_kind = SUMMARY
        self.size = 0

    def event(self, type_: str, **members: Any) -> None:
        """Writes one event."""
        self._write(type_, json_text.dumps({"type": type_, **members})[:-1])

    def _write(self, type_: str, head: str) -> None:
        """Writes one event. `head` is its JSON up to the number."""
        self._out.append(f'event: {type_}\ndata: {head},"sequence_number":{self.sequence}}}\n\n'.encode())
        self.sequence += 1

    def take(self) -> bytes:
        """Returns what was written since the last call."""
        out = b"".join(self._out)
        self._out.clear()
        return out

    @property
    def has_open_call(self) -> bool:
        """Whether a call is open."""
        return bool(self._open_calls)

    @property
    def holds_content(self) -> bool:
        """Whether content is held after an incomplete call: more than a call of which nothing came yet."""
        return any(held.complete or held.pieces for held in self._queue)

    def feed(self, event: Event) -> None:
        """Writes an event; one without content is ignored."""
        match event:
            case TextDelta():
                self._text(TEXT, event.text)
            case RefusalDelta():
                self._text(REFUSAL, event.text)
            case ReasoningDelta():
                self._text(self.reasoning_kind, event.text)
            case ReasoningSeal():
                self._enqueue(_Held(event.seal))
            case LogProbs():
                self._logprobs += event.tokens
            case TextStart() | Citation() | WebSearch():
                self._enqueue(_Held(event))
            case Compacting():
                self._compacting()
            case Compaction():
                self._compact(event.summary)
            case ToolCallStart():
                self.size += len(event.id) + len(event.name)
                self._held_calls[event.index] = held = _Held(event)
                self._enqueue(held)
            case ToolCallDelta():
                self.size += len(event.arguments)
                if item := self._open_calls.get(event.index):
                    self._delta(item, event.arguments)
                elif later := self._held_calls.get(event.index):
                    later.pieces.append(event.arguments)
            case ToolCallEnd():
                if event.index in self._open_calls:
                    self._complete(event.index)
                    self._drain()
                elif later := self._held_calls.pop(event.index, None):
                    later.ended = True
            case _:
                pass

    def close_open_item(self, status: str = "completed") -> None:
        """Closes the open message or reasoning item."""
        if self._open_item is not None:
            self.finish(self._open_item, status)

    def close(self, status: str) -> None:
        """Ends the output. Open calls become incomplete; complete content that was held is written."""
        self._end_open_calls()
        self._queue = deque(held for held in self._queue if held.complete)
        self._drain()
        self.close_open_item(status)

    def break_off(self) -> None:
        """Ends the output after a failure. An open call stays open, unless content is held after it: all of that is written."""
        while self._queue:
            self._end_open_calls()
            self._drain()

    def _end_open_calls(self) -> None:
        for item in list(self._open_calls.values()):
            assert item.part
            self.finish(item, "completed" if item.part.done_sent else "incomplete")

    def finish(self, item: Item, status: str, more: Mapping[str, Any] | None = None) -> None:
        """Closes an item. `more`: members to add."""
        self.close_part(item)
        item.done = True
        item.wire = {**item.wire, **(more or {}), "status": status}
        self.event("response.output_item.done", output_index=item.place, item=item.wire)
        if item is self._open_item:
            self._open_item = None
        for index in [index for index, call in self._open_calls.items() if call is item]:
            del self._open_calls[index]

    def close_part(self, item: Item) -> None:
        """Closes the open part of an item."""
        part, item.part = item.part, None
        if part is None:
            return
        if part.shape in WHOLE:
            value = _object("".join(part.pieces))
            form = BY_ITEM.get(part.shape.item)
            item.wire[part.shape.member] = form.action(value) if form else value
            return
        shape, text, at = part.shape, "".join(part.pieces), item.at(part.shape)
        if shape is TEXT and self._logprobs:
            part.logprobs += self._logprobs
            self._logprobs = []
        if not part.done_sent:
            self.event(f"{shape.events}.done", **at, **{shape.member: text}, **part.extra_members)
        if shape.part:
            if part.framed:
                self.event(f"{shape.frame}.done", **at, part=part.wire())
            item.wire[shape.holder] = [*item.wire.get(shape.holder, ()), part.wire()]
        else:
            item.wire[shape.member] = text

    def output(self) -> list[dict[str, Any]]:
        """The items for the last event; open ones are marked incomplete. An incomplete summary is left out."""
        items = [item for item in self.items if item.done or item.wire["type"] != COMPACTION]
        return [item.wire if item.done else item.broken_off() for item in items]

    # held content

    def _text(self, shape: PartKind, text: str) -> None:
        self.size += len(text)
        if not text:
            return
        if not self._open_calls:
            self._write_text(shape, text)
        elif self._queue and self._queue[-1].content is shape:
            self._queue[-1].pieces.append(text)
        else:
            self._queue.append(_Held(shape, [text]))

    def _enqueue(self, held: _Held) -> None:
        self._queue.append(held)
        self._drain()

    def _drain(self) -> None:
        while self._queue and not self._open_calls:
            held = self._queue.popleft()
            match held.content:
                case PartKind() as shape:
                    self._write_text(shape, "".join(held.pieces))
                case ReasoningState() as seal:
                    self._seal(seal)
                case TextStart():
                    self._upstream_size = 0
                case Citation() as citation:
                    self._annotate(citation)
                case WebSearch() as search:
                    self._search(search)
                case start:
                    self._start(start, held)

    # items

    def _annotate(self, citation: Citation) -> None:
        """Writes a citation of the open text; a citation of an ended text cannot be sent."""
        item = self._open_item
        if item is None or item.part is None or item.part.shape is not TEXT:
            return
        annotation = annotation_of(in_part(citation, self._part_size - self._upstream_size, self._part_size))
        self.size += len(citation.url) + len(citation.title)
        at = {**item.at(TEXT), "annotation_index": len(item.part.annotations)}
        item.part.annotations.append(annotation)
        self.event("response.output_text.annotation.added", **at, annotation=annotation)

    def _search(self, search: WebSearch) -> None:
        self.close_open_item()
        item = self._announce(CALL, members={"id": "ws_" + core} if (core := search.id.removeprefix("ws_")) else {})
        for state in ("in_progress", "searching", "completed"):
            self.event(f"response.{CALL}.{state}", output_index=item.place, item_id=item.wire["id"])
        action = action_of(search, sources=self._sources)
        self.finish(item, "failed" if search.error else "completed", {"action": action})

    def _compacting(self) -> Item:
        """Announces a summary; if announced, writes a sign of life."""
        item = self._open_item
        if item is not None and item.wire["type"] == COMPACTION:
            self.event(f"response.{COMPACTION}.compacting", item_id=item.wire["id"], output_index=item.place)
            return item
        self.close_open_item()
        item = self._open_item = self._announce(COMPACTION)
        return item

    def _compact(self, summary: str) -> None:
        item = self._compacting()
        self._open_item = None
        item.done = True
        item.wire = {**item.wire, "encrypted_content": envelope(ReasoningState("summary", summary))}
        self.event("response.output_item.done", output_index=item.place, item=item.wire)

    def _write_text(self, shape: PartKind, text: str) -> None:
        item = self._open_item
        if item is None or item.wire["type"] != shape.item:
            self.close_open_item()
            item = self._open_item = self._announce(shape.item)
        if item.part is None or item.part.shape is not shape:
            self.close_part(item)
            item.part = OpenPart(shape)
            self._part_size = 0
            self.event(f"{shape.frame}.added", **item.at(shape), part=item.part.wire())
        self._delta(item, text)
        if shape is TEXT:
            self._part_size += len(text)
            self._upstream_size += len(text)

    def _seal(self, seal: ReasoningState) -> None:
        # sent even if `include` does not request it: DeepSeek and Kimi refuse a tool turn without its reasoning, and the client
        # cannot know which provider answers
        if self._open_item is None or self._open_item.wire["type"] != "reasoning":
            self.close_open_item()
            self._open_item = self._announce("reasoning")
        self.finish(self._open_item, "completed", {"encrypted_content": encrypted(seal)})

    def _start(self, start: ToolCallStart, held: _Held) -> None:
        self.close_open_item()
        self._held_calls.pop(start.index, None)
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
        item.part = OpenPart(shape)
        self._open_calls[start.index] = item
        self._delta(item, "".join(held.pieces))
        if held.ended:
            self._complete(start.index)

    def _complete(self, index: int) -> None:
        item = self._open_calls[index]
        if item.part and item.part.shape is ARGUMENTS and not any(item.part.pieces):
            self._delta(item, "{}")
        self.finish(item, "completed")

    def _announce(self, type_: str, call_id: str = "", members: Mapping[str, Any] | None = None) -> Item:
        """Opens an item. `call_id`: the upstream's."""
        blank: dict[str, Any] = {"role": "assistant", "content": []} if type_ == "message" else {}
        if type_ == "reasoning":
            blank = {"summary": []}
        elif type_ in CALLS:
            blank = {CALLS[type_].member: ""}
        elif type_ in _WHOLE:
            blank = {_WHOLE[type_]: BY_ITEM[type_].action({}) if type_ in BY_ITEM else {}}
        members = members or {}
        id_ = members.get("id") or with_prefix(WRITTEN[type_], self._new_id())
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
            members = {"type": type_, **item.at(part.shape), **part.shape.extra_members}
            part.head = f'{json_text.dumps(members)[:-1]},"delta":'
        part.pieces.append(text)
        if part.shape is TEXT and self._logprobs:
            tokens, self._logprobs = self._logprobs, []
            part.logprobs += tokens
            self.size += _LOGPROB * len(tokens)
            self.event(type_, **item.at(part.shape), delta=text, logprobs=tokens)
            return
        self._write(type_, part.head + json_text.quote(text))


def _object(text: str) -> Any:
    """Parses the arguments of a search; text that is not JSON stays text, which the client reports to the model."""
    try:
        return json_text.loads((text.strip() or "{}").encode(errors="surrogatepass"))
    except json_text.NotJSON:
        return text
