"""Bytes ⇄ SSE events by WHATWG HTML §9.2.6, for a proxy that must not change what it does not mend.

1. An event keeps its exact bytes: the joined `raw` of all events is the input, byte for byte, however the input was cut.
2. Everything works on bytes; UTF-8 may be cut anywhere.
3. Where events are cut does not depend on the chunks, except in runs of blank lines and comments.

A block of lines ends at a blank line; a line ends with LF, CRLF or CR. A lone CR counts as a blank line at once only if the line
before it also ended with a lone CR, so that a stream with CR line ends is not delayed. Otherwise a CR at the end of a chunk waits
for the next byte, which is almost certainly the LF of a CRLF. Consecutive blank lines and comments of a chunk form one event,
because a chunk may be full of them.

Some servers omit the blank lines, which clients that read line by line do not notice. So a data line that is a JSON object, with
another data line after it, is an event of its own: joined by the standard, they would not be JSON.
"""

import re

from . import json_text
from .fastclass import value

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one event that are held for its end. The largest events seen are base64 images of a few MiB; longer ones pass
undecoded, in pieces without `data`.
"""

NEAR = 4096
"""Bytes that are searched first for the end of an event: most are shorter, and a chunk may hold many with other line ends."""

_BLOCK_END = re.compile(rb"\n\n|\n\r\n|\n\r(?=[^\n])|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_IDLE = re.compile(rb"(?:\n++|(?:\r\n)++|(?:\r(?=\r))++|:[^\r\n]*(?:\n\n|\r\n\r\n))++")
_DATA = re.compile(rb"(?<![^\r\n])data:([^\r\n]*)")
_FIRST_DATA = re.compile(rb"(?:\A\xef\xbb\xbf|(?<![^\r\n]))data:([^\r\n]*)")
BOM = b"\xef\xbb\xbf"
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:data|event|id|retry)?:")


@value
class ServerSentEvent:
    """One block of lines, including its blank line.

    `data` joins the `data` lines with LF; None if there is no such line (a comment, a lone `id`, a stray blank line), in which
    case a client dispatches nothing.
    """

    raw: bytes
    data: bytes | None = None
    event: bytes = b""
    id: bytes | None = None
    retry: int | None = None

    @property
    def ends(self) -> bool:
        """Whether the event is `[DONE]`."""
        return self.data is not None and self.data.strip() == b"[DONE]"

    @property
    def newline(self) -> bytes:
        """The line end that this event uses."""
        match = _LINE_END.search(self.raw)
        return match.group() if match else b"\n"

    @property
    def missing(self) -> bytes:
        """The bytes that complete an event cut off by the end of the body, so that another event can follow."""
        return self.newline * (1 if self.raw.endswith((b"\n", b"\r")) else 2)

    def with_data(self, data: bytes) -> bytes:
        """Returns the bytes of this event with other data on one line. Its other lines, including comments, stay."""
        newline = self.newline
        data = data.replace(b"\n", b" ")  # JSON text of several lines
        if self.data is not None and self.raw == b"data: " + self.data + newline + newline:
            return b"data: " + data + newline + newline
        lines, placed = [], False
        first = self.raw[: block_end(self.raw, 0) or None]  # of several that form one event
        for line in _LINE_END.split(first.removeprefix(BOM)):
            if line == b"data" or line.startswith(b"data:"):
                if not placed:
                    lines.append(b"data: " + data)
                placed = True
            elif line:
                lines.append(line)
        if not placed:  # an `error` field
            lines.append(b"data: " + data)
        bom = BOM if self.raw.startswith(BOM) else b""
        return bom + newline.join(lines) + newline + newline


class SseDecoder:
    """Splits bytes in any chunks into events. Never raises."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0  # no block in _rest ends before this offset
        self._first = True
        self._oversize = False  # inside an event that is too long: its bytes pass undecoded
        self._joined = False  # the data lines in _rest are known to belong to one event

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Returns the events that `data` completes."""
        text: bytes | bytearray = data
        searched = 0
        if self._rest:
            self._rest += data
            text, searched = self._rest, self._searched
        events: list[ServerSentEvent] = []
        start, size = 0, len(text)
        while start < size:
            seen = self._oversize or start < searched  # it began in an earlier chunk and was searched
            end = (0 if seen else _idle(text, start)) or block_end(text, max(start, searched))
            if not end:
                break
            events += self._block(bytes(text[start:end]))
            start, self._joined = end, False
        if text is data:
            self._rest += data[start:]
        else:
            del self._rest[:start]
        if not (self._joined or self._oversize):
            events += self._lines(max(0, searched - start - 3))
        if len(self._rest) > (3 if self._oversize else MAX_EVENT):
            self._oversize = True
            cut = len(self._rest) - 3  # these may begin the end of the block
            events.append(ServerSentEvent(bytes(self._rest[:cut])))
            del self._rest[:cut]
        self._searched = max(0, len(self._rest) - 2)
        return events

    def take(self, data: bytes, at: int) -> tuple[list[ServerSentEvent], int]:
        """Decodes the data from `at`, a single event if possible; returns the events and where the next one begins."""
        if not self._rest and (end := _idle(data, at) or block_end(data, at)):
            return self._block(data[at:end]), end
        if self._rest and not self._oversize:
            begun = self._rest[self._searched :] + data[at:]
            end = at + block_end(begun, 0) - len(self._rest) + self._searched
            if end > at and data[end - 1] == 10:
                return self.feed(data[at:end]), end
        return self.feed(data[at:]), len(data)

    @property
    def between(self) -> bool:
        """Whether the next byte begins an event."""
        return not (self._rest or self._oversize)

    def close(self) -> list[ServerSentEvent]:
        """Returns the rest at the end of the body: servers do end with `data: [DONE]` and no blank line."""
        rest = bytes(self._rest)
        self._rest.clear()
        return self._block(rest) if rest else []

    def _lines(self, searched: int) -> list[ServerSentEvent]:
        """Returns the events in _rest that end without a blank line. Before `searched` no second data line begins."""
        events: list[ServerSentEvent] = []
        if any(self._rest.find(line, searched) > 0 for line in (b"\ndata:", b"\rdata:")):
            while (end := self._line_of_data(self._rest, 0)) > 0:
                events.append(self._event(bytes(self._rest[:end])))
                del self._rest[:end]
            self._joined = end < 0
        return events

    def _block(self, raw: bytes) -> list[ServerSentEvent]:
        """Returns the event of a block of lines, or its events if blank lines were omitted."""
        if self._oversize:
            self._oversize = False
            return [ServerSentEvent(raw)]
        first, event = self._first, self._event(raw)
        if event.data is None or event.data.find(b"\n") < 0:
            return [event]
        self._first, events, at = first, [], 0
        while (end := self._line_of_data(raw, at)) > 0:
            events.append(self._event(raw[at:end]))
            at = end
        return [*events, self._event(raw[at:])] if at else [event]

    def _line_of_data(self, text: bytes | bytearray, start: int) -> int:
        """Returns the end of the first data line from `start` if it is its own event; 0 if it is the only line, otherwise -1."""
        lines = (_FIRST_DATA if self._first else _DATA).finditer(text, start)
        line = next(lines, None)
        if line is None or next(lines, None) is None:
            return 0
        try:
            value = json_text.loads(bytes(line[1]))
        except json_text.NotJSON:
            return -1
        end = _LINE_END.match(text, line.end())
        return end.end() if end and isinstance(value, dict) else -1

    def _event(self, raw: bytes) -> ServerSentEvent:
        first, self._first = self._first, False
        return parse(raw, raw.removeprefix(BOM) if first else raw)


def _idle(text: bytes | bytearray, start: int) -> int:
    """Returns the end of the blank lines and comments that begin at `start`, or 0."""
    if text[start] not in b"\n\r:":
        return 0
    if match := _IDLE.match(text, start):
        return match.end()
    return start + 1 if text[start] == 13 and start + 1 < len(text) else 0


def block_end(text: bytes | bytearray, start: int) -> int:
    """Returns the end of the first block of lines that ends after `start`, or 0."""
    at, near = start, start + NEAR
    end = text.find(b"\n\n", at, near)
    while text.find(b"\r", at, end if end >= 0 else near) < 0:  # much faster than the regex for long events
        if end >= 0 or near >= len(text):
            return end + 2 if end >= 0 else 0
        at, near = near - 1, near + 4 * (near - at)
        end = text.find(b"\n\n", at, near)
    match = _BLOCK_END.search(text, max(start, at - 1))
    return match.end() if match else 0


def begins(body: bytes) -> bool:
    """Whether a body of another content type is SSE: no JSON and no HTML begins like a field or a comment."""
    return _BEGIN.match(body) is not None


def parse(raw: bytes, block: bytes) -> ServerSentEvent:
    """Parses a block of lines; `raw` are its original bytes."""
    feeds = block.find(b"\r") < 0  # `in` takes ten times as long: it first tries its argument as an integer
    if feeds and block.startswith(b"data: ") and block.endswith(b"\n") and block.find(b"\n") == len(block) - 2:
        return ServerSentEvent(raw, block[6:-2])
    end = len(block) - 4
    if block.startswith(b"data: ") and block.endswith(b"\r\n\r\n") and block.find(b"\r") == end < block.find(b"\n"):
        return ServerSentEvent(raw, block[6:end])
    if _IDLE.fullmatch(block):
        return ServerSentEvent(raw)
    data: list[bytes] = []
    error = None
    event, id_, retry = b"", None, None
    for line in block.split(b"\n") if feeds else _LINE_END.split(block):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value
        elif name == b"error" and value.startswith(b"{"):
            error = value
        elif name == b"id" and value.find(b"\0") < 0:
            id_ = value
        elif name == b"retry" and value.isdigit():
            retry = int(value[:18])  # milliseconds; longer numbers are meaningless
    if error and not (data or event):  # llama.cpp sends errors in an `error` field
        return ServerSentEvent(raw, error, b"error", id_, retry)
    return ServerSentEvent(raw, b"\n".join(data) if data else None, event, id_, retry)
