"""What cuts an Ollama stream into events: its lines (NDJSON), a JSON value each.

    {"model":"qwen3","message":{"role":"assistant","content":"Hi"},"done":false}\\n

Rule of this file: the joined `raw` of the lines is the input, byte for byte. A line ends with LF.
"""

from ..sse import MAX_EVENT, ServerSentEvent
from ..value import value

_BLANKS = b" \t\r\n"


@value
class Line(ServerSentEvent):
    """One line, its end included."""

    @property
    def missing(self) -> bytes:
        return b"" if self.raw.endswith(b"\n") else b"\n"

    def with_data(self, data: bytes) -> bytes:
        """A line with another value, which ends as this one."""
        return data + (b"\r\n" if self.raw.endswith(b"\r\n") else b"\n")


class LineDecoder:
    """Bytes in any chunks → lines. Never raises."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._oversize = False  # inside a line that is too long: its bytes pass unread

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The lines that `data` completes."""
        *lines, rest = data.split(b"\n")
        events = []
        for line in lines:
            events.append(self._event(b"".join((*self._rest, line, b"\n"))))
            self._clear()
            self._oversize = False
        if rest:
            self._rest.append(rest)
            self._size += len(rest)
        if self._oversize or self._size > MAX_EVENT:
            self._oversize = True
            events += [self._event(b"".join(self._rest))] if self._rest else []
            self._clear()
        return events

    def close(self) -> list[ServerSentEvent]:
        """The last line, if it has no end."""
        events = [self._event(b"".join(self._rest))] if self._rest else []
        self._clear()
        return events

    def _event(self, raw: bytes) -> ServerSentEvent:
        return ServerSentEvent(raw) if self._oversize else Line(raw, raw.strip(_BLANKS))

    def _clear(self) -> None:
        self._rest.clear()
        self._size = 0
