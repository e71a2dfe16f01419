"""The template of a stream's deltas: most differ from the one before in one text, and need not be parsed.

    head  {"id":"c1", … "choices":[{"index":0,"delta":{"content":"
    text  Hi
    tail  "},"finish_reason":null}],"obfuscation":"          and for deltas with such a member, what varies, and the rest:
    hole  x8Zr
    tail  "}

A template does not change the result: everything but the text and the holes is compared byte by byte with the event that it was
learnt from, and no event depends on the value in a hole.
"""

import re
from collections.abc import Callable

from ...core import json_text
from ...core.events import ReasoningDelta, TextDelta, ToolCallDelta
from ...core.fastclass import replace, value
from ...core.sse import ServerSentEvent, parse
from .json_spans import ANY_TEXT

_ID = re.compile(rb"\d{1,18}+")
_PREFIX = re.compile(rb"(?:id: ?(%b)\r?\n)?(?:event: ?[^\r\n]*+\r?\n)?data: ?" % _ID.pattern)
"""What precedes the data of an event: its id, which few have, and its name."""

type Match = Callable[[bytes, int], re.Match[bytes] | None]
type Kind = type[TextDelta | ReasoningDelta | ToolCallDelta]


@value
class DeltaTemplate:
    """Matches deltas of one shape.

    Attributes:
        head: The bytes before the first hole.
        rest: Pairs of a hole and the literal after it. The hole ANY_TEXT is the text; if there are two, the text is repeated.
        kind: The event that the text belongs to.
        choice: The choice that it belongs to.
        key: The index of the upstream's call, for arguments.
    """

    head: bytes
    rest: tuple[tuple[re.Pattern[bytes], bytes], ...]
    kind: Kind
    choice: int = 0
    key: int = 0

    @property
    def varies(self) -> bool:
        """Whether anything but the text varies."""
        return len(self.rest) > 1

    @property
    def least(self) -> int:
        """Bytes of an event without the text and other holes."""
        return len(self.head) + sum(len(literal) for _, literal in self.rest)

    @property
    def place(self) -> int:
        """The index of the hole with the text."""
        return self._places[0]

    @property
    def again(self) -> int:
        """The index of the hole that repeats the text; `place` if none does."""
        return self._places[-1]

    @property
    def _places(self) -> list[int]:
        return [at for at, (hole, _) in enumerate(self.rest) if hole is ANY_TEXT]

    @property
    def form(self) -> bytes:
        """A format string for `%`, with the holes as arguments."""
        return b"%b".join(literal.replace(b"%", b"%%") for literal in (self.head, *(literal for _, literal in self.rest)))

    def pattern(self, text: re.Pattern[bytes]) -> bytes:
        """A pattern with a group for each hole, `text` being the text's. It starts after the head, and skips the literals."""
        groups = [b"(%b)" % (text if hole is ANY_TEXT else hole).pattern for hole, _ in self.rest]
        skips = [rb"(?s:.{%d})" % len(literal) for _, literal in self.rest[:-1]]
        return b"".join(group + skip for group, skip in zip(groups, [*skips, b""], strict=True))

    def span(self, data: bytes, at: int = 0) -> tuple[int, int, int] | None:
        """Start and end of the text in an event that begins at `at`, and the end of that event; None if it does not match."""
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
        """The values of the holes in an event; `text` replaces the text."""
        match = re.compile(self.pattern(ANY_TEXT)).match(data, len(self.head))
        assert match
        parts = zip(match.groups(), self.rest, strict=True)
        return tuple(text if text is not None and hole is ANY_TEXT else part for part, (hole, _) in parts)

    def others(self, data: bytes) -> list[tuple[int, bytes, bytes]]:
        """The other holes of an event: index, the literal before it, and value."""
        literals = (self.head, *(literal for _, literal in self.rest))
        holes = zip(self.rest, literals, self.parts(data), strict=False)
        return [(place, before, part) for place, ((hole, _), before, part) in enumerate(holes) if hole is not ANY_TEXT]

    def text(self, data: bytes) -> str | None:
        """The text of an event, never empty; None if the event does not match."""
        span = self.span(data)
        if span is None or span[2] != len(data):
            return None
        return text_of(data[span[0] : span[1]])

    def raw(self, sse: ServerSentEvent) -> "DeltaTemplate | None":
        """Returns a template for whole SSE events, as bytes, like this one; None if something else may vary in them."""
        before, found, after = sse.raw.partition(sse.data or b"\n")
        lines = _PREFIX.fullmatch(before)
        if not found or after not in (b"\n\n", b"\r\n\r\n") or lines is None:
            return None
        *rest, (match, last) = self.rest
        rest.append((match, last + after))
        shape = replace(self, head=before + self.head, rest=tuple(rest))
        if lines[1]:
            first, end = lines.span(1)
            shape = replace(self, head=before[:first], rest=((_ID, before[end:] + self.head), *rest))
        return shape if parse(sse.raw, sse.raw) == ServerSentEvent(sse.raw, sse.data, sse.event, sse.id) else None


def text_of(text: bytes) -> str | None:
    """Parses the inside of a JSON string without raw control characters; None if it is empty, or not JSON."""
    try:
        if text.find(b"\\") < 0:
            return text.decode() or None
        value = json_text.loads(b'"' + text + b'"')
    except ValueError:
        return None
    return value if isinstance(value, str) and value else None
