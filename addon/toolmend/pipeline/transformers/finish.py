"""The finish reason: `tool_calls` if and only if there was a call; once, and behind everything that is said.

A message that ends well without any gets one: agents take it for broken off (opencode#43379).

Rule of this file: a reason that can be believed leaves at once, as it came: the next event may never come, and nobody can
send behind an upstream that drops the connection. One in doubt waits for the next event, which is on its heels (usage,
`[DONE]`, the end of the body): it came with text, as from upstreams that put a reason on each chunk; or nothing was said
yet; or it promises calls that are not there; or a call is not complete. If text or calls of the choice follow, it is put
behind them, and so is every one behind that: OpenWebUI has sent `stop` behind each chunk (jcode#1326).

XX where text follows a reason that was believed, the choice gets a second one behind it: clients go by the last.
"""

from collections.abc import Callable, Sequence

from ...apis.chat.tool_calls import BROKEN_OFF
from ...apis.shared.reasons import standard_reason
from ...core.events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    ReasoningDelta,
    RefusalDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from ...core.fastclass import replace
from .frame_queue import with_events

_SAYS = (TextDelta, ReasoningDelta, RefusalDelta, ToolCallStart, ToolCallDelta)
_ENDS = (MessageEnd, Usage, StreamError)


class FinishReason:
    """Of `stop`, in whatever word, and `tool_calls` it tells the right one. Others (length, content_filter) say more and stay."""

    def __init__(self, fired: Callable[[str], None], off: frozenset[str] = frozenset()) -> None:
        self._fired = fired
        self._off = off  # names of rules that do nothing
        self._spoke: set[int] = set()
        self._called: set[int] = set()
        self._open: set[tuple[int, int]] = set()  # calls that are not complete
        self._finished: dict[int, Finish] = {}
        self._waiting: Frame | None = None
        self._late: dict[int, Finish] = {}  # reasons that are to be said behind what came after them
        self._early: set[int] = set()  # choices that had one too early
        self._over = False  # the end of the message came: what is behind it is none of it
        self._failed = False  # the upstream told an error: why the answer ended is known

    def feed(self, frame: Frame) -> Sequence[Frame]:
        said: set[int] = set()
        plain = not (self._finished or self._late)
        for event in frame.events:
            if isinstance(event, _SAYS):
                said.add(event.choice)
                if isinstance(event, ToolCallStart):
                    self._called.add(event.choice)
                    self._open.add((event.choice, event.index))
            elif isinstance(event, ToolCallEnd):
                self._open.discard((event.choice, event.index))
            elif isinstance(event, Finish | MessageEnd):
                plain = False
            elif isinstance(event, StreamError):
                self._failed = True
        if plain:
            self._spoke |= said
            return (frame,)
        out = self._release(said)
        for choice in said & self._finished.keys() if "finish_order" not in self._off else ():
            self._is_early(choice)
            self._late[choice] = self._finished.pop(choice)
        ends = MessageEnd() in frame.events
        if self._late and not said and not ends and any(isinstance(event, _ENDS) for event in frame.events):
            out += self._own_frame(self._put_behind())
        frame, doubt = self._take_in(frame, said)
        self._spoke |= said
        if ends:
            out.append(self._end(frame))
        elif doubt:
            self._waiting = frame
        else:
            out.append(frame)
        return out

    def close(self) -> Sequence[Frame]:
        return [*self._release(set()), *self._own_frame(self._put_behind())]

    def _take_in(self, frame: Frame, said: set[int]) -> tuple[Frame, bool]:
        """Takes in the reasons of a frame, one that is said again is dropped; whether one of them is in doubt."""
        events: list[Event] = []
        doubt = False
        for event in frame.events:
            if isinstance(event, Finish):
                choice = event.choice
                self._late.pop(choice, None)
                if choice in self._finished and "finish_repeated" not in self._off:
                    self._fired("finish_repeated")
                    continue
                self._finished[choice] = event
                phantom = event.finish_reason == "tool_calls" and choice not in self._called
                cut = event.finish_reason not in BROKEN_OFF and any(at == choice for at, _ in self._open)
                if choice in self._early and choice not in said:
                    self._late[choice] = self._finished.pop(choice)
                    continue
                if phantom or cut or choice in said or choice not in self._spoke:
                    doubt = True
                else:
                    events.append(self._right(event))
                    continue
            events.append(event)
        return with_events(frame, events), doubt

    def _release(self, said: set[int]) -> list[Frame]:
        """The frame that waits, without the reasons of choices that have more to say."""
        frame, self._waiting = self._waiting, None
        if frame is None:
            return []
        events: list[Event] = []
        for event in frame.events:
            if isinstance(event, Finish) and event.choice in said and "finish_order" not in self._off:
                self._is_early(event.choice)
                self._late[event.choice] = event
                del self._finished[event.choice]
            else:
                events.append(self._right(event) if isinstance(event, Finish) else event)
        return [with_events(frame, events)]

    def _is_early(self, choice: int) -> None:
        self._fired("finish_order")
        if not self._over:
            self._early.add(choice)

    def _right(self, event: Finish) -> Finish:
        called = event.choice in self._called
        reason = event.finish_reason
        wrong = (reason == "function_call" or standard_reason(reason) == "stop") if called else reason == "tool_calls"
        if not wrong or "finish_reason" in self._off:
            return event
        self._fired("finish_reason")
        return replace(event, finish_reason="tool_calls" if called else "stop")

    def _put_behind(self) -> list[Event]:
        """The reasons that are late."""
        late = [self._right(event) for _, event in sorted(self._late.items())]
        self._finished |= self._late
        self._late.clear()
        return list(late)

    def _own_frame(self, events: list[Event]) -> list[Frame]:
        return [Frame(None, tuple(events), touched=True)] if events else []

    def _end(self, frame: Frame) -> Frame:
        """The end of the message: late reasons stand right in front of it, and those of choices that have none.

        A call that was broken off has none, and neither has anything behind an error: it would look complete.
        """
        self._over = True
        events = [self._right(event) if isinstance(event, Finish) else event for event in frame.events]
        behind = self._put_behind()
        broken = {choice for choice, _ in self._open}
        missing = () if self._failed else sorted(self._spoke - self._finished.keys() - broken)
        if missing and "finish_reason" not in self._off:
            self._fired("finish_reason")
            behind += (Finish("tool_calls" if choice in self._called else "stop", choice) for choice in missing)
        at = events.index(MessageEnd())
        return with_events(frame, [*events[:at], *behind, *events[at:]])
