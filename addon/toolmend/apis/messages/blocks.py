"""The content blocks of a Messages stream, as they are sent to a client. See docs/dev/wire-apis.md.

    {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
    {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}
    {"type":"content_block_stop","index":0}

1. One block is open at a time, indices count from 0, and blocks keep the order in which they began. The first unfinished block
   is open and streams; deltas of later ones are held. So interleaved arguments of two calls stay apart, and so does text that
   comes while a call is open. A call ends with its ToolCallEnd, or with the message.
2. A block opens with its first delta that is not empty, so no block is empty; a call without arguments opens when it ends.
3. Incomplete arguments of one call are sent; the stop reason explains them. A further incomplete call, of which nothing was
   sent, is dropped, because a client would take it for a complete one.
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
from ...core.ids import with_prefix
from ...core.reasoning_state import ReasoningState, envelope
from ..shared.web_search import MAX_QUOTED, blocks_of, location_of
from .tool_input import escape_surrogates, input_of

MAX_HELD = 16 * 1024 * 1024
"""Characters held for a call to end: as many as one SSE event may have (sse.py), and far beyond any answer."""

BROKEN_CALL = "a tool call of the upstream's answer was broken off"

MAX_REFUSAL = 10_000
"""Characters of a refusal that are repeated in the stop details."""

MAX_CHECKED = 1024 * 1024
"""Characters of a call's arguments that are kept for validation; longer ones are left to the client."""


def event(name: str, data: str) -> str:
    """Formats an SSE event. `data` is JSON text on one line."""
    return f"event: {name}\ndata: {data}\n\n"


@mutable
class Block:
    """A block of the output.

    Attributes:
        content: Its `content_block`.
        lasts: It ends explicitly, not when another block begins.
        bare: It needs no delta.
    """

    content: Mapping[str, Any]
    lasts: bool = False
    bare: bool = False
    over: bool = False
    signed: bool = False
    index: int | None = None  # None until it was opened
    held: list[str] = field(default_factory=list)  # held deltas, JSON text
    arguments: list[str] = field(default_factory=list)  # of a call
    size: int = 0  # of the arguments
    text: StringIO = field(default_factory=StringIO)  # of a text block

    @property
    def kind(self) -> Any:
        return self.content.get("type")


SEALED = "(The provider compacted the conversation up to here.)"
"""The text of a summary that only the upstream can read."""


