"""Markup that was left in the text becomes calls.

Rule of this file: a frame leaves when the last character of its text is decided, in the order it came. If all of it was text,
the very frame leaves that came in; so prose that almost looked like a call is byte-identical, however long it was held. Text
and reasoning of a choice are read as one text, so a call may begin in the one and end in the other.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field

from ...apis.chat.tool_calls import BROKEN_OFF
from ...core.events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    ReasoningDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ...core.fastclass import mutable, replace
from ...core.text_state import ANYTHING, TextState
from ...dialects.engine.emitter import ContentSpan, Op, ReasoningSpan
from ...dialects.engine.markup_parser import MarkupParser

MAX_FRAMES = 64 * 1024
"""Frames that are held for what is not certain yet: each takes half a KiB, whatever it says."""

MAX_CALLS = 4096
"""Calls of one answer: each is known to its end, and takes some KiB. No client would run so many."""


class TooManyCallsError(Exception):
    """Nobody asked for them: the answer passes as it comes."""


@mutable
class _Piece:
    """A text event and what has been decided of it."""

    event: TextDelta | ReasoningDelta
    left: int
    out: list[Event] = field(default_factory=list)
    changed: bool = False
    more: list[str] = field(default_factory=list)  # arguments that go on those which `out` ends with

    def keep(self, size: int) -> None:
        self.keep_as(type(self.event), size)

    def keep_as(self, kind: type[TextDelta | ReasoningDelta], size: int) -> None:
        at = len(self.event.text) - self.left
        self._join()
        self.out.append(kind(self.event.text[at : at + size], self.event.choice))
        self.changed |= not isinstance(self.event, kind)
        self.left -= size

    def put(self, event: Event) -> None:
        """An event that stands here; arguments go on those in front of them, so it does not matter where they were cut."""
        self.changed = True
        last = self.out[-1] if self.out else None
        if isinstance(event, ToolCallDelta) and isinstance(last, ToolCallDelta) and last.index == event.index:
            self.more.append(event.arguments)
        else:
            self._join()
            self.out.append(event)

    def drop(self, size: int) -> None:
        self.changed = True
        self.left -= size

    def events(self) -> list[Event]:
        self._join()
        return self.out if self.changed else [self.event]

    def _join(self) -> None:
        if self.more:
            last = self.out[-1]
            assert isinstance(last, ToolCallDelta)
            self.out[-1] = replace(last, arguments="".join((last.arguments, *self.more)))
            self.more.clear()


@mutable
class _Held:
    """A frame whose text is not all decided."""

    frame: Frame
    items: list[_Piece | Event] = field(default_factory=list)
    changed: bool = False

    @property
    def decided(self) -> bool:
        return not any(isinstance(item, _Piece) and item.left for item in self.items)

    def says(self, choice: int) -> bool:
        """Whether there is text of a choice in it."""
        return any(isinstance(item, _Piece) and item.event.choice == choice for item in self.items)

    def result(self) -> Frame:
        if not self.changed and not any(isinstance(item, _Piece) and item.changed for item in self.items):
            return self.frame
        events: list[Event] = []
        for item in self.items:
            events += item.events() if isinstance(item, _Piece) else [item]
        return Frame(self.frame.sse, tuple(events), touched=True)


@mutable
class _Choice:
    """The text of one choice."""

    reader: MarkupParser
    pieces: deque[_Piece] = field(default_factory=deque)
    last: _Piece | None = None  # the piece of the last decided character, while its frame is here
    ended: bool = False  # there was a reason for it
    cut: bool = False  # and it was that more would have come
    native: dict[int, int] = field(default_factory=dict)  # indices of the upstream's own calls → the client's


class Markup:
    """`new_reader` makes the reader of a choice. `whole`: the answer comes as one frame, which has all of its text."""

    def __init__(self, new_reader: Callable[[int], MarkupParser]) -> None:
        self.whole = False
        self._new_reader = new_reader
        self._choices: dict[int, _Choice] = {}
        self._held: deque[_Held] = deque()
        self._lasting: set[_Choice] = set()  # those that have a last piece
        self._calls = 0

    def feed(self, frame: Frame) -> Sequence[Frame]:
        if len(frame.events) == 1 and not self._held:
            event = frame.events[0]
            if isinstance(event, TextDelta | ReasoningDelta) and self._passes(event):
                return (frame,)
        held = _Held(frame)
        self._held.append(held)
        for event in frame.events:
            self._event(event, held)
        if len(self._held) > MAX_FRAMES:
            for choice in self._choices.values():
                self._apply(choice, choice.reader.give_up())
        return self._release()

    def _passes(self, event: TextDelta | ReasoningDelta) -> bool:
        return self._choice(event.choice).reader.passes(event.text, isinstance(event, ReasoningDelta))

    def text_state(self, kind: type[Event], number: int) -> TextState | None:
        """How a choice goes on with events of this kind: they pass, or text becomes arguments; or they wait like those before."""
        choice = self._choice(number)
        if kind is ToolCallDelta:
            return None if self._held or choice.reader.tentative else ANYTHING
        return choice.reader.text_state(reasoning=kind is ReasoningDelta, held=self.holds)

    @property
    def holds(self) -> bool:
        """Whether frames are held: then those that come are."""
        return bool(self._held)

    def close(self) -> Sequence[Frame]:
        self._finish(cut=not self.whole)
        return self._release()

    @property
    def in_call(self) -> bool:
        """Whether text is held because it looks like a call: more than the beginning of an opener."""
        return any(choice.reader.in_call for choice in self._choices.values())

    @property
    def shown(self) -> str:
        """How the text of the first choice began, "content" or "reasoning"; empty where it does not show."""
        return self._choices[0].reader.began_as if 0 in self._choices else ""

    def _finish(self, *, cut: bool) -> None:
        """The text of all choices is over. `cut`: those that had no reason for it were cut off."""
        for choice in self._choices.values():
            self._apply(choice, choice.reader.close(cut=choice.cut if choice.ended else cut))

    def _event(self, event: Event, held: _Held) -> None:
        match event:
            case TextDelta() | ReasoningDelta():
                choice = self._choice(event.choice)
                piece = _Piece(event, len(event.text))
                choice.pieces.append(piece)
                held.items.append(piece)
                self._apply(choice, choice.reader.feed(event.text, isinstance(event, ReasoningDelta)))
            case Finish():
                choice = self._choice(event.choice)
                choice.cut = event.finish_reason in BROKEN_OFF
                if not (choice.ended or held.says(event.choice)):  # else it may be one of many: some put a reason on each chunk
                    self._apply(choice, choice.reader.close(cut=choice.cut))
                choice.ended = True
                held.items.append(event)
            case MessageEnd() | StreamError():
                self._finish(cut=isinstance(event, StreamError))
                held.items.append(event)
            case ToolCallStart() | ToolCallDelta() | ToolCallEnd():
                begins = isinstance(event, ToolCallStart)
                if begins:
                    self._count()
                choice = self._choice(event.choice)
                self._apply(choice, choice.reader.native(begins=begins))
                index = self._native_index(event)
                native = event if index == event.index else replace(event, index=index)
                if isinstance(native, ToolCallStart):
                    native = self._native_id(native, choice.reader)
                held.items.append(native)
                held.changed |= native is not event
            case _:
                held.items.append(event)

    def _count(self) -> None:
        """A call begins."""
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise TooManyCallsError

    def _native_index(self, event: ToolCallStart | ToolCallDelta | ToolCallEnd) -> int:
        """The index of one of the upstream's own calls, moved behind the calls found in the text."""
        choice = self._choice(event.choice)
        if event.index not in choice.native:
            choice.native[event.index] = choice.reader.take_index(event.index)
        return choice.native[event.index]

    def _native_id(self, event: ToolCallStart, reader: MarkupParser) -> ToolCallStart:
        """One of the upstream's own calls; another id if a call in the text has that one, and none in the text will have it."""
        if event.id and event.id in reader.ids:  # Gemini's and Ollama's have none
            event = replace(event, id=reader.new_id())
            reader.fired("tool_call_id")
        reader.ids.add(event.id)
        return event

    def _apply(self, choice: _Choice, ops: list[Op]) -> None:
        """Carries out what the reader decided. Events go where the last decided character stood, or in front of the next.

        Where the frame of that has left, and there is no next, they go to the frame that is read, or to one of their own.
        """
        for op in ops:
            if not isinstance(op, int | ReasoningSpan | ContentSpan):
                if isinstance(op, ToolCallStart):
                    self._count()
                if choice.last or choice.pieces:
                    (choice.last or choice.pieces[0]).put(op)
                else:
                    self._put_alone(op)
                continue
            left = abs(op) if isinstance(op, int) else op.size
            while left:
                piece = choice.pieces[0]
                size = min(left, piece.left)
                if not isinstance(op, int):
                    piece.keep_as(ReasoningDelta if isinstance(op, ReasoningSpan) else TextDelta, size)
                elif op > 0:
                    piece.keep(size)
                else:
                    piece.drop(size)
                left -= size
                choice.last = piece
                self._lasting.add(choice)
                if not piece.left:
                    choice.pieces.popleft()

    def _put_alone(self, event: Event) -> None:
        if not self._held:
            self._held.append(_Held(Frame(None)))
        self._held[-1].items.append(event)
        self._held[-1].changed = True

    def _release(self) -> list[Frame]:
        released = []
        while self._held and self._held[0].decided:
            released.append(self._held.popleft().result())
        if released:
            for choice in tuple(self._lasting):
                if not choice.pieces or choice.last is not choice.pieces[0]:
                    choice.last = None
                    self._lasting.remove(choice)
        return released

    def _choice(self, index: int) -> _Choice:
        if index not in self._choices:
            self._choices[index] = _Choice(self._new_reader(index))
        return self._choices[index]
