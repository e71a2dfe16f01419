"""The policies that stop after some calls: `first` and `collect`. policy.py describes them.

Whether an event passes depends on earlier events of its choice, never on how they were cut. Only the window of `collect` reads
a clock.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field

from ...core.events import Event, Finish, Frame, MessageEnd, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from ...core.fastclass import mutable, replace
from ..settings import MendSettings
from .frame_queue import FrameQueue, bytes_of, with_events


@mutable
class _Choice:
    """The state of a choice."""

    calls: int = 0  # calls found in the text
    current: int | None = None  # the incomplete one of them
    begun: float = 0.0  # when the first of them came
    size: int = 0  # bytes of their arguments
    last: bool = False  # the current call is the last
    stopped: bool = False  # further events are suppressed
    cut: bool = False  # more than white space was
    finished: bool = False
    open: set[int | None] = field(default_factory=set)  # calls that were sent and are incomplete
    dropped: set[int] = field(default_factory=set)  # indices of suppressed calls
    since: int | None = None  # number of the first frame that is held for this choice


class First:
    """`ends_at`: the response is ended when this number of choices is finished; None: it cannot be ended early."""

    done = False
    silent = False
    _rule = "policy_first"
    _max_calls = 1

    def __init__(self, fired: Callable[[str], None], ends_at: int | None) -> None:
        self._fired = fired
        self._ends_at = ends_at
        self.lets_go = ends_at is not None
        self._choices: defaultdict[int, _Choice] = defaultdict(_Choice)

    def feed(self, frame: Frame) -> Sequence[Frame]:
        if self.done:  # the rest of the frame that ended the response
            return ()
        return [*self._pass(self._cut(frame)), *self._end()]

    def close(self) -> Sequence[Frame]:
        return ()

    def _pass(self, frame: Frame) -> Sequence[Frame]:
        return (frame,)

    def _cut(self, frame: Frame) -> Frame:
        """Returns the frame without suppressed events."""
        return with_events(frame, [event for event in map(self._event, frame.events) if event is not None])

    def _event(self, event: Event) -> Event | None:
        match event:
            case TextDelta() | ReasoningDelta():
                choice = self._choices[event.choice]
                if choice.stopped:
                    self._suppress(choice, cut=bool(event.text.strip()))
                    return None
            case ToolCallStart():
                choice = self._choices[event.choice]
                if event.in_text and (choice.last or choice.calls == self._max_calls):
                    choice.open.discard(choice.current)  # it was broken off
                    self._stop(choice)
                if choice.stopped:
                    choice.dropped.add(event.index)
                    self._suppress(choice)
                    return None
                choice.open.add(event.index)
                if event.in_text:
                    self._begin(choice, event.index)
            case ToolCallDelta() | ToolCallEnd():
                choice = self._choices[event.choice]
                if event.index in choice.dropped:
                    return None
                if isinstance(event, ToolCallEnd):
                    choice.open.discard(event.index)
                if event.index == choice.current:
                    self._continue(choice, event)
            case Finish():
                choice = self._choices[event.choice]
                choice.current = choice.since = None
                choice.finished = True
                if choice.cut:
                    return replace(event, finish_reason="tool_calls")  # the upstream's reason concerns what was suppressed
            case MessageEnd():
                for choice in self._choices.values():
                    choice.since = None
            case _:
                pass
        return event

    def _suppress(self, choice: _Choice, *, cut: bool = True) -> None:
        choice.cut |= cut
        self._fired(self._rule)

    def _begin(self, choice: _Choice, index: int) -> None:
        choice.calls += 1
        choice.current = index

    def _continue(self, choice: _Choice, event: ToolCallDelta | ToolCallEnd) -> None:
        if isinstance(event, ToolCallEnd):
            choice.current = None
            if choice.last or choice.calls == self._max_calls:
                self._stop(choice)

    def _stop(self, choice: _Choice) -> None:
        choice.stopped = True
        choice.since = None

    def _end(self) -> Sequence[Frame]:
        """Returns the end of the response, if all that follows would be suppressed, and the upstream does not end."""
        if self._ends_at is None or len(self._choices) < self._ends_at:
            return ()
        unfinished = {number: choice for number, choice in self._choices.items() if not choice.finished}
        if not unfinished or not all(choice.cut and not choice.open for choice in unfinished.values()):
            return ()
        self.done = True
        finishes = tuple(Finish("tool_calls", number) for number in unfinished)
        return Frame(None, finishes, touched=True), Frame(None, (MessageEnd(),), touched=True)


class Collect(First):
    """As First, for several calls, which are held as a batch."""

    _rule = "policy_collect"

    def __init__(
        self, fired: Callable[[str], None], ends_at: int | None, limits: MendSettings, now: Callable[[], float]
    ) -> None:
        super().__init__(fired, ends_at)
        self._max_calls = limits.max_calls
        self._max_bytes = limits.max_bytes
        self._window = limits.collect_ms / 1000
        self._now = now
        self._queue = FrameQueue()

    def feed(self, frame: Frame) -> Sequence[Frame]:
        for choice in self._choices.values():
            if choice.calls and not choice.stopped and self._now() - choice.begun >= self._window:
                self._close(choice)
        return super().feed(frame)

    def _pass(self, frame: Frame) -> Sequence[Frame]:
        self._queue.add(frame)
        out = self._release()
        if self._queue.size > self._max_bytes:  # text, or other choices: the batches are sent early
            self._fired("policy_limit")
            for choice in self._choices.values():
                choice.since = None
            out += self._release()
        return out

    def close(self) -> Sequence[Frame]:
        return self._queue.release(())

    def _release(self) -> list[Frame]:
        return self._queue.release(choice.since for choice in self._choices.values())

    def _begin(self, choice: _Choice, index: int) -> None:
        if not choice.calls:
            choice.begun = self._now()
            choice.since = self._queue.next
        super()._begin(choice, index)

    def _continue(self, choice: _Choice, event: ToolCallDelta | ToolCallEnd) -> None:
        super()._continue(choice, event)
        if isinstance(event, ToolCallDelta):
            choice.size += bytes_of(event.arguments)
            if choice.size > self._max_bytes and not choice.last:
                self._fired("policy_limit")
                self._close(choice)

    def _close(self, choice: _Choice) -> None:
        """Closes the batch: it is sent, up to the end of the open call."""
        if choice.current is None:
            self._stop(choice)
        choice.last = True
        choice.since = None
