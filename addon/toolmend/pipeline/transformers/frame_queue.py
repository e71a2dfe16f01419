"""A queue of held frames, from which events can be removed.

Frames leave in the order they came, and one that lost no event is the same object.
"""

import operator
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ...core.events import Event, Frame, ReasoningDelta, TextDelta, ToolCallDelta


class FrameQueue:
    """Held frames, numbered from 0 as they come."""

    def __init__(self) -> None:
        self.frames: deque[Frame] = deque()
        self.first = 0
        self.size = 0

    def add(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.size += _size(frame)

    @property
    def next(self) -> int:
        """The number of the next frame."""
        return self.first + len(self.frames)

    def edit(self, number: int, keep: Callable[[Event], bool]) -> None:
        """Removes events from the frames from a number on."""
        for at in range(number - self.first, len(self.frames)):
            old = self.frames[at]
            new = self.frames[at] = with_events(old, [event for event in old.events if keep(event)])
            self.size += _size(new) - _size(old)

    def release(self, wanted: Iterable[int | None]) -> list[Frame]:
        """Returns the frames before the first `wanted` one."""
        end = min((number for number in wanted if number is not None), default=self.next)
        out = []
        while self.first < end:
            out.append(self.frames.popleft())
            self.first += 1
            self.size -= _size(out[-1])
        return out


def with_events(frame: Frame, events: Sequence[Event]) -> Frame:
    """The frame with other events; itself if they are the same."""
    if len(events) == len(frame.events) and all(map(operator.is_, events, frame.events)):
        return frame
    return Frame(frame.sse, tuple(events), touched=True)


def _size(frame: Frame) -> int:
    """The size of a held frame: its text in bytes, plus one, because empty frames must count, too."""
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
    """The UTF-8 size of a text, which may contain half a surrogate pair."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
