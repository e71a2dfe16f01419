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
from collections.abc import Callable

from ...core import json_text
from ...core.events import ReasoningDelta, TextDelta, ToolCallDelta
from ...core.fastclass import replace, value
from ...core.sse import ServerSentEvent, parse
from .json_spans import ANY_TEXT

_ID = re.compile(rb"\d{1,18}+")
_IN_FRONT = re.compile(rb"(?:id: ?(%b)\r?\n)?(?:event: ?[^\r\n]*+\r?\n)?data: ?" % _ID.pattern)
"""What stands in front of the data of an event: its number, as few have it, and its name."""

type Match = Callable[[bytes, int], re.Match[bytes] | None]
type Kind = type[TextDelta | ReasoningDelta | ToolCallDelta]


@value
class DeltaTemplate:
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

    def others(self, data: bytes) -> list[tuple[int, bytes, bytes]]:
        """What varies beside the text in an event of this shape: its place there, the literal before it, and itself."""
        literals = (self.head, *(literal for _, literal in self.rest))
        told = zip(self.rest, literals, self.parts(data), strict=False)
        return [(place, before, part) for place, ((hole, _), before, part) in enumerate(told) if hole is not ANY_TEXT]

    def text(self, data: bytes) -> str | None:
        """The text of an event of this shape, never empty; None for any other event."""
        span = self.span(data)
        if span is None or span[2] != len(data):
            return None
        return text_of(data[span[0] : span[1]])

    def raw(self, sse: ServerSentEvent) -> "DeltaTemplate | None":
        """The shape of whole events, as bytes, of which this one is; None where something else may vary in them."""
        before, found, after = sse.raw.partition(sse.data or b"\n")
        lines = _IN_FRONT.fullmatch(before)
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
    """What stands between the quotes of a JSON string, with no raw control character; None where it is nothing, or no JSON."""
    try:
        if text.find(b"\\") < 0:
            return text.decode() or None
        value = json_text.loads(b'"' + text + b'"')
    except ValueError:
        return None
    return value if isinstance(value, str) and value else None
