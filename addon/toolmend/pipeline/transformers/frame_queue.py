"""Frames that wait, and frames that lose events.

Rule of this file: frames go out in the order they came, and one that lost nothing is the very frame that came.
"""

import operator
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ...core.events import Event, Frame, ReasoningDelta, TextDelta, ToolCallDelta


class Queue:
    """Frames that wait. A number tells which: they count from 0 as they come."""

    def __init__(self) -> None:
        self.frames: deque[Frame] = deque()
        self.first = 0
        self.size = 0

    def add(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.size += _size(frame)

    @property
    def next(self) -> int:
        """The number of the frame that comes next."""
        return self.first + len(self.frames)

    def edit(self, number: int, keep: Callable[[Event], bool]) -> None:
        """Drops events of the frames from a number on."""
        for at in range(number - self.first, len(self.frames)):
            old = self.frames[at]
            new = self.frames[at] = with_events(old, [event for event in old.events if keep(event)])
            self.size += _size(new) - _size(old)

    def release(self, wanted: Iterable[int | None]) -> list[Frame]:
        """The frames before all that are still wanted."""
        end = min((number for number in wanted if number is not None), default=self.next)
        out = []
        while self.first < end:
            out.append(self.frames.popleft())
            self.first += 1
            self.size -= _size(out[-1])
        return out


def with_events(frame: Frame, events: Sequence[Event]) -> Frame:
    """The frame with other events; itself if they are its own."""
    if len(events) == len(frame.events) and all(map(operator.is_, events, frame.events)):
        return frame
    return Frame(frame.sse, tuple(events), touched=True)


def _size(frame: Frame) -> int:
    """What a frame that waits counts: its text in bytes, and one, for there is no end of empty frames either."""
    size = 1
    for event in frame.events:
        match event:
            case TextDelta() | ReasoningDelta():
                size += bytes_of(event.text)
            case ToolCallDelta():
                size += bytes_of(event.arguments)
            case _:
                pass
    return size


def bytes_of(text: str) -> int:
    """The size of a text, which may hold half a character."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
