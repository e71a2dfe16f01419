"""Keep-alives that are no comments, made comments: Vertex sends them as data, and every SDK parses data as JSON, also none.

    data: : keepalive\\n\\n     →     : keepalive\\n
    data:\\n\\n                 →     :\\n
    data: null\\n\\n            →     :\\n              of which OpenAI's SDKs make no object (pi#2466, hermes-agent#75525)

The blank line goes with it: behind an `id` some clients dispatch an empty event at any. (wire-apis.md, Streams)

Rule of this file: it works on bytes, however they are cut, and what holds no such event passes, the very object that came in.
Held is only what may become one: at the beginning of an event, `data:` and a colon, `null` or nothing, and that line up to the
blank one.
"""

import re
from collections.abc import Callable

MAX_LINE = 256
"""Bytes of such a comment: those that were seen have ten."""

_SUSPECT = re.compile(rb"data:[ \t]{0,8}(?:[:\r\n]|null)")
_BEGIN = rb"data:(?:(?<=\Adata:)|(?<=\n\ndata:)|(?<=\r\rdata:)|(?<=\n\r\ndata:))[ \t]{0,8}"  # it is found by its first bytes
_WHOLE = re.compile(_BEGIN + rb"(?:(:[^\r\n]{0,%d})|null)?(\r\n|\n|\r(?!\n))(?(1)(?:\2)?|\2)" % MAX_LINE)
_CUT = re.compile(_BEGIN + rb"(?::[^\r\n]{0,%d}|n(?:u(?:ll?)?)?)?(?:\r\n|\n|\r)?\r?\Z" % MAX_LINE)
_NAME = b"data:"
_COMMENT = re.compile(rb"(?<![^\r\n]):[^\r\n]*+(?:\n\n|\r\n\r\n)")  # at the beginning of a line, or each colon is one
_LINES = (b":", b"event:", b"id:", b"retry:")
_BLANK_LINE = (b"\n\n", b"\r\r", b"\n\r\n")


class KeepAlives:
    """One stream: `feed` and `close` for its bytes, `repaired` for one event. `fired` is told `keep_alive`.

    `comments`: whether its clients can read some; else the keep-alive is dropped.
    """

    def __init__(self, fired: Callable[[str], None], *, comments: bool) -> None:
        self._fired = fired
        self._comments = comments
        self._before = b""  # the last bytes in front of what comes, which may end an event
        self._held = b""

    def read(self, raw: bytes) -> bytes:
        """What of an event without data is read by clients that can read no comments: they fail at its lines.

        Several may have come as one, and blank lines with them: these stay.
        """
        if self._comments or not raw.lstrip(b"\r\n").startswith(_LINES):
            return raw
        self._fired("keep_alive")
        left = _COMMENT.sub(b"", raw)
        return b"" if left.strip(b"\r\n") else left

    def passes(self, data: bytes) -> bool:
        """Whether a chunk is whole events without any, as most are, told at a glance; then it goes out as it came."""
        if self._held or not data.endswith(b"\n\n"):
            return False
        line = data.find(b"\n") + 1 if data.startswith(b"event:") else 0
        one = data.startswith(b"data: {", line) and data.find(b"\n", line) == len(data) - 2 and data.find(b"\r") < 0
        if not one and _SUSPECT.search(data):
            return False
        self._before = b"\n\n"
        return True

    def feed(self, data: bytes) -> bytes:
        """The bytes of a stream as they arrive; returns what they are for the client."""
        if self.passes(data):
            return data
        text, first = self._before + self._held + data, len(self._before)
        end = _begun(text, first)
        given = self.repaired(text, first, end)
        same = not self._held and end == len(text) and len(given) == len(data)
        self._held = text[end:]
        self._before = text[max(0, end - 4) : end]
        return data if same else given

    def close(self) -> bytes:
        """The body is over; returns what had been held."""
        text, first = self._before + self._held, len(self._before)
        self._held = b""
        return self.repaired(text, first)

    def repaired(self, text: bytes, first: int = 0, end: int | None = None) -> bytes:
        """A part of a stream: what stands in front of it is looked at, too."""
        end = len(text) if end is None else end
        pieces: list[bytes] = []
        for match in _WHOLE.finditer(text, first, end):
            self._fired("keep_alive")
            pieces.append(text[first : match.start()])
            if self._comments:
                pieces += match[1] or b":", match[2]
            first = match.end()
        return b"".join((*pieces, text[first:end]))


def _begun(text: bytes, first: int) -> int:
    """Where a keep-alive begins that is not all there; the end of the text if none does."""
    at = len(text.rstrip(b"\r\n"))
    line = max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at)) + 1
    head = text[line : line + len(_NAME)]
    if line < first or not head or not _NAME.startswith(head):
        return len(text)
    if head != _NAME:
        begins = at == len(text) and (not line or text[:line].endswith(_BLANK_LINE))
        return line if begins else len(text)
    match = _CUT.search(text, line)
    return match.start() if match else len(text)
