"""The same call sent twice is one call: in the reasoning and again in the content, or as markup and as a native call.

Rule of this file: the later one is dropped, so only the later one waits, and only if an earlier call of another kind
has its name: up to its end, when its arguments are known. Two equal calls of one kind are two calls. R16 of
dialect-rules.md.

Equal are arguments that are equal JSON; and a native call without any is the markup call that has some: parsers lose
them. XX In the other order, `{}` first and the markup behind it, both are sent: the first has gone by then.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import field
from io import StringIO

from ...core import json_text
from ...core.events import Event, Finish, Frame, MessageEnd, StreamError, ToolCallDelta, ToolCallEnd, ToolCallStart
from ...core.fastclass import mutable, replace
from ...core.text_state import ROOM

MAX_KEPT = 1024 * 1024
"""Characters of a choice's arguments that are kept to compare. Over it what waits goes out, and all is forgotten."""

MAX_CALLS = 64
"""Calls that a later one is compared with: the last ones."""

_MATTERS = (ToolCallStart, ToolCallEnd, Finish, MessageEnd, StreamError)


@mutable
class _Call:
    start: ToolCallStart
    index: int = -1  # the client's; none yet while the call waits
    text: StringIO = field(default_factory=StringIO)  # of the arguments
    waiting: list[ToolCallDelta | ToolCallEnd] | None = None
    twins: set[tuple[bool, bool]] = field(default_factory=set)  # the kinds of those that were dropped for it

    @property
    def kind(self) -> tuple[bool, bool]:
        return self.start.in_text, self.start.in_reasoning

    @property
    def arguments(self) -> str | None:
        """The arguments, spelt in one way; None if they are no JSON, or forgotten."""
        try:
            return json.dumps(json_text.loads(self.text.getvalue().encode()), sort_keys=True)
        except (json_text.NotJSON, UnicodeEncodeError, RecursionError):
            return None


@mutable
class _Choice:
    sent: list[_Call] = field(default_factory=list)
    calls: dict[int, _Call | None] = field(default_factory=dict)  # by the index they come with; None: dropped
    kept: int = 0

    def rivals(self, call: _Call) -> list[_Call]:
        """The calls sent that this one may say again."""
        return [
            other
            for other in self.sent[-MAX_CALLS:]
            if other.start.name == call.start.name and call.kind != other.kind and call.kind not in other.twins
        ]

    def original(self, call: _Call) -> _Call | None:
        """The call that this one says again."""
        arguments = call.arguments
        rivals = self.rivals(call)
        same = [other for other in rivals if arguments is not None and other.arguments == arguments]
        if not same and arguments == "{}" and not call.start.in_text:
            same = rivals  # they are all markup
        return same[0] if same else None


class Duplicates:
    """`fired` is told `duplicate_call`."""

    def __init__(self, fired: Callable[[str], None]) -> None:
        self._fired = fired
        self._choices: dict[int, _Choice] = {}

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
        """Whether a call waits, or too much is kept soon: else deltas pass."""
        return any(
            choice.kept + ROOM > MAX_KEPT or any(call and call.waiting is not None for call in choice.calls.values())
            for choice in self._choices.values()
        )

    def _passes(self, event: Event) -> bool:
        """Whether an event goes out as it is: nearly all do. Then it is noted."""
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
                choice = self._choice(event.choice)
                call = _Call(event)
                choice.calls[event.index] = call
                if choice.rivals(call):
                    call.waiting = []
                else:
                    self._send(choice, call, out)
            case ToolCallDelta() | ToolCallEnd():
                choice = self._choice(event.choice)
                going_on = choice.calls.get(event.index)
                if going_on is not None:
                    self._go_on(choice, going_on, event, out)
                elif event.index not in choice.calls:
                    out.append(event)
            case Finish():
                self._release(self._choice(event.choice), out)
                out.append(event)
            case MessageEnd() | StreamError():
                for choice in self._choices.values():
                    self._release(choice, out)
                out.append(event)
            case _:
                out.append(event)

    def _go_on(self, choice: _Choice, call: _Call, event: ToolCallDelta | ToolCallEnd, out: list[Event]) -> None:
        if isinstance(event, ToolCallDelta):
            call.text.write(event.arguments)
            choice.kept += len(event.arguments)
        elif call.waiting is not None:
            original = choice.original(call)
            if original:
                original.twins.add(call.kind)
                choice.calls[event.index] = None
                self._fired("duplicate_call")
                return
            self._send(choice, call, out)
        if call.waiting is None:
            out.append(event if event.index == call.index else replace(event, index=call.index))
        else:
            call.waiting.append(event)
        if choice.kept > MAX_KEPT:
            self._release(choice, out)
            for other in choice.sent:
                other.text = StringIO()
            choice.kept = 0

    def _send(self, choice: _Choice, call: _Call, out: list[Event]) -> None:
        call.index = len(choice.sent)
        choice.sent.append(call)
        out.append(call.start if call.start.index == call.index else replace(call.start, index=call.index))
        waiting, call.waiting = call.waiting, None
        out += (replace(event, index=call.index) for event in waiting or ())

    def _release(self, choice: _Choice, out: list[Event]) -> None:
        """The calls that wait go out: they were not completed, or are too long to wait."""
        for call in choice.calls.values():
            if call is not None and call.waiting is not None:
                self._send(choice, call, out)

    def _choice(self, number: int) -> _Choice:
        if number not in self._choices:
            self._choices[number] = _Choice()
        return self._choices[number]
