r"""Converts quoted strings to JSON strings incrementally.

    'It\'s'   r"\d"   '''two lines'''   "\u00e9"        Python strings, and JSON strings with the same syntax
    <|"|>C:\new "x"<|"|>                                between tokens, without escapes

Parsed text is emitted at once, so the cost of a delta does not depend on the length of the string.
"""

import re
from collections.abc import Callable

from ...core import json_text
from ...core.literal_search import openers
from ...core.python_escapes import CUT_ESCAPE, ESCAPE, unescaped
from ...core.scanner import Reading, Scanner
from ...core.text_state import escaped, without

PYTHON_QUOTES = tuple(prefix + quote for prefix in ("", "r", "R", "u", "U") for quote in ('"""', "'''", '"', "'"))


def read_string(scanner: Scanner, opener: str, emit: Callable[[str], None], *, escapes: bool) -> Reading[bool]:
    """Parses a string after its opener. Returns False if the string is cut off.

    A quote before a letter does not end the string: it is an apostrophe without its backslash.

    Args:
        scanner: The scanner.
        opener: One of PYTHON_QUOTES, or without `escapes` any token.
        emit: Receives the JSON text.
        escapes: Whether the string has Python's escapes.
    """
    quote = opener.lstrip("rRuU") if escapes else opener
    stops = openers((quote[0], "\\") if escapes else (quote,))
    raw = opener[0] in "rR"
    if escapes:
        state = escaped(quote[0], json_text.inside if raw else _unescaped_in_string)
    else:
        state = without((quote,), frozenset(), stops.search)._replace(escapes=json_text.inside)
    emit('"')
    while True:
        match = stops.search(scanner.text, scanner.pos)
        end = match.start() if match else len(scanner.text)
        if end > scanner.pos:
            piece, scanner.pos = scanner.text[scanner.pos : end], end
            _emit(emit, piece)
        if match is None:
            if scanner.ended:
                return False
            scanner.text_state = state
            yield
            scanner.text_state = None
        elif escapes and match.group() == "\\":
            escape = yield from _read_escape(scanner)
            if escape is None:
                return False
            _emit(emit, escape.group() if raw else unescaped(escape))
        elif (yield from scanner.literal((quote,))):
            if not escapes or len(quote) > 1 or not (yield from scanner.peek()).isalnum():
                emit('"')
                return True
            _emit(emit, quote)
        else:  # only a prefix of the end
            scanner.pos += 1
            _emit(emit, scanner.text[scanner.pos - 1])


def _emit(emit: Callable[[str], None], text: str) -> None:
    emit(json_text.inside(text))


def _unescaped_in_string(text: str) -> str:
    return json_text.inside(ESCAPE.sub(unescaped, text))


def _read_escape(scanner: Scanner) -> Reading[re.Match[str] | None]:
    """Parses an escape sequence; None if it is cut off."""
    while not scanner.ended and CUT_ESCAPE.match(scanner.text, scanner.pos):
        yield
    match = ESCAPE.match(scanner.text, scanner.pos)
    if match:
        scanner.pos = match.end()
    return match
