"""Learns the template of a stream's deltas from parsed ones: see delta_template.py.

    {"id":"c1", … "content":"Let me"} … "completion_tokens":7     the text is found by its path; other values may vary if they
    {"id":"c1", … "content":" look"} …  "completion_tokens":8     differed in each of the deltas before

It knows no API: the codec passes the path of the text, and decides what may vary because it means nothing or is parsed each
time.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from ...core.fastclass import replace
from .delta_template import DeltaTemplate, Kind, text_of
from .json_spans import ANY_TEXT, NUMBER, NUMBERS, Path, value_spans

SEVERAL, MOST_MISSES = 2, 32
"""Parsed deltas in a row to learn from. If each delta has something of its own, learning costs and gains nothing."""

COST, MOST_SPENT = 4, 64 * 4
"""Deltas of a template that pay for learning it. Two alternating templates never pay."""

_ONE = re.compile(NUMBER)
_ROW = re.compile(NUMBERS)
_STRING = re.compile(
    rb"(?:[ !#-\[\]-~]++|\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})"
    rb"|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*+"
)
"""The bytes of a string that are not examined."""

_PLAIN = {
    _ONE: re.compile(rb"(?:0|-?+[1-9]\d{0,14}+)(?:\.0)?+(?![.eE\d])|-?+(?:[1-9]\d{0,4}+\.|0\.(?!0))\d{0,8}[1-9](?![eE\d])"),
    _ROW: re.compile(rb"(?:(?:0|[1-9]\d{0,14}+)(?:,(?:0|[1-9]\d{0,14}+))*+)?+"),
    _STRING: re.compile(rb"[ !#-\[\]-~]*+"),
}
"""Those values that stay the same when JSON is parsed and serialised again."""

_ALWAYS: dict[Path, re.Pattern[bytes]] = {
    ("sequence_number",): re.compile(rb"0|[1-9]\d{0,17}+"),
    ("obfuscation",): re.compile(rb"[A-Za-z0-9+/=_-]*+"),
}
"""Members that differ in each event: the number of a Responses event, OpenAI's padding."""


class TemplateLearner:
    """Learns templates of one stream. `misses`: deltas in a row that matched no template."""

    def __init__(self, may_vary: Callable[[Path], bool]) -> None:
        self.misses = 0
        self._spent = 0
        self._may_vary = may_vary
        self._last: dict[Path, bytes] = {}  # last value by path, of those that may vary
        self._varying: set[Path] = set()

    def learn(
        self, data: bytes, text: str, path: Path, kind: Kind, choice: int = 0, key: int = 0, *, again: Path | None = None
    ) -> DeltaTemplate | None:
        """Returns the template of a parsed delta: see `learn`. Also None if learning has stopped."""
        if self.misses >= MOST_MISSES or self._spent >= MOST_SPENT:
            return None
        self.misses += 1
        self._spent += COST
        before, self._last = self._last, {}

        def varies(path: Path, current: bytes) -> bool:
            if not self._may_vary(path):
                return False
            self._last[path] = current
            # one change, as when a second passes, does not make a value vary
            if self.misses > SEVERAL and before.get(path, current) != current:
                self._varying.add(path)
            return path in self._varying

        return learn(data, text, path, kind, choice, key, again=again, varies=varies)

    def hit(self) -> None:
        """Records a delta that matched the template."""
        self.misses = 0
        if self._spent:
            self._spent -= 1

    def stop(self) -> None:
        """Stops learning, so that every delta is parsed."""
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
    varies: Callable[[Path, bytes], bool] = lambda _path, _value: False,
) -> DeltaTemplate | None:
    """Returns the template of an event; None if its text is not at the path.

    Args:
        data: The event's JSON text.
        text: Its text.
        path: Where the text should be.
        kind: The type of the event that the text belongs to.
        choice: The choice that it belongs to.
        key: The upstream's index of the call, for arguments.
        again: Where the text may be repeated.
        varies: Whether the value at a path differs in each event.
    """
    places = value_spans(data)
    if path not in places or text_of(data[slice(*places[path])]) != text:
        return None
    literals: list[bytes] = []
    holes: list[re.Pattern[bytes]] = []
    at = 0
    for place, (first, end) in places.items():
        current = data[first:end]
        if place == path or (place == again and text_of(current) == text):
            hole = ANY_TEXT
        elif (always := _ALWAYS.get(place)) or varies(place, current):
            hole = always or _hole(data, first, end)
        else:
            continue
        if hole.fullmatch(current):
            literals.append(data[at:first])
            holes.append(hole)
            at = end
    literals.append(data[at:])
    return DeltaTemplate(literals[0], tuple(zip(holes, literals[1:], strict=True)), kind, choice, key)


def _hole(data: bytes, first: int, end: int) -> re.Pattern[bytes]:
    """The pattern for a value of the same type."""
    before, after = data[first - 1 : first], data[end : end + 1]
    return _STRING if before == b'"' else _ROW if (before, after) == (b"[", b"]") else _ONE


@lru_cache(maxsize=64)
def plain(shape: DeltaTemplate) -> DeltaTemplate:
    """Returns a template in which, apart from the text, only what serialising does not change may vary."""
    return replace(shape, rest=tuple((_PLAIN.get(hole, hole), literal) for hole, literal in shape.rest))
