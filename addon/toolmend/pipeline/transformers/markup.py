"""Makes calls of markup that was left in the text.

1. A frame leaves when the last character of its text is decided, in the order it came. If all of it is text, the same frame
   leaves: so prose that almost looked like a call passes unchanged, however long it was held.
2. Text and reasoning of a choice are read as one text, so a call may begin in one and end in the other.
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
"""Frames held for an undecided text: each takes half a KiB, even without content."""

MAX_CALLS = 4096
"""Calls of one answer: each is tracked to its end, and takes some KiB. No client would run so many."""


class TooManyCallsError(Exception):
    """Raised so that the answer passes unchanged."""


@mutable
class _Piece:
    """A text event, and what was decided about it."""

    event: TextDelta | ReasoningDelta
    left: int
    out: list[Event] = field(default_factory=list)
    changed: bool = False
    more_arguments: list[str] = field(default_factory=list)  # arguments to append to the last event of `out`

    def keep(self, size: int) -> None:
        self.keep_as(type(self.event), size)

    def keep_as(self, kind: type[TextDelta | ReasoningDelta], size: int) -> None:
        at = len(self.event.text) - self.left
        self._join()
        self.out.append(kind(self.event.text[at : at + size], self.event.choice))
        self.changed |= not isinstance(self.event, kind)
        self.left -= size

    def put(self, event: Event) -> None:
        """Adds an event. Arguments are appended to arguments before them: their cuts do not matter."""
        self.changed = True
        last = self.out[-1] if self.out else None
        if isinstance(event, ToolCallDelta) and isinstance(last, ToolCallDelta) and last.index == event.index:
            self.more_arguments.append(event.arguments)
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
        if self.more_arguments:
            last = self.out[-1]
            assert isinstance(last, ToolCallDelta)
            self.out[-1] = replace(last, arguments="".join((last.arguments, *self.more_arguments)))
            self.more_arguments.clear()


@mutable
class _Held:
    """A frame whose text is not fully decided."""

    frame: Frame
    items: list[_Piece | Event] = field(default_factory=list)
    changed: bool = False

    @property
    def decided(self) -> bool:
        return not any(isinstance(item, _Piece) and item.left for item in self.items)

    def has_text(self, choice: int) -> bool:
        """Whether the frame has text of a choice."""
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

    parser: MarkupParser
    pieces: deque[_Piece] = field(default_factory=deque)
    last: _Piece | None = None  # the piece of the last decided character, while its frame is held
    ended: bool = False  # it has a finish reason
    cut: bool = False  # the reason means that it was cut off
    native: dict[int, int] = field(default_factory=dict)  # indices of native calls → the client's


class Markup:
    """Parses the text of each choice.

    `new_parser` makes the parser of a choice. `whole`: the answer comes as one frame with all of its text.
    """

    def __init__(self, new_parser: Callable[[int], MarkupParser]) -> None:
        self.whole = False
        self._new_parser = new_parser
        self._choices: dict[int, _Choice] = {}
        self._held: deque[_Held] = deque()
        self._with_last: set[_Choice] = set()  # those that have a last piece
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
                self._apply(choice, choice.parser.give_up())
        return self._release()

    def _passes(self, event: TextDelta | ReasoningDelta) -> bool:
        return self._choice(event.choice).parser.passes(event.text, isinstance(event, ReasoningDelta))

    def text_state(self, kind: type[Event], number: int) -> TextState | None:
        """The lexical state in which further events of this kind pass, become arguments, or are held; None if unknown."""
        choice = self._choice(number)
        if kind is ToolCallDelta:
            return None if self._held or choice.parser.tentative else ANYTHING
        return choice.parser.text_state(reasoning=kind is ReasoningDelta, held=self.holds)

    @property
    def holds(self) -> bool:
        """Whether frames are held, so that further ones will be."""
        return bool(self._held)

    def close(self) -> Sequence[Frame]:
        self._finish(cut=not self.whole)
        return self._release()

    @property
    def in_call(self) -> bool:
        """Whether text is held that looks like a call: more than the beginning of an opener."""
        return any(choice.parser.in_call for choice in self._choices.values())

    @property
    def beginning(self) -> str:
        """How the text of the first choice began, "content" or "reasoning"; "" if that does not show."""
        return self._choices[0].parser.began_as if 0 in self._choices else ""

    def _finish(self, *, cut: bool) -> None:
        """Ends the text of all choices. `cut`: those without a finish reason were cut off."""
        for choice in self._choices.values():
            self._apply(choice, choice.parser.close(cut=choice.cut if choice.ended else cut))

    def _event(self, event: Event, held: _Held) -> None:
        match event:
            case TextDelta() | ReasoningDelta():
                choice = self._choice(event.choice)
                piece = _Piece(event, len(event.text))
                choice.pieces.append(piece)
                held.items.append(piece)
                self._apply(choice, choice.parser.feed(event.text, isinstance(event, ReasoningDelta)))
            case Finish():
                choice = self._choice(event.choice)
                choice.cut = event.finish_reason in BROKEN_OFF
                # otherwise it may be one of several: some upstreams put one on each chunk
                if not (choice.ended or held.has_text(event.choice)):
                    self._apply(choice, choice.parser.close(cut=choice.cut))
                choice.ended = True
                held.items.append(event)
            case MessageEnd() | StreamError():
                self._finish(cut=isinstance(event, StreamError))
                held.items.append(event)
            case ToolCallStart() | ToolCallDelta() | ToolCallEnd():
                is_start = isinstance(event, ToolCallStart)
                if is_start:
                    self._count()
                choice = self._choice(event.choice)
                self._apply(choice, choice.parser.native(begins=is_start))
                index = self._native_index(event)
                native = event if index == event.index else replace(event, index=index)
                if isinstance(native, ToolCallStart):
                    native = self._native_id(native, choice.parser)
                held.items.append(native)
                held.changed |= native is not event
            case _:
                held.items.append(event)

    def _count(self) -> None:
        """Counts a call."""
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise TooManyCallsError

    def _native_index(self, event: ToolCallStart | ToolCallDelta | ToolCallEnd) -> int:
        """The index of a native call, after the calls found in the text."""
        choice = self._choice(event.choice)
        if event.index not in choice.native:
            choice.native[event.index] = choice.parser.take_index(event.index)
        return choice.native[event.index]

    def _native_id(self, event: ToolCallStart, parser: MarkupParser) -> ToolCallStart:
        """Gives a native call another id if a call in the text has its id, and reserves it."""
        if event.id and event.id in parser.ids:  # those of Gemini and Ollama have none
            event = replace(event, id=parser.new_id())
            parser.fired("tool_call_id")
        parser.ids.add(event.id)
        return event

    def _apply(self, choice: _Choice, ops: list[Op]) -> None:
        """Carries out the parser's decisions. Events go to the last decided character, or before the next one.

        If that frame has left, and there is no next character, they go to the current frame, or to a frame of their own.
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
                self._with_last.add(choice)
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
            for choice in tuple(self._with_last):
                if not choice.pieces or choice.last is not choice.pieces[0]:
                    choice.last = None
                    self._with_last.remove(choice)
        return released

    def _choice(self, index: int) -> _Choice:
        if index not in self._choices:
            self._choices[index] = _Choice(self._new_parser(index))
        return self._choices[index]
