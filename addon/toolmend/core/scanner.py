"""A cursor over text that arrives in pieces; parsers read it as if it were whole.

    text:  |…already decided…| held: start … pos | ahead … |

1. Only this module handles the cuts. A parser is a generator over a Scanner; its `yield` means only "more text, please", and
   after it the scanner has more text or has `ended`. What such a generator returns does not depend on the cuts.
2. More text may arrive at every `yield`, and positions move then: a parser keeps lengths across a `yield`, never positions.
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
    """`text[start:]` is undecided, `pos` is the read position, `ended`: no more text follows.

    `broken`: the text ends abnormally, as far as is known; only valid once it has `ended`.
    `text_state`: set by a parser while it waits for more of a text that it emits as it arrives.
    """

    __slots__ = ("_forgotten", "broken", "ended", "pos", "start", "text", "text_state")

    def __init__(self) -> None:
        self.text = ""
        self.start = 0
        self.pos = 0
        self.ended = False
        self.broken = True
        self.text_state: TextState | None = None
        self._forgotten = 0  # characters

    @property
    def place(self) -> int:
        """The read position from the very beginning of the text, which may be kept across a `yield`."""
        return self._forgotten + self.pos

    def feed(self, piece: str) -> None:
        """Appends text and drops the decided text."""
        self.text = self.text[self.start :] + piece
        self.pos -= self.start
        self._forgotten += self.start
        self.start = 0

    def peek(self) -> Reading[str]:
        """Returns the next character, or "" at the end of the text."""
        while self.pos >= len(self.text) and not self.ended:
            yield
        return self.text[self.pos : self.pos + 1]

    def blanks(self) -> Reading[None]:
        """Skips blanks."""
        while True:
            match = _BLANKS.match(self.text, self.pos)
            assert match
            self.pos = match.end()
            if self.pos < len(self.text) or self.ended:
                return
            yield

    def literal(self, options: tuple[str, ...]) -> Reading[str | None]:
        """Reads the longest of `options` here and returns it; if none matches, returns None and stays."""
        whole, begun, firsts, sizes = _options(options)
        while True:
            here = self.text[self.pos : self.pos + sizes[0]]
            if here and here[0] not in firsts:
                return None
            if here in begun and not self.ended:
                yield  # a longer option may match
                continue
            found = next((here[:size] for size in sizes if here[:size] in whole), None)
            if found:
                self.pos += len(found)
            return found

    def ahead(self, options: tuple[str, ...]) -> Reading[str | None]:
        """Returns the longest of `options` here without reading it."""
        found = yield from self.literal(options)
        if found:
            self.pos -= len(found)
        return found

    def look[T](self, reading: Reading[T]) -> Reading[T]:
        """Runs a parser and moves back to where it began. Returns the parser's result."""
        offset = self.pos - self.start
        found = yield from reading
        self.pos = self.start + offset
        return found

    def run(self, pattern: re.Pattern[str], limit: int) -> Reading[str | None]:
        """Reads and returns the longest text that `pattern` (a repeated character class) matches.

        Returns None if it exceeds `limit` characters.
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
    """The options, all their proper prefixes, their first characters, and their lengths, longest first."""
    begun = frozenset(option[:size] for option in options for size in range(len(option)))
    sizes = sorted({len(option) for option in options}, reverse=True)
    return frozenset(options), begun, frozenset(option[:1] for option in options), tuple(sizes) or (0,)
