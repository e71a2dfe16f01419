"""Finds the calls in the text of one choice: the one engine behind all dialects.

    reader.feed(piece) -> ops        what is decided: emitter.py
    reader.close()     -> ops

Rule of this file: nothing is decided before it is sure. From the first character that can begin a call the text is held until a
dialect commits (the header is complete, the name valid, the body begun as it must); if none does, one character is text and
reading goes on behind it.

Rules of dialect-rules.md: R1 commit point, R7 missing ends, R9 wrappers, R10 text around calls, R15 code.
"""

import re
from collections.abc import Callable, Generator

from ...core.literal_search import openers
from ...core.scanner import Reading
from ...core.text_state import ROOM, TextState
from ...core.tools import Tools
from ..families.leftovers import NAME as LEFTOVERS
from ..families.leftovers import Leftovers
from ..families.reasoning_tags import ReasoningTags
from ..families.role_tokens import RoleTokens
from .dialect import Dialect
from .emitter import Beginning, Emitter, Op
from .markdown_context import WORD
from .opener_index import OpenerIndex

MAX_HELD = 1024 * 1024
"""Characters that are held for what is not certain yet: no tool call seen in the wild comes near it."""

MAX_ASIDE = 200
"""Characters of text between a wrapper and the call in it: a sentence or two."""


_WORDS = re.compile(r"[^<>{}\[\]\"`]*")
"""Text without what a call begins with, or quotes."""


