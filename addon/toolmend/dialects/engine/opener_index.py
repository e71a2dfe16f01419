"""What to look for in a text, of some dialects: their openers, and what tells that none of them is there.

Rule of this file: it is made once for the same dialects, and knows no text.
"""

from collections.abc import Sequence

from ...core.literal_search import FoundLiteral, Openings
from ...core.text_state import Place, without
from ..families.leftovers import Leftovers
from .dialect import Dialect
from .markdown_context import WORD


class OpenerIndex:
    """What to look for, of some dialects."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self._dialects = tuple(dialects)
        self._rest: OpenerIndex | None = None
        self.by_opener: dict[str, list[Dialect]] = {}
        for dialect in dialects:
            for literal in dialect.openers:
                self.by_opener.setdefault(literal, []).append(dialect)
        # what a wrapper around calls begins with, and what ends it, whoever's calls stand in it
        self.wrappers: dict[str, tuple[str, ...]] = {}
        for dialect in dialects:
            ends = dialect.closers  # DSML has hundreds of them
            for literal in dialect.wrappers if not isinstance(dialect, Leftovers) else ():
                self.wrappers[literal] = self.wrappers[literal] + ends if literal in self.wrappers else ends
        left = [dialect for dialect in dialects if isinstance(dialect, Leftovers)]
        self.leftovers = bool(left)
        self.around = frozenset(self.wrappers).union(*(dialect.closers for dialect in left))
        # those that begin with a letter, and do not stand within a word
        self.words = frozenset(
            opener
            for opener, those in self.by_opener.items()
            if opener[0] in WORD and all(dialect.place == "word" for dialect in those)
        )
        # those that count only where a line begins without a blank: they are too short to be looked for everywhere
        self.lines = frozenset(
            opener
            for opener, those in self.by_opener.items()
            if len(opener) == 1 and all(dialect.place == "line" for dialect in those)
        )
        self.openings = Openings(tuple(self.by_opener), self.words, self.lines)
        self.text_state = without(tuple(self.by_opener), self.words, self._found, self.lines)._replace(pending_at=self._begun)
        # openers that are over where they are found; another one begins with the others
        begun = {opener[:size] for opener in self.by_opener for size in range(1, len(opener))}
        self.whole = self.by_opener.keys() - begun
        self._beginnings = begun - (self.by_opener.keys() - self.lines)

    @property
    def rest(self) -> "OpenerIndex":
        """What to look for once the message has begun."""
        if self._rest is None:
            rest = tuple(dialect for dialect in self._dialects if dialect.place != "message")
            self._rest = self if len(rest) == len(self._dialects) else opener_index(rest)
        return self._rest

    def _found(self, text: str) -> FoundLiteral | None:
        """The first opener in a text, or the beginning of one at its end."""
        found = self.openings.begin(text)
        return self.openings.search(text, found.start()) if found else None

    def _begun(self, text: str, found: Place) -> int:
        """Where the beginning of an opener stands at the end of a text; -1 where that is not all there is to be found."""
        start = found.start()
        if text[start:] not in self._beginnings:
            return -1
        within = text[start] in WORD and (start == 0 or text[start - 1] in WORD)  # at 0, the text before knows
        return -1 if within else start

    def openers_of(self, found: str) -> list[tuple[str, Dialect]]:
        """The openers that what was found is or begins with, the longest first, and whose they are."""
        begun = (found[:size] for size in range(len(found), 0, -1))
        return [(opener, dialect) for opener in begun for dialect in self.by_opener.get(opener, ())]

    def only_words(self, begun: str) -> bool:
        """Whether all openers that begin so do not stand within a word."""
        return all(opener in self.words for opener in self.by_opener if opener.startswith(begun))


MOST_MADE = 256
"""Vocabularies that are kept: there is one for each set of tools where the names of the tools begin a call."""

made: dict[tuple[int, ...], OpenerIndex] = {}
"""By the dialects they are of, which a vocabulary keeps alive."""


def opener_index(dialects: Sequence[Dialect]) -> OpenerIndex:
    """The one of these very dialects, which is made once: it takes milliseconds."""
    key = tuple(map(id, dialects))  # to hash what is in them takes longer than to read an event
    if key not in made:
        if len(made) >= MOST_MADE:
            made.clear()
        made[key] = OpenerIndex(dialects)
    return made[key]
