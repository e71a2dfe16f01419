"""The policy that suppresses text, `drain`: only in choices with a call. policy.py describes it."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from ...core.events import Event, Finish, Frame, MessageEnd, TextDelta, ToolCallStart
from ...core.fastclass import mutable
from .frame_queue import FrameQueue


@mutable
class _Drained:
    """The state of a choice."""

    called: bool = False  # a call was found in the text
    loose: bool = False  # nothing is held any more
    since: int | None = None  # number of the first frame that is held for it


class Drain:
    """Holds at most `max_bytes` of a response."""

    lets_go = False
    done = False

    def __init__(self, fired: Callable[[str], None], max_bytes: int) -> None:
        self._fired = fired
        self._max_bytes = max_bytes
        self._queue = FrameQueue()
        self._choices: defaultdict[int, _Drained] = defaultdict(_Drained)

    @property
    def silent(self) -> bool:
        return bool(self._queue.frames)

    def feed(self, frame: Frame) -> Sequence[Frame]:
        for event in frame.events:
            self._event(event)
        number = self._queue.next
        self._queue.add(frame)
        self._queue.edit(number, self._keeps)
        out = self._release()
        if self._queue.size > self._max_bytes:
            self._fired("policy_limit")
            for choice in self._choices.values():
                choice.loose = choice.loose or choice.since is not None
                choice.since = None
            out += self._release()
        return out

    def close(self) -> Sequence[Frame]:
        return self._queue.release(())

    def _release(self) -> list[Frame]:
        return self._queue.release(choice.since for choice in self._choices.values())

    def _event(self, event: Event) -> None:
        match event:
            case TextDelta():
                choice = self._choices[event.choice]
                if not choice.called:
                    self._hold(choice)
            case ToolCallStart(in_text=True):
                choice = self._choices[event.choice]
                self._hold(choice)
                if not choice.called and choice.since is not None:
                    choice.called = True
                    self._queue.edit(choice.since, self._keeps)
            case Finish():
                self._choices[event.choice].since = None
            case MessageEnd():
                for choice in self._choices.values():
                    choice.since = None
            case _:
                pass

    def _hold(self, choice: _Drained) -> None:
        if not choice.loose and choice.since is None:
            choice.since = self._queue.next

    def _keeps(self, event: Event) -> bool:
        if not isinstance(event, TextDelta) or not self._choices[event.choice].called:
            return True
        self._fired("policy_drain")
        return False
