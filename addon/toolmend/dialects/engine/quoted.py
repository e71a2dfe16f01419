r"""Strings between quotes, told as JSON strings while they come.

    'It\'s'   r"\d"   '''two lines'''   "\u00e9"        Python's, and JSON's where they are the same
    <|"|>C:\new "x"<|"|>                                between tokens, where nothing is escaped

Rule of this file: what has been read has been emitted, so a delta costs the same however long the string is.
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
    """Reads a string behind its `opener`: one of PYTHON_QUOTES, or without `escapes` any token. False if it is broken off.

    A quote in front of a letter does not end it: that is an apostrophe without its backslash.
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
        else:  # it only looked like the end
            scanner.pos += 1
            _emit(emit, scanner.text[scanner.pos - 1])


def _emit(emit: Callable[[str], None], text: str) -> None:
    emit(json_text.inside(text))


def _unescaped_in_string(text: str) -> str:
    return json_text.inside(ESCAPE.sub(unescaped, text))


def _read_escape(scanner: Scanner) -> Reading[re.Match[str] | None]:
    """Reads a backslash and what it escapes; None if that is cut off."""
    while not scanner.ended and CUT_ESCAPE.match(scanner.text, scanner.pos):
        yield
    match = ESCAPE.match(scanner.text, scanner.pos)
    if match:
        scanner.pos = match.end()
    return match
