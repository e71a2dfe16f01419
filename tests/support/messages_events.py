"""Events of a Messages stream, a word for each."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from tests.support.judges import messages as judge
from toolmend.apis.codec import Reply
from toolmend.apis.messages.writer import MessagesWriter
from toolmend.core.events import Event, Finish, MessageEnd, MessageStart, ToolCallDelta, ToolCallEnd, ToolCallStart
from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.core.tools import Tools

PLAIN = envelope(ReasoningState("plain"))


def told(body: bytes) -> list[str]:
    """The events of a stream, a word each: `+0 text`, `0 Hi`, `-0`."""
    words = []
    for name, data in judge.events(judge.Answer(), body):
        index = data.get("index")
        match name:
            case "content_block_start":
                block = data["content_block"]
                words.append(f"+{index} {block['type']}" + "".join(f" {block[key]}" for key in ("id", "name", "data") if key in block))
            case "content_block_delta":
                kind, piece = data["delta"].values()
                words.append(f"{index} {'~' * (kind == 'signature_delta')}{piece}")
            case "content_block_stop":
                words.append(f"-{index}")
            case "message_delta":
                words.append(data["delta"]["stop_reason"])
            case "error":
                words.append(f"{data['error']['type']}: {data['error']['message']}")
            case "message_start" | "message_stop" | "ping":
                words.append({"message_start": "(", "message_stop": ")", "ping": "."}[name])
    return words


START, END, STOP, CALLED = MessageStart(), MessageEnd(), Finish("stop"), Finish("tool_calls")


def writer(rules: list[str] | None = None, **more: Any) -> MessagesWriter:
    numbers = count()
    fired = (rules if rules is not None else []).append
    return MessagesWriter(Reply(Tools(), lambda: f"call_{next(numbers):032x}", fired, {"model": "claude-x"}, **more))


def streamed(events: Sequence[Event], *, close: bool = True) -> bytes:
    out = writer()
    return b"".join(out.write([event]) for event in events) + (out.close() if close else b"")


def call(index: int, *pieces: str, name: str = "f", id_: str | None = None, ends: bool = True) -> list[Event]:
    start = ToolCallStart(index, f"c{index}" if id_ is None else id_, name)
    return [start, *(ToolCallDelta(index, piece) for piece in pieces), *([ToolCallEnd(index)] * ends)]
