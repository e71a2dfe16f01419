r"""Lines of a stream in which nothing but a text varies, as in most: what is looked for in them stands in their texts.

    data: {"id":"c1", … "content":"Your k"}, … "obfuscation":"x8Zr"}\n\n     head  text  literal  hole  tail  gap
    data: {"id":"c1", … "content":"ey is"}, … "obfuscation":"b0"}\n\n        the same, with another text and filler

Rule of this file: it knows nothing of what a line means. Two lines tell what they have in common, byte by byte.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..apis.shape import HOLES

LONGEST = 4096
"""Bytes of a line that another one is compared with."""

ROW = 16 * 1024
"""Bytes of lines that are looked at together: where one of them is to be read, those behind it were cut out in vain."""

_NAMED = re.compile(rb'"\s*:')
_TEXT = re.compile(rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+')
_NUMBER = re.compile(rb"\d+")
_FILLER = re.compile(rb"[A-Za-z0-9+/=_-]*+")

type Hole = re.Pattern[bytes]


@dataclass(slots=True)
class Row:
    """Lines that follow each other: where they and their texts begin, the texts, what else varies; where the last one ends."""

    starts: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    others: list[bytes] = field(default_factory=list)
    end: int = 0


@dataclass(frozen=True, slots=True)
class Alike:
    """What lines have in common. `head`: up to the first thing that varies. `rest`: what varies, each with the literal behind it.

    `gap`: from the end of a line to the beginning of the next one that is alike.
    """

    head: bytes
    rest: tuple[tuple[Hole, bytes], ...]
    gap: bytes

    @property
    def literals(self) -> Iterable[bytes]:
        """All that does not vary."""
        return self.head, *(literal for _, literal in self.rest), self.gap

    def row(self, lines: bytes, at: int) -> Row:
        """Those from `at` on, where a line begins; a line that is cut off is none of them."""
        row = Row(end=at)
        begin = at
        while at - begin < ROW and lines.startswith(self.head, at):
            start, at = at, at + len(self.head)
            others: list[bytes] = []
            for hole, literal in self.rest:
                end = found.end() if (found := hole.match(lines, at)) else at
                if not lines.startswith(literal, end):
                    return row
                if hole is _TEXT:
                    place, text = at, lines[at:end]
                else:
                    others.append(lines[at:end])
                at = end + len(literal)
            more = lines.startswith(self.gap, at)
            if not more and lines[at : at + 1] not in (b"\n", b"\r", b""):
                return row
            row.starts.append(start)
            row.places.append(place)
            row.texts.append(text)
            row.others += others
            row.end = at
            if not more:
                return row
            at += len(self.gap)
        return row


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
    begin = one.rfind(b'"', 0, _common(one, other)) + 1
    after = _common(one[: begin - 1 : -1], other[: begin - 1 : -1]) if begin else 0
    end = one.find(b'"', len(one) - after)
    literals[at : at + 1] = one[:begin], one[end:]
    holes.insert(at, _TEXT)
    begins = b"".join(literals[: at + 1]).count(b'"') % 2
    if not begins or end < 0 or _NAMED.match(one, end):
        return None
    return Alike(literals[0], tuple(zip(holes, literals[1:], strict=True)), gap)


def _cut(line: bytes) -> tuple[list[bytes], list[Hole]]:
    """A line, cut where any line varies: literals, and what stands between them."""
    literals, holes, at = list[bytes](), list[Hole](), 0
    for match in HOLES.finditer(line):
        group, hole = (1, _NUMBER) if match[1] else (2, _FILLER)
        literals.append(line[at : match.start(group)])
        holes.append(hole)
        at = match.end(group)
    return [*literals, line[at:]], holes


def _common(one: bytes, other: bytes) -> int:
    """How many bytes they begin with together."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
