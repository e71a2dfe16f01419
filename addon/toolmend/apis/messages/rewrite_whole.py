"""Rewrites a whole Messages answer for the events that replaced its content.

    {"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],
     "stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":2}}

Only `content`, the stop reason and missing counts of the upstream's text are rewritten, and of `content` only what events stand
for. The order stays, except that calls found in a thought follow it.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...core import json_text
from ...core.events import (
    Event,
    Finish,
    MessageStart,
    ReasoningDelta,
    ReasoningSeal,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ...core.reasoning_state import ReasoningState, envelope
from .block_types import BLOCKS, typed
from .tool_input import input_of
from .usage import counted, same_stop, uncounted

_OURS = ("text", "thinking", "redacted_thinking", "tool_use")


def needs_order(blocks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the place of each block must be kept: some have no events, texts are adjacent, or a text has citations."""
    kinds = [block.get("type") for block in blocks]
    if any(kind not in _OURS for kind in kinds) or any(one == two == "text" for one, two in pairwise(kinds)):
        return True
    return any(block.get("type") == "text" and block.keys() != {"type", "text"} for block in blocks)


def blocks_of(content: Any) -> list[Mapping[str, Any]]:
    """The blocks of a content, each with its type. A bare string is a text block."""
    listed = content if isinstance(content, list) else [content]
    texts = ({"type": "text", "text": block} if isinstance(block, str) else block for block in listed)
    return [typed(block, BLOCKS) for block in texts if isinstance(block, dict)]


def rewrite_message(body: bytes, events: Iterable[Event]) -> bytes:
    """Returns the body of a message with its content replaced by events."""
    message = json_text.loads(body)
    content = message.get("content")
    whole = _Content(blocks_of(content))
    finish: Finish | None = None
    for event in events:
        if isinstance(event, Finish):
            finish = event
        else:
            whole.feed(event)
    built = whole.blocks()
    called = any(block.get("type") == "tool_use" for block in built)
    if finish and finish.finish_reason == "tool_calls" and not called:
        finish = Finish("stop")
    text = json_text.replace_member(body.decode(), "content", json_text.dumps(built))
    for name, value in same_stop(message, finish, called=called).items():
        text = json_text.replace_member(text, name, json_text.dumps(value))
    usage = message.get("usage")
    if uncounted(usage):
        usage = {"input_tokens": 0, "output_tokens": 0, **(counted(usage) if isinstance(usage, dict) else {})}
        text = json_text.replace_member(text, "usage", json_text.dumps(usage))
    return text.encode()


class _Content:
    """Builds the blocks; `text`, `thinking` and `input` are lists of pieces until `blocks`."""

    def __init__(self, source: Sequence[Mapping[str, Any]]) -> None:
        self._source = source
        self._ids = {str(block.get("id")): block for block in source if block.get("type") == "tool_use"}
        self._place = -2  # the first MessageStart is the message's own
        self._announced = needs_order(source)
        self._built: list[dict[str, Any]] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._text: dict[str, Any] | None = None
        self._thinking: dict[str, Any] | None = None

    def feed(self, event: Event) -> None:
        match event:
            case MessageStart():
                self._place += 1
                if self._announced and self._place >= 0:
                    self._announce(self._source[self._place])
            case TextDelta():
                if self._text is None:
                    self._text = self._add({"type": "text", "text": []})
                self._text["text"].append(event.text)
            case ReasoningDelta():
                if self._thinking is None:
                    self._thinking = self._add({"type": "thinking", "thinking": []})
                self._thinking["thinking"].append(event.text)
            case ReasoningSeal():
                self._seal(event.seal)
            case ToolCallStart():
                own = self._ids.get(event.id, {})
                call = {**own, "type": "tool_use", "id": event.id, "name": event.name, "input": []}
                self._calls[event.index] = self._add(call)
            case ToolCallDelta() if event.index in self._calls:
                self._calls[event.index]["input"].append(event.arguments)
            case ToolCallEnd() if event.index in self._calls:
                call = self._calls[event.index]
                call["input"] = ["".join(call["input"]).strip() or "{}"]
            case _:
                pass

    def _announce(self, block: Mapping[str, Any]) -> None:
        """Starts the upstream's next block."""
        self._text = None
        match block.get("type"):
            case "text":
                self._text = self._add({**block, "text": []})
            case "thinking" | "redacted_thinking" | "tool_use":
                pass
            case _:
                self._add(dict(block))

    def _seal(self, seal: ReasoningState) -> None:
        if seal.kind == "redacted":
            self._add({"type": "redacted_thinking", "data": seal.data})
            return
        thinking = self._thinking or self._add({"type": "thinking", "thinking": []})
        thinking["signature"] = seal.data
        self._thinking = None

    def _add(self, block: dict[str, Any]) -> dict[str, Any]:
        if block.get("type") != "text":
            self._text = None
        self._built.append(block)
        return block

    def blocks(self) -> list[dict[str, Any]]:
        """The finished blocks, without empty texts.

        A call whose arguments are not an object keeps the upstream's input, or becomes text.
        """
        out = []
        for block in self._built:
            match block:
                case {"type": "text", "text": list(pieces)}:
                    if any(pieces):
                        out.append({**block, "text": "".join(pieces)})
                case {"type": "thinking", "thinking": list(pieces)}:
                    out.append({"signature": envelope(ReasoningState("plain")), **block, "thinking": "".join(pieces)})
                case {"type": "tool_use", "input": list(pieces)}:
                    if (value := input_of("".join(pieces), complete=False)) is not None:
                        out.append({**block, "input": value})
                    elif own := self._ids.get(block["id"]):
                        out.append(dict(own))
                    else:
                        out.append({"type": "text", "text": f"{block['name']} {''.join(pieces)}"})
                case _:
                    out.append(block)
        return out
