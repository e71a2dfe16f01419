"""Runs a reading of a Scanner on text that arrives in pieces."""

from collections.abc import Callable, Iterable
from typing import Any

from toolmend.core.scanner import Reading, Scanner


def read(pieces: Iterable[str], start: Callable[[Scanner], Reading[Any]]) -> tuple[Any, str]:
    """What a reading returns, and the text after its position."""
    scanner = Scanner()
    reading, rest = start(scanner), iter(pieces)
    while True:
        try:
            next(reading)
        except StopIteration as done:
            return done.value, scanner.text[scanner.pos :] + "".join(rest)
        piece = next(rest, None)
        if piece is None:
            assert not scanner.ended, "it asks for more after the end"
            scanner.ended = True
        else:
            scanner.feed(piece)
