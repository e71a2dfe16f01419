"""Bytes ⇄ server-sent events, by the rules of WHATWG HTML §9.2.6, for a proxy that must not change what it does not mend.

Rule of this file: an event remembers the exact bytes it came in, and the joined `raw` of all events is the input, byte for
byte, however the input was cut. Everything works on bytes; UTF-8 may be cut anywhere.

A block of lines ends at a blank line; a line ends with LF, CRLF or CR. Only where the block before it ends with a lone CR is a
CR taken as the blank line at once (a stream of pure CR must not be held back); elsewhere the byte behind a CR at the end of a
chunk is waited for, since it is all but surely the LF of a CRLF. So where the events are cut does not depend on the chunks; but
blank lines and comments that follow each other in a chunk are one, as they say no more than one: a chunk may be full of them.

Some servers leave the blank lines out, and clients that read line by line never notice. So a line of data that is a JSON object
by itself, and has another one behind it, is an event of its own: joined, as the standard has them, they would be no JSON.
"""

import re

from . import json_text
from .fastclass import value

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one event that are held for its end. The largest events seen are images in base64, a few MiB; what is longer
passes unread, in pieces without `data`."""

NEAR = 4096
"""Bytes that are searched at once for the end of an event: most have fewer, and a chunk may hold many that end otherwise."""

_BLOCK_END = re.compile(rb"\n\n|\n\r\n|\n\r(?=[^\n])|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_IDLE = re.compile(rb"(?:\n++|(?:\r\n)++|(?:\r(?=\r))++|:[^\r\n]*(?:\n\n|\r\n\r\n))++")
_DATA = re.compile(rb"(?<![^\r\n])data:([^\r\n]*)")
_FIRST_DATA = re.compile(rb"(?:\A\xef\xbb\xbf|(?<![^\r\n]))data:([^\r\n]*)")
BOM = b"\xef\xbb\xbf"
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:data|event|id|retry)?:")


@value
class ServerSentEvent:
    """One block of lines, its blank line included.

    `data` is what the `data` lines hold, joined with LF; None where there is no such line (a comment, a lone `id`, a stray
    blank line), in which case a client dispatches nothing.
    """

    raw: bytes
    data: bytes | None = None
    event: bytes = b""
    id: bytes | None = None
    retry: int | None = None

    @property
    def ends(self) -> bool:
        """Whether it says that nothing more will come."""
        return self.data is not None and self.data.strip() == b"[DONE]"

    @property
    def newline(self) -> bytes:
        """The line end that this event uses."""
        match = _LINE_END.search(self.raw)
        return match.group() if match else b"\n"

    @property
    def missing(self) -> bytes:
        """What it lacks to its end, where the body ended before: something is to come behind it all the same."""
        return self.newline * (1 if self.raw.endswith((b"\n", b"\r")) else 2)

    def with_data(self, data: bytes) -> bytes:
        """The bytes of this event with other data, on one line. Its other lines, comments too, stay as they are."""
        newline = self.newline
        data = data.replace(b"\n", b" ")  # JSON text that came in several lines
        if self.data is not None and self.raw == b"data: " + self.data + newline + newline:
            return b"data: " + data + newline + newline
        lines, placed = [], False
        first = self.raw[: block_end(self.raw, 0) or None]  # of several that were read as one
        for line in _LINE_END.split(first.removeprefix(BOM)):
            if line == b"data" or line.startswith(b"data:"):
                if not placed:
                    lines.append(b"data: " + data)
                placed = True
            elif line:
                lines.append(line)
        if not placed:  # an error in a field of its own
            lines.append(b"data: " + data)
        bom = BOM if self.raw.startswith(BOM) else b""
        return bom + newline.join(lines) + newline + newline


class SseDecoder:
    """Bytes in any chunks → events. Never raises."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0  # in _rest no block ends before here
        self._first = True
        self._oversize = False  # inside an event that is too long: its bytes pass unread
        self._joined = False  # whether what _rest has of data is known to be of one event

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that `data` completes."""
        text: bytes | bytearray = data
        searched = 0
        if self._rest:
            self._rest += data
            text, searched = self._rest, self._searched
        events: list[ServerSentEvent] = []
        start, size = 0, len(text)
        while start < size:
            seen = self._oversize or start < searched  # it has begun before, and was looked at
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
            cut = len(self._rest) - 3  # the end of the block may have begun
            events.append(ServerSentEvent(bytes(self._rest[:cut])))
            del self._rest[:cut]
        self._searched = max(0, len(self._rest) - 2)
        return events

    def take(self, data: bytes, at: int) -> tuple[list[ServerSentEvent], int]:
        """`feed` for what begins at `at`, an event at a time where it can: those that are read now, and where the next begins."""
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
        """What is left at the end of the body: servers do end with `data: [DONE]` and no blank line."""
        rest = bytes(self._rest)
        self._rest.clear()
        return self._block(rest) if rest else []

    def _lines(self, searched: int) -> list[ServerSentEvent]:
        """The events that end in _rest without a blank line. In front of `searched` no second line of data begins."""
        events: list[ServerSentEvent] = []
        if any(self._rest.find(line, searched) > 0 for line in (b"\ndata:", b"\rdata:")):
            while (end := self._line_of_data(self._rest, 0)) > 0:
                events.append(self._event(bytes(self._rest[:end])))
                del self._rest[:end]
            self._joined = end < 0
        return events

    def _block(self, raw: bytes) -> list[ServerSentEvent]:
        """The event that a block of lines is, or those that it is where blank lines are left out."""
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
        """The end of the first line of data from `start` on, if it is an event of its own; 0 if it is the only one, -1 if not."""
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
    """The end of the blank lines and comments that begin at `start`, or 0."""
    if text[start] not in b"\n\r:":
        return 0
    if match := _IDLE.match(text, start):
        return match.end()
    return start + 1 if text[start] == 13 and start + 1 < len(text) else 0


def block_end(text: bytes | bytearray, start: int) -> int:
    """The end of the first block of lines that ends behind `start`, or 0."""
    at, near = start, start + NEAR
    end = text.find(b"\n\n", at, near)
    while text.find(b"\r", at, end if end >= 0 else near) < 0:  # so a long event is searched faster by far
        if end >= 0 or near >= len(text):
            return end + 2 if end >= 0 else 0
        at, near = near - 1, near + 4 * (near - at)
        end = text.find(b"\n\n", at, near)
    match = _BLOCK_END.search(text, max(start, at - 1))
    return match.end() if match else 0


def begins(body: bytes) -> bool:
    """Whether a body that is called something else is events: no JSON and no page begins as a field or a comment does."""
    return _BEGIN.match(body) is not None


def parse(raw: bytes, block: bytes) -> ServerSentEvent:
    """The event that a block of lines is; `raw` is what it came in."""
    feeds = block.find(b"\r") < 0  # `in` takes ten times as long: it tries first whether what it is given is a number
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
            retry = int(value[:18])  # milliseconds; a longer number means nothing
    if error and not (data or event):  # llama.cpp tells one in a field of its own
        return ServerSentEvent(raw, error, b"error", id_, retry)
    return ServerSentEvent(raw, b"\n".join(data) if data else None, event, id_, retry)
