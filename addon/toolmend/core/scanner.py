"""Text that comes in pieces, read as if it were whole.

Rule of this file: it is the only place that knows where the text was cut. A reader is a generator over a Scanner; its `yield`
means only "more text, please", and after it the scanner has more text or has `ended`. What such a generator returns is the
same for every way of cutting the text. More text may come at every `yield`, and then positions move: what a reader keeps over
a `yield` is a length, never a place.

    text:  |…already decided…| held: start … pos | ahead … |
"""

import re
from collections.abc import Generator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .text_state import TextState

type Reading[T] = Generator[None, None, T]

_BLANKS = re.compile(r"[ \t\r\n]*")


class Scanner:
    """`text[start:]` is undecided, `pos` is how far it has been read, `ended` says that no more will come.

    `broken`: the text ends in the middle, as far as is known; only where it has `ended` does this mean anything.
    `course`: set by a reader while it waits for more of what it tells as it comes.
    """

    __slots__ = ("_forgotten", "broken", "course", "ended", "pos", "start", "text")

    def __init__(self) -> None:
        self.text = ""
        self.start = 0
        self.pos = 0
        self.ended = False
        self.broken = True
        self.course: TextState | None = None
        self._forgotten = 0  # characters

    @property
    def place(self) -> int:
        """How far it has been read, from the text's very beginning: this may be kept."""
        return self._forgotten + self.pos

    def feed(self, piece: str) -> None:
        """More text. What has been decided is forgotten."""
        self.text = self.text[self.start :] + piece
        self.pos -= self.start
        self._forgotten += self.start
        self.start = 0

    def peek(self) -> Reading[str]:
        """The next character, or "" at the end of the text."""
        while self.pos >= len(self.text) and not self.ended:
            yield
        return self.text[self.pos : self.pos + 1]

    def blanks(self) -> Reading[None]:
        """Goes past blanks."""
        while True:
            match = _BLANKS.match(self.text, self.pos)
            assert match
            self.pos = match.end()
            if self.pos < len(self.text) or self.ended:
                return
            yield

    def literal(self, options: tuple[str, ...]) -> Reading[str | None]:
        """Goes past the longest of `options` that stands here and returns it; None, and no step, if none does."""
        whole, begun, firsts, sizes = _options(options)
        while True:
            here = self.text[self.pos : self.pos + sizes[0]]
            if here and here[0] not in firsts:
                return None
            if here in begun and not self.ended:
                yield  # more than this may stand here
                continue
            found = next((here[:size] for size in sizes if here[:size] in whole), None)
            if found:
                self.pos += len(found)
            return found

    def ahead(self, options: tuple[str, ...]) -> Reading[str | None]:
        """The longest of `options` that stands here; no step is made."""
        found = yield from self.literal(options)
        if found:
            self.pos -= len(found)
        return found

    def run(self, pattern: re.Pattern[str], limit: int) -> Reading[str | None]:
        """Goes past the longest text that `pattern` (of single characters, any number of them) matches and returns it.

        None if it is longer than `limit` characters.
        """
        size = 0
        while True:
            match = pattern.match(self.text, self.pos, self.pos + limit + 1 - size)
            assert match
            size += match.end() - self.pos
            self.pos = match.end()
            if size > limit:
                return None
            if self.pos < len(self.text) or self.ended:
                return self.text[self.pos - size : self.pos]
            yield


@cache
def _options(options: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str], frozenset[str], tuple[int, ...]]:
    """Some literals, all that is the beginning of one, their first characters, and their lengths, the longest first."""
    begun = frozenset(option[:size] for option in options for size in range(len(option)))
    sizes = sorted({len(option) for option in options}, reverse=True)
    return frozenset(options), begun, frozenset(option[:1] for option in options), tuple(sizes) or (0,)
