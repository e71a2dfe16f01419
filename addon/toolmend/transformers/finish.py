"""The finish reason: `tool_calls` if and only if there was a call."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..events import Event, Finish, Frame, MessageEnd, ToolCallStart


_SAYS = (ToolCallStart, Finish, MessageEnd)


class FinishReason:
    """Of `stop` and `tool_calls` it tells the right one. Other words (length, content_filter) stay: they say more."""

    def __init__(self, fired: Callable[[str], None]) -> None:
        self._fired = fired
        self._called: set[int] = set()
        self._finished: set[int] = set()

    def feed(self, frame: Frame) -> Sequence[Frame]:
        if not any(isinstance(event, _SAYS) for event in frame.events):
            return (frame,)
        events: list[Event] = []
        touched = frame.touched
        missing: list[Event] = []
        for event in frame.events:
            match event:
                case ToolCallStart():
                    self._called.add(event.choice)
                case Finish():
                    self._finished.add(event.choice)
                    right = "tool_calls" if event.choice in self._called else "stop"
                    if event.finish_reason in ("stop", "tool_calls") and event.finish_reason != right:
                        event = replace(event, finish_reason=right)
                        touched = True
                        self._fired("finish_reason")
                case MessageEnd():
                    missing += (Finish("tool_calls", choice) for choice in sorted(self._called - self._finished))
                case _:
                    pass
            events.append(event)
        out = [Frame(frame.sse, tuple(events), touched) if touched else frame]
        if missing:
            self._fired("finish_reason")
            out.insert(0, Frame(None, tuple(missing), touched=True))
        return out

    def close(self) -> Sequence[Frame]:
        return []
