"""The index of the openers of several dialects: which strings to search for, and which dialects each of them belongs to.

An index has no state. It is made once for each set of dialects and cached.
"""

from collections.abc import Sequence

from ...core.literal_search import FoundLiteral, Openings
from ...core.text_state import Place, without
from ..families.leftovers import Leftovers
from .dialect import Dialect
from .markdown_context import WORD


class OpenerIndex:
    """The openers of some dialects."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self._dialects = tuple(dialects)
        self._rest: OpenerIndex | None = None
        self.by_opener: dict[str, list[Dialect]] = {}
        for dialect in dialects:
            for literal in dialect.openers:
                self.by_opener.setdefault(literal, []).append(dialect)
        # begin tag of a wrapper → its end tags; the calls in it may be of any dialect
        self.wrappers: dict[str, tuple[str, ...]] = {}
        for dialect in dialects:
            ends = dialect.closers  # DSML has hundreds of them
            for literal in dialect.wrappers if not isinstance(dialect, Leftovers) else ():
                self.wrappers[literal] = self.wrappers[literal] + ends if literal in self.wrappers else ends
        left = [dialect for dialect in dialects if isinstance(dialect, Leftovers)]
        self.leftovers = bool(left)
        self.around = frozenset(self.wrappers).union(*(dialect.closers for dialect in left))
        # openers that begin with a letter, and do not count inside a word
        self.words = frozenset(
            opener
            for opener, owners in self.by_opener.items()
            if opener[0] in WORD and all(dialect.place == "word" for dialect in owners)
        )
        # openers of one character, which count only directly at the beginning of a line: elsewhere they are too frequent
        self.lines = frozenset(
            opener
            for opener, owners in self.by_opener.items()
            if len(opener) == 1 and all(dialect.place == "line" for dialect in owners)
        )
        self.openings = Openings(tuple(self.by_opener), self.words, self.lines)
        self.text_state = without(tuple(self.by_opener), self.words, self._found, self.lines)._replace(pending_at=self._begun)
        # openers that are not a prefix of another one
        begun = {opener[:size] for opener in self.by_opener for size in range(1, len(opener))}
        self.whole = self.by_opener.keys() - begun
        self._beginnings = begun - (self.by_opener.keys() - self.lines)

    @property
    def rest(self) -> "OpenerIndex":
        """The index without openers that count only at the beginning of the message."""
        if self._rest is None:
            rest = tuple(dialect for dialect in self._dialects if dialect.place != "message")
            self._rest = self if len(rest) == len(self._dialects) else opener_index(rest)
        return self._rest

    def _found(self, text: str) -> FoundLiteral | None:
        """The first opener in a text, or a prefix of one at its end."""
        found = self.openings.begin(text)
        return self.openings.search(text, found.start()) if found else None

    def _begun(self, text: str, found: Place) -> int:
        """The position of an opener's prefix at the end of a text; -1 if more than that was found."""
        start = found.start()
        if text[start:] not in self._beginnings:
            return -1
        within = text[start] in WORD and (start == 0 or text[start - 1] in WORD)  # at 0 it depends on the text before
        return -1 if within else start

    def openers_of(self, found: str) -> list[tuple[str, Dialect]]:
        """The openers that `found` equals or begins with, the longest first, with their dialects."""
        begun = (found[:size] for size in range(len(found), 0, -1))
        return [(opener, dialect) for opener in begun for dialect in self.by_opener.get(opener, ())]

    def only_words(self, begun: str) -> bool:
        """Whether no opener with this prefix counts inside a word."""
        return all(opener in self.words for opener in self.by_opener if opener.startswith(begun))


MAX_CACHED = 256
"""Indices in the cache. Dialects whose calls begin with a tool's name need one for each set of tools."""

indices: dict[tuple[int, ...], OpenerIndex] = {}
"""Ids of the dialects → index, which keeps the dialects alive."""


def opener_index(dialects: Sequence[Dialect]) -> OpenerIndex:
    """The cached index of these dialects: making one takes milliseconds."""
    key = tuple(map(id, dialects))  # hashing the dialects themselves takes longer than parsing an event
    if key not in indices:
        if len(indices) >= MAX_CACHED:
            indices.clear()
        indices[key] = OpenerIndex(dialects)
    return indices[key]
