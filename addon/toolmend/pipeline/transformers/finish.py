"""Corrects the finish reason: `tool_calls` if and only if there was a call; once, and after all content.

A message that ends without a reason gets one: agents take it for broken off (opencode#43379).

1. A credible reason is sent at once: the next event may never come, and after an upstream drops the connection nothing can be
   sent.
2. A doubtful one waits for the next event, which follows at once (usage, `[DONE]`, the end of the body). Doubtful is a reason
   in a chunk with text, from upstreams that put one on each chunk; before any content; that promises missing calls; or with an
   incomplete call.
3. If text or calls of the choice follow, the reason is moved after them, and so is every later one: OpenWebUI has sent `stop`
   after each chunk (jcode#1326).

XX If text follows a reason that was sent, the choice gets a second one after it: clients use the last.
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

_CONTENT = (TextDelta, ReasoningDelta, RefusalDelta, ToolCallStart, ToolCallDelta)
_ENDS = (MessageEnd, Usage, StreamError)


class FinishReason:
    """Corrects `stop`, in any word, and `tool_calls`. Other reasons (length, content_filter) say more, and stay."""

    def __init__(self, fired: Callable[[str], None], off: frozenset[str] = frozenset()) -> None:
        self._fired = fired
        self._off = off  # names of rules that are off
        self._has_content: set[int] = set()
        self._called: set[int] = set()
        self._open: set[tuple[int, int]] = set()  # incomplete calls
        self._finished: dict[int, Finish] = {}
        self._held: Frame | None = None
        self._late: dict[int, Finish] = {}  # reasons to be sent after later content
        self._early: set[int] = set()  # choices with a reason before some content
        self._over = False  # the message has ended; what follows is not part of it
        self._failed = False  # the upstream sent an error, which explains the end

    def feed(self, frame: Frame) -> Sequence[Frame]:
        content: set[int] = set()
        plain = not (self._finished or self._late)
        for event in frame.events:
            if isinstance(event, _CONTENT):
                content.add(event.choice)
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
            self._has_content |= content
            return (frame,)
        out = self._release(content)
        for choice in content & self._finished.keys() if "finish_order" not in self._off else ():
            self._record_early(choice)
            self._late[choice] = self._finished.pop(choice)
        ends = MessageEnd() in frame.events
        if self._late and not content and not ends and any(isinstance(event, _ENDS) for event in frame.events):
            out += self._own_frame(self._take_late())
        frame, doubt = self._read_reasons(frame, content)
        self._has_content |= content
        if ends:
            out.append(self._end(frame))
        elif doubt:
            self._held = frame
        else:
            out.append(frame)
        return out

    def close(self) -> Sequence[Frame]:
        return [*self._release(set()), *self._own_frame(self._take_late())]

    def _read_reasons(self, frame: Frame, content: set[int]) -> tuple[Frame, bool]:
        """Records the reasons of a frame, and drops repeated ones. Returns whether one is doubtful."""
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
                if choice in self._early and choice not in content:
                    self._late[choice] = self._finished.pop(choice)
                    continue
                if phantom or cut or choice in content or choice not in self._has_content:
                    doubt = True
                else:
                    events.append(self._corrected(event))
                    continue
            events.append(event)
        return with_events(frame, events), doubt

    def _release(self, content: set[int]) -> list[Frame]:
        """Releases the held frame, without the reasons of choices that continue."""
        frame, self._held = self._held, None
        if frame is None:
            return []
        events: list[Event] = []
        for event in frame.events:
            if isinstance(event, Finish) and event.choice in content and "finish_order" not in self._off:
                self._record_early(event.choice)
                self._late[event.choice] = event
                del self._finished[event.choice]
            else:
                events.append(self._corrected(event) if isinstance(event, Finish) else event)
        return [with_events(frame, events)]

    def _record_early(self, choice: int) -> None:
        self._fired("finish_order")
        if not self._over:
            self._early.add(choice)

    def _corrected(self, event: Finish) -> Finish:
        called = event.choice in self._called
        reason = event.finish_reason
        wrong = (reason == "function_call" or standard_reason(reason) == "stop") if called else reason == "tool_calls"
        if not wrong or "finish_reason" in self._off:
            return event
        self._fired("finish_reason")
        return replace(event, finish_reason="tool_calls" if called else "stop")

    def _take_late(self) -> list[Event]:
        """Removes and returns the late reasons."""
        late = [self._corrected(event) for _, event in sorted(self._late.items())]
        self._finished |= self._late
        self._late.clear()
        return list(late)

    def _own_frame(self, events: list[Event]) -> list[Frame]:
        return [Frame(None, tuple(events), touched=True)] if events else []

    def _end(self, frame: Frame) -> Frame:
        """Ends the message: inserts late reasons before it, and reasons for choices without one.

        A broken call gets no reason, and after an error there is none: it would look complete.
        """
        self._over = True
        events = [self._corrected(event) if isinstance(event, Finish) else event for event in frame.events]
        added = self._take_late()
        broken = {choice for choice, _ in self._open}
        missing = () if self._failed else sorted(self._has_content - self._finished.keys() - broken)
        if missing and "finish_reason" not in self._off:
            self._fired("finish_reason")
            added += (Finish("tool_calls" if choice in self._called else "stop", choice) for choice in missing)
        at = events.index(MessageEnd())
        return with_events(frame, [*events[:at], *added, *events[at:]])
