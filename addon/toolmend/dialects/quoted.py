r"""Strings between quotes, told as JSON strings while they come.

    'It\'s'   r"\d"   '''two lines'''   "\u00e9"        Python's, and JSON's where they are the same
    <|"|>C:\new "x"<|"|>                                between tokens, where nothing is escaped

Rule of this file: what has been read has been emitted, so a delta costs the same however long the string is.
"""

import re
from collections.abc import Callable

from .. import json_text
from ..course import escaped, without
from ..openings import openers
from ..scanner import Reading, Scanner

PYTHON_QUOTES = tuple(prefix + quote for prefix in ("", "r", "R", "u", "U") for quote in ('"""', "'''", '"', "'"))

_HEX = "[0-9A-Fa-f]"
_ESCAPE = re.compile(
    rf"\\(?:x({_HEX}{{2}})|u({_HEX}{{4}})|U({_HEX}{{8}})|(?P<octal>[0-7]{{1,3}})|(?P<other>\r\n|.))", re.DOTALL
)
_CUT_ESCAPE = re.compile(rf"\\(?:x{_HEX}?|u{_HEX}{{0,3}}|U{_HEX}{{0,7}}|[0-7]{{1,2}}|\r)?\Z")
_ESCAPES = dict(zip("ntrabfv\\'\"", "\n\t\r\a\b\f\v\\'\"", strict=True)) | {"\n": "", "\r\n": ""}



def read_string(scanner: Scanner, opener: str, emit: Callable[[str], None], *, escapes: bool) -> Reading[bool]:
    """Reads a string behind its `opener`: one of PYTHON_QUOTES, or without `escapes` any token. False if it is broken off.

    A quote in front of a letter does not end it: that is an apostrophe without its backslash.
    """
    quote = opener.lstrip("rRuU") if escapes else opener
    stops = openers((quote[0], "\\") if escapes else (quote,))
    raw = opener[0] in "rR"
    if escapes:
        course = escaped(quote[0], json_text.inside if raw else _unescaped_in_string)
    else:
        course = without((quote,), frozenset(), stops.search)._replace(escapes=json_text.inside)
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
            scanner.course = course
            yield
            scanner.course = None
        elif escapes and match.group() == "\\":
            escape = yield from _read_escape(scanner)
            if escape is None:
                return False
            _emit(emit, escape.group() if raw else _unescaped(escape))
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
    return json_text.inside(_ESCAPE.sub(_unescaped, text))


def _read_escape(scanner: Scanner) -> Reading[re.Match[str] | None]:
    """Reads a backslash and what it escapes; None if that is cut off."""
    while not scanner.ended and _CUT_ESCAPE.match(scanner.text, scanner.pos):
        yield
    match = _ESCAPE.match(scanner.text, scanner.pos)
    if match:
        scanner.pos = match.end()
    return match


def _unescaped(escape: re.Match[str]) -> str:
    """What an escape stands for; itself, if Python knows none of that kind."""
    if escape["other"]:
        return _ESCAPES.get(escape["other"], escape.group())
    code = int(escape["octal"], 8) if escape["octal"] else int(escape[1] or escape[2] or escape[3], 16)
    return chr(code) if code <= 0x10FFFF else escape.group()
