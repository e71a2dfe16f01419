"""Splits consecutive records that are equal except for some parts: events of a stream, lines of a file.

    head part literal part tail   head part literal part tail   head …

Written for speed, and exact: one pattern skips over the parts that should be equal, and the extracted parts are formatted again
and compared with the input.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, batched, chain
from typing import Any


class RecordTemplate:
    """`head`: the bytes before the first part. `rest`: possessive patterns of the parts, each with the literal after it."""

    def __init__(self, head: bytes, rest: Sequence[tuple[re.Pattern[bytes], bytes]]) -> None:
        literals = [literal for _, literal in rest]
        skips = [b"%d" % (len(literal) - 1) for literal in literals]  # the first byte shows where a part ends elsewhere
        skips[-1] += b",%d" % (len(literals[-1]) - 1 + len(head))  # includes the head of the next record, if any
        parts = b"".join(
            rb"(%b)%b(?s:.{%b}+)" % (part.pattern, re.escape(literal[:1]), skip)
            for (part, literal), skip in zip(rest, skips, strict=True)
        )
        self.width = len(rest)
        self._head, self._start, self._tail, self._between = head, len(head), literals[-1], literals[-1] + head
        self._least = len(head) + sum(map(len, literals))  # bytes of a record with empty parts
        self._form = b"%b".join(literal.replace(b"%", b"%%") for literal in (head, *literals))
        # after the last record the rest is skipped; otherwise findall would try every byte of it
        self._find: Callable[[bytes, int, int], list[Any]] = re.compile(rb"%b|(?s:.++)" % parts).findall

    def whole(self, data: bytes) -> Sequence[bytes]:
        """Returns the parts, `width` per record, if the data consists of nothing else; empty otherwise."""
        found = self._find(data, self._start, len(data))
        if self.width == 1:
            return found if self._head + self._between.join(found) + self._tail == data else ()
        parts = tuple(chain.from_iterable(found))
        return parts if self._form * len(found) % parts == data else ()

    def row(self, data: bytes, at: int, end: int) -> tuple[Sequence[bytes], int]:
        """Returns the parts of all consecutive records from `at`, and where the last one ends; searches up to `end`."""
        if not data.startswith(self._head, at):
            return (), at
        found = self._find(data, at + self._start, end)
        parts = tuple(found) if self.width == 1 else tuple(chain.from_iterable(found))
        formatted = self._form * len(found) % parts
        if not data.startswith(formatted, at) and not b"".join(parts[-self.width :]):  # the rest
            parts, formatted = parts[: -self.width], formatted[: -self._least]
        if not data.startswith(formatted, at):
            equal = common_prefix(formatted, data[at : at + len(formatted)])
            sizes = list(accumulate(self._least + sum(map(len, each)) for each in batched(parts, self.width)))
            count = bisect_right(sizes, equal)
            return parts[: self.width * count], at + (sizes[count - 1] if count else 0)
        return parts, at + len(formatted)

    def size(self, parts: Sequence[bytes]) -> int:
        """Returns the bytes of the records with these parts."""
        return self._least * (len(parts) // self.width) + sum(map(len, parts))


def common_prefix(first: bytes, second: bytes) -> int:
    """Returns the length of the common_prefix prefix."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