class Blocks:
    """Builds the blocks of one message.

    Attributes:
        called: A call was sent.
        compacted: A summary was sent.
        refused: Some of the text is a refusal.
        characters: Of all content.
        error: Why no more events are taken: too much is held, or a call was broken off.
        invalid: The name of a call whose arguments are complete but not a JSON object.
        refusal: The start of the refusal's text.
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
        self._counted = 0  # characters of the upstream's current part of text
        self._held = 0
        self._cut = self._broken = False
        self._out: list[str] = []

    def take(self) -> str:
        """Returns what is to be sent now."""
        out = "".join(self._out)
        self._out.clear()
        return out

    def feed(self, event: Event, source: Mapping[str, Any] | None = None) -> None:
        """Takes an event; other than content it is ignored. `source`: the upstream's own `content_block` of a call."""
        match event:
            case TextDelta() | RefusalDelta() if event.text:
                if isinstance(event, RefusalDelta):
                    self.refused = True
                    self.refusal += event.text[: MAX_REFUSAL - len(self.refusal)]
                self.characters += len(event.text)
                text = self.text or self.begin(Block({"type": "text", "text": ""}))
                text.text.write(event.text)
                self._counted += len(event.text)
                self.send_delta(text, _delta("text_delta", "text", event.text))
            case TextStart():
                if event.apart and self.text:
                    self.end(self.text)
                self._counted = 0
            case Citation() if self.text:
                self._cite(event, self.text)
            case WebSearch():
                self._search(event)
            case Compaction():
                self._compact(event)
            case ReasoningDelta() if event.text:
                self.characters += len(event.text)
                self.send_delta(self._open_thinking(), _delta("thinking_delta", "thinking", event.text))
            case ReasoningSeal():
                self._seal(event.seal)
            case ToolCallStart():
                if before := self._calls.get(event.index):
                    self.end(before)
                self._calls[event.index] = self.begin(self._call(event, source or {}))
            case ToolCallDelta():
                if block := self._calls.get(event.index):
                    self._add_arguments(block, event.arguments)
            case ToolCallEnd():
                if block := self._calls.get(event.index):
                    block.bare = True
                    self.end(block)
            case _:
                pass

    @property
    def count(self) -> int:
        """Number of blocks that were opened."""
        return self._next

    @property
    def text(self) -> Block | None:
        """The text block that takes further text; None if a new one is needed."""
        last = self._queue[-1] if self._queue else None
        return last if last and last.kind == "text" and not last.over else None

    def begin(self, block: Block) -> Block:
        """Appends a block. The one before it ends, unless it lasts."""
        if self._queue and not self._queue[-1].lasts:
            self._queue[-1].over = True
        if block.kind == "thinking":
            self._thinking = block
        self._queue.append(block)
        self._advance()
        return block

    def adopt(self, block: Block, call: int | None = None) -> None:
        """Takes over a block that is already open at the client. `call`: the index of its call."""
        self._queue.append(block)
        if block.kind == "thinking":
            self._thinking = block
        if call is not None:
            self.called = True
            self._calls[call] = block
            block.size = MAX_CHECKED  # what was sent of it is not known

    def send_delta(self, block: Block, delta: str) -> None:
        """Sends or holds a delta (JSON text) of an unfinished block."""
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
        """Ends a block."""
        block.over = True
        self._advance()

    def finish(self, *, cut: bool) -> None:
        """Ends the message. `cut`: it was cut off by its length or a filter, so the arguments of a call may be incomplete.

        Without `cut`, incomplete arguments are an error: SDKs would parse the fragment.
        """
        self._cut = cut
        calls = (block for block in self._queue if block.kind == "tool_use" and not (block.over or block.bare))
        if not cut and any(0 < block.size < MAX_CHECKED for block in calls):
            self.error = self.error or BROKEN_CALL
        else:
            self._end_all()

    def break_off(self) -> None:
        """Prepares for an error as the end of the stream: the open block stays open unless something is held after it."""
        self.error = ""
        if any(block.held or block.bare for block in self._queue):
            self._cut = False
            self._end_all()

    def _end_all(self) -> None:
        for block in self._queue:
            block.over = True
        self._advance()

    def _open_thinking(self) -> Block:
        """The thinking block that takes further reasoning."""
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
        length = block.text.tell()
        citation = in_part(citation, length - self._counted, length)
        block.text.seek(citation.start)
        marked = block.text.read(min(MAX_QUOTED, (citation.end or 0) - citation.start))
        block.text.seek(length)
        self.send_delta(block, json_text.dumps({"type": "citations_delta", "citation": location_of(citation, marked)}))

    def _search(self, search: WebSearch) -> None:
        """Writes a search and its results: the query as a delta, the results as a whole block, as Anthropic sends them."""
        use, result = blocks_of(search, self._new_id())
        block = self.begin(Block({**use, "input": {}}, lasts=True))
        self.send_delta(block, _delta("input_json_delta", "partial_json", json_text.dumps(use["input"])))
        self.end(block)
        self.begin(Block(result, bare=True))

    def _compact(self, event: Compaction) -> None:
        """Writes a summary of the conversation as one delta, as Anthropic sends it."""
        self.compacted = event.alone
        whole = compaction_of(event)
        self.characters += len(whole["content"])
        block = self.begin(Block({**whole, "content": None}, lasts=True))
        delta = {"type": "compaction_delta", "content": whole["content"], "encrypted_content": None}
        self.send_delta(block, json_text.dumps(delta))
        self.end(block)

    def _sign(self, block: Block, signature: str) -> None:
        if signature:
            self.send_delta(block, _delta("signature_delta", "signature", signature))
            block.signed = True

    def _call(self, event: ToolCallStart, source: Mapping[str, Any]) -> Block:
        id_ = event.id
        if not id_ or id_ in self._ids:
            id_ = with_prefix("toolu_", self._new_id())
        self._ids.add(id_)
        return Block({**source, "type": "tool_use", "id": id_, "name": event.name, "input": {}}, lasts=True)

    def _add_arguments(self, block: Block, text: str) -> None:
        if block.index is None and not block.held:
            text = text.lstrip()  # JSON text does not start with white space
        if not text or block.over:
            return
        self.characters += len(text)
        if block.size < MAX_CHECKED:
            block.arguments.append(text)
            block.size += len(text)
        self.send_delta(block, _delta("input_json_delta", "partial_json", escape_surrogates(text)))

    def _advance(self) -> None:
        """Sends all that need not be held."""
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


def compaction_of(event: Compaction) -> dict[str, Any]:
    """The block of a summary. Its signature marks that no provider signed it, and holds what only the upstream can read."""
    seal = ReasoningState("compacted", event.sealed) if event.sealed else ReasoningState("summary")
    content = SEALED if event.sealed else event.summary
    return {"type": "compaction", "content": content, "encrypted_content": None, "signature": envelope(seal)}


def _delta(name: str, member: str, text: str) -> str:
    return f'{{"type":"{name}","{member}":{json_text.quote(text)}}}'


def _is_whole(block: Block) -> bool:
    """Whether the kept arguments of a call are a JSON object. Empty ones are if the call has ended."""
    if block.size >= MAX_CHECKED:
        return True
    return input_of("".join(block.arguments), complete=block.bare) is not None
