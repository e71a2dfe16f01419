"""Finds the calls in the text of one choice: the one engine behind all dialects.

    reader.feed(piece) -> ops        an op is  n > 0: the next n characters are text
    reader.close()     -> ops                  n < 0: the next -n characters were markup, and are swallowed
                                               Thought(n): the next n characters are text, and reasoning
                                               Spoken(n): the next n characters are text, and content
                                               an event: a call begins, goes on, ends

Rule of this file: every character that goes in is told of exactly once and in order, as text or as markup; and nothing is told
before it is sure. From the first character that can begin a call the text is held until a dialect commits (the header is
complete, the name valid, the body begun as it must); if none does, one character is text and reading goes on behind it.

Sections of dialects.md: R1 commit point, R7 missing ends, R9 wrappers, R10 text around calls, R11 ids, R14 reasoning, R15 code.
"""

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from .dialects.dialect import Dialect
from .events import Event, ToolCallDelta, ToolCallEnd, ToolCallStart
from .place import Place
from .scanner import Reading, Scanner, openers
from .tools import Tools

MAX_HELD = 1024 * 1024
"""Characters that are held for what is not certain yet: no tool call seen in the wild comes near it."""

_VALID_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")


@dataclass(frozen=True, slots=True)
class Thought:
    """So many characters are text, and reasoning."""

    size: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """So many characters are text, and content."""

    size: int


type Op = int | Thought | Spoken | Event


