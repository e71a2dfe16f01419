"""The content blocks of a Messages stream, as a client is sent them. See wire-apis.md.

    {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
    {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}
    {"type":"content_block_stop","index":0}

Rule of this file: one block is open at a time, indices count from 0, and blocks stand in the order in which they began. The
first that is not over is the open one, and streams live; what is said of a later one waits. So the arguments of two calls that
come in turns do not mix, and neither does text that comes while a call is open: a call is over when its end is told, or the
message is. A block opens at its first payload that is not empty, so none is without; a call without arguments opens at its end.

Arguments that are broken off go out as they came, of one call: it is for the reason of the stop to tell. Another that is not
whole, and of which nothing had gone out then, is dropped, for no client would take it for anything but a call.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from io import StringIO
from typing import Any

from ...core import json_text
from ...core.events import (
    Citation,
    Compaction,
    Event,
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
from ..shared.web_search import MAX_QUOTED, blocks_of, location_of
from .tool_input import escape_surrogates, input_of

MAX_HELD = 16 * 1024 * 1024
"""Characters that wait for a call to end: as many as one server-sent event may bring (sse.py), and far beyond any answer."""

BROKEN_CALL = "a tool call of the upstream's answer was broken off"

MAX_REFUSAL = 10_000
"""Characters of a refusal that are told once more when the message stops."""

MAX_CHECKED = 1024 * 1024
"""Characters of a call's arguments that are kept to see whether they are JSON; longer ones are the client's to judge."""

def event(name: str, data: str) -> str:
    """A server-sent event of JSON text on one line. `name` is its type."""
    return f"event: {name}\ndata: {data}\n\n"


@mutable
class Block:
    """`content`: how it begins. `lasts`: it is over when that is told, not when another begins; `bare`: it needs no delta."""

    content: Mapping[str, Any]
    lasts: bool = False
    bare: bool = False
    over: bool = False
    signed: bool = False
    index: int | None = None  # once it was sent
    held: list[str] = field(default_factory=list)  # deltas that wait, JSON text
    arguments: list[str] = field(default_factory=list)  # of a call
    size: int = 0  # of them
    text: StringIO = field(default_factory=StringIO)  # of a text

    @property
    def kind(self) -> Any:
        return self.content.get("type")


class Blocks:
    """`called`: a call went out; `compacted`: a summary; `refused`: some of the text declines; `characters`: all that was said.

    `error`: what waits is too much, or a call was broken off, and nothing more is read. `invalid`: the name of a call that cannot
    be right: its arguments are no JSON object, and not broken off either.
    """

    def __init__(self, new_id: Callable[[], str], following: int = 0) -> None:
        self.called = self.compacted = self.refused = False
        self.characters = 0
        self.error = self.invalid = self.refusal = ""
        self._new_id = new_id
        self._next = following
        self._queue: deque[Block] = deque()
        self._calls: dict[int, Block] = {}
        self._ids: set[str] = set()
        self._thinking: Block | None = None  # the last one
        self._counted = 0  # characters of the upstream's part of text
        self._held = 0
        self._cut = self._broken = False
        self._out: list[str] = []

    def take(self) -> str:
        """What is to be sent now."""
        out = "".join(self._out)
        self._out.clear()
        return out

    def feed(self, event: Event, source: Mapping[str, Any] | None = None) -> None:
        """What an event says of the content, if it does. `source`: how the upstream's own block of this call begins."""
        match event:
            case TextDelta() | RefusalDelta() if event.text:
                if isinstance(event, RefusalDelta):
                    self.refused = True
                    self.refusal += event.text[: MAX_REFUSAL - len(self.refusal)]
                self.characters += len(event.text)
                text = self.text or self.begin(Block({"type": "text", "text": ""}))
                text.text.write(event.text)
                self._counted += len(event.text)
                self.say(text, _delta("text_delta", "text", event.text))
            case TextStart():
                if event.apart and self.text:
                    self.end(self.text)
                self._counted = 0
            case Citation() if self.text:
                self._cite(event, self.text)
            case WebSearch():
                self._search(event)
            case Compaction():
                self._compact(event.summary)
            case ReasoningDelta() if event.text:
                self.characters += len(event.text)
                self.say(self._open_thinking(), _delta("thinking_delta", "thinking", event.text))
            case ReasoningSeal():
                self._seal(event.seal)
            case ToolCallStart():
                if before := self._calls.get(event.index):
                    self.end(before)
                self._calls[event.index] = self.begin(self._call(event, source or {}))
            case ToolCallDelta():
                if block := self._calls.get(event.index):
                    self._argue(block, event.arguments)
            case ToolCallEnd():
                if block := self._calls.get(event.index):
                    block.bare = True
                    self.end(block)
            case _:
                pass

    @property
    def count(self) -> int:
        """The blocks that went out."""
        return self._next

    @property
    def text(self) -> Block | None:
        """The text block that text goes on in."""
        last = self._queue[-1] if self._queue else None
        return last if last and last.kind == "text" and not last.over else None

    def begin(self, block: Block) -> Block:
        """The next block. The one before it is over, unless it lasts."""
        if self._queue and not self._queue[-1].lasts:
            self._queue[-1].over = True
        if block.kind == "thinking":
            self._thinking = block
        self._queue.append(block)
        self._advance()
        return block

    def adopt(self, block: Block, call: int | None = None) -> None:
        """The block that is open at the client already; `call`: the index of its call."""
        self._queue.append(block)
        if block.kind == "thinking":
            self._thinking = block
        if call is not None:
            self.called = True
            self._calls[call] = block
            block.size = MAX_CHECKED  # what has gone out is not known any more

    def say(self, block: Block, delta: str) -> None:
        """A delta of a block that is not over, in JSON text."""
        if self.error:
            return
        if block is self._queue[0]:
            self._open(block)
            self._delta(block, delta)
            return
        block.held.append(delta)
        self._held += len(delta)
        if self._held > MAX_HELD:
            self.error = "too much of the answer waits for a tool call that does not end"

    def end(self, block: Block) -> None:
        """A block is over."""
        block.over = True
        self._advance()

    def finish(self, *, cut: bool) -> None:
        """The message is over. `cut`: it was broken off, for its length or by a filter, and so may be the arguments of a call.

        If it was not, arguments that have begun, and whose end was not told, are an error: SDKs make JSON of what is there.
        """
        self._cut = cut
        calls = (block for block in self._queue if block.kind == "tool_use" and not (block.over or block.bare))
        if not cut and any(0 < block.size < MAX_CHECKED for block in calls):
            self.error = self.error or BROKEN_CALL
        else:
            self._end_all()

    def break_off(self) -> None:
        """The message ends in an error: the block that is open stays so, unless something waits for its end."""
        self.error = ""
        if any(block.held or block.bare for block in self._queue):
            self._cut = False
            self._end_all()

    def _end_all(self) -> None:
        for block in self._queue:
            block.over = True
        self._advance()

    def _open_thinking(self) -> Block:
        """The thinking block that reasoning goes on in."""
        block = self._thinking
        if block and not block.over and (block.lasts or block is self._queue[-1]):
            return block
        return self.begin(Block({"type": "thinking", "thinking": "", "signature": ""}))

    def _seal(self, seal: ReasoningState) -> None:
        if seal.kind == "redacted":
            if seal.data:
                self.begin(Block({"type": "redacted_thinking", "data": seal.data}, bare=True))
            return
        if seal.kind == "plain" and (not self._thinking or self._thinking.over):
            return
        block = self._open_thinking()
        if not block.signed:
            self._sign(block, seal.data if seal.kind == "signature" else envelope(seal))
        self.end(block)

    def _cite(self, citation: Citation, block: Block) -> None:
        said = block.text.tell()
        citation = in_part(citation, said - self._counted, said)
        block.text.seek(citation.start)
        marked = block.text.read(min(MAX_QUOTED, (citation.end or 0) - citation.start))
        block.text.seek(said)
        self.say(block, json_text.dumps({"type": "citations_delta", "citation": location_of(citation, marked)}))

    def _search(self, search: WebSearch) -> None:
        """A search, and its results: the query in a delta, the results as a whole, as Anthropic sends them."""
        use, result = blocks_of(search, self._new_id())
        block = self.begin(Block({**use, "input": {}}, lasts=True))
        self.say(block, _delta("input_json_delta", "partial_json", json_text.dumps(use["input"])))
        self.end(block)
        self.begin(Block(result, bare=True))

    def _compact(self, summary: str) -> None:
        """A summary of the conversation, in one delta, as Anthropic sends it."""
        self.compacted = True
        self.characters += len(summary)
        block = self.begin(Block({**compaction_of(""), "content": None}, lasts=True))
        self.say(block, json_text.dumps({"type": "compaction_delta", "content": summary, "encrypted_content": None}))
        self.end(block)

    def _sign(self, block: Block, signature: str) -> None:
        if signature:
            self.say(block, _delta("signature_delta", "signature", signature))
            block.signed = True

    def _call(self, event: ToolCallStart, source: Mapping[str, Any]) -> Block:
        id_ = event.id
        if not id_ or id_ in self._ids:
            id_ = "toolu_" + self._new_id().removeprefix("call_")
        self._ids.add(id_)
        return Block({**source, "type": "tool_use", "id": id_, "name": event.name, "input": {}}, lasts=True)

    def _argue(self, block: Block, text: str) -> None:
        if block.index is None and not block.held:
            text = text.lstrip()  # JSON text that is blank is none
        if not text or block.over:
            return
        self.characters += len(text)
        if block.size < MAX_CHECKED:
            block.arguments.append(text)
            block.size += len(text)
        self.say(block, _delta("input_json_delta", "partial_json", escape_surrogates(text)))

    def _advance(self) -> None:
        """Sends what need not wait any longer."""
        while self._queue and not self.error:
            block = self._queue[0]
            if self._broken and block.kind == "tool_use" and not (block.bare and _is_whole(block)):
                self._queue.popleft().over = True
                continue
            if block.held or block.bare:
                self._open(block)
            for delta in block.held:
                self._delta(block, delta)
                self._held -= len(delta)
            block.held.clear()
            if not block.over:
                return
            self._stop(block)
            self._queue.popleft()

    def _open(self, block: Block) -> None:
        if block.index is None:
            block.index = self._next
            self._next += 1
            self.called |= block.kind == "tool_use"
            data = f'{{"type":"content_block_start","index":{block.index},"content_block":{json_text.dumps(block.content)}}}'
            self._out.append(event("content_block_start", data))

    def _delta(self, block: Block, delta: str) -> None:
        data = f'{{"type":"content_block_delta","index":{block.index},"delta":{delta}}}'
        self._out.append(event("content_block_delta", data))

    def _stop(self, block: Block) -> None:
        if block.kind == "tool_use" and not _is_whole(block):
            if self._cut and not block.bare:
                self._broken = True
            else:
                self.invalid = self.invalid or str(block.content.get("name"))
        if block.index is None:
            return
        if block.kind == "thinking" and not block.signed:
            self._delta(block, _delta("signature_delta", "signature", envelope(ReasoningState("plain"))))
        self._out.append(event("content_block_stop", f'{{"type":"content_block_stop","index":{block.index}}}'))


def compaction_of(summary: str) -> dict[str, Any]:
    """The block of a summary: by its signature it is known again that no provider has signed it."""
    return {"type": "compaction", "content": summary, "encrypted_content": None, "signature": envelope(ReasoningState("summary"))}


def _delta(name: str, member: str, text: str) -> str:
    return f'{{"type":"{name}","{member}":{json_text.quote(text)}}}'


def _is_whole(block: Block) -> bool:
    """Whether the arguments of a call, as far as they were kept, are a JSON object; nothing at all is one if its end was told."""
    if block.size >= MAX_CHECKED:
        return True
    return input_of("".join(block.arguments), complete=block.bare) is not None
