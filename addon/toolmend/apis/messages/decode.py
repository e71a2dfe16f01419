"""Blocks of a Messages stream, however irregular → neutral events.

    {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_time","input":{}}}
    {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"zone\""}}
    {"type":"content_block_stop","index":1}

1. Calls count from 0, whatever the index of their block.
2. A call is complete when its block stops, if its arguments are: a block that the length of the answer cuts off stops, too.
3. A call without arguments is complete unless the message is cut off right after it; the next event decides.
4. More of a call may come after its stop (agentgateway#2147), or after the stop reason.
"""

from collections.abc import Mapping
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
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ...core.fastclass import mutable, replace
from ...core.ids import with_prefix
from ...core.reasoning_state import ReasoningState
from ..codec import Reply
from ..shared.arguments import Arguments
from ..shared.call_identity import is_other, offered_name, only_fitting, text_of
from ..shared.named_arguments import named_arguments
from ..shared.numbers import index_of, is_index
from ..shared.trailing_json import MAX_KEPT, TrailingJson
from ..shared.translation_notes import CITED, OTHER
from ..shared.web_search import MAX_LINKS, NAME, RESULT, read_citation, results_of
from .block_types import BLOCKS, DELTAS, FITS, kind_of

MAX_OPEN = 256
"""Blocks that may be open at once; the API allows one."""

MAX_NAMELESS = 1024 * 1024
"""Characters of arguments that are held for a call without a name; a longer call becomes text."""

_WITHOUT_INPUT = ("text", "thinking", "redacted_thinking")


@mutable
class _Block:
    """An open block. `call`: the index of its call; None for other blocks."""

    kind: str
    call: int | None = None
    id: str = ""  # of the call
    input: Any = None
    nameless: str | None = None  # the id of a call without a name
    held: list[str] = field(default_factory=list)  # arguments of the nameless call
    size: int = 0  # of `held`
    initial: str = ""  # text or thinking in content_block_start
    begun: bool = False  # arguments were received
    body: Arguments = field(default_factory=Arguments)
    name: str = ""  # of the call
    beginning: StringIO = field(default_factory=StringIO)  # the start of its arguments, to detect repetition
    trailing: TrailingJson = field(default_factory=TrailingJson)
    signature: list[str] = field(default_factory=list)
    place: int = -1  # its index when it stopped, while its call is incomplete
    citations: list[Citation] = field(default_factory=list)

    def begins_again(self, content: Mapping[str, Any]) -> bool:
        """Whether a content_block_start repeats this block's (llama.cpp#18551)."""
        if self.call is not None:
            return self.id != "" and content.get("id") == self.id and not content.get("input")
        return self.kind in ("text", "thinking") and content.get("type") == self.kind and not content.get(self.kind)


