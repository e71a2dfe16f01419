r"""Lines of a stream in which nothing but a text varies, as in most: what is looked for in them stands in their texts.

    data: {"id":"c1", … "content":"Your k"}, … "obfuscation":"x8Zr"}\n\n     head  text  literal  hole  tail  gap
    data: {"id":"c1", … "content":"ey is"}, … "obfuscation":"b0"}\n\n        the same, with another text and filler

Rule of this file: it knows nothing of what a line means. Two lines tell what they have in common, byte by byte.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..apis.shape import HOLES
from ..cut import Cut, common

LONGEST = 4096
"""Bytes of a line that another one is compared with."""

ROW = 16 * 1024
"""Bytes of lines that are looked at together: where one of them is to be read, those behind it were cut out in vain."""

_NAMED = re.compile(rb'"\s*:')
_TEXT = re.compile(rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+')
_NUMBER = re.compile(rb"\d++")
_FILLER = re.compile(rb"[A-Za-z0-9+/=_-]*+")

type Hole = re.Pattern[bytes]


class Alike:
    """What lines have in common. `head`: up to the first thing that varies. `rest`: what varies, each with the literal behind it.

    The last literal goes on to the beginning of the next line that is alike. `place`: which of what varies is the text.
    """

    def __init__(self, head: bytes, rest: Sequence[tuple[Hole, bytes]]) -> None:
        self.literals = (head, *(literal for _, literal in rest))
        self.place = next(at for at, (hole, _) in enumerate(rest) if hole is _TEXT)
        self.cut = Cut(head, rest)

    def row(self, lines: bytes, at: int) -> "Row":
        """Those from `at` on, where a line begins; not one that is cut off, or that none may follow."""
        parts, end = self.cut.row(lines, at, at + ROW)
        return Row(self, at, end, parts, parts[self.place :: self.cut.width])


@dataclass(frozen=True, slots=True)
class Row:
    """Lines that follow each other: where the first begins, and the next one may; what varies in them, and of that the texts."""

    alike: Alike
    begin: int
    end: int
    parts: Sequence[bytes]
    texts: Sequence[bytes]

    @property
    def others(self) -> list[bytes]:
        """What varies beside the texts."""
        return [part for at, part in enumerate(self.parts) if at % self.alike.cut.width != self.alike.place]

    def start(self, count: int) -> int:
        """Where the line begins that comes behind so many."""
        return self.begin + self.alike.cut.size(self.parts[: self.alike.cut.width * count])

    def place(self, count: int) -> int:
        """Where its text begins."""
        first, place = self.alike.cut.width * count, self.alike.place
        return self.start(count) + sum(map(len, (*self.alike.literals[: place + 1], *self.parts[first : first + place])))


def compare(before: bytes, gap: bytes, line: bytes, place: int) -> Alike | None:
    """What two lines have in common that differ in one text, with what stands between; None where they do not, or in a name.

    `place` is one in the text of lines that do not differ at all, or -1.
    """
    if len(before) > LONGEST or len(line) > LONGEST:
        return None
    literals, holes = _cut(line)
    others, same_holes = _cut(before)
    if literals == others and place >= 0:
        others, same_holes = _cut(line[: line.rfind(b'"', 0, place) + 1] + line[line.find(b'"', place) :])
    different = [at for at, (one, other) in enumerate(zip(literals, others, strict=False)) if one != other]
    if holes != same_holes or len(different) != 1:
        return None
    at = different[0]
    one, other = literals[at], others[at]
    begin = one.rfind(b'"', 0, common(one, other)) + 1
    after = common(one[: begin - 1 : -1], other[: begin - 1 : -1]) if begin else 0
    end = one.find(b'"', len(one) - after)
    literals[at : at + 1] = one[:begin], one[end:]
    holes.insert(at, _TEXT)
    begins = b"".join(literals[: at + 1]).count(b'"') % 2
    if not begins or end < 0 or _NAMED.match(one, end):
        return None
    literals[-1] += gap
    return Alike(literals[0], list(zip(holes, literals[1:], strict=True)))


def _cut(line: bytes) -> tuple[list[bytes], list[Hole]]:
    """A line, cut where any line varies: literals, and what stands between them."""
    literals, holes, at = list[bytes](), list[Hole](), 0
    for match in HOLES.finditer(line):
        group, hole = (1, _NUMBER) if match[1] else (2, _FILLER)
        literals.append(line[at : match.start(group)])
        holes.append(hole)
        at = match.end(group)
    return [*literals, line[at:]], holes
