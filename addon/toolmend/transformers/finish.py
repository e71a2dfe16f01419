"""The finish reason: `tool_calls` if and only if there was a call; once, and behind everything that is said.

Rule of this file: a frame that finishes a choice waits for the next one, which is on its heels (usage, `[DONE]`, the
end of the body), and then leaves as it came. Only if text or calls of the choice follow is its reason taken out, and
put behind them.

XX an upstream that drops the connection between the reason and the next event takes the reason with it: mitmproxy lets
nobody send behind a drop.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    ReasoningDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)

_SAYS = (TextDelta, ReasoningDelta, ToolCallStart, ToolCallDelta)
_ENDS = (MessageEnd, Usage, StreamError)
_MATTERS = (ToolCallStart, Finish, MessageEnd)


class FinishReason:
    """Of `stop` and `tool_calls` it tells the right one. Other words (length, content_filter) stay: they say more."""

    def __init__(self, fired: Callable[[str], None]) -> None:
        self._fired = fired
        self._called: set[int] = set()
        self._finished: set[int] = set()
        self._waiting: Frame | None = None
        self._late: dict[int, Finish] = {}  # reasons that were taken out of frames

    def feed(self, frame: Frame) -> Sequence[Frame]:
        if not (self._finished or self._late):
            for event in frame.events:
                if isinstance(event, _MATTERS):
                    break
            else:
                return (frame,)
        said = {event.choice for event in frame.events if isinstance(event, _SAYS)}
        out = self._release(said)
        self._finished -= said
        if self._late and not said and any(isinstance(event, _ENDS) for event in frame.events):
            out += self._own_frame(self._put_behind())
        frame = self._note(frame)
        if MessageEnd() in frame.events:
            out += self._end(frame)
        elif any(isinstance(event, Finish) for event in frame.events):
            self._waiting = frame
        else:
            out.append(frame)
        return out

    def close(self) -> Sequence[Frame]:
        return [*self._release(set()), *self._own_frame(self._put_behind())]

    def _note(self, frame: Frame) -> Frame:
        """Takes in what a frame says of calls and reasons; a reason that is said again is dropped."""
        events: list[Event] = []
        for event in frame.events:
            match event:
                case ToolCallStart():
                    self._called.add(event.choice)
                case Finish():
                    self._late.pop(event.choice, None)
                    if event.choice in self._finished:
                        self._fired("finish_repeated")
                        continue
                    self._finished.add(event.choice)
                case _:
                    pass
            events.append(event)
        return frame if len(events) == len(frame.events) else Frame(frame.sse, tuple(events), touched=True)

    def _release(self, said: set[int]) -> list[Frame]:
        """The frame that waits, without the reasons of choices that have more to say."""
        frame, self._waiting = self._waiting, None
        if frame is None:
            return []
        events: list[Event] = []
        for event in frame.events:
            if isinstance(event, Finish) and event.choice in said:
                self._fired("finish_order")
                self._late[event.choice] = event
            else:
                events.append(self._right(event) if isinstance(event, Finish) else event)
        same = len(events) == len(frame.events) and all(a is b for a, b in zip(events, frame.events, strict=True))
        return [frame if same else Frame(frame.sse, tuple(events), touched=True)]

    def _right(self, event: Finish) -> Finish:
        called = event.choice in self._called
        wrong = ("stop", "function_call") if called else ("tool_calls",)
        if event.finish_reason not in wrong:
            return event
        self._fired("finish_reason")
        return replace(event, finish_reason="tool_calls" if called else "stop")

    def _put_behind(self) -> list[Event]:
        """The reasons that were taken out."""
        late: list[Event] = [self._right(event) for _, event in sorted(self._late.items())]
        self._finished |= self._late.keys()
        self._late.clear()
        return late

    def _own_frame(self, events: list[Event]) -> list[Frame]:
        return [Frame(None, tuple(events), touched=True)] if events else []

    def _end(self, frame: Frame) -> list[Frame]:
        """The end of the message: in front of it goes what came with it, and the reason of a call that has none."""
        before = [event for event in frame.events if not isinstance(event, MessageEnd)] + self._put_behind()
        missing = sorted(self._called - self._finished)
        if missing:
            self._fired("finish_reason")
            self._finished.update(missing)
            before += (Finish("tool_calls", choice) for choice in missing)
        if not before:
            return [frame]
        return [*self._own_frame(before), Frame(frame.sse, (MessageEnd(),), touched=frame.sse is None)]
