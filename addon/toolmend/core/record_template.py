"""What follows each other and is alike but for some parts, cut apart: events of a stream, lines of one.

    head part literal part tail   head part literal part tail   head …

Rule of this file: it is written for speed, and what it finds is there byte for byte. One pattern skips unseen all that should be
alike; what it cut out is put together again, and compared with what came.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, batched, chain
from typing import Any


class RecordTemplate:
    """`head`: up to the first part. `rest`: patterns of the parts, which give nothing back, each with the literal behind it."""

    def __init__(self, head: bytes, rest: Sequence[tuple[re.Pattern[bytes], bytes]]) -> None:
        literals = [literal for _, literal in rest]
        skips = [b"%d" % (len(literal) - 1) for literal in literals]  # a part that ends elsewhere is told by the first byte
        skips[-1] += b",%d" % (len(literals[-1]) - 1 + len(head))  # with the head of the next one, if there is one
        parts = b"".join(
            rb"(%b)%b(?s:.{%b}+)" % (part.pattern, re.escape(literal[:1]), skip)
            for (part, literal), skip in zip(rest, skips, strict=True)
        )
        self.width = len(rest)
        self._head, self._start, self._tail, self._between = head, len(head), literals[-1], literals[-1] + head
        self._least = len(head) + sum(map(len, literals))  # bytes of one whose parts are empty
        self._form = b"%b".join(literal.replace(b"%", b"%%") for literal in (head, *literals))
        # where it does not go on, the rest is skipped: it would be searched, from each byte on
        self._find: Callable[[bytes, int, int], list[Any]] = re.compile(rb"%b|(?s:.++)" % parts).findall

    def whole(self, data: bytes) -> Sequence[bytes]:
        """The parts, `width` of each, if nothing else stands in the data."""
        found = self._find(data, self._start, len(data))
        if self.width == 1:
            return found if self._head + self._between.join(found) + self._tail == data else ()
        parts = tuple(chain.from_iterable(found))
        return parts if self._form * len(found) % parts == data else ()

    def row(self, data: bytes, at: int, end: int) -> tuple[Sequence[bytes], int]:
        """The parts of all that stand in a row from `at` on, and where the last of them ends; looked for up to `end`."""
        if not data.startswith(self._head, at):
            return (), at
        found = self._find(data, at + self._start, end)
        parts = tuple(found) if self.width == 1 else tuple(chain.from_iterable(found))
        put = self._form * len(found) % parts
        if not data.startswith(put, at) and not b"".join(parts[-self.width :]):  # the rest
            parts, put = parts[: -self.width], put[: -self._least]
        if not data.startswith(put, at):
            alike = common(put, data[at : at + len(put)])
            sizes = list(accumulate(self._least + sum(map(len, each)) for each in batched(parts, self.width)))
            count = bisect_right(sizes, alike)
            return parts[: self.width * count], at + (sizes[count - 1] if count else 0)
        return parts, at + len(put)

    def size(self, parts: Sequence[bytes]) -> int:
        """Bytes of those whose parts these are."""
        return self._least * (len(parts) // self.width) + sum(map(len, parts))


def common(one: bytes, other: bytes) -> int:
    """How many bytes they begin with together."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
