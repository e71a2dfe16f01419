"""Finds the calls in the text of one choice: the one engine behind all dialects.

    reader.feed(piece) -> ops        an op is  n > 0: the next n characters are text
    reader.close()     -> ops                  n < 0: the next -n characters were markup, and are swallowed
                                               an event: a call begins, goes on, ends

Rule of this file: every character that goes in is told of exactly once and in order, as text or as markup; and nothing is told
before it is sure. From the first character that can begin a call the text is held until a dialect commits (the header is
complete, the name valid, the body begun as it must); if none does, one character is text and reading goes on behind it.

Sections of dialects.md: R1 commit point, R7 missing ends, R9 wrappers, R10 text around calls, R11 ids.
"""

from collections.abc import Callable, Generator, Sequence

from .dialects.dialect import Dialect
from .events import Event, ToolCallDelta, ToolCallEnd, ToolCallStart
from .scanner import Reading, Scanner, openers
from .tools import Tools

type Op = int | Event

MAX_HELD = 1024 * 1024
"""Characters that are held for a call that is not certain yet: no tool call seen in the wild comes near it."""


class Reader:
    """The reader of one choice. A dialect reads through `scanner` and tells what it found by the methods below."""

    def __init__(
        self, dialects: Sequence[Dialect], tools: Tools, choice: int, new_id: Callable[[], str], fired: Callable[[str], None]
    ) -> None:
        self.scanner = Scanner()
        self.tools = tools
        self.new_id = new_id
        self.ids: set[str] = set()
        self.calls = 0
        self.in_call = False
        self._index = self._next_index = 0
        self._choice = choice
        self._fired = fired
        self._ops: list[Op] = []
        self._committed = False
        self._idle = False  # nothing is held, and nothing that came before matters to what comes
        self._by_opener: dict[str, list[Dialect]] = {}
        for dialect in dialects:
            for literal in dialect.openers:
                self._by_opener.setdefault(literal, []).append(dialect)
        self._by_length = sorted(self._by_opener, key=len, reverse=True)
        self._open: tuple[str, ...] = ()  # the ends of a wrapper that is open
        literals = [*self._by_opener, *(closer for dialect in dialects for closer in dialect.closers)]
        self._opener = openers(literals)
        # literals that are over where they are found; another literal may begin with one that is not
        self._whole = frozenset(a for a in literals if not any(b != a and b.startswith(a) for b in literals))
        self._reading = self._read()

    @property
    def holding(self) -> bool:
        """Whether text is undecided."""
        return self.scanner.start < len(self.scanner.text)

    def passes(self, piece: str) -> bool:
        """Whether the next text is just text: nothing is held, and nothing in it can begin a call. Then it has been read."""
        return self._idle and self._opener.search(piece) is None

    def feed(self, piece: str) -> list[Op]:
        """The next text of the choice."""
        self.scanner.feed(piece)
        return self._advance()

    def close(self) -> list[Op]:
        """The text is over, for now: a choice that goes on behind its end starts afresh."""
        self.scanner.ended = True
        ops = self._advance()
        self.scanner.ended = False
        self._open = ()
        self._restart()
        return ops

    def take_index(self, wanted: int) -> int:
        """An index for a call of this choice: the one wanted, or the next that is free."""
        index = max(wanted, self._next_index)
        self._next_index = index + 1
        return index

    def _advance(self) -> list[Op]:
        self._ops = []
        next(self._reading, None)
        if not self._committed and len(self.scanner.text) - self.scanner.start > MAX_HELD:
            self._fired("hold_limit")
            self.give(len(self.scanner.text))
            self._restart()
        return self._ops

    def _restart(self) -> None:
        self._committed = self.in_call = self._idle = False
        self._reading = self._read()

    # what a dialect tells

    def give(self, end: int) -> None:
        """The text up to `end` (a place in scanner.text) is text."""
        scanner = self.scanner
        if end > scanner.start:
            self._ops.append(end - scanner.start)
            scanner.start = end
        scanner.pos = max(scanner.pos, end)

    def take(self) -> None:
        """The text that has been read is markup."""
        scanner = self.scanner
        if scanner.pos > scanner.start:
            self._ops.append(scanner.start - scanner.pos)
            scanner.start = scanner.pos

    def start(self, dialect: Dialect, id_: str, name: str) -> None:
        """Commits: what has been read is the header of a call."""
        self._committed = True
        self._fired(dialect.name)
        self.take()
        self.calls += 1
        self.ids.add(id_)
        self._index = self.take_index(self._next_index)
        self._ops.append(ToolCallStart(self._index, id_, name, self._choice))

    def arguments(self, text: str) -> None:
        """A piece of the call's arguments; what has been read is markup."""
        self.take()
        if text:
            self._ops.append(ToolCallDelta(self._index, text, self._choice))

    def end(self) -> None:
        """The call is complete."""
        self.take()
        self._ops.append(ToolCallEnd(self._index, self._choice))
        self._committed = False

    def broken(self) -> None:
        """The call is over, but not complete: nobody may complete it (R8)."""
        self.take()
        self._committed = False

    def wrapped(self, ends: tuple[str, ...]) -> None:
        """The call stands in a wrapper: its end is markup, even behind text."""
        self._open = ends

    # the main loop

    def _read(self) -> Generator[None, None, None]:
        scanner = self.scanner
        behind: Dialect | None = None  # the text stands right behind a call of this dialect
        while True:
            if behind:
                yield from scanner.blanks()
                if (yield from scanner.literal(behind.closers)):
                    self.take()
                    continue
                if scanner.pos == len(scanner.text):
                    self.take()
                    return
            match = self._opener.search(scanner.text, scanner.pos)
            if match is None:
                self.give(len(scanner.text))
                behind = None
                if scanner.ended:
                    return
                self._idle = True
                yield
                self._idle = False
                continue
            if match.start() > scanner.pos:
                self.give(match.start())
                behind = None
            found = match.group()
            if found not in self._whole and not scanner.ended and match.end() == len(scanner.text):
                yield  # what stands here may become an opener
            elif found in self._open:
                scanner.pos = match.end()
                self.take()
            else:
                behind = yield from self._call()
                if not behind:
                    self.give(scanner.pos + 1)

    def _call(self) -> Reading[Dialect | None]:
        """Reads a call that may begin at scanner.pos. The dialect that it was of, or None."""
        scanner = self.scanner
        offset = scanner.pos - scanner.start
        candidates = [opener for opener in self._by_length if scanner.text.startswith(opener, scanner.pos)]
        self.in_call = True
        for dialect in [dialect for opener in candidates for dialect in self._by_opener[opener]]:
            if (yield from dialect.read(self)):
                self.in_call = False
                return dialect
            scanner.pos = scanner.start + offset
        self.in_call = False
        return None
