"""Turns the answer to a request for a summary of the conversation into one `Compaction`: see requests/compaction.py.

    "<analysis>…</analysis> Goal: …" stop     →     Compaction("Goal: …")
    "" stop, or "Goal: fix th" length         →     StreamError: clients retry

Nothing is sent before the summary is complete, and an incomplete one is an error: the client would continue with half of its
memory. For translated streams alone, like stop_sequences.py.
"""

import re
from collections.abc import Sequence
from io import StringIO

from ...core.events import (
    Compacting,
    Compaction,
    Event,
    Finish,
    Frame,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    RefusalDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from .frame_queue import with_events

EVERY = 1024
"""Characters of the answer between two signs of life: a slow model takes half a minute for them, and Codex waits five."""

MAX_SUMMARY = 4 * 1024 * 1024
"""Characters of a summary: more than any model writes in one answer."""

_ANALYSIS = re.compile(r"\s*<analysis>.*?</analysis>", re.DOTALL)
_WRAPPED = (
    re.compile(r"<summary>(.*)</summary>", re.DOTALL),
    re.compile(r"```[a-z]*\n(.*)\n```", re.DOTALL),
)


class CompactionSummary:
    """Reads one answer; of its choices only the first."""

    def __init__(self) -> None:
        self._text = StringIO()
        self._refusal = False
        self._reported = 0  # `_read` at the last sign of life
        self._read = 0
        self._over = False

    def feed(self, frame: Frame) -> Sequence[Frame]:
        events: list[Event] = []
        for event in frame.events:
            if getattr(event, "choice", 0) == 0:
                self._event(event, events)
        return (with_events(frame, events),)

    def close(self) -> Sequence[Frame]:
        return ()

    def _event(self, event: Event, out: list[Event]) -> None:
        match event:
            case Usage():
                out.append(event)
            case _ if self._over:
                out += [event] if isinstance(event, MessageEnd) else []
            case MessageStart():
                out += (event, Compacting())
            case StreamError():
                self._over = True
                out.append(event)
            case Finish():
                self._end(event.finish_reason, out)
            case MessageEnd():
                self._end("stop", out)
                out.append(event)
            case TextDelta():
                if self._text.tell() <= MAX_SUMMARY:
                    self._text.write(event.text)
                self._count(len(event.text), out)
            case RefusalDelta():
                self._refusal |= bool(event.text)
            case ReasoningDelta():
                self._count(len(event.text), out)
            case ToolCallDelta():
                self._count(len(event.arguments), out)
            case _:
                pass

    def _count(self, read: int, out: list[Event]) -> None:
        self._read += read
        if self._read - self._reported >= EVERY:
            self._reported = self._read
            out.append(Compacting())

    def _end(self, reason: str, out: list[Event]) -> None:
        self._over = True
        summary = unwrapped(self._text.getvalue())
        if reason in ("length", "content_filter", "error") or self._refusal or len(summary) > MAX_SUMMARY:
            out.append(StreamError("server_error", "The upstream did not finish the summary of the conversation.", 500))
        elif not summary:
            out.append(StreamError("server_error", "The upstream wrote no summary of the conversation.", 500))
        else:
            out += (Compaction(summary), Finish("stop"))


def unwrapped(text: str) -> str:
    """Removes what models write around a summary."""
    if (match := _ANALYSIS.match(text)) and text[match.end() :].strip():
        text = text[match.end() :]
    text = text.strip()
    for pattern in _WRAPPED:
        if match := pattern.fullmatch(text):
            text = match[1].strip()
    return text