class MarkupParser(Emitter):
    """The reader of one choice. A dialect reads through `scanner`, and tells what it found.

    `begins`: how the text begins, as far as that is known. `whole`: all of it comes at once.
    """

    def __init__(
        self,
        words: OpenerIndex,
        tools: Tools,
        choice: int,
        new_id: Callable[[], str],
        fired: Callable[[str], None],
        begins: Beginning = "content",
        *,
        whole: bool = False,
    ) -> None:
        super().__init__(tools, choice, new_id, fired, begins, whole=whole)
        self._openers = words
        self._at_start = words if words is not words.rest else None  # what to look for until the message has begun
        self.followed = self.again = 0  # how far values were read that might be a call's, and how many within that
        self.unended = 0  # values of XML elements that were read up to the end of the text
        self._in_call = self._idle = False
        self._reading = self._read()

    @property
    def in_call(self) -> bool:
        """Whether text is held because it looks like a call: more than the beginning of an opener."""
        return self._in_call or self.tentative is not None or bool(self.undecided and self.undecided.ops)

    def text_state(self, *, reasoning: bool, held: bool) -> TextState | None:
        """How such text goes on. `held`: it leaves later, so it may be undecided, or told late."""
        if reasoning is not self.reasoning:
            return None
        if not (self._stays(reasoning=reasoning) if held else self.tentative is None and self.undecided is None):
            return None
        if self.scanner.text_state:
            return self.scanner.text_state
        rests = self._idle and not self.thinking and not self.open[0] and not (self.speaking and reasoning)
        if self._at_start and rests:
            self._choose(reasoning=reasoning)
            rests = reasoning or self._at_start is None
        return self._openers.text_state if rests else None

    def _stays(self, *, reasoning: bool) -> bool:
        """Whether no more of such text ends a doubt, or is more than may be held."""
        if self.tentative and not (reasoning or self.thinking or self.undecided):
            return False
        if (self.tentative or self.undecided) and not self.committed:  # it ends within DOUBT characters
            return False
        late = sum(told.size for told in (self.undecided, self.tentative and self.tentative.deferred) if told)
        return len(self.scanner.text) - self.scanner.start + late + ROOM <= MAX_HELD

    def passes(self, piece: str, reasoning: bool = False) -> bool:
        """Whether the next text is just text: nothing is held, and nothing in it can begin a call. Then it has been read."""
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
        """What counts only where the message begins is not looked for behind that, or in reasoning."""
        assert self._at_start
        if not self.places[False].message_start:
            self._openers, self._at_start = self._at_start.rest, None
        else:
            self._openers = self._at_start.rest if reasoning else self._at_start

    def feed(self, piece: str, reasoning: bool = False) -> list[Op]:
        """The next text of the choice: content, or what the upstream calls reasoning."""
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
            if self.channels:  # the upstream tells the channels apart itself
                self.thinking = self.speaking = False
        self._advance()
        return self.ops

    def native(self, *, begins: bool) -> list[Op]:
        """A call of the upstream's own comes: what looked like calls in the reasoning were thoughts.

        Where one `begins`, a call that is open is over: the text behind is no more of its arguments.
        """
        self.ops = []
        self.native_calls += begins
        if begins and self.tentative and self.undecided and not self.whole:
            self.decide_content()  # nothing shows that it is a thought
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
            self._called()
        return self.ops

    def _only_a_wrapper(self) -> bool:
        """Whether what is held is the beginning or the end of a wrapper on a line of its own, and nothing else."""
        held = self.scanner.text[self.scanner.start :].rstrip()
        if not self._openers.leftovers or held not in self._openers.around:
            return False
        return self.place.line_start and not self.place.in_code

    def close(self, *, cut: bool = False) -> list[Op]:
        """The text is over, for now: a choice that goes on behind its end starts afresh. `cut`: more would have come."""
        self.ops = []
        self._read_to_the_end(broken=cut)
        self._show_end(cut=cut)
        if cut and not self.undecided:
            self.guess = None  # a thought that was cut off
        self.confirm_calls()
        self.decide_content()
        self.open = (None, ())
        self.channels = None
        self.thinking = self.speaking = False
        self._restart()
        return self.ops

    def give_up(self) -> list[Op]:
        """More events are held than may be: what is not certain is text. What surely is a call goes on."""
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
        behind: Dialect | None = None  # the text stands right behind a call of this dialect
        while True:
            if behind:
                yield from scanner.blanks()
                if closer := (yield from scanner.literal(behind.closers)):
                    self._take_closer(closer)
                    continue
                rest = scanner.text[scanner.pos :]
                if not rest or (scanner.ended and len(rest) > 1 and any(end.startswith(rest) for end in behind.closers)):
                    scanner.pos += len(rest)  # nothing more, or the beginning of an end token that the stream was cut in
                    self.drop_markup()
                    return
            if self._at_start:
                self._choose(reasoning=self.in_reasoning)
            match = self._openers.openings.search(scanner.text, scanner.pos)
            if self.open[0] and (yield from self._end_of_wrapper(match.start() if match else len(scanner.text))):
                continue
            if match is None:
                self.emit_text(len(scanner.text))
                behind = None
                if scanner.ended:
                    return
                self._idle = True
                yield
                self._idle = False
                continue
            if match.start() > scanner.pos:
                self.emit_text(match.start())
                behind = None
            found = match.group()
            if self.place.in_word and self._openers.only_words(found):
                self.emit_text(scanner.pos + 1)
            elif found not in self._openers.whole and not scanner.ended and match.end() == len(scanner.text):
                yield  # what stands here may become an opener
            else:
                behind = yield from self._call(found)
                if not behind:
                    self.emit_text(scanner.pos + 1)

    def _end_of_wrapper(self, before: int) -> Reading[bool]:
        """Swallows the end of the open wrapper, if it stands at `before`, where an opener may be, or in the text up to there.

        Whether something was decided, or more text came.
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
            self._take_closer(closer)
        elif opener_here:
            return len(scanner.text) - scanner.start > held  # more text came, so it is looked at again
        else:
            self.emit_text(scanner.pos + 1)
        return True

    def _take_closer(self, closer: str) -> None:
        self.drop_markup()
        if closer in self.open[1]:
            self.open = (None, ())

    def _call(self, found: str) -> Reading[Dialect | None]:
        """Reads a call that may begin at scanner.pos, with what was `found` there. The dialect that it was of, or None."""
        offset = self.scanner.pos - self.scanner.start
        dialect = yield from self._call_here(found)
        if dialect is None and found in self._openers.wrappers and not self.place.in_code:
            self.scanner.pos += len(found)
            dialect = yield from self.call_in(len(found), self._openers.wrappers[found])
            if dialect is None:
                self.scanner.pos = self.scanner.start + offset
        return dialect

    def _call_here(self, found: str) -> Reading[Dialect | None]:
        """Reads a call that begins at scanner.pos."""
        scanner = self.scanner
        offset = scanner.pos - scanner.start
        candidates = self._openers.openers_of(found)
        candidates.sort(key=lambda candidate: candidate[1] is not self.open[0])  # whose wrapper is open comes first
        for opener, dialect in candidates:
            if not self._may_stand_here(dialect, opener):
                continue
            self._in_call = True
            called = yield from dialect.read(self)
            self._in_call = False
            if called:
                return dialect
            scanner.pos = scanner.start + offset
        return None

    def opens_wrapper(self, tag: str) -> bool:
        """Whether a tag is the beginning of a wrapper that a dialect knows."""
        return tag in self._openers.wrappers

    def call_in(self, wrapper: int, ends: tuple[str, ...]) -> Reading[Dialect | None]:
        """Reads a call of any dialect behind a wrapper of so many characters, with a few words in front of it or none.

        `ends`: what ends the wrapper. It may have ended already: some models write an empty one first.
        """
        scanner, index = self.scanner, self._openers
        yield from scanner.blanks()
        if (yield from scanner.literal(ends)):
            yield from scanner.blanks()
        before = scanner.pos - scanner.start
        words = yield from scanner.run(_WORDS, MAX_ASIDE)
        if words is None or not (yield from scanner.peek()):
            return None
        while True:
            match = index.openings.search(scanner.text, scanner.pos)
            if match is None or match.start() != scanner.pos:
                return None
            found = match.group()
            if found in index.whole or match.end() < len(scanner.text) or scanner.ended:
                break
            yield
        self.aside = before, len(words)
        dialect = yield from self._call_here(found)
        self.aside = 0, 0
        if dialect:
            self.open = dialect, (*self.open[1], *ends) if self.open[0] is dialect else ends
        return dialect

    @property
    def _wrapper(self) -> str:
        """The wrapper in front of the call that may begin."""
        scanner = self.scanner
        return scanner.text[scanner.start : scanner.start + self.aside[0]].rstrip()

    def _may_stand_here(self, dialect: Dialect, opener: str) -> bool:
        """Whether a call of this dialect can stand here."""
        if self.aside[0] and isinstance(dialect, Leftovers | ReasoningTags | RoleTokens):
            return False  # a wrapper without a call is text, and so is what stands in it
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
