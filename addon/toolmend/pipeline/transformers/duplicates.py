"""Drops a call that is sent twice: in the reasoning and again in the content, or as markup and as a native call (R16).

1. The later call is dropped, so only it is held, and only if an earlier call of another kind has its name: until its end, when
   its arguments are known. Two equal calls of one kind are two calls.
2. Arguments are compared as JSON. A native call without arguments equals a call in markup that has some: parsers lose them.

XX In the other order, `{}` first and then the markup, both are sent, because the first was sent before.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field
from io import StringIO

from ...core import json_text
from ...core.events import Event, Finish, Frame, MessageEnd, StreamError, ToolCallDelta, ToolCallEnd, ToolCallStart
from ...core.fastclass import mutable, replace
from ...core.text_state import ROOM

MAX_KEPT = 1024 * 1024
"""Characters kept of a choice's arguments, for comparison. Beyond, held calls are sent, and all is forgotten."""

MAX_CALLS = 64
"""Calls that a later one is compared with, the last ones."""

_MATTERS = (ToolCallStart, ToolCallEnd, Finish, MessageEnd, StreamError)


@mutable
class _Call:
    start: ToolCallStart
    index: int = -1  # the client's; -1 while the call is held
    text: StringIO = field(default_factory=StringIO)  # the arguments
    held: list[ToolCallDelta | ToolCallEnd] | None = None
    dropped_kinds: set[tuple[bool, bool]] = field(default_factory=set)  # the kinds of calls that were dropped because of it

    @property
    def kind(self) -> tuple[bool, bool]:
        return self.start.in_text, self.start.in_reasoning

    @property
    def arguments(self) -> str | None:
        """The arguments in canonical form; None if they are not JSON, or forgotten."""
        try:
            return json.dumps(json_text.loads(self.text.getvalue().encode()), sort_keys=True)
        except (json_text.NotJSON, UnicodeEncodeError, RecursionError):
            return None


@mutable
class _Choice:
    sent: list[_Call] = field(default_factory=list)
    calls: dict[int, _Call | None] = field(default_factory=dict)  # by their own index; None: dropped
    kept: int = 0

    def rivals(self, call: _Call) -> list[_Call]:
        """The sent calls that this one may repeat."""
        return [
            other
            for other in self.sent[-MAX_CALLS:]
            if other.start.name == call.start.name and call.kind != other.kind and call.kind not in other.dropped_kinds
        ]

    def original(self, call: _Call) -> _Call | None:
        """The sent call that this one repeats."""
        arguments = call.arguments
        rivals = self.rivals(call)
        same = [other for other in rivals if arguments is not None and other.arguments == arguments]
        if not same and arguments == "{}" and not call.start.in_text:
            same = rivals  # all of them are markup
        return same[0] if same else None


class Duplicates:
    """Drops repeated calls. Reports the rule `duplicate_call`."""

    def __init__(self, fired: Callable[[str], None]) -> None:
        self._fired = fired
        self._choices: defaultdict[int, _Choice] = defaultdict(_Choice)

    def feed(self, frame: Frame) -> Sequence[Frame]:
        if len(frame.events) == 1 and self._passes(frame.events[0]):
            return (frame,)
        events: list[Event] = []
        for event in frame.events:
            self._event(event, events)
        if len(events) == len(frame.events) and all(a is b for a, b in zip(events, frame.events, strict=True)):
            return (frame,)
        return (Frame(frame.sse, tuple(events), touched=True),)

    def close(self) -> Sequence[Frame]:
        events: list[Event] = []
        for choice in self._choices.values():
            self._release(choice, events)
        return [Frame(None, tuple(events), touched=True)] if events else []

    @property
    def busy(self) -> bool:
        """Whether a call is held, or the bound is near; else deltas pass."""
        return any(
            choice.kept + ROOM > MAX_KEPT or any(call and call.held is not None for call in choice.calls.values())
            for choice in self._choices.values()
        )

    def _passes(self, event: Event) -> bool:
        """Records an event that passes unchanged: nearly all do. Returns whether it does."""
        if not isinstance(event, ToolCallDelta):
            return not isinstance(event, _MATTERS)
        choice = self._choices.get(event.choice)
        call = choice.calls.get(event.index) if choice else None
        if choice is None or call is None or call.index != event.index or choice.kept > MAX_KEPT:
            return False
        call.text.write(event.arguments)
        choice.kept += len(event.arguments)
        return True

    def _event(self, event: Event, out: list[Event]) -> None:
        match event:
            case ToolCallStart():
                choice = self._choices[event.choice]
                call = _Call(event)
                choice.calls[event.index] = call
                if choice.rivals(call):
                    call.held = []
                else:
                    self._send(choice, call, out)
            case ToolCallDelta() | ToolCallEnd():
                choice = self._choices[event.choice]
                continued = choice.calls.get(event.index)
                if continued is not None:
                    self._continue(choice, continued, event, out)
                elif event.index not in choice.calls:
                    out.append(event)
            case Finish():
                self._release(self._choices[event.choice], out)
                out.append(event)
            case MessageEnd() | StreamError():
                for choice in self._choices.values():
                    self._release(choice, out)
                out.append(event)
            case _:
                out.append(event)

    def _continue(self, choice: _Choice, call: _Call, event: ToolCallDelta | ToolCallEnd, out: list[Event]) -> None:
        if isinstance(event, ToolCallDelta):
            call.text.write(event.arguments)
            choice.kept += len(event.arguments)
        elif call.held is not None:
            original = choice.original(call)
            if original:
                original.dropped_kinds.add(call.kind)
                choice.calls[event.index] = None
                self._fired("duplicate_call")
                return
            self._send(choice, call, out)
        if call.held is None:
            out.append(event if event.index == call.index else replace(event, index=call.index))
        else:
            call.held.append(event)
        if choice.kept > MAX_KEPT:
            self._release(choice, out)
            for other in choice.sent:
                other.text = StringIO()
            choice.kept = 0

    def _send(self, choice: _Choice, call: _Call, out: list[Event]) -> None:
        call.index = len(choice.sent)
        choice.sent.append(call)
        out.append(call.start if call.start.index == call.index else replace(call.start, index=call.index))
        held, call.held = call.held, None
        out += (replace(event, index=call.index) for event in held or ())

    def _release(self, choice: _Choice, out: list[Event]) -> None:
        """Sends the held calls: they are incomplete, or too long."""
        for call in choice.calls.values():
            if call is not None and call.held is not None:
                self._send(choice, call, out)
