"""How the shape of a stream's deltas is learnt, from those that were parsed: see delta_template.py.

    {"id":"c1", … "content":"Let me"} … "completion_tokens":7     the text is told by its path; what else varies by what was
    {"id":"c1", … "content":" look"} …  "completion_tokens":8     another in each of the deltas before

Rule of this file: it knows no API. The codec says where a text stands, and what of its deltas may vary, as it means nothing or is
read anew each time.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from ...core.fastclass import replace
from .delta_template import DeltaTemplate, Kind, text_of
from .json_spans import ANY_TEXT, NUMBER, NUMBERS, Path, leaves

SEVERAL, MOST_MISSES = 2, 32
"""Deltas in a row that are parsed and learnt from. Where each has something of its own, learning costs and gains nothing."""

COST, MOST_SPENT = 4, 64 * 4
"""What a shape that is learnt must gain: deltas of it. Two that take turns gain nothing but for one another's loss."""

_ONE = re.compile(NUMBER)
_ROW = re.compile(NUMBERS)
_STRING = re.compile(
    rb"(?:[ !#-\[\]-~]++|\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})"
    rb"|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*+"
)
"""What a string may be of which nobody looks at the bytes."""

_PLAIN = {
    _ONE: re.compile(rb"(?:0|-?+[1-9]\d{0,14}+)(?:\.0)?+(?![.eE\d])|-?+(?:[1-9]\d{0,4}+\.|0\.(?!0))\d{0,8}[1-9](?![eE\d])"),
    _ROW: re.compile(rb"(?:(?:0|[1-9]\d{0,14}+)(?:,(?:0|[1-9]\d{0,14}+))*+)?+"),
    _STRING: re.compile(rb"[ !#-\[\]-~]*+"),
}
"""Those of them that whoever reads JSON and writes it again has as they were."""

_ALWAYS: dict[Path, re.Pattern[bytes]] = {
    ("sequence_number",): re.compile(rb"0|[1-9]\d{0,17}+"),
    ("obfuscation",): re.compile(rb"[A-Za-z0-9+/=_-]*+"),
}
"""Members that are another in each event: the number of a Responses event, OpenAI's filler."""


class TemplateLearner:
    """What is learnt of one stream. `misses`: deltas in a row that had another shape."""

    def __init__(self, may_vary: Callable[[Path], bool]) -> None:
        self.misses = 0
        self._spent = 0
        self._may_vary = may_vary
        self._told: dict[Path, bytes] = {}  # by the last one of them, where it may vary
        self._varying: set[Path] = set()

    def learn(
        self, data: bytes, text: str, path: Path, kind: Kind, choice: int = 0, key: int = 0, *, again: Path | None = None
    ) -> DeltaTemplate | None:
        """The shape of a delta that was parsed: see `learn`. None as well where nothing more is learnt."""
        if self.misses >= MOST_MISSES or self._spent >= MOST_SPENT:
            return None
        self.misses += 1
        self._spent += COST
        before, self._told = self._told, {}

        def varies(path: Path, said: bytes) -> bool:
            if not self._may_vary(path):
                return False
            self._told[path] = said
            # once it is another one at times, as a second passes, is no reason to take it for one that varies
            if self.misses > SEVERAL and before.get(path, said) != said:
                self._varying.add(path)
            return path in self._varying

        return learn(data, text, path, kind, choice, key, again=again, varies=varies)

    def hit(self) -> None:
        """A delta had the shape that was learnt."""
        self.misses = 0
        if self._spent:
            self._spent -= 1

    def stop(self) -> None:
        """Nothing more is learnt, as long as every delta is parsed."""
        self.misses = MOST_MISSES


def learn(
    data: bytes,
    text: str,
    path: Path,
    kind: Kind,
    choice: int = 0,
    key: int = 0,
    *,
    again: Path | None = None,
    varies: Callable[[Path, bytes], bool] = lambda _path, _said: False,
) -> DeltaTemplate | None:
    """The shape of an event whose text stands at a path of its data; None where it does not.

    `again`: where the text may stand once more. `varies`: whether what is said at a path is another in each event.
    """
    places = leaves(data)
    if path not in places or text_of(data[slice(*places[path])]) != text:
        return None
    literals: list[bytes] = []
    holes: list[re.Pattern[bytes]] = []
    at = 0
    for place, (first, end) in places.items():
        said = data[first:end]
        if place == path or (place == again and text_of(said) == text):
            hole = ANY_TEXT
        elif (always := _ALWAYS.get(place)) or varies(place, said):
            hole = always or _hole(data, first, end)
        else:
            continue
        if hole.fullmatch(said):
            literals.append(data[at:first])
            holes.append(hole)
            at = end
    literals.append(data[at:])
    return DeltaTemplate(literals[0], tuple(zip(holes, literals[1:], strict=True)), kind, choice, key)


def _hole(data: bytes, first: int, end: int) -> re.Pattern[bytes]:
    """What may stand in place of what stands there."""
    before, after = data[first - 1 : first], data[end : end + 1]
    return _STRING if before == b'"' else _ROW if (before, after) == (b"[", b"]") else _ONE


@lru_cache(maxsize=64)
def plain(shape: DeltaTemplate) -> DeltaTemplate:
    """A shape in which nothing but the text can vary that might be another once it is written anew."""
    return replace(shape, rest=tuple((_PLAIN.get(hole, hole), literal) for hole, literal in shape.rest))
