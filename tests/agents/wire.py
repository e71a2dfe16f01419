"""Events as bytes on the wire: their line ends, what stands between them, how they are cut, how they are coded.

Rule of this file: what it makes is legal by the standard of server-sent events; real providers do each of these things.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tests.agents.speaking import Event
from toolmend.recordings.playback.server import Coding, Script


@dataclass(frozen=True)
class Wire:
    """`cut`: one event a chunk, one byte, at odd places, or everything in one. `noise`: comments and a `retry` between events."""

    cut: Literal["event", "byte", "odd", "whole"] = "event"
    newline: Literal["\n", "\r\n"] = "\n"
    noise: bool = False
    coding: Coding = "identity"


def send(events: Sequence[Event], wire: Wire) -> Script:
    """The response that brings these events."""
    blocks = [_block(event, wire.newline) for event in events]
    if wire.noise:
        comment = f": keep-alive{wire.newline}{wire.newline}".encode()
        retry = f"retry: 3000{wire.newline}{wire.newline}".encode()
        blocks = [comment, retry, *(piece for block in blocks for piece in (block, comment))]
    body = b"".join(blocks)
    match wire.cut:
        case "event":
            chunks = blocks
        case "byte":
            chunks = [body[at : at + 1] for at in range(len(body))]
        case "odd":
            chunks = [body[at : at + 37] for at in range(0, len(body), 37)]
        case "whole":
            chunks = [body]
    return Script(tuple((0.0, chunk) for chunk in chunks), coding=wire.coding)


def _block(event: Event, newline: str) -> bytes:
    name, data = event
    lines = ([f"event: {name}"] if name else []) + [f"data: {data}", "", ""]
    return newline.join(lines).encode()
