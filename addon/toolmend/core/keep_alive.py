r"""Turns keep-alives that are SSE data into comments. Vertex sends such, and SDKs parse all data as JSON, even empty data.

    data: : keepalive\\n\\n     →     : keepalive\\n
    data:\\n\\n                 →     :\\n
    data: null\\n\\n            →     :\\n              OpenAI's SDKs get no object from null (pi#2466, hermes-agent#75525)

1. The blank line is removed, too: after an `id` line some clients dispatch an empty event at every blank line
   (docs/dev/wire-apis.md).
2. It works on bytes cut anywhere; data without such an event is returned as the same object.
3. Only a possible keep-alive is held: at the beginning of an event, `data:` and a colon, `null` or nothing, up to the blank line.
"""

import re
from collections.abc import Callable

MAX_LINE = 256
"""Bytes of such a comment; the ones seen have ten."""

_SUSPECT = re.compile(rb"data:[ \t]{0,8}(?:[:\r\n]|null)")
_BEGIN = rb"data:(?:(?<=\Adata:)|(?<=\n\ndata:)|(?<=\r\rdata:)|(?<=\n\r\ndata:))[ \t]{0,8}"  # literal prefix
_WHOLE = re.compile(_BEGIN + rb"(?:(:[^\r\n]{0,%d})|null)?(\r\n|\n|\r(?!\n))(?(1)(?:\2)?|\2)" % MAX_LINE)
_CUT = re.compile(_BEGIN + rb"(?::[^\r\n]{0,%d}|n(?:u(?:ll?)?)?)?(?:\r\n|\n|\r)?\r?\Z" % MAX_LINE)
_NAME = b"data:"
_COMMENT = re.compile(rb"(?<![^\r\n]):[^\r\n]*+(?:\n\n|\r\n\r\n)")  # only at the beginning of a line
_LINES = (b":", b"event:", b"id:", b"retry:")
_BLANK_LINE = (b"\n\n", b"\r\r", b"\n\r\n")


class KeepAlives:
    """One stream: `feed` and `close` for its bytes, `repaired` for one event. `fired` is called with `keep_alive`.

    `comments`: whether the clients accept comments; if not, keep-alives are dropped.
    """

    def __init__(self, fired: Callable[[str], None], *, comments: bool) -> None:
        self._fired = fired
        self._comments = comments
        self._before = b""  # the last bytes sent, which may end an event
        self._held = b""

    def read(self, raw: bytes) -> bytes:
        """Returns an event without data as clients need it that fail at comments.

        It may consist of several events, with blank lines between them; these stay.
        """
        if self._comments or not raw.lstrip(b"\r\n").startswith(_LINES):
            return raw
        self._fired("keep_alive")
        left = _COMMENT.sub(b"", raw)
        return b"" if left.strip(b"\r\n") else left

    def passes(self, data: bytes) -> bool:
        """Whether a chunk is whole events without keep-alives, as most are, by a quick check. It then passes unchanged."""
        if self._held or not data.endswith(b"\n\n"):
            return False
        line = data.find(b"\n") + 1 if data.startswith(b"event:") else 0
        single = data.startswith(b"data: {", line) and data.find(b"\n", line) == len(data) - 2 and data.find(b"\r") < 0
        if not single and _SUSPECT.search(data):
            return False
        self._before = b"\n\n"
        return True

    def feed(self, data: bytes) -> bytes:
        """Takes the bytes of a stream as they arrive; returns the bytes to send."""
        if self.passes(data):
            return data
        text, first = self._before + self._held + data, len(self._before)
        end = _incomplete_at(text, first)
        sent = self.repaired(text, first, end)
        same = not self._held and end == len(text) and len(sent) == len(data)
        self._held = text[end:]
        self._before = text[max(0, end - 4) : end]
        return data if same else sent

    def close(self) -> bytes:
        """Ends the body; returns what was held."""
        text, first = self._before + self._held, len(self._before)
        self._held = b""
        return self.repaired(text, first)

    def repaired(self, text: bytes, first: int = 0, end: int | None = None) -> bytes:
        """Returns a part of a stream, from `first` to `end`, repaired; the bytes before `first` are context."""
        end = len(text) if end is None else end
        pieces: list[bytes] = []
        for match in _WHOLE.finditer(text, first, end):
            self._fired("keep_alive")
            pieces.append(text[first : match.start()])
            if self._comments:
                pieces += match[1] or b":", match[2]
            first = match.end()
        return b"".join((*pieces, text[first:end]))


def _incomplete_at(text: bytes, first: int) -> int:
    """Returns where an incomplete keep-alive begins; the end of the text if there is none."""
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