class MessagesDecoder:
    """Decodes the content of one message. Methods append to `events`; `regular` becomes False at what a rule corrects."""

    def __init__(self, reply: Reply) -> None:
        self.regular = True
        self._reply = reply
        self._open: dict[int, _Block] = {}
        self._next = 0  # index of the next block
        self._calls = 0
        self._stopped: _Block | None = None  # block of the last incomplete call, until another block starts
        self._incomplete: dict[int, _Block] = {}  # all of these, by index
        self._texts = 0  # text blocks so far
        self._queries: dict[str, str] = {}  # web searches by the id of their block

    def start(self, data: Mapping[str, Any], events: list[Event]) -> None:
        """Decodes content_block_start."""
        index, content = index_of(data.get("index"), self._next), data.get("content_block")
        if not is_index(data.get("index")) or index != self._next or self._open:
            self.mended("block_index")
        if not (isinstance(content, dict) and content):
            self.mended("delta")
        before = self._open.get(index)
        if before and isinstance(content, dict) and before.begins_again(content):
            return
        if before := self._open.pop(index, None):
            self._stop(before, events)
        self._settle(events, broken=False)
        self._next = max(self._next, index + 1)
        block = self._open[index] = self._begin(content if isinstance(content, dict) else {}, events)
        if block.call is not None and block.input != {}:  # Claude Code uses the deltas; other clients fail if they are missing
            self.mended("arguments")
        if block.initial or block.signature:  # likewise, and the Vercel AI SDK
            self.mended("block_text")
        if len(self._open) > MAX_OPEN:
            del self._open[next(iter(self._open))]

    def delta(self, data: Mapping[str, Any], events: list[Event]) -> None:
        """Decodes content_block_delta."""
        delta = data.get("delta")
        if not (isinstance(delta, dict) and delta):
            self.mended("delta")
            return
        kind = self._kind(delta, DELTAS)
        begun = self._at(data.get("index"))
        if begun and not begun.kind and kind == "input_json_delta":  # the start of this call was empty
            begun.kind, begun.nameless = FITS[kind], ""
        block = self._fitting(data.get("index"), kind)
        index = index_of(data.get("index"), self._next)
        if block is None and kind in FITS and index >= self._next:  # its start is missing, and a call's name with it
            self._next = index + 1
            block = self._open[index] = _Block(FITS[kind], nameless="" if kind == "input_json_delta" else None)
        match kind:
            case "text_delta":
                if text := self._new(block, self._text(delta.get("text"))):
                    events.append(TextDelta(text))
            case "thinking_delta":
                if text := self._new(block, self._text(delta.get("thinking"))):
                    events.append(ReasoningDelta(text))
            case "signature_delta" if block:
                block.signature.append(self._text(delta.get("signature")))
            case "compaction_delta" if block:
                block.held.append(self._text(delta.get("content")))
            case "input_json_delta" if block and block.call is not None:
                self._add_arguments(block, block.call, self._json(delta.get("partial_json")), events)
            case "input_json_delta" if block and block.kind == "server_tool_use":
                block.held.append(self._json(delta.get("partial_json")))
            case "input_json_delta" if block and block.nameless is not None:
                self._hold(block, self._json(delta.get("partial_json")), events)
            case "citations_delta" if block:
                self._cite(block, [delta.get("citation")])
            case _:
                pass

    @property
    def unfinished(self) -> bool:
        """Whether a call with incomplete arguments is open."""
        return any(block.call is not None and not block.body.complete for block in self._open.values())

    def place(self, call: int) -> int | None:
        """The index of the open block of a call."""
        return next((index for index, block in self._open.items() if block.call == call), None)

    def more(self, index: int, arguments: str) -> tuple[Event, ...]:
        """Decodes a delta that holds only a piece of an open call's arguments."""
        self.regular = True
        events: list[Event] = []
        block = self._open[index]
        assert block.call is not None
        self._add_arguments(block, block.call, arguments, events)
        return tuple(events)

    def supports_run(self, index: int) -> bool:
        """Whether text inside a string of an open call's arguments passes unchanged."""
        block = self._open.get(index)
        return block is not None and block.call is not None and block.body.in_string

    def stop(self, data: Mapping[str, Any], events: list[Event]) -> None:
        """Decodes content_block_stop."""
        block = self._at(data.get("index"))
        if block is None:
            self.mended("block_index")
            return
        block.place = next(index for index, other in self._open.items() if other is block)
        del self._open[block.place]
        self._stop(block, events)
        if self._stopped is block and len(self._incomplete) < MAX_OPEN:
            self._incomplete[block.place] = block

    def close(self, events: list[Event], *, broken: bool, called: bool) -> None:
        """Ends the content and its open blocks. `called`: the stop reason is a call, so brackets that are missing are added."""
        left = [*self._incomplete.values(), *self._open.values()]
        if self._open:
            self.mended("block_stop")
        for block in self._open.values():
            self._stop(block, events)
            self._settle(events, broken=broken)
        self._open.clear()
        self._settle(events, broken=broken)
        for block in left:
            if block.call is None or not (called or block.body.holds):
                continue
            body, sent = block.body, block.beginning.getvalue()
            if rest := body.closing(sent, self._reply.tools, block.name) if called else body.end(broken=True):
                events += (ToolCallDelta(block.call, rest), *((ToolCallEnd(block.call),) if body.complete else ()))
                self.mended(body.rule)

    def whole(self, content: Mapping[str, Any], events: list[Event]) -> None:
        """Decodes a block of a whole message."""
        block = self._begin(content, events)
        if block.call is None:
            self._stop(block, events)
            return
        value = block.input
        if isinstance(value, dict):
            events += (ToolCallDelta(block.call, json_text.dumps(value)), ToolCallEnd(block.call))
            return
        self.mended("arguments")
        self._add_arguments(block, block.call, value if isinstance(value, str) else text_of(value or None), events)
        if rest := block.body.end(broken=False):
            events.append(ToolCallDelta(block.call, rest))
        if block.body.complete:
            events.append(ToolCallEnd(block.call))

    def mended(self, rule: str) -> None:
        """Reports a rule; what it names is not regular."""
        self._reply.fired(rule)
        self.regular = False

    def _begin(self, content: Mapping[str, Any], events: list[Event]) -> _Block:
        """Starts a block, and decodes its initial content."""
        block = _Block(self._kind(content, BLOCKS))
        match block.kind:
            case "text":
                if self._texts and self._reply.translates:
                    events.append(TextStart())
                self._texts += 1
                if text := self._text(content.get("text")):
                    block.initial = text
                    events.append(TextDelta(text))
                self._cite(block, content.get("citations"))
            case "thinking":
                if text := self._text(content.get("thinking")):
                    block.initial = text
                    events.append(ReasoningDelta(text))
                if signature := content.get("signature"):
                    block.signature.append(self._text(signature))
            case "redacted_thinking":
                if data := self._text(content.get("data")):
                    events.append(ReasoningSeal(ReasoningState("redacted", data)))
            case "tool_use":
                self._call(block, content, events)
            case "server_tool_use" if content.get("name") == NAME:
                block.id, block.input = self._text(content.get("id")), content.get("input")
            case str(kind) if kind == RESULT and self._reply.translates:
                search = results_of(content, self._queries.pop(str(content.get("tool_use_id")), ""))
                events.append(search)
            case "compaction":
                block.held.append(self._text(content.get("content")))
            case "":
                pass
            case _:
                self._reply.note(OTHER)
        return block

    def _cite(self, block: _Block, citations: Any) -> None:
        """Keeps citations until the end of their block: they refer to all of its text."""
        if not self._reply.translates:
            return
        for annotation in citations if isinstance(citations, list) else ():
            if (citation := read_citation(annotation)) is None:
                self._reply.note(CITED)
            elif len(block.citations) < MAX_LINKS:
                block.citations.append(replace(citation, start=0, end=None))

    def _call(self, block: _Block, content: Mapping[str, Any], events: list[Event]) -> None:
        id_, name = self._text(content.get("id")), self._text(content.get("name"))
        if (tool_name := offered_name(name, self._reply.tools)) != name:
            block.body.named = named_arguments(name, tool_name, self._reply.tools)
            name = tool_name
            self.mended("tool_call_name")
        block.input = content.get("input")
        if not name:
            block.nameless = id_
            self.mended("tool_call_name")
            return
        self._begin_call(block, id_, name, events)
        if block.input and isinstance(block.input, str):
            self.mended("arguments")

    def _begin_call(self, block: _Block, id_: str, name: str, events: list[Event]) -> None:
        if not id_:
            id_ = self._new_id()
            self.mended("tool_call_id")
        block.call, block.id, block.name = self._calls, id_, name
        block.body.demands, block.body.as_is = self._reply.tools.requires(name), not self._reply.repairs
        self._calls += 1
        events.append(ToolCallStart(block.call, id_, name))

    def _hold(self, block: _Block, text: str, events: list[Event]) -> None:
        """Holds a piece of the arguments of a nameless call."""
        block.held.append(text)
        block.size += len(text)
        if block.size > MAX_NAMELESS:
            self.mended("hold_limit")
            events.append(TextDelta("".join(block.held)))
            block.held.clear()

    def _name(self, block: _Block, id_: str, events: list[Event]) -> None:
        """Ends a nameless call: it belongs to the only tool that its arguments fit, or becomes text."""
        block.nameless = None
        text = "".join(block.held)
        if not block.size and block.input:
            text = block.input if isinstance(block.input, str) else json_text.dumps(block.input)
        if name := only_fitting(text, self._reply.tools):
            self._begin_call(block, id_, name, events)
            assert block.call is not None
            self._add_arguments(block, block.call, text, events)
        elif text:
            events.append(TextDelta(text))

    def _add_arguments(self, block: _Block, call: int, text: str, events: list[Event]) -> None:
        if not text:
            return
        block.begun = True
        sent, trailing = block.body.feed(text)
        if sent:
            events.append(ToolCallDelta(call, sent))
            if block.beginning.tell() <= MAX_KEPT:
                block.beginning.write(sent)
        if sent != text:
            self.mended(block.body.rule)
        if block.body.complete and self._incomplete.pop(block.place, None) is block:
            self._stopped = None if self._stopped is block else self._stopped
            events.append(ToolCallEnd(call))
        self._further_calls(block, block.trailing.feed(trailing) if trailing else [], events)

    def _further_calls(self, block: _Block, found: list[str], events: list[Event]) -> None:
        """Emits calls for the objects after the arguments of a block."""
        for arguments in found:
            if is_other(arguments, block.beginning.getvalue()):
                self.mended("tool_call_index")
                block.beginning = StringIO(arguments)
                index, self._calls = self._calls, self._calls + 1
                events.append(ToolCallStart(index, self._new_id(), block.name))
                events += (ToolCallDelta(index, arguments), ToolCallEnd(index))

    def _new_id(self) -> str:
        return with_prefix("toolu_", self._reply.new_id())

    def _stop(self, block: _Block, events: list[Event]) -> None:
        if signature := "".join(block.signature):
            events.append(ReasoningSeal(ReasoningState("signature", signature)))
        if block.nameless is not None:
            self._name(block, block.nameless, events)
        events += block.citations
        if block.kind == "compaction" and self._reply.translates and (summary := "".join(block.held)):
            events.append(Compaction(summary, alone=False))
        if block.kind == "server_tool_use" and block.id:
            self._queries[block.id] = _query("".join(block.held), block.input)
        if block.call is None:
            return
        self._settle(events, broken=False)
        if not block.begun and block.input and isinstance(block.input, dict | str):
            text = block.input if isinstance(block.input, str) else json_text.dumps(block.input)
            self._add_arguments(block, block.call, text, events)
        if (block.begun or block.body.named) and (rest := block.body.end(broken=False, last=False)):
            events.append(ToolCallDelta(block.call, rest))
            self.mended(block.body.rule)
        if block.body.complete:
            events.append(ToolCallEnd(block.call))
            self._further_calls(block, block.trailing.end(), events)
        else:
            self._stopped = block

    def _settle(self, events: list[Event], *, broken: bool) -> None:
        """Completes a call without arguments, because something follows it."""
        block, self._stopped = self._stopped, None
        if block and block.call is not None and not (block.begun or broken):
            self._incomplete.pop(block.place, None)
            events += (ToolCallDelta(block.call, "{}"), ToolCallEnd(block.call))

    def _json(self, value: Any) -> str:
        """Returns a piece of arguments as a string."""
        if isinstance(value, str):
            return value
        self.mended("arguments_type")
        return text_of(value)

    def _kind(self, of: Mapping[str, Any], known: Mapping[str, str]) -> str:
        """The type of a block or of a delta; an inferred one is reported."""
        kind = kind_of(of, known)
        if kind != of.get("type") and kind:
            self.mended("block_type")
        return kind

    def _text(self, value: Any) -> str:
        """Returns a text member; "" if it is not a string."""
        if isinstance(value, str):
            return value
        self.mended("block_text")
        return ""

    def _new(self, block: _Block | None, text: str) -> str:
        """Returns a piece of text; "" if it repeats the block's initial text, which Claude Code expects."""
        if block is None or not block.initial:
            return text
        initial, block.initial = block.initial, ""
        return "" if initial == text else text

    def _fitting(self, index: Any, kind: str) -> _Block | None:
        """The block that a delta belongs to: if the one at its index does not fit, the only one that does."""
        block, fits = self._at(index), FITS.get(kind, "")
        if block and (not fits or block.kind == fits):
            return block
        if block is None and self._stopped is None and fits == "tool_use" and (late := self._incomplete.get(index_of(index, -1))):
            return late  # another block started since: clients that accept this go by the index, too
        others = [other for other in (self._stopped, *self._open.values()) if other and other.kind == fits]
        if block and fits == "tool_use" and (block.kind not in _WITHOUT_INPUT or len(others) != 1):
            return block
        self.mended("block_index")
        return others[0] if len(others) == 1 else block

    def _at(self, index: Any) -> _Block | None:
        """The open block at an index; without an index, the last one."""
        place = index_of(index, None)
        if not is_index(index):
            self.mended("block_index")
        return next(reversed(self._open.values()), None) if place is None else self._open.get(place)


def _query(arguments: str, initial_input: Any) -> str:
    """The query of a web search, from the deltas of its block or from its start."""
    try:
        value = json_text.loads(arguments.encode(errors="surrogatepass")) if arguments else initial_input
    except json_text.NotJSON:
        return ""
    query = value.get("query") if isinstance(value, dict) else None
    return query if isinstance(query, str) else ""
