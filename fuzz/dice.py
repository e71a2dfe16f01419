"""Bytes as choices: what a fuzzer changes in them, changes what a target builds of them.

Rule of this file: the same bytes are always the same choices, and no bytes at all are choices too (the first of each).
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

ODD: Sequence[Any] = (
    None, True, 0, -1, 1, 10**30, 1.5, "", "0", "call_1", "stop", "tool_calls", "tool_use", "\ud800", "<|tool_call_begin|>",
    '{"a":', "{}", [], {}, [None], [[]], {"": None}, {"index": 1}, "x" * 300, "data: x\n\n", "\r\n", "\u2028",
)  # fmt: skip
"""What stands where something else should."""


class Dice:
    """Choices out of `data`, from its front; `rest` is what none was made of yet."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def rest(self) -> bytes:
        return self._data[self._at :]

    def number(self, below: int) -> int:
        """0 <= number < below."""
        size = 1 if below <= 256 else 2
        taken = self._data[self._at : self._at + size]
        self._at += size
        return int.from_bytes(taken) % below

    def one[T](self, of: Sequence[T]) -> T:
        return of[self.number(len(of))]

    def more(self, most: int) -> Iterator[int]:
        """Goes on as long as there are bytes, at most so often."""
        for turn in range(most):
            if self._at >= len(self._data):
                return
            yield turn

    def cut(self, body: bytes) -> list[bytes]:
        """The body in chunks."""
        sizes, out, at = (1, 2, 3, 7, 20, 90, 400, 5000), [], 0
        seed = self.number(256)
        while at < len(body):
            seed = (seed * 167 + 13) % 256
            size = sizes[seed % len(sizes)]
            out.append(body[at : at + size])
            at += size
        return out

    def bent(self, value: Any) -> Any:
        """A JSON value with something odd in it, at a place that is chosen."""
        value = json.loads(json.dumps(value))
        inside, key = value, None
        holder: Any = None
        for _ in range(self.number(8)):
            keys = list(inside) if isinstance(inside, dict) else list(range(len(inside))) if isinstance(inside, list) else []
            if not keys:
                break
            holder, key = inside, self.one(keys)
            inside = holder[key]
        if holder is None:
            return value
        match self.number(4):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[str(self.one(ODD))] = holder.pop(key)
            case 2 if isinstance(inside, str):
                holder[key] = inside[: self.number(len(inside) + 1)]
            case _:
                holder[key] = self.one(ODD)
        return value


def cut_at(body: bytes, size: int) -> list[bytes]:
    """The body in chunks of a size, as mitmproxy reads what waits for it."""
    return [body[at : at + size] for at in range(0, len(body), size)]
