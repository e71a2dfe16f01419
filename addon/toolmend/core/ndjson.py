r"""Splits an Ollama stream into events: lines (NDJSON) of one JSON value each.

    {"model":"qwen3","message":{"role":"assistant","content":"Hi"},"done":false}\\n

The joined `raw` of the lines is the input, byte for byte. A line ends with LF, or with its object if another one follows.
"""

import re
from collections.abc import Callable
from json import JSONDecoder
from typing import Any

from . import json_text
from .fastclass import value
from .nonstandard_event import NonstandardEvent
from .sse import BOM, MAX_EVENT, ServerSentEvent

_BLANKS = b" \t\r\n"
_AROUND = _BLANKS + BOM
_JOINED = re.compile(rb"\}[ \t]{0,8}\{")
_SSE_FIELDS = (b":", b"event:", b"id:", b"retry:")
_skip_blanks: Callable[[str, int], Any] = re.compile(r"[ \t]*").match
_scan = JSONDecoder().raw_decode


@value
class Line(ServerSentEvent):
    """One line, including its end."""

    @property
    def missing(self) -> bytes:
        return b"" if self.raw.endswith(b"\n") else b"\n"

    def with_data(self, data: bytes) -> bytes:
        """Returns a line with another value and the same line end."""
        return data + (b"\r\n" if self.raw.endswith(b"\r\n") else b"\n")


@value
class IrregularLine(NonstandardEvent, Line):
    """A line in a form that Ollama's SDKs do not read."""


def is_plain(sse: ServerSentEvent) -> bool:
    """Whether a line is its data alone, as nearly all are."""
    data = sse.data or b""
    framing = len(sse.raw) - len(data)
    return (framing <= 2 and sse.raw.startswith(data)) or sse.raw.strip(_BLANKS) == data


def is_without_data(data: bytes) -> bool:
    """Whether a line has no data, so that clients fail at it: an empty line, or the framing of SSE events."""
    if data.startswith(b"{"):  # nearly all
        return False
    return not data or data.startswith(_SSE_FIELDS) or data.removeprefix(b"data:").strip() in (b"", b"[DONE]")


class LineDecoder:
    """Splits bytes in any chunks into lines. Never raises."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._oversize = False  # inside a line that is too long: its bytes pass undecoded

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Returns the lines that `data` completes."""
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
        """Returns the last line, if it has no end."""
        events = self._events(b"".join(self._rest)) if self._rest else []
        self._clear()
        return events

    def _events(self, raw: bytes) -> list[ServerSentEvent]:
        if self._oversize:
            return [ServerSentEvent(raw)]
        if not _JOINED.search(raw) or len(raw) > json_text.SMALL:
            return [Line(raw, raw.strip(_AROUND))]
        *others, last = _objects(raw)
        return [*(IrregularLine(other, other.strip(_AROUND)) for other in others), Line(last, last.strip(_AROUND))]

    def _clear(self) -> None:
        self._rest.clear()
        self._size = 0


def _objects(raw: bytes) -> list[bytes]:
    """Returns the objects of a line with several, each with the bytes before it; the line itself if it has anything else."""
    found: list[bytes] = []
    at = 0
    try:
        text = raw.decode()
        begin, size = text.find("{"), len(text.rstrip())
        while begin < size:
            _, end = _scan(text, begin)
            found.append(text[at:end].encode())
            at, begin = end, _skip_blanks(text, end).end()
    except (ValueError, RecursionError):
        return [raw]
    found[-1] += text[at:].encode()
    return found
