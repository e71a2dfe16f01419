"""Fits arguments to the schema of their tool, for native calls and for calls found in the text.

    ToolCallDelta '{"limit": "5', '"}'   →   ToolCallDelta '{"limit": ', '5}'

1. argument_fit.py decides what changes; this file decides in which frame the text is sent.
2. A frame whose text stays passes unchanged. If its last characters may still change, it waits for the next deltas of its call,
   and so do the frames after it. If MAX_FRAMES wait, only the text that may change is held.
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
"""Frames that may be held: most values have fewer deltas."""


@mutable
class _Piece:
    """A delta, and its text for the client."""

    event: ToolCallDelta
    out: str = ""
    is_held: bool = False  # until the next delta: its last characters may still change

    @property
    def tail(self) -> str:
        """The characters that may still change."""
        return self.event.arguments[len(self.out) :]


@mutable
class _Call:
    fit: ArgumentFit
    held: list[_Piece] = field(default_factory=list)
    split: bool = False  # text is held without its frames

    def part(self) -> None:
        """Releases the frames, but holds the text."""
        self.split = bool(self.held)
        for piece in self.held:
            piece.is_held = False
        self.held.clear()


@mutable
class _Held:
    frame: Frame
    items: list[Event | _Piece] = field(default_factory=list)

    @property
    def is_held(self) -> bool:
        return any(isinstance(item, _Piece) and item.is_held for item in self.items)

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
    """Fits the calls of one answer. `off`: rules that are off."""

    def __init__(self, tools: Tools, fired: Callable[[str], None], off: Container[str] = ()) -> None:
        self._tools = tools
        self._fired = fired
        self._types, self._commas = "argument_types" not in off, "argument_json" not in off
        self._schemas: dict[str, Schema | None] = {}
        self._calls: dict[tuple[int, int], _Call] = {}  # open calls by choice and index
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
        """Whether a delta may not simply pass."""
        return bool(self._held) or any(not call.fit.passing for call in self._calls.values())

    @property
    def holds_frames(self) -> bool:
        """Whether frames are held for a value that may change, for more than one delta."""
        return any(call.held and not call.fit.pending for call in self._calls.values())

    def _passes(self, event: Event) -> bool:
        """Whether an event passes unchanged, and without a closer look: nearly all do."""
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
        """The schema of a tool's parameters, if known."""
        if name not in self._schemas:
            definition = self._tools.schemas.get(name)
            self._schemas[name] = Schema(definition) if definition and self._types else None
        return self._schemas[name]

    def _release_text(self, call: _Call, out: str, piece: _Piece | None) -> str:
        """Puts text into a piece of a call, and into the held ones. Returns the text that is left without a piece."""
        for rule in call.fit.rules:
            self._fired(rule)
        call.fit.rules.clear()
        released = bool(out) or not call.fit.holds
        call.split = call.split and not released
        if call.held and released:
            tails = "".join(held.tail for held in call.held)
            unchanged = out.startswith(tails)
            for held in call.held:
                held.is_held = False
                held.out = held.event.arguments if unchanged else held.out
            call.held.clear()
            out = out[len(tails) :] if unchanged else out
        if piece is None:
            return out
        piece.out = out
        if call.fit.holds and not call.split and piece.event.arguments.startswith(out):
            piece.is_held = True
            call.held.append(piece)
        return ""

    def _settle(self, items: list[Event | _Piece], except_for: tuple[int, int] | None = None, *, full: bool = False) -> None:
        """Sends the most likely text of other calls, because something else follows. `full`: release all frames."""
        for key, call in self._calls.items():
            if call.held and key != except_for:
                if full and not call.fit.pending:
                    call.part()
                elif call.fit.pending and (rest := self._release_text(call, call.fit.settle(), None)):
                    items.append(ToolCallDelta(key[1], rest, key[0]))

    def _end(self, items: list[Event | _Piece], which: tuple[int, int] | None) -> None:
        """Ends a call; all calls if `which` is None."""
        for key in list(self._calls) if which is None else [which]:
            call = self._calls.pop(key, None)
            if call and (rest := self._release_text(call, call.fit.end(), None)):
                items.append(ToolCallDelta(key[1], rest, key[0]))

    def _released(self) -> list[Frame]:
        released = []
        while self._held and not self._held[0].is_held:
            released.append(self._held.popleft().result())
        return released
