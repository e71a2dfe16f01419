"""What cuts an Ollama stream into events: its lines (NDJSON), a JSON value each.

    {"model":"qwen3","message":{"role":"assistant","content":"Hi"},"done":false}\\n

Rule of this file: the joined `raw` of the lines is the input, byte for byte. A line ends with LF, or with its object
where another follows.
"""

import re
from collections.abc import Callable
from json import JSONDecoder
from typing import Any

from . import json_text
from .fastclass import value
from .nonstandard_event import BentEvent
from .sse import BOM, MAX_EVENT, ServerSentEvent

_BLANKS = b" \t\r\n"
_AROUND = _BLANKS + BOM
_LOST = re.compile(rb"\}[ \t]{0,8}\{")
_BESIDE = (b":", b"event:", b"id:", b"retry:")
_behind_blanks: Callable[[str, int], Any] = re.compile(r"[ \t]*").match
_scan = JSONDecoder().raw_decode


@value
class Line(ServerSentEvent):
    """One line, its end included."""

    @property
    def missing(self) -> bytes:
        return b"" if self.raw.endswith(b"\n") else b"\n"

    def with_data(self, data: bytes) -> bytes:
        """A line with another value, which ends as this one."""
        return data + (b"\r\n" if self.raw.endswith(b"\r\n") else b"\n")


@value
class IrregularLine(BentEvent, Line):
    """A line in a form that Ollama's SDKs do not read."""


def is_plain(sse: ServerSentEvent) -> bool:
    """Whether a line is its data alone, as nearly all are."""
    data = sse.data or b""
    beside = len(sse.raw) - len(data)
    return (beside <= 2 and sse.raw.startswith(data)) or sse.raw.strip(_BLANKS) == data


def says_nothing(data: bytes) -> bool:
    """Whether a line says nothing to clients, and they fail at it: no data, or what is around it in server-sent events."""
    if data.startswith(b"{"):  # nearly all
        return False
    return not data or data.startswith(_BESIDE) or data.removeprefix(b"data:").strip() in (b"", b"[DONE]")


class LineDecoder:
    """Bytes in any chunks → lines. Never raises."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._oversize = False  # inside a line that is too long: its bytes pass unread

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The lines that `data` completes."""
        if data.find(b"\n") == len(data) - 1 and data and not (self._rest or self._oversize):  # nearly all
            return self._events(data)
        *lines, rest = data.split(b"\n")
        events = []
        for line in lines:
            events += self._events(b"".join((*self._rest, line, b"\n")))
            self._clear()
            self._oversize = False
        if rest:
            self._rest.append(rest)
            self._size += len(rest)
        if self._oversize or self._size > MAX_EVENT:
            self._oversize = True
            events += self._events(b"".join(self._rest)) if self._rest else []
            self._clear()
        return events

    def close(self) -> list[ServerSentEvent]:
        """The last line, if it has no end."""
        events = self._events(b"".join(self._rest)) if self._rest else []
        self._clear()
        return events

    def _events(self, raw: bytes) -> list[ServerSentEvent]:
        if self._oversize:
            return [ServerSentEvent(raw)]
        if not _LOST.search(raw) or len(raw) > json_text.SMALL:
            return [Line(raw, raw.strip(_AROUND))]
        *others, last = _objects(raw)
        return [*(IrregularLine(other, other.strip(_AROUND)) for other in others), Line(last, last.strip(_AROUND))]

    def _clear(self) -> None:
        self._rest.clear()
        self._size = 0


def _objects(raw: bytes) -> list[bytes]:
    """The objects of a line that is more than one, each with what stands in front of it; the line, if it is anything else."""
    found: list[bytes] = []
    at = 0
    try:
        text = raw.decode()
        begin, size = text.find("{"), len(text.rstrip())
        while begin < size:
            _, end = _scan(text, begin)
            found.append(text[at:end].encode())
            at, begin = end, _behind_blanks(text, end).end()
    except (ValueError, RecursionError):
        return [raw]
    found[-1] += text[at:].encode()
    return found
