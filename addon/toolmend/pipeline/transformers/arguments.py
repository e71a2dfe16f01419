"""Arguments are made to fit the schema of their tool, native ones and those of calls that were found in the text.

    ToolCallDelta '{"limit": "5', '"}'   →   ToolCallDelta '{"limit": ', '5}'

1. What changes is decided by argument_fit.py; here it is told which frame the text leaves with.
2. A frame whose text stays as it is leaves as it came. Where its last characters may still change, the frame waits for the next
   deltas of its call, and so do the frames after it. Where MAX_FRAMES wait, only the text that may change is held.
"""

from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import field

from ...core.argument_fit import ArgumentFit
from ...core.events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    MessageStart,
    StreamError,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from ...core.fastclass import mutable, replace
from ...core.schemas import Schema
from ...core.tools import Tools

MAX_FRAMES = 256
"""Frames that wait: most values that are held have fewer deltas."""



@mutable
class _Piece:
    """A delta, and what goes out of it."""

    event: ToolCallDelta
    out: str = ""
    waits: bool = False  # for the next one: its last characters may still change

    @property
    def tail(self) -> str:
        """What may still change."""
        return self.event.arguments[len(self.out) :]


@mutable
class _Call:
    fit: ArgumentFit
    waiting: list[_Piece] = field(default_factory=list)
    split: bool = False  # text is held without the frames that it came in

    def part(self) -> None:
        """The frames wait no longer, the text does."""
        self.split = bool(self.waiting)
        for piece in self.waiting:
            piece.waits = False
        self.waiting.clear()


@mutable
class _Held:
    frame: Frame
    items: list[Event | _Piece] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        return any(isinstance(item, _Piece) and item.waits for item in self.items)

    def result(self) -> Frame:
        events: list[Event] = []
        for item in self.items:
            if not isinstance(item, _Piece):
                events.append(item)
            elif item.out == item.event.arguments:
                events.append(item.event)
            elif item.out:
                events.append(replace(item.event, arguments=item.out))
        same = len(events) == len(self.frame.events) and all(a is b for a, b in zip(events, self.frame.events, strict=True))
        return self.frame if same else Frame(self.frame.sse, tuple(events), touched=True)


class FitArguments:
    """The calls of one answer. `off`: rules that stay away."""

    def __init__(self, tools: Tools, fired: Callable[[str], None], off: Container[str] = ()) -> None:
        self._tools = tools
        self._fired = fired
        self._types, self._commas = "argument_types" not in off, "argument_json" not in off
        self._schemas: dict[str, Schema | None] = {}
        self._calls: dict[tuple[int, int], _Call] = {}  # those that are open, by choice and index
        self._held: deque[_Held] = deque()

    def feed(self, frame: Frame) -> Sequence[Frame]:
        if not self._held and len(frame.events) == 1 and self._passes(frame.events[0]):
            return (frame,)
        held = _Held(frame)
        self._held.append(held)
        for event in frame.events:
            self._event(event, held)
        if len(self._held) > MAX_FRAMES:
            self._settle(held.items, full=True)
        return self._released()

    def close(self) -> Sequence[Frame]:
        held = _Held(Frame(None))
        self._end(held.items, None)
        return [*self._released(), *([held.result()] if held.items else [])]

    @property
    def busy(self) -> bool:
        """Whether more may become of a delta than that it passes."""
        return bool(self._held) or any(not call.fit.passing for call in self._calls.values())

    @property
    def waits(self) -> bool:
        """Whether frames wait for a value that may change: for more than a delta."""
        return any(call.waiting and not call.fit.pending for call in self._calls.values())

    def _passes(self, event: Event) -> bool:
        """Whether an event goes out as it is, and needs no look: nearly all."""
        match event:
            case ToolCallDelta():
                call = self._calls.get((event.choice, event.index))
                text = event.arguments
                return call is None or (call.fit.passing and '"' not in text and "\\" not in text)
            case ToolCallStart() | ToolCallEnd() | Finish() | MessageEnd() | StreamError():
                return False
            case _:
                return True

    def _event(self, event: Event, held: _Held) -> None:
        items = held.items
        match event:
            case ToolCallDelta():
                key = event.choice, event.index
                self._settle(items, key)
                if call := self._calls.get(key):
                    piece = _Piece(event)
                    items.append(piece)
                    self._release_text(call, call.fit.feed(event.arguments), piece)
                else:
                    items.append(event)
                return
            case ToolCallStart():
                self._settle(items)
                if event.kind == "function":
                    fit = ArgumentFit(event.name, self._schema(event.name), types=self._types, commas=self._commas)
                    self._calls[event.choice, event.index] = _Call(fit)
            case ToolCallEnd():
                self._end(items, (event.choice, event.index))
            case Finish():
                for key in [key for key in self._calls if key[0] == event.choice]:
                    self._end(items, key)
            case MessageEnd() | StreamError():
                self._end(items, None)
            case MessageStart() | Usage():
                pass
            case _:
                self._settle(items)
        items.append(event)

    def _schema(self, name: str) -> Schema | None:
        """What is known of a tool's parameters."""
        if name not in self._schemas:
            given = self._tools.schemas.get(name)
            self._schemas[name] = Schema(given) if given and self._types else None
        return self._schemas[name]

    def _release_text(self, call: _Call, out: str, piece: _Piece | None) -> str:
        """Text that goes out with a piece of a call, and with those that waited. What is left of it without a piece."""
        for rule in call.fit.rules:
            self._fired(rule)
        call.fit.rules.clear()
        released = bool(out) or not call.fit.holds
        call.split = call.split and not released
        if call.waiting and released:
            tails = "".join(waiting.tail for waiting in call.waiting)
            right = out.startswith(tails)
            for waiting in call.waiting:
                waiting.waits = False
                waiting.out = waiting.event.arguments if right else waiting.out
            call.waiting.clear()
            out = out[len(tails) :] if right else out
        if piece is None:
            return out
        piece.out = out
        if call.fit.holds and not call.split and piece.event.arguments.startswith(out):
            piece.waits = True
            call.waiting.append(piece)
        return ""

    def _settle(self, items: list[Event | _Piece], but: tuple[int, int] | None = None, *, full: bool = False) -> None:
        """Something else comes: what is most likely right of other calls goes out as it is. `full`: no frame waits any more."""
        for key, call in self._calls.items():
            if call.waiting and key != but:
                if full and not call.fit.pending:
                    call.part()
                elif call.fit.pending and (rest := self._release_text(call, call.fit.settle(), None)):
                    items.append(ToolCallDelta(key[1], rest, key[0]))

    def _end(self, items: list[Event | _Piece], which: tuple[int, int] | None) -> None:
        """A call is over, or all of them are."""
        for key in list(self._calls) if which is None else [which]:
            call = self._calls.pop(key, None)
            if call and (rest := self._release_text(call, call.fit.end(), None)):
                items.append(ToolCallDelta(key[1], rest, key[0]))

    def _released(self) -> list[Frame]:
        released = []
        while self._held and not self._held[0].waits:
            released.append(self._held.popleft().result())
        return released
