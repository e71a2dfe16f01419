"""The output side of the markup parser: dialects report calls and text here, and the Emitter turns these into ops.

    an op is  n > 0: the next n characters are text
              n < 0: the next -n characters are markup, and are dropped
              ReasoningSpan(n), ContentSpan(n): the next n characters are text, and reasoning or content, even if the upstream
                  sends them as the other kind
              an event: a call starts, continues, ends

1. The ops cover every character exactly once, in order.
2. Two kinds of ops are deferred until DOUBT characters of text decide about them: calls of an ambiguous dialect in reasoning,
   which are only text if the answer continues after them (R14 of dialect-rules.md), and text that may have begun inside
   reasoning, because a chat template opens the tag in the prompt.
3. Text that is emitted as reasoning on a guess is kept, and emitted as content as well if the guess was wrong (Guess).
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
    """The next `size` characters are reasoning."""

    size: int


@value
class ContentSpan:
    """The next `size` characters are content."""

    size: int


type Op = int | ReasoningSpan | ContentSpan | Event

type Beginning = Literal["content", "reasoning", "likely", "doubt"]
"""How the text of an answer begins: as content; as reasoning, like earlier answers of this model; or unknown. Without a tag that
decides it, `likely` text is reasoning unless it begins like a document, and `doubt` text only if it reads like reasoning."""

_DELIBERATES = re.compile(
    r"\b(?:I|let['’]?s|let me|the user|hmm|wait|okay|alright|maybe|we (?:need|should|have|can|must))\b"
    r"|用户|让我|嗯|首先|我(?:需要|应该|要|先|来|会|想)",
    re.IGNORECASE,
)
"""Words of reasoning that are rare in documents and code."""

MAX_GUESS = 1024 * 1024
"""Characters of a guess that are kept. A longer text without an end tag counts as reasoning."""


@mutable
class Deferred:
    """Ops that are emitted later, and the number of characters they cover."""

    ops: list[Op] = field(default_factory=list)
    size: int = 0

    def append(self, op: Op) -> None:
        self.ops.append(op)
        self.size += abs(op) if isinstance(op, int) else op.size if isinstance(op, ReasoningSpan | ContentSpan) else 0


@mutable
class Tentative:
    """The deferred ops since an ambiguous call in reasoning, and the state before it (R14)."""

    calls: int
    next_index: int
    ids: set[str]
    kept: int  # number of texts of the guess
    deferred: Deferred = field(default_factory=Deferred)
    rules: list[str] = field(default_factory=list)
    trailing: int = 0  # characters of text after the last of these calls

    def append(self, op: Op) -> None:
        self.deferred.append(op)
        if isinstance(op, int | ReasoningSpan | ContentSpan):
            self.trailing += max(op, 0) if isinstance(op, int) else op.size
        else:
            self.trailing = 0


@mutable
class Guess:
    """Text that is emitted as reasoning without a tag, or after a tag that ordinary text may contain.

    If no end tag follows, the text was the answer, and is emitted as content as well. `tagged`: a tag began it.
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
    """A call that is parsed to its end before it is decided whether it is one."""

    dialect: Dialect
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)  # the deltas of the arguments
    ended: bool = False

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Emitter:
    """Emits the ops for the text of one choice.

    Args:
        tools: The tools that the request offers.
        choice: The index of the choice.
        new_id: Returns a new call id.
        fired: Called with the name of each rule that fires.
        begins: How the text begins, as far as it is known.
        whole: Whether all text is fed at once, so that decisions wait for its end.
    """

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
        self.calls = self.native_calls = 0  # calls in the text, and native calls of the upstream
        self.thinking = False  # the text is reasoning, even if the upstream sends it as content
        self.speaking = False  # the text is content, even if the upstream sends it as reasoning
        self.channels: Dialect | None = None  # the dialect whose channel markers the text has contained
        self.ops: list[Op] = []
        self.tentative: Tentative | None = None
        self.begins = begins
        self.began_as: Literal["", "content", "reasoning"] = ""  # how this text began, once it is known
        self.undecided = None if begins == "content" else Deferred()  # ops until the kind of the first text is known
        self.guess = None if begins == "content" else Guess()
        self.thought: Pair | None = None  # the tags of the current reasoning
        self.answer = ""  # the tag that began the answer, if there was one
        self.named = False  # the text mentioned a tag, as ordinary text
        self.open: tuple[Dialect | None, tuple[str, ...]] = (None, ())  # the dialect of the open wrapper, and its end tags
        self.committed = False
        self.attempts: list[Attempt] | None = None  # calls that are parsed and not yet emitted
        self.refused = (0, 0)  # of a StrictDialect: where refused text begins, and how far it was parsed (`Scanner.place`)
        self.aside = (0, 0)  # the size of a wrapper before the possible call, and of the text between the two
        self.after_call = False  # only blanks since the last call in the text
        self.reasoning = False  # the upstream sent the last piece as reasoning
        self.border = 0  # the position in scanner.text where that kind begins
        self.places = (MarkdownContext(), MarkdownContext())  # of content and of reasoning
        self._choice = choice
        self.whole = whole
        self._index = self._next_index = 0

    def take_index(self, wanted: int) -> int:
        """Returns an index for a call of this choice: the wanted one, or the next free one."""
        index = max(wanted, self._next_index)
        self._next_index = index + 1
        return index

    def revert_calls(self) -> None:
        """Emits the tentative calls in reasoning, and the text since, as text."""
        tentative, self.tentative = self.tentative, None
        assert tentative
        self._queue(ReasoningSpan(tentative.deferred.size) if self.thinking else tentative.deferred.size)
        self.calls, self._next_index, self.ids = tentative.calls, tentative.next_index, tentative.ids
        self._decide()

    def decide_content(self) -> None:
        """Decides that the text began as content, and emits what was deferred or guessed accordingly."""
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
        """Emits the tentative calls in reasoning as calls, as the text has ended."""
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

    def _record_beginning(self, *, cut: bool) -> None:
        """Records, at the end of a text without a tag, that it began as content, unless it may be reasoning that was cut off.

        After a call this holds only if nothing was known about the model: models call from inside their reasoning.
        """
        is_content = self._next_index == 0 or self.begins in ("likely", "doubt")
        if is_content and not cut and not all(place.message_start for place in self.places):
            self.began_as = self.began_as or "content"

    def drop_stray_end(self) -> None:
        """Drops an end tag of reasoning that had no begin tag, and was emitted as content."""
        self.fired("reasoning_end")
        self.began_as = self.began_as or "reasoning"
        self.drop_markup()

    def switch_answer(self, tag: str) -> None:
        """Drops the tag that begins the answer; with an empty `tag`, the one that ends it."""
        self.drop_markup()
        self.answer = tag
        self.place.markup()

    def _decide(self) -> None:
        """Decides how the text began, once there is enough of it."""
        guess = self.guess
        if guess and guess.size > MAX_GUESS:
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

    def _resolve_guess(self) -> None:
        """Resolves a guess at a certain call: the text before it is the answer, or reasoning that makes the call."""
        if self.guess and not self.whole:
            if self.undecided or not self._is_thought:
                self.decide_content()
            self.guess = None

    @property
    def _is_thought(self) -> bool:
        """Whether guessed text counts as reasoning even if a call follows: models call from inside their reasoning."""
        return self.guess is not None and (self.guess.tagged or self.begins == "reasoning")

    def _begin_guess(self, *, guess: bool) -> None:
        """Ends the current guess at a tag, and begins one that includes the tag if `guess` is set."""
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

    # state for dialects

    @property
    def in_reasoning(self) -> bool:
        """Whether the text at the scanner's position is reasoning."""
        return self.thinking or (not self.speaking and self.reasoning is (self.scanner.pos >= self.border))

    @property
    def may_be_inside(self) -> bool:
        """Whether the text may have begun inside reasoning."""
        return self.undecided is not None

    @property
    def place(self) -> MarkdownContext:
        """The Markdown context at the scanner's position."""
        return self.places[self.in_reasoning]

    def accepts(self, dialect: Dialect, name: str) -> bool:
        """Whether a call of this dialect may have this name (R2)."""
        if dialect.offered_only:
            return name in self.tools and bool(name)
        return _VALID_NAME.fullmatch(name) is not None or name in self.tools.schemas

    # output of dialects

    def attempt(self, reading: Reading[bool]) -> Reading[list[Attempt]]:
        """Parses calls and returns them, without emitting them: see `emit_attempts`."""
        around, self.attempts = self.attempts, []
        called = yield from reading
        found, self.attempts = self.attempts, around
        return found if called else []

    def emit_attempts(self, attempts: list[Attempt]) -> None:
        """Emits complete calls."""
        for found in attempts:
            self.start(found.dialect, found.id if found.id not in self.ids else self.new_id(), found.name)
            self.arguments(found.arguments)
            self.end()

    def emit_text(self, end: int) -> None:
        """Emits the characters up to `end`, a position in scanner.text, as text."""
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
        """Drops the characters up to the scanner's position, as markup."""
        scanner = self.scanner
        if scanner.pos > scanner.start and self.attempts is None:
            self._queue(scanner.start - scanner.pos)
            if self.guess and self.tentative:  # it may become text again
                self.guess.keep(scanner.text[scanner.start : scanner.pos])
            scanner.start = scanner.pos

    def start(self, dialect: Dialect, id_: str, name: str) -> None:
        """Commits to a call whose header has been parsed.

        Args:
            dialect: The dialect of the call.
            id_: The id of the call.
            name: The name of the tool.
        """
        if self.attempts is not None:
            self.attempts.append(Attempt(dialect, id_, name))
            return
        self._step_aside()
        if dialect.in_reasoning == "doubtful" and not self.tentative and (self.in_reasoning or self.undecided):
            kept = len(self.guess.texts) if self.guess else 0
            self.tentative = Tentative(self.calls, self._next_index, set(self.ids), kept)
        elif not self.tentative:
            self._resolve_guess()
        self.committed = True
        self.report(dialect.name)
        self.drop_markup()
        self.place.markup()
        self.calls += 1
        self.ids.add(id_)
        self._index = self.take_index(self._next_index)
        reasoning = self.in_reasoning
        self._queue(ToolCallStart(self._index, id_, name, self._choice, in_text=True, in_reasoning=reasoning))

    def report(self, rule: str) -> None:
        """Reports a rule; while the calls are tentative, only once they are confirmed."""
        if self.tentative:
            self.tentative.rules.append(rule)
        else:
            self.fired(rule)

    def _step_aside(self) -> None:
        """Drops the wrapper before a call, and emits the text between the two."""
        (wrapper, text), self.aside = self.aside, (0, 0)
        if wrapper:
            pos = self.scanner.pos
            self.scanner.pos = self.scanner.start + wrapper
            self.drop_markup()
            self.emit_text(self.scanner.start + text)
            self.scanner.pos = pos

    def arguments(self, text: str) -> None:
        """Emits a delta of the call's arguments, and drops the characters up to the scanner's position."""
        if self.attempts is not None:
            self.attempts[-1].pieces.append(text)
            return
        self.drop_markup()
        if text:
            self._queue(ToolCallDelta(self._index, text, self._choice))
        if self.undecided and self.begins == "doubt" and not self.whole:
            held = self.tentative.deferred if self.tentative else self.undecided
            if held.size > DOUBT:  # a long call streams: nothing indicates reasoning
                self.decide_content()

    def end(self) -> None:
        """Ends a complete call."""
        if self.attempts is not None:
            self.attempts[-1].ended = True
            return
        self.drop_markup()
        self._queue(ToolCallEnd(self._index, self._choice))
        self.committed = False
        self.after_call = True

    def break_off(self) -> None:
        """Ends a call that was cut off, which is never completed (R8)."""
        self.drop_markup()
        self.committed = False
        self.after_call = self.attempts is None

    def switch_reasoning(self, dialect: Dialect, *, thinking: bool, pair: "Pair | None" = None, guess: bool = False) -> None:
        """Drops a tag that begins or ends reasoning; tentative calls in the reasoning that it ends become text.

        Args:
            dialect: The dialect of the tag.
            thinking: Whether reasoning begins.
            pair: The tags of this reasoning.
            guess: Whether the tag may be part of the answer.
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
        """Drops a channel marker.

        Args:
            dialect: The dialect of the marker.
            kind: What follows: reasoning, content, or with "" the kind that the upstream sends.
            guess: Whether the marker may be part of the answer.
        """
        self.fired(dialect.name)
        self._step_aside()
        self._begin_guess(guess=guess)
        self.drop_markup()
        self.channels = dialect
        self.thinking, self.speaking = kind == "reasoning", kind == "content"
        self.place.markup()

    def open_wrapper(self, dialect: Dialect, ends: tuple[str, ...]) -> None:
        """Records that the call stands in a wrapper, whose end tag is markup even after text."""
        if self.attempts is None:
            self.open = (dialect, ends)
