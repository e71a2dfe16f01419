r"""Finds consecutive lines of a stream that differ only in a few texts, so that only these texts have to be searched.

    data: {"id":"c1", … "content":"Your k"}, … "obfuscation":"x8Zr"}\n\n     head  text  literal  hole  tail  gap
    data: {"id":"c1", … "content":"ey is"}, … "obfuscation":"b0"}\n\n        the same, with another text and filler

The meaning of a line is not interpreted: two lines are compared byte by byte.
"""

import re
from collections.abc import Sequence
from itertools import accumulate

from ..core.fastclass import value
from ..core.record_template import RecordTemplate, common_prefix

LONGEST = 4096
"""Bytes of a line that is compared with another one."""

ROW = 16 * 1024
"""Bytes of lines that are split together: if one of them must be parsed, splitting those after it was wasted."""

MOST = 3
"""Varying texts in a line."""

_HOLES = re.compile(rb'"(?:sequence_number"\s*:\s*(\d+)|obfuscation"\s*:\s*"([A-Za-z0-9+/=_-]*)")')
"""Members that differ in every event: the number of a Responses event, OpenAI's filler. They vary as a whole."""

_MORE = re.compile(_HOLES.pattern + rb'|"created"\s*:\s*(\d+)|"(?:id|item_id)"\s*:\s*"([ !#-\[\]-~]*)"')
"""Members that differ in every line of some upstreams and that no client joins (see echo_mask.NEVER_JOINED). They match without
escapes:
a text cut at an escape would spell something that is in none of the parts.
"""

_NAMED = re.compile(rb'"\s*:')
_NAME = re.compile(rb'"([^"\\]+)"\s*:\s*"\Z')
_TEXT = re.compile(rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+')
_NUMBER = re.compile(rb"\d++")
_FILLER = re.compile(rb"[A-Za-z0-9+/=_-]*+")
_WORD = re.compile(rb"[ !#-\[\]-~]*+")
_KINDS = (_NUMBER, _FILLER, _NUMBER, _WORD)
"""The pattern of each group of _MORE."""

type Hole = re.Pattern[bytes]


class LineTemplate:
    """What lines have in common. `head`: up to the first varying part. `rest`: each varying part with the literal after it.

    The last literal extends to the beginning of the next similar line. `places`: the varying parts that are texts.
    """

    def __init__(self, head: bytes, rest: Sequence[tuple[Hole, bytes]]) -> None:
        self.literals = (head, *(literal for _, literal in rest))
        self.places = [at for at, (hole, _) in enumerate(rest) if hole is _TEXT]
        self.cut = RecordTemplate(head, rest)

    def row(self, lines: bytes, at: int) -> "SimilarRow":
        """Returns the similar lines from `at`, the beginning of a line, without an incomplete last one."""
        parts, end = self.cut.row(lines, at, at + ROW)
        return SimilarRow(self, at, end, parts)


@value
class SimilarRow:
    """Consecutive similar lines: where the first begins, where they end, and their varying parts."""

    template: LineTemplate
    begin: int
    end: int
    parts: Sequence[bytes]

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self.parts) // self.template.cut.width

    @property
    def texts(self) -> list[Sequence[bytes]]:
        """The texts of all lines, by their place in the line."""
        return [self.parts[place :: self.template.cut.width] for place in self.template.places]

    @property
    def others(self) -> list[bytes]:
        """The varying parts that are not texts."""
        width, places = self.template.cut.width, self.template.places
        return [part for place in range(width) if place not in places for part in self.parts[place::width]]

    def start(self, count: int) -> int:
        """Returns where the line number `count` begins."""
        return self.begin + self.template.cut.size(self.parts[: self.template.cut.width * count])

    def places(self, count: int) -> list[int]:
        """Returns where the texts of line number `count` begin."""
        parts = self.parts[self.template.cut.width * count :]
        ends = list(accumulate(len(literal) + len(part) for literal, part in zip(self.template.literals, parts, strict=False)))
        return [self.start(count) + ends[place] - len(parts[place]) for place in self.template.places]


def compare(before: bytes, gap: bytes, line: bytes, place: int) -> LineTemplate | None:
    """Returns the template of two lines that differ only in a few texts; None if they do not differ, or differ elsewhere.

    Args:
        before: The first line.
        gap: The bytes between the lines.
        line: The second line.
        place: A position in the text that is taken to vary if the lines are equal, or -1.
    """
    if len(before) > LONGEST or len(line) > LONGEST:
        return None
    return _compare(before, gap, line, place, _HOLES) or _compare(before, gap, line, place, _MORE)


def _compare(before: bytes, gap: bytes, line: bytes, place: int, holes: Hole) -> LineTemplate | None:
    literals, kinds = _cut(line, holes)
    others, same_kinds = _cut(before, holes)
    if literals == others and place >= 0:
        others, same_kinds = _cut(line[: line.rfind(b'"', 0, place) + 1] + line[line.find(b'"', place) :], holes)
    if kinds != same_kinds:
        return None
    pieces: list[bytes] = []
    rest: list[Hole] = []
    for at, pair in enumerate(zip(literals, others, strict=True)):
        around = _around_texts(*pair)
        if around is None:
            return None
        pieces += around
        rest += [_TEXT] * (len(around) - 1) + kinds[at : at + 1]
    texts = [b"".join(pieces[: at + 1]) for at, hole in enumerate(rest) if hole is _TEXT]
    if not 0 < len(texts) <= MOST or any(before.count(b'"') % 2 == 0 for before in texts):
        return None
    # texts of the same name may be one text that continues from one to the other
    names = {name[1] for before in texts if (name := _NAME.search(before))}
    if len(texts) > 1 and len(names) < len(texts):
        return None
    pieces[-1] += gap
    return LineTemplate(pieces[0], list(zip(rest, pieces[1:], strict=True)))


def _around_texts(first: bytes, second: bytes) -> list[bytes] | None:
    """Returns the literals around the texts in which two pieces differ; None if they differ elsewhere."""
    found: list[bytes] = []
    while first != second:
        begin = first.rfind(b'"', 0, common_prefix(first, second)) + 1
        ends = [_TEXT.match(piece, begin) for piece in (first, second)]
        first_end, second_end = (match.end() if match else -1 for match in ends)
        if not begin or len(found) == MOST or _NAMED.match(first, first_end):
            return None
        if first[first_end : first_end + 1] != b'"' or second[second_end : second_end + 1] != b'"':
            return None
        found.append(first[:begin])
        first, second = first[first_end:], second[second_end:]
    return [*found, first]


def _cut(line: bytes, holes: Hole) -> tuple[list[bytes], list[Hole]]:
    """Splits a line at the members that always vary: literals, and the patterns between them."""
    literals: list[bytes] = []
    kinds: list[Hole] = []
    at = 0
    for match in holes.finditer(line):
        group = match.lastindex or 0
        literals.append(line[at : match.start(group)])
        kinds.append(_KINDS[group - 1])
        at = match.end(group)
    return [*literals, line[at:]], kinds
