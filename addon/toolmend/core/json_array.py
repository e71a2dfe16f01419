"""What cuts a Gemini stream into events: server-sent ones, or the elements of the JSON array that comes without `alt=sse`.

    [{"candidates": [ … ]}\\n,\\r\\n{"candidates": [ … ]}\\n]   →   `[{…}`   `\\n,\\r\\n{…}`   `\\n]`

Google's SDKs read an event that is `data: `, one line and a blank one. Others, as gateways send them, are lost on them, or make
them fail: with `event:` or a comment beside it, without the blank behind the colon (python-genai#2584), over several lines, not
ended; and `[DONE]` (claude-relay-service#740, java-genai#1084).

Rule of this file: the joined `raw` of the elements is the input, byte for byte, and where they are cut does not depend on the
chunks. An element is whole with its last byte, so it waits for nothing behind it. Which of the two a body is tells its first
byte that is no blank.
"""

import re

from .fastclass import value
from .nonstandard_event import BentEvent
from .sse import MAX_EVENT, ServerSentEvent, SseDecoder

_BLANKS = b" \t\r\n\xef\xbb\xbf"
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_FIELDS = (b":", b"data:", b"event:", b"id:", b"retry:")
_OUTSIDE = re.compile(rb'["{}\[\]]')
_INSIDE = re.compile(rb'["\\]')


@value
class Element(ServerSentEvent):
    """An element of the array, with what stands in front of it.

    `start`: where its value begins in `raw`. `closes`: it is the end of the array, and no element; `lone`: it stands in none.
    """

    start: int = 0
    closes: bool = False
    lone: bool = False

    @property
    def opens(self) -> bool:
        """Whether the array begins in front of it: then it cannot be left out."""
        return self.raw.lstrip(_BLANKS).startswith(b"[") and not self.closes

    @property
    def missing(self) -> bytes:
        return b""

    def with_data(self, data: bytes) -> bytes:
        """The element with another value."""
        return self.raw[: self.start] + data


@value
class IrregularElement(BentEvent):
    """An event in a form that Google's SDKs do not read."""

    def with_data(self, data: bytes) -> bytes:
        """The event with other data, and nothing beside it."""
        return b"data: " + data.replace(b"\n", b" ") + self.newline * 2


def is_plain(sse: ServerSentEvent) -> bool:
    """Whether Google's SDKs read an event as it came."""
    data = sse.data or b""
    beside = len(sse.raw) - len(data)
    ended = sse.raw.endswith(_ENDS) and beside in (8, 10)
    return ended and sse.raw.startswith(b"data: ") and sse.raw.startswith(data, 6)


def behind(last: ServerSentEvent, data: bytes) -> bytes:
    """One more event, behind the last one."""
    return b",\r\n" + data if isinstance(last, Element) else last.with_data(data)


def end(last: ServerSentEvent) -> bytes:
    """The end of a body that the upstream did not end."""
    return b"\n]" if isinstance(last, Element) else b""


class GeminiDecoder:
    """Bytes in any chunks → events. Never raises."""

    def __init__(self) -> None:
        self._head: list[bytes] = []  # blanks
        self._inner: ElementDecoder | SseDecoder | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that `data` completes."""
        if self._inner is None:
            self._head.append(data)
            first = data.lstrip(_BLANKS)[:1]
            if not first:
                return []
            self._inner = ElementDecoder() if first in b"[{" else _Events()
            data = b"".join(self._head)
        return self._inner.feed(data)

    def close(self) -> list[ServerSentEvent]:
        """What is left at the end of the body."""
        if self._inner is None:
            head = b"".join(self._head)
            return [ServerSentEvent(head)] if head else []
        return self._inner.close()


class _Events(SseDecoder):
    """Server-sent events. What stands between them and is none, an error most often, is the data of one: it has its place."""

    def _event(self, raw: bytes) -> ServerSentEvent:
        event = super()._event(raw)
        if event.data is None and (body := raw.strip(_BLANKS)) and not body.startswith(_FIELDS):
            return ServerSentEvent(raw, body)
        return event


class ElementDecoder:
    """The elements of a JSON array; a lone value is one, too."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._at = 0  # up to here it has been looked at
        self._start = -1  # of the element that is open, in the rest
        self._depth = 0
        self._array = False
        self._in_string = False
        self._oversize = False  # inside an element that is too long: its bytes pass unread

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The elements that `data` completes."""
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
        """What is left: the line end behind the array, or a part of an element."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [Element(rest, b"")] if rest else []

    def _step(self, events: list[ServerSentEvent]) -> bool:
        """Goes on to the next byte that matters; whether there is one."""
        found = (_INSIDE if self._in_string else _OUTSIDE).search(self._rest, self._at)
        if found is None:
            self._at = len(self._rest)
            return False
        at, byte = found.end(), found.group()
        if self._in_string:
            if byte == b"\\":
                if at == len(self._rest):  # what it escapes is still to come
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
                self._whole(events)
                return True
        self._at = at
        return True

    def _open(self, byte: bytes, at: int) -> None:
        if byte == b"[" and not self._depth and not self._array:
            self._array = True
        elif self._depth == self._array:
            self._start = at
        self._depth += 1

    def _whole(self, events: list[ServerSentEvent]) -> None:
        """An element has ended, or the array."""
        raw = bytes(self._rest[: self._at])
        if self._oversize:
            events.append(ServerSentEvent(raw))
        elif self._depth < self._array:
            events.append(Element(raw, b"", closes=True))
        else:
            events.append(Element(raw, raw[self._start :], start=self._start, lone=not self._array))
        del self._rest[: self._at]
        self._at, self._oversize = 0, False
