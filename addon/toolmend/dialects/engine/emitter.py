"""What a reader has decided of the text, told as ops: the half of the engine that dialects speak to.

    an op is  n > 0: the next n characters are text
              n < 0: the next -n characters were markup, and are swallowed
              Thought(n), Spoken(n): the next n characters are text, and reasoning or content whatever the upstream calls it
              an event: a call begins, goes on, ends

Rule of this file: every character is told of exactly once and in order. Two things are told late: calls in the reasoning of an
ambiguous dialect, which were thoughts if the answer goes on behind them (R14 of dialect-rules.md), and text that may have begun
inside reasoning, where a template opens the tag in the prompt. Both wait for DOUBT characters of text, then they are decided.
Text that is emitted as reasoning on a guess is kept, and emitted as content too where the guess was wrong (Guess).
"""

import re
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from ...core.events import Event, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from ...core.fastclass import mutable, value
from ...core.scanner import Reading, Scanner
from ...core.tools import Tools
from .dialect import DOUBT, Dialect
from .markdown_context import MarkdownContext

if TYPE_CHECKING:
    from ..families.reasoning_tags import Pair

_VALID_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")


@value
class ReasoningSpan:
    """So many characters are text, and reasoning."""

    size: int


@value
class ContentSpan:
    """So many characters are text, and content."""

    size: int


type Op = int | ReasoningSpan | ContentSpan | Event

type Beginning = Literal["content", "reasoning", "likely", "doubt"]
"""How the text of an answer begins: as content; as reasoning, as earlier answers of this model did; or that has to show.
If no tag shows it, `likely` text is a thought unless it begins as a document does, `doubt` text only if it reads like one."""

_DELIBERATES = re.compile(
    r"\b(?:I|let['’]?s|let me|the user|hmm|wait|okay|alright|maybe|we (?:need|should|have|can|must))\b"
    r"|用户|让我|嗯|首先|我(?:需要|应该|要|先|来|会|想)",
    re.IGNORECASE,
)
"""What thoughts hold, and documents and code seldom do."""

KEPT = 1024 * 1024
"""Characters of a guess that are kept. A longer text without an end is a thought."""


@mutable
class Deferred:
    """Ops that are told late, and how many characters they speak for."""

    ops: list[Op] = field(default_factory=list)
    size: int = 0

    def append(self, op: Op) -> None:
        self.ops.append(op)
        self.size += abs(op) if isinstance(op, int) else op.size if isinstance(op, ReasoningSpan | ContentSpan) else 0


@mutable
class Tentative:
    """What was told since an ambiguous call began in the reasoning, and how things stood before it (R14)."""

    calls: int
    next_index: int
    ids: set[str]
    kept: int  # texts of a guess
    deferred: Deferred = field(default_factory=Deferred)
    rules: list[str] = field(default_factory=list)
    trailing: int = 0  # characters of text since the last of these calls

    def append(self, op: Op) -> None:
        self.deferred.append(op)
        if isinstance(op, int | ReasoningSpan | ContentSpan):
            self.trailing += max(op, 0) if isinstance(op, int) else op.size
        else:
            self.trailing = 0


@mutable
class Guess:
    """Text that is taken for reasoning, though no tag began it, or one that a text may name: as it came.

    If its end never comes, it was the answer: then it is emitted as content, too. `tagged`: a tag began it.
    """

    tagged: bool = False
    texts: list[str] = field(default_factory=list)
    size: int = 0
    blank: bool = True

    def keep(self, text: str) -> None:
        self.texts.append(text)
        self.size += len(text)
        self.blank = self.blank and text.isspace()


