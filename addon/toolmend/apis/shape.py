"""What the deltas of a stream have in common: most differ from the one before in one text, and need not be parsed.

    head  {"id":"c1", … "choices":[{"index":0,"delta":{"content":"
    text  Hi
    tail  "},"finish_reason":null}],"obfuscation":"          and, of those that have such a member, what varies, and the rest:
    hole  x8Zr
    tail  "}

Rule of this file: a shape changes no result. All but the text and the holes is compared byte for byte, so it is as it was when
the event was parsed that the shape was learnt from; and what stands in a hole is nothing that events tell.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import batched
from typing import Any

from .. import json_text
from ..events import ReasoningDelta, TextDelta, ToolCallDelta
from ..sse import ServerSentEvent, parse

HOLES = re.compile(rb'"(?:sequence_number"\s*:\s*(\d+)|obfuscation"\s*:\s*"([A-Za-z0-9+/=_-]*)")')
"""Members that are another in each event: the number of a Responses event, OpenAI's filler; all of it, and no part."""

ANY_TEXT = re.compile(rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
"""What stands between the quotes of a JSON string. Each escape is whole: with the next text, half of one were another text."""

_STRING = re.compile(rb'"(%b)"' % ANY_TEXT.pattern)
_NUMBER = re.compile(rb"0|[1-9]\d{0,17}")
_FILLER = re.compile(rb"[A-Za-z0-9+/=_-]*+")
_WORD = re.compile(rb"[ !#-\[\]-~]*+")
_MEMBER = rb'"%b"\s*:\s*(?:(\d+)|"(%b))'

ROOM = 512 * 1024
"""Characters that must be free in whatever is bounded, where deltas pass that are read later: see lane.py, which reads sooner."""

type Match = Callable[[bytes, int], re.Match[bytes] | None]
type Kind = type[TextDelta | ReasoningDelta | ToolCallDelta]


@dataclass(frozen=True, slots=True)
class Shape:
    """`kind` is the event that the text is of; `key` the index of the upstream's call, for arguments.

    `head`: up to the first thing that varies. `rest`: what varies, ANY_TEXT among it, each with the literal behind it. Where
    ANY_TEXT is there twice, the text is.
    """

    head: bytes
    rest: tuple[tuple[re.Pattern[bytes], bytes], ...]
    kind: Kind
    choice: int = 0
    key: int = 0

    @property
    def varies(self) -> bool:
        """Whether more than the text does."""
        return len(self.rest) > 1

    @property
    def least(self) -> int:
        """Bytes of an event without its text, and without what else varies."""
        return len(self.head) + sum(len(literal) for _, literal in self.rest)

    @property
    def place(self) -> int:
        """Which of what varies is the text."""
        return self._places[0]

    @property
    def again(self) -> int:
        """Which of what varies is the text once more; `place` where it stands there once."""
        return self._places[-1]

    @property
    def _places(self) -> list[int]:
        return [at for at, (hole, _) in enumerate(self.rest) if hole is ANY_TEXT]

    @property
    def form(self) -> bytes:
        """What `%` makes an event of, with what varies."""
        return b"%b".join(literal.replace(b"%", b"%%") for literal in (self.head, *(literal for _, literal in self.rest)))

    def pattern(self, text: re.Pattern[bytes]) -> bytes:
        """What varies, as groups, the text as `text` has it: it begins behind the head, and skips the literals between."""
        groups = [b"(%b)" % (text if hole is ANY_TEXT else hole).pattern for hole, _ in self.rest]
        skips = [rb"(?s:.{%d})" % len(literal) for _, literal in self.rest[:-1]]
        return b"".join(group + skip for group, skip in zip(groups, [*skips, b""], strict=True))

    def span(self, data: bytes, at: int = 0) -> tuple[int, int, int] | None:
        """Where the text of an event of this shape that begins at `at` begins and ends, and where that event does."""
        if not data.startswith(self.head, at):
            return None
        at += len(self.head)
        first = last = 0
        for hole, literal in self.rest:
            match = hole.match(data, at)
            if match is None or not data.startswith(literal, end := match.end()):
                return None
            if hole is ANY_TEXT:
                if first and data[first:last] != data[at:end]:
                    return None
                first, last = at, end
            at = end + len(literal)
        return first, last, at

    def parts(self, data: bytes, text: bytes | None = None) -> tuple[bytes, ...]:
        """What varies in an event of this shape, with another text if there is one."""
        match = re.compile(self.pattern(ANY_TEXT)).match(data, len(self.head))
        assert match
        parts = zip(match.groups(), self.rest, strict=True)
        return tuple(text if text is not None and hole is ANY_TEXT else part for part, (hole, _) in parts)

    def others(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """What varies in an event of this shape, each behind the literal before it."""
        literals = (self.head, *(literal for _, literal in self.rest))
        return list(zip(literals, self.parts(data), strict=False))

    def text(self, data: bytes) -> str | None:
        """The text of an event of this shape, never empty; None for any other event."""
        span = self.span(data)
        if span is None or span[2] != len(data):
            return None
        return text_of(data[span[0] : span[1]])

    def raw(self, sse: ServerSentEvent) -> "Shape | None":
        """The shape of whole events, as bytes, of which this one is; None where something else may vary in them."""
        before, found, after = sse.raw.partition(sse.data or b"\n")
        if not found or after not in (b"\n\n", b"\r\n\r\n") or not before.endswith(b"data: ") or before[:1] not in (b"d", b"e"):
            return None
        *rest, (match, last) = self.rest
        shape = replace(self, head=before + self.head, rest=(*rest, (match, last + after)))
        # the lines around the data are the event's name at most
        return shape if parse(sse.raw, sse.raw) == ServerSentEvent(sse.raw, sse.data, sse.event) else None


def text_of(text: bytes) -> str | None:
    """What stands between the quotes of a JSON string, with no raw control character; None where it is nothing, or no JSON."""
    try:
        if b"\\" not in text:
            return text.decode() or None
        value = json_text.loads(b'"' + text + b'"')
    except ValueError:
        return None
    return value if isinstance(value, str) and value else None


def learn(
    data: bytes,
    value: Any,
    text: str,
    path: Sequence[str | int],
    kind: Kind,
    choice: int = 0,
    key: int = 0,
    *,
    varying: Sequence[str] = (),
    again: Sequence[str | int] | None = None,
) -> Shape | None:
    """The shape of an event whose text stands at `path` of its `value`; None where it cannot be told from the rest.

    `varying`: members beside HOLES that are another in each event of this stream. `again`: where the text may stand once more.
    """
    said = text.encode(errors="surrogatepass")
    strings = [match for match in _STRING.finditer(data) if match[1] == said or (b"\\" in match[1] and text_of(match[1]) == text)]
    paths = (path, again)[: len(strings)]
    if not 0 < len(strings) == len(paths) or len({match[1] for match in strings}) > 1 or None in paths:
        return None
    ends = [0, *(end for match in strings for end in match.span(1)), len(data)]
    literals = [data[first:last] for first, last in batched(ends, 2)]
    try:
        # that it is the text which stands there is seen by putting another in its place
        probe = json_text.loads(b"?".join(literals))
        told = [_put(probe, each, text) for each in paths if each]
    except (json_text.NotJSON, LookupError, TypeError):
        return None
    if any(each != "?" for each in told) or probe != value:
        return None
    holes, whole = _holes(tuple(varying)), b"".join(literals)
    pieces = [*_cut(literals[0], whole, value, holes)]
    for literal in literals[1:]:
        pieces += ANY_TEXT, *_cut(literal, whole, value, holes)
    return Shape(pieces[0], tuple(batched(pieces[1:], 2)), kind, choice, key)


def _put(value: Any, path: Sequence[str | int], text: str) -> Any:
    """Puts the text at a path; what stood there. Raises LookupError or TypeError where there is no such place."""
    for step in path[:-1]:
        value = value[step]
    told, value[path[-1]] = value[path[-1]], text
    return told


@lru_cache(maxsize=16)
def _holes(varying: tuple[str, ...]) -> re.Pattern[bytes]:
    """HOLES, and these members: each has a group for a number, and one for a text."""
    return re.compile(b"|".join([HOLES.pattern, *(_MEMBER % (re.escape(name.encode()), _WORD.pattern) for name in varying)]))


def _cut(part: bytes, whole: bytes, value: Any, holes: re.Pattern[bytes]) -> list[Any]:
    """A part of an event, cut where it varies: literals, and holes between them."""
    pieces: list[Any] = []
    at = 0
    for match in holes.finditer(part):
        group = match.lastindex or 0
        member = match[0].split(b'"')[1]
        if member.decode() in value and whole.count(b'"%b"' % member) == 1:
            pieces += part[at : match.start(group)], _NUMBER if group % 2 else _FILLER if group == 2 else _WORD
            at = match.end(group)
    return [*pieces, part[at:]]
