"""What a reader has decided of the text, told as ops: the half of the engine that dialects speak to.

    an op is  n > 0: the next n characters are text
              n < 0: the next -n characters were markup, and are swallowed
              Thought(n), Spoken(n): the next n characters are text, and reasoning or content whatever the upstream calls it
              an event: a call begins, goes on, ends

Rule of this file: every character is told of exactly once and in order. Two things are told late: calls in the reasoning of an
ambiguous dialect, which were thoughts if the answer goes on behind them (R14 of dialects.md), and text that may have begun
inside reasoning, where a template opens the tag in the prompt.
"""

import re
from collections.abc import Callable
from dataclasses import field
from typing import Literal

from .dialects.dialect import Dialect
from .events import Event, ToolCallDelta, ToolCallEnd, ToolCallStart
from .place import Place
from .scanner import Scanner
from .tools import Tools
from .value import mutable, value

_VALID_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")


@value
class Thought:
    """So many characters are text, and reasoning."""

    size: int


@value
class Spoken:
    """So many characters are text, and content."""

    size: int


type Op = int | Thought | Spoken | Event


@mutable
class Late:
    """Ops that are told late, and how many characters they speak for."""

    ops: list[Op] = field(default_factory=list)
    size: int = 0

    def tell(self, op: Op) -> None:
        self.ops.append(op)
        self.size += abs(op) if isinstance(op, int) else op.size if isinstance(op, Thought | Spoken) else 0


@mutable
class Doubtful:
    """What was told since an ambiguous call began in the reasoning, and how things stood before it (R14)."""

    calls: int
    next_index: int
    ids: set[str]
    late: Late = field(default_factory=Late)
    rules: list[str] = field(default_factory=list)


