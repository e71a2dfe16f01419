"""The incremental parser for the text of one choice, shared by all dialects.

    parser.feed(piece) -> ops        see emitter.py
    parser.close()     -> ops

From the first character that can begin a call, text is held until a dialect commits: the header is complete, the name is valid,
and the body has begun as required. If no dialect commits, one character is emitted as text and parsing continues after it.

Rules of dialect-rules.md: R1 commit point, R7 missing ends, R9 wrappers, R10 text around calls, R15 code.
"""

import re
from collections.abc import Callable, Generator, Mapping

from ...core.literal_search import openers
from ...core.scanner import Reading
from ...core.text_state import ROOM, TextState
from ...core.tools import Tools
from ..families.leftovers import NAME as LEFTOVERS
from ..families.leftovers import Leftovers
from ..families.open_json import FENCE, JSON_ARRAY, JSON_OBJECT
from ..families.reasoning_tags import ReasoningTags
from ..families.role_tokens import RoleTokens
from .dialect import Dialect
from .emitter import Beginning, Emitter, Op
from .markdown_context import WORD
from .opener_index import OpenerIndex

MAX_HELD = 1024 * 1024
"""Characters that are held while undecided: much more than any tool call seen in the wild."""

MAX_ASIDE = 200
"""Characters of text between a wrapper and the call in it: a sentence or two."""


_JSON: Mapping[str, Dialect] = {"{": JSON_OBJECT, "[": JSON_ARRAY, "`": FENCE}
"""First character → the dialect of JSON in a wrapper of another dialect."""

_WORDS = re.compile(r"[^<>{}\[\]\"`]*")
"""Text without quotes and without characters that begin a call."""