@mutable
class Attempt:
    """A call that is read to its end before it is known to be one."""

    dialect: Dialect
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)  # of the arguments
    ended: bool = False

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Emitter:
    """What is told of the text of one choice."""

    def __init__(
        self,
        tools: Tools,
        choice: int,
        new_id: Callable[[], str],
        fired: Callable[[str], None],
        begins: Beginning,
        *,
        whole: bool,
    ) -> None:
        self.scanner = Scanner()
        self.tools = tools
        self.new_id = new_id
        self.fired = fired
        self.ids: set[str] = set()
        self.calls = self.native_calls = 0  # of the text, and the upstream's own
        self.thinking = False  # what is read is reasoning, whatever the upstream calls it
        self.speaking = False  # likewise, content
        self.channels: Dialect | None = None  # whose channels the text has been divided into so far
        self.ops: list[Op] = []
        self.tentative: Tentative | None = None
        self.begins = begins
        self.began_as: Literal["", "content", "reasoning"] = ""  # how this text began, once that is known
        self.undecided = None if begins == "content" else Deferred()  # ops until the kind of the first text is known
        self.guess = None if begins == "content" else Guess()
        self.thought: Pair | None = None  # the tags around the reasoning that is read
        self.answer = ""  # the tag that began the answer, if one did
        self.named = False  # a tag stood in the text as a part of it
        self.open: tuple[Dialect | None, tuple[str, ...]] = (None, ())  # whose wrapper is open, and what ends it
        self.committed = False
        self.attempts: list[Attempt] | None = None  # calls that are read and not yet told
        self.refused = (0, 0)  # where what a stranger's call could have been begins, and how far it was read: `Scanner.place`
        self.aside = (0, 0)  # the sizes of a wrapper in front of the call that may begin, and of the text in that
        self.after_call = False  # nothing but blanks since the last call of the text
        self.reasoning = False  # what the upstream calls the last piece
        self.border = 0  # where in the text that begins
        self.places = (MarkdownContext(), MarkdownContext())  # of content, of reasoning
        self._choice = choice
        self.whole = whole  # the text is complete: what it begins as is decided by all of it
        self._index = self._next_index = 0

    def take_index(self, wanted: int) -> int:
        """An index for a call of this choice: the one wanted, or the next that is free."""
        index = max(wanted, self._next_index)
        self._next_index = index + 1
        return index

    def revert_calls(self) -> None:
        """What looked like calls in the reasoning goes back into it, with all that came since."""
        tentative, self.tentative = self.tentative, None
        assert tentative
        self._queue(ReasoningSpan(tentative.deferred.size) if self.thinking else tentative.deferred.size)
        self.calls, self._next_index, self.ids = tentative.calls, tentative.next_index, tentative.ids
        self._decide()

    def decide_content(self) -> None:
        """The text did not begin as reasoning, or it is too late to tell."""
        if self.undecided:
            self.confirm_calls()
        undecided, self.undecided = self.undecided, None
        guess, self.guess = self.guess, None
        if undecided:
            self.ops += undecided.ops
        elif guess and (text := "".join(guess.texts)).strip():
            self.thinking = False
            self.fired("reasoning_answer")
            self.ops.append(TextDelta(text, self._choice))

    def confirm_calls(self) -> None:
        """What looked like calls in the reasoning were calls: the text is over."""
        tentative, self.tentative = self.tentative, None
        if tentative:
            answered = self.guess is not None and not self.undecided and not self._is_thought
            if self.guess and answered:
                del self.guess.texts[tentative.kept :]
                self.decide_content()
            elif not self.undecided:
                self.guess = None
            for rule in tentative.rules:
                self.fired(rule)
            for op in tentative.deferred.ops:
                self._queue(ContentSpan(op.size) if answered and isinstance(op, ReasoningSpan) else op)

    def _show_end(self, *, cut: bool) -> None:
        """The text is over, and no tag showed how it began: it began as content, unless it may be a thought that was cut off.

        Calls prove that only where nothing was known: models call from inside their thoughts.
        """
        proves = self._next_index == 0 or self.begins in ("likely", "doubt")
        if proves and not cut and not all(place.message_start for place in self.places):
            self.began_as = self.began_as or "content"

    def drop_stray_end(self) -> None:
        """What has been read is the end of a thought that was emitted as content, as nothing had begun it."""
        self.fired("reasoning_end")
        self.began_as = self.began_as or "reasoning"
        self.drop_markup()

    def answers(self, tag: str) -> None:
        """What has been read is the tag that begins the answer; or ends it, then `tag` is empty."""
        self.drop_markup()
        self.answer = tag
        self.place.markup()

    def _decide(self) -> None:
        """Ends the doubt about how the text began, once there is enough of it."""
        guess = self.guess
        if guess and guess.size > KEPT:
            self.guess = None
        if not self.undecided or self.tentative or self.whole or not guess:
            return
        if guess.size > DOUBT and not self._reads_as_thought("".join(guess.texts)[:DOUBT]):
            self.decide_content()
        elif guess.size > DOUBT or (self.begins == "reasoning" and not guess.blank):
            undecided, self.undecided = self.undecided, None
            self.thinking = True
            self.places = (MarkdownContext(), self.places[False])
            self.ops += (ReasoningSpan(op) if isinstance(op, int) and op > 0 else op for op in undecided.ops)

    def _reads_as_thought(self, text: str) -> bool:
        match self.begins:
            case "likely":
                return text.lstrip()[:1].isalnum()
            case "doubt":
                return _DELIBERATES.search(text) is not None
        return True

    def _called(self) -> None:
        """A call begins that is certain. A guess may be what came before an answer's call, or what a thought calls from."""
        if self.guess and not self.whole:
            if self.undecided or not self._is_thought:
                self.decide_content()
            self.guess = None

    @property
    def _is_thought(self) -> bool:
        """Whether a guess is the better reading even where a call follows: models call from inside their thoughts."""
        return self.guess is not None and (self.guess.tagged or self.begins == "reasoning")

    def _begin_guess(self, *, guess: bool) -> None:
        """A tag that has been read ends the guess of before, and may begin one that it is a part of."""
        self.guess = Guess(tagged=True) if guess else None
        if self.guess:
            self.guess.keep(self.scanner.text[self.scanner.start : self.scanner.pos])

    def _queue(self, op: Op) -> None:
        if self.tentative:
            self.tentative.append(op)
        elif self.undecided:
            self.undecided.append(op)
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
        return self.undecided is not None

    @property
    def place(self) -> MarkdownContext:
        """What the text in front of it says about what is read now."""
        return self.places[self.in_reasoning]

    def accepts(self, dialect: Dialect, name: str) -> bool:
        """Whether a call of this dialect may have this name (R2)."""
        if dialect.offered_only:
            return name in self.tools and bool(name)
        return _VALID_NAME.fullmatch(name) is not None or name in self.tools.schemas

    # what a dialect tells

    def attempt(self, reading: Reading[bool]) -> Reading[list[Attempt]]:
        """Reads calls and returns them: nothing is told of them until `emit_attempts`."""
        around, self.attempts = self.attempts, []
        called = yield from reading
        found, self.attempts = self.attempts, around
        return found if called else []

    def emit_attempts(self, attempts: list[Attempt]) -> None:
        """What was read are these calls, whole ones."""
        for found in attempts:
            self.start(found.dialect, found.id if found.id not in self.ids else self.new_id(), found.name)
            self.arguments(found.arguments)
            self.end()

    def emit_text(self, end: int) -> None:
        """The text up to `end` (a place in scanner.text) is text."""
        scanner = self.scanner
        if end > scanner.start:
            text = scanner.text[scanner.start : end]
            size = len(text)
            self.after_call = self.after_call and text.isspace()
            self.place.text(text)
            self._queue(ReasoningSpan(size) if self.thinking else ContentSpan(size) if self.speaking else size)
            scanner.start = end
            if self.guess:
                self.guess.keep(text)
            if self.tentative and self.tentative.trailing > DOUBT and not self.whole:
                self.revert_calls()  # a model stops after its calls
            elif self.guess:
                self._decide()
        scanner.pos = max(scanner.pos, end)

    def drop_markup(self) -> None:
        """The text that has been read is markup."""
        scanner = self.scanner
        if scanner.pos > scanner.start and self.attempts is None:
            self._queue(scanner.start - scanner.pos)
            if self.guess and self.tentative:  # what may be text after all
                self.guess.keep(scanner.text[scanner.start : scanner.pos])
            scanner.start = scanner.pos

    def start(self, dialect: Dialect, id_: str, name: str) -> None:
        """Commits: what has been read is the header of a call."""
        if self.attempts is not None:
            self.attempts.append(Attempt(dialect, id_, name))
            return
        self._step_aside()
        if dialect.in_reasoning == "doubtful" and not self.tentative and (self.in_reasoning or self.undecided):
            kept = len(self.guess.texts) if self.guess else 0
            self.tentative = Tentative(self.calls, self._next_index, set(self.ids), kept)
        elif not self.tentative:
            self._called()
        self.committed = True
        if self.tentative:
            self.tentative.rules.append(dialect.name)
        else:
            self.fired(dialect.name)
        self.drop_markup()
        self.place.markup()
        self.calls += 1
        self.ids.add(id_)
        self._index = self.take_index(self._next_index)
        reasoning = self.in_reasoning
        self._queue(ToolCallStart(self._index, id_, name, self._choice, in_text=True, in_reasoning=reasoning))

    def _step_aside(self) -> None:
        """Swallows the wrapper in front of a call, and gives back the text between the two."""
        (wrapper, text), self.aside = self.aside, (0, 0)
        if wrapper:
            pos = self.scanner.pos
            self.scanner.pos = self.scanner.start + wrapper
            self.drop_markup()
            self.emit_text(self.scanner.start + text)
            self.scanner.pos = pos

    def arguments(self, text: str) -> None:
        """A piece of the call's arguments; what has been read is markup."""
        if self.attempts is not None:
            self.attempts[-1].pieces.append(text)
            return
        self.drop_markup()
        if text:
            self._queue(ToolCallDelta(self._index, text, self._choice))

    def end(self) -> None:
        """The call is complete."""
        if self.attempts is not None:
            self.attempts[-1].ended = True
            return
        self.drop_markup()
        self._queue(ToolCallEnd(self._index, self._choice))
        self.committed = False
        self.after_call = True

    def break_off(self) -> None:
        """The call is over, but not complete: nobody may complete it (R8)."""
        self.drop_markup()
        self.committed = False
        self.after_call = self.attempts is None

    def switch_reasoning(self, dialect: Dialect, *, thinking: bool, pair: "Pair | None" = None, guess: bool = False) -> None:
        """What has been read is a tag that begins or ends reasoning; calls in what it ends were thoughts.

        `pair` is what begins and ends this reasoning. `guess`: the tag may be a part of the answer.
        """
        self.fired(dialect.name)
        if self.tentative:
            (self.confirm_calls if thinking else self.revert_calls)()
        if thinking:
            self.began_as = self.began_as or "content"
        elif self.guess and not self.guess.tagged:
            self.began_as = self.began_as or "reasoning"
        self._begin_guess(guess=guess)
        self.drop_markup()
        undecided, self.undecided = self.undecided, None
        for op in undecided.ops if undecided else ():
            self.ops.append(ReasoningSpan(op) if isinstance(op, int) and op > 0 and not thinking else op)
        if undecided and not thinking:
            self.places = (MarkdownContext(), self.places[False])
        self.thinking, self.thought, self.named = thinking, pair, False
        self.places[thinking].markup()

    def switch_channel(self, dialect: Dialect, kind: Literal["reasoning", "content", ""], *, guess: bool = False) -> None:
        """What has been read is a marker of channels: what follows is reasoning, content, or what the upstream calls it.

        `guess`: the marker may be a part of the answer.
        """
        self.fired(dialect.name)
        self._step_aside()
        self._begin_guess(guess=guess)
        self.drop_markup()
        self.channels = dialect
        self.thinking, self.speaking = kind == "reasoning", kind == "content"
        self.place.markup()

    def open_wrapper(self, dialect: Dialect, ends: tuple[str, ...]) -> None:
        """The call stands in a wrapper: its end is markup, even behind text."""
        if self.attempts is None:
            self.open = (dialect, ends)