class Vocabulary:
    """What to look for, of some dialects."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self.by_opener: dict[str, list[Dialect]] = {}
        for dialect in dialects:
            for literal in dialect.openers:
                self.by_opener.setdefault(literal, []).append(dialect)
        self.by_length = sorted(self.by_opener, key=len, reverse=True)
        self.pattern = openers(list(self.by_opener))
        # openers that are over where they are found; another one begins with the others
        begun = {opener[:size] for opener in self.by_opener for size in range(1, len(opener))}
        self.whole = self.by_opener.keys() - begun


wrapper_ends = cache(lambda ends: openers(list(ends)))
vocabulary = cache(Vocabulary)


class Reader:
    """The reader of one choice. A dialect reads through `scanner` and tells what it found by the methods below."""

    def __init__(
        self,
        dialects: Iterable[Dialect],
        tools: Tools,
        choice: int,
        new_id: Callable[[], str],
        fired: Callable[[str], None],
        *,
        unopened: bool = False,
    ) -> None:
        self.scanner = Scanner()
        self.tools = tools
        self.new_id = new_id
        self.ids: set[str] = set()
        self.calls = 0
        self.thinking = False  # what is read is reasoning, whatever the upstream calls it
        self.speaking = False  # likewise, content
        self.channels: Dialect | None = None  # whose channels the text has been divided into so far
        self._index = self._next_index = 0
        self._choice = choice
        self._fired = fired
        self._vocabulary: Vocabulary = vocabulary(tuple(dialects))
        self._ops: list[Op] = []
        self._doubtful: _Doubtful | None = None
        self._head: list[Op] | None = [] if unopened else None  # told before it is known whether the text began as reasoning
        self._reasoning = False  # the channel of the last piece
        self._border = 0  # where in the text that channel begins
        self._places = (Place(), Place())  # of content, of reasoning
        self._open: tuple[Dialect | None, tuple[str, ...]] = (None, ())  # whose wrapper is open, and what ends it
        self._committed = self._in_call = self._idle = False
        self._reading = self._read()

    @property
    def in_call(self) -> bool:
        """Whether text is held because it looks like a call: more than the beginning of an opener."""
        return self._in_call or self._doubtful is not None or bool(self._head)

    def passes(self, piece: str, reasoning: bool = False) -> bool:
        """Whether the next text is just text: nothing is held, and nothing in it can begin a call. Then it has been read."""
        if not self._idle or self.thinking or self._doubtful or self._head is not None or self._open[0]:
            return False
        if reasoning is not self._reasoning or (self.speaking and reasoning):
            return False
        if self._vocabulary.pattern.search(piece):
            return False
        self._places[reasoning].text(piece)
        return True

    def feed(self, piece: str, reasoning: bool = False) -> list[Op]:
        """The next text of the choice: content, or what the upstream calls reasoning."""
        self._ops = []
        if self._doubtful and not reasoning and piece.strip():
            self._were_thoughts()
        if reasoning:
            self._was_content()
        self._border = max(0, self._border - self.scanner.start)
        self.scanner.feed(piece)
        if reasoning is not self._reasoning:
            self._reasoning = reasoning
            self._border = len(self.scanner.text) - len(piece)
            if self.channels:  # the upstream tells the channels apart itself
                self.thinking = self.speaking = False
        self._advance()
        return self._ops

    def native(self) -> list[Op]:
        """A call of the upstream's own comes: what looked like calls in the reasoning were thoughts."""
        self._ops = []
        if self._doubtful:
            self._were_thoughts()
        return self._ops

    def close(self) -> list[Op]:
        """The text is over, for now: a choice that goes on behind its end starts afresh."""
        self._ops = []
        self.scanner.ended = True
        self._advance()
        self.scanner.ended = False
        if self._doubtful:
            doubtful, self._doubtful = self._doubtful, None
            for op in doubtful.ops:
                self._tell(op)
        self._was_content()
        self._open = (None, ())
        self.channels = None
        self.thinking = self.speaking = False
        self._restart()
        return self._ops

    def take_index(self, wanted: int) -> int:
        """An index for a call of this choice: the one wanted, or the next that is free."""
        index = max(wanted, self._next_index)
        self._next_index = index + 1
        return index

    def _advance(self) -> None:
        next(self._reading, None)
        if self._head and _size(self._head) > MAX_HELD:
            self._fired("hold_limit")
            self._was_content()
        held = len(self.scanner.text) - self.scanner.start
        if held <= MAX_HELD and not self._doubtful:
            return
        if self._doubtful and held + self._doubtful.size() > MAX_HELD:
            self._fired("hold_limit")
            self._were_thoughts()
        elif held > MAX_HELD and not self._committed:
            self._fired("hold_limit")
            self.give(len(self.scanner.text))
            self._restart()

    def _restart(self) -> None:
        self._committed = self._in_call = self._idle = False
        self.scanner.pos = self.scanner.start
        self._reading = self._read()

    def _were_thoughts(self) -> None:
        """What looked like calls in the reasoning goes back into it, with all that came since."""
        doubtful, self._doubtful = self._doubtful, None
        assert doubtful
        self._tell(doubtful.size())
        self.calls, self._next_index, self.ids = doubtful.calls, doubtful.next_index, doubtful.ids
        self._restart()
        self.give(len(self.scanner.text))

    def _was_content(self) -> None:
        """The text did not begin as reasoning, or it is too late to tell."""
        head, self._head = self._head, None
        self._ops += head or ()

    def _tell(self, op: Op) -> None:
        if self._doubtful:
            self._doubtful.ops.append(op)
        else:
            (self._ops if self._head is None else self._head).append(op)

    # what a dialect may ask

    @property
    def in_reasoning(self) -> bool:
        """Whether what is read now is reasoning."""
        return self.thinking or (not self.speaking and self._reasoning is (self.scanner.pos >= self._border))

    @property
    def may_be_inside(self) -> bool:
        """Whether the text may have begun inside reasoning."""
        return self._head is not None

    @property
    def place(self) -> Place:
        """What the text in front of it says about what is read now."""
        return self._places[self.in_reasoning]

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
        if dialect.in_reasoning == "doubtful" and not self._doubtful and self.in_reasoning:
            self._doubtful = _Doubtful([], self.calls, self._next_index, set(self.ids))
        self._committed = True
        self._fired(dialect.name)
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
        self._committed = False

    def broken(self) -> None:
        """The call is over, but not complete: nobody may complete it (R8)."""
        self.take()
        self._committed = False

    def turn(self, dialect: Dialect, *, thinking: bool) -> None:
        """What has been read is a tag that begins or ends reasoning."""
        self._fired(dialect.name)
        self.take()
        head, self._head = self._head, None
        for op in head or ():
            self._ops.append(Thought(op) if isinstance(op, int) and op > 0 and not thinking else op)
        self.thinking = thinking
        self._places[thinking].markup()

    def channel(self, dialect: Dialect, kind: Literal["reasoning", "content", ""]) -> None:
        """What has been read is a marker of channels: what follows is reasoning, content, or what the upstream calls it."""
        self._fired(dialect.name)
        self.take()
        self.channels = dialect
        self.thinking, self.speaking = kind == "reasoning", kind == "content"
        self.place.markup()

    def wrapped(self, dialect: Dialect, ends: tuple[str, ...]) -> None:
        """The call stands in a wrapper: its end is markup, even behind text."""
        self._open = (dialect, ends)

    # the main loop

    def _read(self) -> Generator[None, None, None]:
        scanner = self.scanner
        behind: Dialect | None = None  # the text stands right behind a call of this dialect
        while True:
            if behind:
                yield from scanner.blanks()
                if closer := (yield from scanner.literal(behind.closers)):
                    self._take_closer(closer)
                    continue
                if scanner.pos == len(scanner.text):
                    self.take()
                    return
            match = self._vocabulary.pattern.search(scanner.text, scanner.pos)
            if self._open[0] and (yield from self._end_of_wrapper(match.start() if match else len(scanner.text))):
                continue
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
            if found not in self._vocabulary.whole and not scanner.ended and match.end() == len(scanner.text):
                yield  # what stands here may become an opener
            else:
                behind = yield from self._call()
                if not behind:
                    self.give(scanner.pos + 1)

    def _end_of_wrapper(self, before: int) -> Reading[bool]:
        """Swallows the end of the open wrapper, if it stands in the text in front of `before`."""
        scanner = self.scanner
        ends = self._open[1]
        match = wrapper_ends(ends).search(scanner.text, scanner.pos, before)
        if match is None:
            return False
        self.give(match.start())
        scanner.pos = match.start()
        closer = yield from scanner.literal(ends)
        if closer:
            self._take_closer(closer)
        else:
            self.give(scanner.pos + 1)
        return True

    def _take_closer(self, closer: str) -> None:
        self.take()
        if closer in self._open[1]:
            self._open = (None, ())

    def _call(self) -> Reading[Dialect | None]:
        """Reads a call that may begin at scanner.pos. The dialect that it was of, or None."""
        scanner = self.scanner
        offset = scanner.pos - scanner.start
        here = [opener for opener in self._vocabulary.by_length if scanner.text.startswith(opener, scanner.pos)]
        candidates = [(opener, dialect) for opener in here for dialect in self._vocabulary.by_opener[opener]]
        candidates.sort(key=lambda candidate: candidate[1] is not self._open[0])  # whose wrapper is open comes first
        for opener, dialect in candidates:
            if not self._looked_for(dialect, opener):
                continue
            self._in_call = True
            found = yield from dialect.read(self)
            self._in_call = False
            if found:
                return dialect
            scanner.pos = scanner.start + offset
        return None

    def _looked_for(self, dialect: Dialect, opener: str) -> bool:
        """Whether a call of this dialect can stand here."""
        if opener in dialect.inner and self._open[0] is not dialect:
            return False
        if dialect is self.channels:
            return True
        place = self.place
        return not (
            (self.in_reasoning and dialect.in_reasoning == "never")
            or (dialect.ambiguous and place.in_code)
            or (dialect.place == "line" and not place.line_start)
            or (dialect.place == "message" and not place.message_start)
        )


@dataclass(slots=True)
class _Doubtful:
    """What was told since an ambiguous call began in the reasoning, and how things stood before it (R14)."""

    ops: list[Op]
    calls: int
    next_index: int
    ids: set[str]

    def size(self) -> int:
        """Characters."""
        return _size(self.ops)


def _size(ops: Iterable[Op]) -> int:
    """The characters that ops speak for."""
    return sum(abs(op) if isinstance(op, int) else op.size for op in ops if isinstance(op, int | Thought | Spoken))