class MarkupParser(Emitter):
    """Parses the text of one choice. A dialect reads from `scanner` and reports calls to the methods of Emitter.

    Args:
        index: The openers to search for.
        tools: The tools that the request offers.
        choice: The index of the choice.
        new_id: Returns a new call id.
        fired: Called with the name of each rule that fires.
        begins: How the text begins, as far as it is known.
        whole: Whether all text is fed at once.
    """

    def __init__(
        self,
        index: OpenerIndex,
        tools: Tools,
        choice: int,
        new_id: Callable[[], str],
        fired: Callable[[str], None],
        begins: Beginning = "content",
        *,
        whole: bool = False,
    ) -> None:
        super().__init__(tools, choice, new_id, fired, begins, whole=whole)
        self._openers = index
        self._at_start = index if index is not index.rest else None  # the openers until the message has begun
        self.followed = self.again = 0  # how far values of possible calls were parsed, and how many of them within that text
        self.unended: set[tuple[object, ...]] = set()  # XML values without an end tag in the text up to its end
        self._in_call = self._idle = False
        self._reading = self._read()

    @property
    def in_call(self) -> bool:
        """Whether text is held as a possible call, not only as a prefix of an opener."""
        return self._in_call or self.tentative is not None or bool(self.undecided and self.undecided.ops)

    def text_state(self, *, reasoning: bool, held: bool) -> TextState | None:
        """The state in which text of this kind changes nothing, or None.

        Args:
            reasoning: Whether the text is reasoning.
            held: Whether the output is held anyway, so that undecided and deferred text is allowed.
        """
        if reasoning is not self.reasoning:
            return None
        if not (self._stays(reasoning=reasoning) if held else self.tentative is None and self.undecided is None):
            return None
        if self.scanner.text_state:
            return self.scanner.text_state
        is_idle = self._idle and not self.thinking and not self.open[0] and not (self.speaking and reasoning)
        if self._at_start and is_idle:
            self._choose(reasoning=reasoning)
            is_idle = reasoning or self._at_start is None
        return self._openers.text_state if is_idle else None

    def _stays(self, *, reasoning: bool) -> bool:
        """Whether more text of this kind neither triggers a decision nor exceeds MAX_HELD."""
        if self.tentative and not (reasoning or self.thinking or self.undecided):
            return False
        if (self.tentative or self.undecided) and not self.committed:  # decided within DOUBT characters
            return False
        if self.undecided and self.begins == "doubt":  # the same for a call
            return False
        deferred = (self.undecided, self.tentative and self.tentative.deferred)
        late = sum(ops.size for ops in deferred if ops)
        return len(self.scanner.text) - self.scanner.start + late + ROOM <= MAX_HELD

    def passes(self, piece: str, reasoning: bool = False) -> bool:
        """Consumes the next piece and returns True if it is only text: nothing is held, and nothing in it can begin a call."""
        if not self._idle or self.thinking or self.tentative or self.undecided is not None or self.open[0]:
            return False
        if reasoning is not self.reasoning or (self.speaking and reasoning):
            return False
        if self._at_start:
            self._choose(reasoning=reasoning)
        if self._openers.openings.begin(piece):
            return False
        self.places[reasoning].text(piece)
        return True

    def _choose(self, *, reasoning: bool) -> None:
        """Selects the openers: those that count only at the beginning of the message are dropped after it, and in reasoning."""
        assert self._at_start
        if not self.places[False].message_start:
            self._openers, self._at_start = self._at_start.rest, None
        else:
            self._openers = self._at_start.rest if reasoning else self._at_start

    def feed(self, piece: str, reasoning: bool = False) -> list[Op]:
        """Returns the ops for the next text of the choice; `reasoning`: the upstream sent it as reasoning."""
        self.ops = []
        if self.tentative and not reasoning and not self.thinking and not self.undecided and piece.strip():
            self._give_up_doubt()
        if reasoning and piece:
            self.began_as = "content"
            self.decide_content()
        self.border = max(0, self.border - self.scanner.start)
        self.scanner.feed(piece)
        if reasoning is not self.reasoning:
            self.reasoning = reasoning
            self.border = len(self.scanner.text) - len(piece)
            if self.channels:  # the upstream separates the channels itself
                self.thinking = self.speaking = False
        self._advance()
        return self.ops

    def native(self, *, begins: bool) -> list[Op]:
        """Returns the ops for a native call of the upstream: tentative calls in reasoning become text.

        `begins`: the native call begins, which ends an open call of the text: later text is not part of its arguments.
        """
        self.ops = []
        self.native_calls += begins
        if begins and self.tentative and self.undecided and not self.whole:
            self.decide_content()  # nothing indicates reasoning
        if self.tentative:
            self._give_up_doubt()
        elif begins and self.committed:
            self._read_to_the_end()
            self._restart()
        elif begins and self._only_a_wrapper():
            self.fired(LEFTOVERS)
            self.scanner.pos = len(self.scanner.text)
            self.drop_markup()
            self._restart()
        if begins:
            self._resolve_guess()
        return self.ops

    def _only_a_wrapper(self) -> bool:
        """Whether only the begin or end tag of a wrapper, on a separate line, is held."""
        held = self.scanner.text[self.scanner.start :].rstrip()
        if not self._openers.leftovers or held not in self._openers.around:
            return False
        return self.place.line_start and not self.place.in_code

    def close(self, *, cut: bool = False) -> list[Op]:
        """Returns the ops at the end of the text and resets the parser. `cut`: the stream was cut off."""
        self.ops = []
        self._read_to_the_end(broken=cut)
        self._record_beginning(cut=cut)
        if cut and not self.undecided:
            self.guess = None  # reasoning that was cut off
        self.confirm_calls()
        self.decide_content()
        self.open = (None, ())
        self.channels = None
        self.thinking = self.speaking = False
        self._restart()
        return self.ops

    def give_up(self) -> list[Op]:
        """Returns the ops when too many events are held: undecided text is emitted, a committed call continues."""
        self.ops = []
        self.fired("hold_limit")
        if self.undecided:
            self.decide_content()
        if self.tentative:
            self._give_up_doubt()
        elif not self.committed:
            self._all_is_text()
        return self.ops

    def _read_to_the_end(self, *, broken: bool = True) -> None:
        self.scanner.ended, self.scanner.broken = True, broken
        self._advance()
        self.scanner.ended, self.scanner.broken = False, True
        self.unended.clear()

    def _advance(self) -> None:
        next(self._reading, None)
        if self.undecided and self.undecided.size > MAX_HELD:
            self.fired("hold_limit")
            self.decide_content()
        held = len(self.scanner.text) - self.scanner.start
        if held <= MAX_HELD and not self.tentative:
            return
        if self.tentative and held + self.tentative.deferred.size > MAX_HELD:
            self.fired("hold_limit")
            self._give_up_doubt()
        elif held > MAX_HELD and not self.committed:
            self.fired("hold_limit")
            self._all_is_text()

    def _all_is_text(self) -> None:
        self.emit_text(len(self.scanner.text))
        self._restart()

    def _restart(self) -> None:
        self.committed = self._in_call = self._idle = False
        self.attempts, self.aside = None, (0, 0)
        self.scanner.pos, self.scanner.text_state = self.scanner.start, None
        self._reading = self._read()

    def _give_up_doubt(self) -> None:
        self.revert_calls()
        self._restart()
        self.emit_text(len(self.scanner.text))

    # the main loop

    def _read(self) -> Generator[None, None, None]:
        scanner = self.scanner
        called: Dialect | None = None  # the scanner is directly after a call of this dialect
        while True:
            if called:
                yield from scanner.blanks()
                ends = self.open[1] if self.open[0] is called and called in _JSON.values() else ()
                if closer := (yield from scanner.literal((*called.closers, *ends))):
                    self._drop_closer(closer)
                    continue
                rest = scanner.text[scanner.pos :]
                if not rest or (scanner.ended and len(rest) > 1 and any(end.startswith(rest) for end in called.closers)):
                    scanner.pos += len(rest)  # the end of the text, or an end token that was cut off
                    self.drop_markup()
                    return
            if self._at_start:
                self._choose(reasoning=self.in_reasoning)
            match = self._openers.openings.search(scanner.text, scanner.pos)
            if self.open[0] and (yield from self._end_of_wrapper(match.start() if match else len(scanner.text))):
                continue
            if match is None:
                self.emit_text(len(scanner.text))
                called = None
                if scanner.ended:
                    return
                self._idle = True
                yield
                self._idle = False
                continue
            if match.start() > scanner.pos:
                self.emit_text(match.start())
                called = None
            found = match.group()
            if self.place.in_word and self._openers.only_words(found):
                self.emit_text(scanner.pos + 1)
            elif found not in self._openers.whole and not scanner.ended and match.end() == len(scanner.text):
                yield  # a prefix of an opener
            else:
                before, called = called, (yield from self._call(found))
                if not called and before and self._is_stray(before):
                    scanner.pos = len(scanner.text)
                    self.drop_markup()
                elif not called:
                    self.emit_text(scanner.pos + 1)

    def _is_stray(self, dialect: Dialect) -> bool:
        """Whether the text ends with a token that begins a call of the dialect, directly after such a call."""
        rest = self.scanner.text[self.scanner.pos :].rstrip()
        return self.scanner.ended and not dialect.ambiguous and rest in dialect.openers

    def _end_of_wrapper(self, before: int) -> Reading[bool]:
        """Drops the end tag of the open wrapper if it is in the text up to `before`, where an opener may begin.

        Returns whether anything was emitted, or more text arrived.
        """
        scanner = self.scanner
        ends = self.open[1]
        match = openers(ends).search(scanner.text, scanner.pos, before + max(map(len, ends), default=0))
        if match is None or match.start() > before:
            return False
        opener_here = match.start() == before
        self.emit_text(match.start())
        scanner.pos = match.start()
        held = len(scanner.text) - scanner.start
        closer = yield from scanner.literal(ends)
        if closer:
            self._drop_closer(closer)
        elif opener_here:
            return len(scanner.text) - scanner.start > held  # with more text, the search has to start again
        else:
            self.emit_text(scanner.pos + 1)
        return True

    def _drop_closer(self, closer: str) -> None:
        self.drop_markup()
        if closer in self.open[1]:
            self.open = (None, ())

    def _call(self, found: str) -> Reading[Dialect | None]:
        """Parses a call that may begin at scanner.pos with the opener prefix `found`. Returns its dialect, or None."""
        offset = self.scanner.pos - self.scanner.start
        dialect = yield from self._call_here(found)
        if dialect is None and found in self._openers.wrappers and not self.place.in_code:
            self.scanner.pos += len(found)
            dialect = yield from self.call_in(len(found), self._openers.wrappers[found], json=True)
            if dialect is None:
                self.scanner.pos = self.scanner.start + offset
        return dialect

    def _call_here(self, found: str) -> Reading[Dialect | None]:
        """Parses a call that begins at scanner.pos, without a wrapper of another dialect."""
        scanner = self.scanner
        offset = scanner.pos - scanner.start
        candidates = self._openers.openers_of(found)
        candidates.sort(key=lambda candidate: candidate[1] is not self.open[0])  # the dialect of the open wrapper first
        for opener, dialect in candidates:
            if not self._may_stand_here(dialect, opener):
                continue
            if (yield from self._read_call(dialect)):
                return dialect
            scanner.pos = scanner.start + offset
        return None

    def opens_wrapper(self, tag: str) -> bool:
        """Whether a tag is the begin tag of a known wrapper."""
        return tag in self._openers.wrappers

    def call_in(self, wrapper: int, ends: tuple[str, ...], *, json: bool = False) -> Reading[Dialect | None]:
        """Parses a call of any dialect after a wrapper, possibly with a few words before the call.

        Args:
            wrapper: Characters of the wrapper's begin tag.
            ends: The wrapper's end tags. One may come first: some models write an empty wrapper.
            json: The wrapper is one of a dialect that is looked for, so JSON in it may be a call.

        Returns:
            The dialect of the call, or None.
        """
        scanner = self.scanner
        yield from scanner.blanks()
        if (yield from scanner.literal(ends)):
            yield from scanner.blanks()
        before = scanner.pos - scanner.start
        words = yield from scanner.run(_WORDS, MAX_ASIDE)
        if words is None or not (follows := (yield from scanner.peek())):
            return None
        begin = scanner.pos - scanner.start
        self.aside = before, len(words)
        dialect = yield from self._call_at_opener()
        if dialect is None and json and follows in _JSON and not words.strip():
            scanner.pos = scanner.start + begin
            dialect = yield from self._read_call(_JSON[follows])
        self.aside = 0, 0
        if dialect and ends:
            self.open = dialect, (*self.open[1], *ends) if self.open[0] is dialect else ends
        return dialect

    def _call_at_opener(self) -> Reading[Dialect | None]:
        """Parses a call if an opener stands at scanner.pos. Returns its dialect, or None."""
        scanner, index = self.scanner, self._openers
        while True:
            match = index.openings.search(scanner.text, scanner.pos)
            if match is None or match.start() != scanner.pos:
                return None
            found = match.group()
            if found in index.whole or match.end() < len(scanner.text) or scanner.ended:
                return (yield from self._call_here(found))
            yield

    def _read_call(self, dialect: Dialect) -> Reading[Dialect | None]:
        """Parses a call of a dialect. Returns the dialect, or None."""
        self._in_call = True
        called = yield from dialect.read(self)
        self._in_call = False
        return dialect if called else None

    @property
    def _wrapper(self) -> str:
        """The wrapper before the possible call."""
        scanner = self.scanner
        return scanner.text[scanner.start : scanner.start + self.aside[0]].rstrip()

    def _may_stand_here(self, dialect: Dialect, opener: str) -> bool:
        """Whether a call of this dialect is possible at the scanner's position."""
        if self.aside[0] and isinstance(dialect, Leftovers | ReasoningTags | RoleTokens):
            return False  # a wrapper without a call is text, with everything in it
        if opener in dialect.inner and self.open[0] is not dialect and self._wrapper not in dialect.wrappers:
            return False
        if dialect is self.channels:
            return True
        place = self.place
        if place.extends_run(opener[0]):
            return False
        return not (
            (self.in_reasoning and dialect.in_reasoning == "never")
            or (dialect.ambiguous and place.in_code)
            or (dialect.place == "word" and opener[0] in WORD and place.in_word)
            or (dialect.place == "line" and not (place.line_begins if opener in self._openers.lines else place.line_start))
            or (dialect.place == "message" and not place.message_start)
        )
