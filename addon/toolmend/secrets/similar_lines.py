r"""Lines of a stream in which nothing but a text varies, or a few: what is looked for in them stands in their texts.

    data: {"id":"c1", … "content":"Your k"}, … "obfuscation":"x8Zr"}\n\n     head  text  literal  hole  tail  gap
    data: {"id":"c1", … "content":"ey is"}, … "obfuscation":"b0"}\n\n        the same, with another text and filler

Rule of this file: it knows nothing of what a line means. Two lines tell what they have in common, byte by byte.
"""

import re
from collections.abc import Sequence
from itertools import accumulate

from ..core.fastclass import value
from ..core.record_template import RecordTemplate, common_prefix

LONGEST = 4096
"""Bytes of a line that another one is compared with."""

ROW = 16 * 1024
"""Bytes of lines that are looked at together: where one of them is to be read, those behind it were cut out in vain."""

MOST = 3
"""Texts of a line that vary."""

_HOLES = re.compile(rb'"(?:sequence_number"\s*:\s*(\d+)|obfuscation"\s*:\s*"([A-Za-z0-9+/=_-]*)")')
"""Members that are another in each event: the number of a Responses event, OpenAI's filler; all of it, and no part."""

_MORE = re.compile(_HOLES.pattern + rb'|"created"\s*:\s*(\d+)|"(?:id|item_id)"\s*:\s*"([ !#-\[\]-~]*)"')
"""Members that are another in each line of some upstreams; nobody joins them (see echo.NEVER_JOINED). Were a text no more than
up to an escape, what it spells with that would be in none of the parts."""

_NAMED = re.compile(rb'"\s*:')
_NAME = re.compile(rb'"([^"\\]+)"\s*:\s*"\Z')
_TEXT = re.compile(rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+')
_NUMBER = re.compile(rb"\d++")
_FILLER = re.compile(rb"[A-Za-z0-9+/=_-]*+")
_WORD = re.compile(rb"[ !#-\[\]-~]*+")
_KINDS = (_NUMBER, _FILLER, _NUMBER, _WORD)
"""By the group that matches them."""

type Hole = re.Pattern[bytes]


class Alike:
    """What lines have in common. `head`: up to the first thing that varies. `rest`: what varies, each with the literal behind it.

    The last literal goes on to the beginning of the next line that is alike. `places`: which of what varies are texts.
    """

    def __init__(self, head: bytes, rest: Sequence[tuple[Hole, bytes]]) -> None:
        self.literals = (head, *(literal for _, literal in rest))
        self.places = [at for at, (hole, _) in enumerate(rest) if hole is _TEXT]
        self.cut = RecordTemplate(head, rest)

    def row(self, lines: bytes, at: int) -> "SimilarRow":
        """Those from `at` on, where a line begins; not one that is cut off, or that none may follow."""
        parts, end = self.cut.row(lines, at, at + ROW)
        return SimilarRow(self, at, end, parts)


@value
class SimilarRow:
    """Lines that follow each other: where the first begins, and the next one may; and what varies in them."""

    alike: Alike
    begin: int
    end: int
    parts: Sequence[bytes]

    @property
    def count(self) -> int:
        """Lines."""
        return len(self.parts) // self.alike.cut.width

    @property
    def texts(self) -> list[Sequence[bytes]]:
        """Those of each line, for each place of one."""
        return [self.parts[place :: self.alike.cut.width] for place in self.alike.places]

    @property
    def others(self) -> list[bytes]:
        """What varies beside the texts."""
        width, places = self.alike.cut.width, self.alike.places
        return [part for place in range(width) if place not in places for part in self.parts[place::width]]

    def start(self, count: int) -> int:
        """Where the line begins that comes behind so many."""
        return self.begin + self.alike.cut.size(self.parts[: self.alike.cut.width * count])

    def places(self, count: int) -> list[int]:
        """Where its texts begin."""
        parts = self.parts[self.alike.cut.width * count :]
        ends = list(accumulate(len(literal) + len(part) for literal, part in zip(self.alike.literals, parts, strict=False)))
        return [self.start(count) + ends[place] - len(parts[place]) for place in self.alike.places]


def compare(before: bytes, gap: bytes, line: bytes, place: int) -> Alike | None:
    """What two lines have in common that differ in a few texts, with what stands between; None where they do not, or in a name.

    `place` is one in the text of lines that do not differ at all, or -1.
    """
    if len(before) > LONGEST or len(line) > LONGEST:
        return None
    return _compare(before, gap, line, place, _HOLES) or _compare(before, gap, line, place, _MORE)


def _compare(before: bytes, gap: bytes, line: bytes, place: int, holes: Hole) -> Alike | None:
    literals, kinds = _cut(line, holes)
    others, same_kinds = _cut(before, holes)
    if literals == others and place >= 0:
        others, same_kinds = _cut(line[: line.rfind(b'"', 0, place) + 1] + line[line.find(b'"', place) :], holes)
    if kinds != same_kinds:
        return None
    pieces: list[bytes] = []
    rest: list[Hole] = []
    for at, (one, other) in enumerate(zip(literals, others, strict=True)):
        around = _around_texts(one, other)
        if around is None:
            return None
        pieces += around
        rest += [_TEXT] * (len(around) - 1) + kinds[at : at + 1]
    texts = [b"".join(pieces[: at + 1]) for at, hole in enumerate(rest) if hole is _TEXT]
    if not 0 < len(texts) <= MOST or any(before.count(b'"') % 2 == 0 for before in texts):
        return None
    # what has one name may be one text, that goes on from one of them to the other
    names = {name[1] for before in texts if (name := _NAME.search(before))}
    if len(texts) > 1 and len(names) < len(texts):
        return None
    pieces[-1] += gap
    return Alike(pieces[0], list(zip(rest, pieces[1:], strict=True)))


def _around_texts(one: bytes, other: bytes) -> list[bytes] | None:
    """What stands around the texts in which two pieces differ; None where they differ in something else."""
    found: list[bytes] = []
    while one != other:
        begin = one.rfind(b'"', 0, common_prefix(one, other)) + 1
        ends = [_TEXT.match(piece, begin) for piece in (one, other)]
        one_end, other_end = (match.end() if match else -1 for match in ends)
        if not begin or len(found) == MOST or _NAMED.match(one, one_end):
            return None
        if one[one_end : one_end + 1] != b'"' or other[other_end : other_end + 1] != b'"':
            return None
        found.append(one[:begin])
        one, other = one[one_end:], other[other_end:]
    return [*found, one]


def _cut(line: bytes, holes: Hole) -> tuple[list[bytes], list[Hole]]:
    """A line, cut where any line varies: literals, and what stands between them."""
    literals: list[bytes] = []
    kinds: list[Hole] = []
    at = 0
    for match in holes.finditer(line):
        group = match.lastindex or 0
        literals.append(line[at : match.start(group)])
        kinds.append(_KINDS[group - 1])
        at = match.end(group)
    return [*literals, line[at:]], kinds
