"""Which further text a parser would pass through unchanged, as a pattern that needs no parsing.

Text that a TextState calls safe contains nothing that the parser would act on. The markup parser provides the state of text
(markup_parser.py, scanner.py), the codec that of native arguments, and the fast path (delta_run.py) uses them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from . import json_text
from .literal_search import FoundLiteral

HALF = b"\\\\"
"""One backslash as JSON writes it in a string."""

ROOM = 512 * 1024
"""Characters that must be free in every bounded buffer while deltas pass that are parsed later: see delta_run.py, which parses
sooner.
"""

type Place = re.Match[str] | FoundLiteral
"""A match in a text."""

type Escapes = Callable[[str], str]
"""Converts text to the form that it has in the arguments it becomes."""


class TextState(NamedTuple):
    """What may follow in a text of a known kind.

    Attributes:
        find_stop: Finds the first thing in a piece that is not plain continuation.
        safe: Matches JSON-string bytes that surely contain no such thing, up to the closing quote.
        escapes: How text becomes part of arguments, where it is not copied unchanged.
        pending_at: For a piece and its stop: where something begins that continues after the end of the piece; -1 if the stop is
            more than that.
        splits_escapes: A piece may end between a backslash and the character it escapes. The next piece is then checked with the
            backslash, and JSON text without a backslash is safe after any other piece.
        defers_backslash: The same, and the backslash is sent with the next piece.
    """

    find_stop: Callable[[str], Place | None]
    safe: re.Pattern[bytes]
    escapes: Escapes | None = None
    pending_at: Callable[[str, Place], int] = lambda _, __: -1
    splits_escapes: bool = False
    defers_backslash: bool = False

    def is_safe_after(self, run: Sequence[bytes], text: bytes) -> bool:
        """Whether a text is safe after a run of others."""
        checked = (cut_off(run) if self.splits_escapes else b"") + text
        match = self.safe.match(checked + b'"')
        return match is not None and match.end() == len(checked)


def cut_off(run: Sequence[bytes]) -> bytes:
    """Returns the backslash if a run of arguments ends in the middle of an escape, else b""."""
    count = 0
    for text in reversed(run):
        rest = text.rstrip(b"\\")
        count += len(text) - len(rest)
        if rest:
            break
    return HALF if count // len(HALF) % 2 else b""


KNOWN = 3
"""Bytes after the first byte of a literal that the `safe` pattern checks."""

_ESCAPES = {b'"': b'"', b"\\": b"\\", b"/": b"/", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
"""The characters after a backslash in JSON, and what they mean."""

_CODE = rb"\\u[0-9a-fA-F]{4}(?<!00[0-7][0-9a-fA-F])(?<![dD][89a-fA-F]..)"
r"""A character written as \uXXXX, as many writers do for all but ASCII. Half of a pair is excluded: the other may be in the next
piece.
"""

_NOTHING = re.compile(r"(?!)")
_SAFE = re.compile(rb'[^"\\\x00-\x1f]*+(?:(?:\\["\\/bfnrt]|%b)[^"\\\x00-\x1f]*+)*+' % _CODE)

ANYTHING = TextState(_NOTHING.search, _SAFE)
"""Any text continues."""

_STOP_IN_STRING = re.compile(r'[^"\\\x00-\x1f]*+(?:\\["\\/bfnrtu][^"\\\x00-\x1f]*+)*+\\?+(?!\Z)')
_SAFE_IN_STRING = re.compile(rb'[^"\\\x00-\x1f]*+(?:(?:\\\\(?:[/bfnrtu]|\\["\\])|%b)[^"\\\x00-\x1f]*+)*+(?:\\\\(?="))?+' % _CODE)

IN_STRING = TextState(_STOP_IN_STRING.match, _SAFE_IN_STRING, splits_escapes=True)
"""JSON text inside a string; its end, or an illegal character, is a stop."""

_CONTROL = re.compile(r"[\x00-\x1f]")
_STOP_IN_LEAKED = re.compile(r'[^"\\]*+(?:\\["\\/bfnrtu][^"\\]*+)*+(?!\Z)')
_SAFE_IN_LEAKED = re.compile(
    rb'[^"\\\x00-\x1f]*+(?:(?:\\(?:[bfnrt]|\\(?:[/bfnrtu]|\\["\\]))|%b)[^"\\\x00-\x1f]*+)*+' % _CODE
)


def _half(text: str, found: Place) -> int:
    """Returns where a lone backslash stands that ends a piece, if it is all that stops the piece and other text precedes it."""
    return found.end() if found.end() and text[found.end() :] == "\\" else -1


def _without_controls(text: str) -> str:
    return _CONTROL.sub(lambda match: json_text.inside(match[0]), text)


IN_LEAKED_STRING = TextState(
    _STOP_IN_LEAKED.match, _SAFE_IN_LEAKED, escapes=_without_controls, pending_at=_half, defers_backslash=True
)
"""The same in markup, where control characters become escapes; a backslash that escapes nothing is a stop."""


@cache
def escaped(quote: str, escapes: Escapes) -> TextState:
    """The state of text up to a quote, with backslash escapes. Escapes of character codes and of line ends are stops."""
    own = rf"[^{quote}\\]*+"
    stop = re.compile(rf"{own}(?:\\[^0-7xuU\r\n]{own})*+(?!\Z)")
    own = rf'[^{quote}"\\\x00-\x1f]*+'
    either = "" if quote == '"' else '"'
    simple = rf'\\(?:[{either}/bfnrt]|\\(?:[^0-7xuU"\\\x00-\x1f]|\\["\\]))'
    safe = re.compile(rf"{own}(?:(?:{simple}|{_CODE.decode()}){own})*+".encode())
    return TextState(stop.match, safe, escapes=escapes, pending_at=_half, defers_backslash=True)


@cache
def without(
    literals: tuple[str, ...],
    words: frozenset[str],
    search: Callable[[str], Place | None],
    lines: frozenset[str] = frozenset(),
) -> TextState:
    """The state of text in which `search` looks for literals, and for the beginning of one at its end.

    Args:
        literals: Where one begins, the text is not safe.
        words: Literals that do not occur inside a word.
        search: Finds the first literal, or the beginning of one at the end.
        lines: Single characters that are literals only at the beginning of a line.
    """
    rests_of: dict[bytes, list[bytes]] = {line.encode(): [] for line in lines}
    for literal in literals:
        if literal in lines:
            continue
        data = literal.encode(errors="surrogatepass")  # a model's element name may contain half of a surrogate pair
        rests_of.setdefault(data[:1], []).append(data[1:])
    firsts = {first: _begins(rests, KNOWN) for first, rests in rests_of.items()}
    # JSON writes a backslash as two; a single one begins an escape
    harmless = [
        rb"%b(?!%b)" % (re.escape(first.replace(b"\\", rb"\\")), rest)
        for first, rest in firsts.items()
        if rest and first.decode(errors="replace") not in lines
    ]
    # not at the beginning of the text, or after an escaped line end
    harmless += (
        rb'%b(?<=[^n"]%b)%b' % (re.escape(first), re.escape(first), rb"(?!%b)" % firsts[first] if rests_of[first] else b"")
        for first in (line.encode() for line in lines)
    )
    anywhere = {literal.encode(errors="surrogatepass")[:1] for literal in literals if literal not in words}
    # a letter after another one; a character after a backslash is not a letter
    harmless += (rb"%b(?<=[^\\]\w%b)" % (first, first) for first in firsts if first not in anywhere)
    harmless.append(rb"\\" + _any_of(code for code, meant in _ESCAPES.items() if meant not in firsts))
    harmless += (  # a line end that begins no literal
        rb"\\%b(?!%b)" % (code, firsts[meant]) for code, meant in _ESCAPES.items() if meant in b"\n\r\t" and firsts.get(meant)
    )
    harmless.append(_text_pattern(literals, firsts.keys() - anywhere))
    rest = b"[^" + b"".join(map(re.escape, firsts)) + rb'"\\\x00-\x1f]*+'
    safe = re.compile(rb"%b(?:(?:%b)%b)*+" % (rest, b"|".join(harmless), rest))

    def pending_at(text: str, found: Place) -> int:
        """Returns the place of the last character if it alone begins a literal: should none follow, it is emitted there."""
        return found.start() if found.start() == len(text) - 1 and text[-1] not in literals else -1

    return TextState(search, safe, pending_at=pending_at)


def _text_pattern(literals: Iterable[str], words: Collection[bytes]) -> bytes:
    """A pattern of _CODE where no literal begins, not followed by one of `words`: its last character may be a letter."""
    firsts = {literal[0] for literal in literals if literal > "\x7f"}
    none = b"".join(rb"(?<!(?i:%04x))" % ord(first) for first in firsts)
    return _CODE + none + (rb"(?!%b)" % _any_of(words) if words else b"")


def _begins(rests: Iterable[bytes], depth: int) -> bytes:
    """A pattern of JSON string bytes that may begin one of these, checked for `depth` bytes; b"" matches anything."""
    followed: dict[bytes, list[bytes]] = {}
    for rest in rests:
        followed.setdefault(rest[:1], []).append(rest[1:])
    if b"" in followed or not depth:
        return b""
    by_tail: dict[bytes, list[bytes]] = {}
    for byte, there in followed.items():
        by_tail.setdefault(_begins(there, depth - 1), []).append(byte)
    # an escaped code point beyond ASCII begins none of them if they are all ASCII
    ways = [rb"\\u00[0-7]" if all(byte.isascii() for byte in followed) else rb"\\u"]
    if codes := [code for code, meant in _ESCAPES.items() if meant in followed]:
        ways.append(rb"\\" + _any_of(codes))
    return rb'(?:"|%b)' % b"|".join([*ways, *(_any_of(some) + tail for tail, some in by_tail.items())])


def _any_of(characters: Iterable[bytes]) -> bytes:
    return b"[" + b"".join(map(re.escape, characters)) + b"]"
