r"""Splits a Gemini stream into events: SSE events, or the elements of the JSON array that is sent without `alt=sse`.

    [{"candidates": [ … ]}\\n,\\r\\n{"candidates": [ … ]}\\n]   →   `[{…}`   `\\n,\\r\\n{…}`   `\\n]`

1. The joined `raw` of the elements is the input, byte for byte, and the cuts do not depend on the chunks.
2. An element is complete with its last byte, so it waits for nothing after it.
3. The first byte of the body that is not blank decides between the two forms.

Google's SDKs only read events of exactly `data: `, one line and a blank line. They ignore or fail at what other gateways send: an
`event:` line or a comment, no blank after the colon (python-genai#2584), several lines, a missing blank line, and `[DONE]`
(claude-relay-service#740, java-genai#1084).
"""

import re

from .fastclass import value
from .nonstandard_event import NonstandardEvent
from .sse import MAX_EVENT, ServerSentEvent, SseDecoder

_BLANKS = b" \t\r\n\xef\xbb\xbf"
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_FIELDS = (b":", b"data:", b"event:", b"id:", b"retry:")
_OUTSIDE = re.compile(rb'["{}\[\]]')
_INSIDE = re.compile(rb'["\\]')


@value
class Element(ServerSentEvent):
    """An element of the array, with the bytes before it.

    `start`: where its value begins in `raw`. `closes`: this is the end of the array, not an element. `lone`: not in an array.
    """

    start: int = 0
    closes: bool = False
    lone: bool = False

    @property
    def opens(self) -> bool:
        """Whether `raw` contains the start of the array, so that it cannot be dropped."""
        return self.raw.lstrip(_BLANKS).startswith(b"[") and not self.closes

    @property
    def missing(self) -> bytes:
        return b""

    def with_data(self, data: bytes) -> bytes:
        """Returns the element with another value."""
        return self.raw[: self.start] + data


@value
class IrregularElement(NonstandardEvent):
    """An event in a form that Google's SDKs do not read."""

    def with_data(self, data: bytes) -> bytes:
        """Returns an event with other data and no other lines."""
        return b"data: " + data.replace(b"\n", b" ") + self.newline * 2


def is_plain(sse: ServerSentEvent) -> bool:
    """Whether Google's SDKs read an event in the form that it has."""
    data = sse.data or b""
    framing = len(sse.raw) - len(data)
    ended = sse.raw.endswith(_ENDS) and framing in (8, 10)
    return ended and sse.raw.startswith(b"data: ") and sse.raw.startswith(data, 6)


def event_after(last: ServerSentEvent, data: bytes) -> bytes:
    """Returns the bytes of one more event after the last one."""
    return b",\r\n" + data if isinstance(last, Element) else last.with_data(data)


def end(last: ServerSentEvent) -> bytes:
    """Returns the bytes that close a body which the upstream did not close."""
    return b"\n]" if isinstance(last, Element) else b""


class GeminiDecoder:
    """Splits bytes in any chunks into events. Never raises."""

    def __init__(self) -> None:
        self._head: list[bytes] = []  # blanks
        self._inner: ElementDecoder | SseDecoder | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Returns the events that `data` completes."""
        if self._inner is None:
            self._head.append(data)
            first = data.lstrip(_BLANKS)[:1]
            if not first:
                return []
            self._inner = ElementDecoder() if first in b"[{" else _Events()
            data = b"".join(self._head)
        return self._inner.feed(data)

    def close(self) -> list[ServerSentEvent]:
        """Returns the rest at the end of the body."""
        if self._inner is None:
            head = b"".join(self._head)
            return [ServerSentEvent(head)] if head else []
        return self._inner.close()


class _Events(SseDecoder):
    """SSE events. A body between them that is not an event, usually an error, becomes the data of one."""

    def _event(self, raw: bytes) -> ServerSentEvent:
        event = super()._event(raw)
        if event.data is None and (body := raw.strip(_BLANKS)) and not body.startswith(_FIELDS):
            return ServerSentEvent(raw, body)
        return event


class ElementDecoder:
    """The elements of a JSON array; a lone value also counts as one."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._at = 0  # scanned up to here
        self._start = -1  # of the open element in _rest
        self._depth = 0
        self._array = False
        self._in_string = False
        self._oversize = False  # inside an element that is too long: its bytes pass undecoded

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Returns the elements that `data` completes."""
        self._rest += data
        events: list[ServerSentEvent] = []
        while self._step(events):
            pass
        if len(self._rest) > MAX_EVENT or (self._oversize and self._rest):
            self._oversize = True
            events.append(ServerSentEvent(bytes(self._rest[: self._at])))
            del self._rest[: self._at]
            self._at, self._start = 0, 0
        return events

    def close(self) -> list[ServerSentEvent]:
        """Returns the rest: the line end after the array, or a part of an element."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [Element(rest, b"")] if rest else []

    def _step(self, events: list[ServerSentEvent]) -> bool:
        """Advances past the next significant byte; False if there is none yet."""
        found = (_INSIDE if self._in_string else _OUTSIDE).search(self._rest, self._at)
        if found is None:
            self._at = len(self._rest)
            return False
        at, byte = found.end(), found.group()
        if self._in_string:
            if byte == b"\\":
                if at == len(self._rest):  # the escaped byte is still missing
                    self._at = found.start()
                    return False
                at += 1
            else:
                self._in_string = False
        elif byte == b'"':
            self._in_string = True
        elif byte in b"{[":
            self._open(byte, found.start())
        else:
            self._depth -= 1
            if self._depth <= self._array:
                self._at = at
                self._emit(events)
                return True
        self._at = at
        return True

    def _open(self, byte: bytes, at: int) -> None:
        if byte == b"[" and not self._depth and not self._array:
            self._array = True
        elif self._depth == self._array:
            self._start = at
        self._depth += 1

    def _emit(self, events: list[ServerSentEvent]) -> None:
        """Emits the element that has ended, or the end of the array."""
        raw = bytes(self._rest[: self._at])
        if self._oversize:
            events.append(ServerSentEvent(raw))
        elif self._depth < self._array:
            events.append(Element(raw, b"", closes=True))
        else:
            events.append(Element(raw, raw[self._start :], start=self._start, lone=not self._array))
        del self._rest[: self._at]
        self._at, self._oversize = 0, False