class Telling:
    """What is told of the text of one choice."""

    def __init__(
        self, tools: Tools, choice: int, new_id: Callable[[], str], fired: Callable[[str], None], *, unopened: bool
    ) -> None:
        self.scanner = Scanner()
        self.tools = tools
        self.new_id = new_id
        self.fired = fired
        self.ids: set[str] = set()
        self.calls = 0
        self.thinking = False  # what is read is reasoning, whatever the upstream calls it
        self.speaking = False  # likewise, content
        self.channels: Dialect | None = None  # whose channels the text has been divided into so far
        self.ops: list[Op] = []
        self.doubtful: Doubtful | None = None
        self.head = Late() if unopened else None  # told before it is known whether the text began as reasoning
        self.open: tuple[Dialect | None, tuple[str, ...]] = (None, ())  # whose wrapper is open, and what ends it
        self.committed = False
        self.reasoning = False  # what the upstream calls the last piece
        self.border = 0  # where in the text that begins
        self.places = (Place(), Place())  # of content, of reasoning
        self._choice = choice
        self._index = self._next_index = 0

    def take_index(self, wanted: int) -> int:
        """An index for a call of this choice: the one wanted, or the next that is free."""
        index = max(wanted, self._next_index)
        self._next_index = index + 1
        return index

    def were_thoughts(self) -> None:
        """What looked like calls in the reasoning goes back into it, with all that came since."""
        doubtful, self.doubtful = self.doubtful, None
        assert doubtful
        self._tell(Thought(doubtful.late.size) if self.thinking else doubtful.late.size)
        self.calls, self._next_index, self.ids = doubtful.calls, doubtful.next_index, doubtful.ids

    def was_content(self) -> None:
        """The text did not begin as reasoning, or it is too late to tell."""
        if self.head:
            self.were_calls()
        head, self.head = self.head, None
        self.ops += head.ops if head else ()

    def were_calls(self) -> None:
        """What looked like calls in the reasoning were calls: the text is over."""
        doubtful, self.doubtful = self.doubtful, None
        if doubtful:
            for rule in doubtful.rules:
                self.fired(rule)
            for op in doubtful.late.ops:
                self._tell(op)

    def _tell(self, op: Op) -> None:
        late = self.doubtful.late if self.doubtful else self.head
        if late:
            late.tell(op)
        else:
            self.ops.append(op)

    # what a dialect may ask

    @property
    def in_reasoning(self) -> bool:
        """Whether what is read now is reasoning."""
        return self.thinking or (not self.speaking and self.reasoning is (self.scanner.pos >= self.border))

    @property
    def may_be_inside(self) -> bool:
        """Whether the text may have begun inside reasoning."""
        return self.head is not None

    @property
    def place(self) -> Place:
        """What the text in front of it says about what is read now."""
        return self.places[self.in_reasoning]

    def accepts(self, dialect: Dialect, name: str) -> bool:
        """Whether a call of this dialect may have this name (R2)."""
        if dialect.offered_only:
            return name in self.tools and bool(name)
        return _VALID_NAME.fullmatch(name) is not None or name in self.tools.schemas

    # what a dialect tells

    def give(self, end: int) -> None:
        """The text up to `end` (a place in scanner.text) is text."""
        scanner = self.scanner
        if end > scanner.start:
            self.place.text(scanner.text[scanner.start : end])
            size = end - scanner.start
            self._tell(Thought(size) if self.thinking else Spoken(size) if self.speaking else size)
            scanner.start = end
        scanner.pos = max(scanner.pos, end)

    def take(self) -> None:
        """The text that has been read is markup."""
        scanner = self.scanner
        if scanner.pos > scanner.start:
            self._tell(scanner.start - scanner.pos)
            scanner.start = scanner.pos

    def start(self, dialect: Dialect, id_: str, name: str) -> None:
        """Commits: what has been read is the header of a call."""
        if dialect.in_reasoning == "doubtful" and not self.doubtful and (self.in_reasoning or self.head):
            self.doubtful = Doubtful(self.calls, self._next_index, set(self.ids))
        self.committed = True
        if self.doubtful:
            self.doubtful.rules.append(dialect.name)
        else:
            self.fired(dialect.name)
        self.take()
        self.place.markup()
        self.calls += 1
        self.ids.add(id_)
        self._index = self.take_index(self._next_index)
        reasoning = self.in_reasoning
        self._tell(ToolCallStart(self._index, id_, name, self._choice, in_text=True, in_reasoning=reasoning))

    def arguments(self, text: str) -> None:
        """A piece of the call's arguments; what has been read is markup."""
        self.take()
        if text:
            self._tell(ToolCallDelta(self._index, text, self._choice))

    def end(self) -> None:
        """The call is complete."""
        self.take()
        self._tell(ToolCallEnd(self._index, self._choice))
        self.committed = False

    def broken(self) -> None:
        """The call is over, but not complete: nobody may complete it (R8)."""
        self.take()
        self.committed = False

    def turn(self, dialect: Dialect, *, thinking: bool) -> None:
        """What has been read is a tag that begins or ends reasoning; calls in what it ends were thoughts."""
        self.fired(dialect.name)
        if self.doubtful:
            (self.were_calls if thinking else self.were_thoughts)()
        self.take()
        head, self.head = self.head, None
        for op in head.ops if head else ():
            self.ops.append(Thought(op) if isinstance(op, int) and op > 0 and not thinking else op)
        self.thinking = thinking
        self.places[thinking].markup()

    def channel(self, dialect: Dialect, kind: Literal["reasoning", "content", ""]) -> None:
        """What has been read is a marker of channels: what follows is reasoning, content, or what the upstream calls it."""
        self.fired(dialect.name)
        self.take()
        self.channels = dialect
        self.thinking, self.speaking = kind == "reasoning", kind == "content"
        self.place.markup()

    def wrapped(self, dialect: Dialect, ends: tuple[str, ...]) -> None:
        """The call stands in a wrapper: its end is markup, even behind text."""
        self.open = (dialect, ends)
