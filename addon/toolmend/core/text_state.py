"""How a text goes on while nothing but more of it comes.

Rule of this file: what a course says of a piece is what a reader would find, reading it: nothing. The reader of a text says on
which course it is (markup_parser.py, scanner.py), the codec that of native arguments; delta_run.py goes by it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from . import json_text
from .literal_search import FoundLiteral

HALF = b"\\\\"
"""A backslash, as it stands in a JSON string."""

ROOM = 512 * 1024
"""Characters that must be free in whatever is bounded, where deltas pass that are read later: see delta_run.py, which reads
sooner."""

type Place = re.Match[str] | FoundLiteral
"""Where something stands in a text."""

type Escapes = Callable[[str], str]
"""Some text, as it stands in the arguments that it becomes."""


class TextState(NamedTuple):
    """`stops` finds something in a piece that may be more than the next piece of what is being said.

    `quiet` matches what surely holds no such thing, in the bytes of the JSON string that the piece is, up to its closing quote.
    `escapes`: what becomes of text that becomes arguments, where it does not stand in them as it is.
    `begun`, of a piece and what stops it: where something begins in it that goes on behind its end; -1 where there is more to it.
    `cuts`: a piece may end between a backslash and what it escapes; then the next one is looked at with it, and JSON text without
    a backslash is quiet behind any other. `moves`: it may, and the backslash goes out with the next one.
    """

    stops: Callable[[str], Place | None]
    quiet: re.Pattern[bytes]
    escapes: Escapes | None = None
    begun: Callable[[str, Place], int] = lambda _, __: -1
    cuts: bool = False
    moves: bool = False

    def goes_on(self, run: Sequence[bytes], text: bytes) -> bool:
        """Whether a text is quiet behind a run of others."""
        said = (cut_off(run) if self.cuts else b"") + text
        match = self.quiet.match(said + b'"')
        return match is not None and match.end() == len(said)


def cut_off(run: Sequence[bytes]) -> bytes:
    """Half of the escape in whose middle a run of arguments ends; b"" if it does not."""
    count = 0
    for text in reversed(run):
        rest = text.rstrip(b"\\")
        count += len(text) - len(rest)
        if rest:
            break
    return HALF if count // len(HALF) % 2 else b""


KNOWN = 3
"""Bytes behind the first one of a literal that `quiet` tells it by."""

_ESCAPES = {b'"': b'"', b"\\": b"\\", b"/": b"/", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
"""What JSON has behind a backslash, and what it means there."""

_TOLD = rb"\\u[0-9a-fA-F]{4}(?<!00[0-7][0-9a-fA-F])(?<![dD][89a-fA-F]..)"
"""A character told by its number, as many write all but ASCII. Half of a pair is none: the other may be in the next piece."""

_NOTHING = re.compile(r"(?!)")
_QUIET = re.compile(rb'[^"\\\x00-\x1f]*+(?:(?:\\["\\/bfnrt]|%b)[^"\\\x00-\x1f]*+)*+' % _TOLD)

ANYTHING = TextState(_NOTHING.search, _QUIET)
"""Whatever comes is more of it."""

_LEAVES = re.compile(r'[^"\\\x00-\x1f]*+(?:\\["\\/bfnrtu][^"\\\x00-\x1f]*+)*+\\?+(?!\Z)')
_STAYS = re.compile(rb'[^"\\\x00-\x1f]*+(?:(?:\\\\(?:[/bfnrtu]|\\["\\])|%b)[^"\\\x00-\x1f]*+)*+(?:\\\\(?="))?+' % _TOLD)

IN_STRING = TextState(_LEAVES.match, _STAYS, cuts=True)
"""JSON text inside a string: what ends it, or is illegal in it, is more than that."""

_CONTROL = re.compile(r"[\x00-\x1f]")
_LEAVES_LEAKED = re.compile(r'[^"\\]*+(?:\\["\\/bfnrtu][^"\\]*+)*+(?!\Z)')
_STAYS_LEAKED = re.compile(
    rb'[^"\\\x00-\x1f]*+(?:(?:\\(?:[bfnrt]|\\(?:[/bfnrtu]|\\["\\]))|%b)[^"\\\x00-\x1f]*+)*+' % _TOLD
)


def _half(text: str, found: Place) -> int:
    """Where half of an escape stands at the end of a text, if that is all that stops it, and there is more to the text."""
    return found.end() if found.end() and text[found.end() :] == "\\" else -1


def _without_controls(text: str) -> str:
    return _CONTROL.sub(lambda match: json_text.inside(match[0]), text)


IN_LEAKED_STRING = TextState(_LEAVES_LEAKED.match, _STAYS_LEAKED, escapes=_without_controls, begun=_half, moves=True)
"""The same in markup, where control characters become escapes; a backslash that escapes nothing is more than that."""


@cache
def escaped(quote: str, escapes: Escapes) -> TextState:
    """Text up to a quote, in which backslashes escape: those that tell a character by its number, or a line's end, are more."""
    own = rf"[^{quote}\\]*+"
    leaves = re.compile(rf"{own}(?:\\[^0-7xuU\r\n]{own})*+(?!\Z)")
    own = rf'[^{quote}"\\\x00-\x1f]*+'
    either = "" if quote == '"' else '"'
    simple = rf'\\(?:[{either}/bfnrt]|\\(?:[^0-7xuU"\\\x00-\x1f]|\\["\\]))'
    stays = re.compile(rf"{own}(?:(?:{simple}|{_TOLD.decode()}){own})*+".encode())
    return TextState(leaves.match, stays, escapes=escapes, begun=_half, moves=True)


@cache
def without(
    literals: tuple[str, ...],
    words: frozenset[str],
    search: Callable[[str], Place | None],
    lines: frozenset[str] = frozenset(),
) -> TextState:
    """Text in which `search` looks for some literals, and for the beginning of one at its end.

    `words` do not stand within others, `lines` (single characters) only where a line begins.
    """
    behind: dict[bytes, list[bytes]] = {line.encode(): [] for line in lines}
    for literal in literals:
        if literal in lines:
            continue
        data = literal.encode(errors="surrogatepass")  # what a model calls an element may hold half a character
        behind.setdefault(data[:1], []).append(data[1:])
    firsts = {first: _begins(rests, KNOWN) for first, rests in behind.items()}
    # a backslash stands in JSON as two; one alone begins an escape, whatever that means
    harmless = [
        rb"%b(?!%b)" % (re.escape(first.replace(b"\\", rb"\\")), rest)
        for first, rest in firsts.items()
        if rest and first.decode(errors="replace") not in lines
    ]
    # not where the text begins, or behind the code of a line's end
    harmless += (
        rb'%b(?<=[^n"]%b)%b' % (re.escape(first), re.escape(first), rb"(?!%b)" % firsts[first] if behind[first] else b"")
        for first in (line.encode() for line in lines)
    )
    anywhere = {literal.encode(errors="surrogatepass")[:1] for literal in literals if literal not in words}
    # a letter behind another one; what stands behind a backslash is none
    harmless += (rb"%b(?<=[^\\]\w%b)" % (first, first) for first in firsts if first not in anywhere)
    harmless.append(rb"\\" + _any_of(code for code, meant in _ESCAPES.items() if meant not in firsts))
    harmless.append(_text_pattern(literals, firsts.keys() - anywhere))
    rest = b"[^" + b"".join(map(re.escape, firsts)) + rb'"\\\x00-\x1f]*+'
    quiet = re.compile(rb"%b(?:(?:%b)%b)*+" % (rest, b"|".join(harmless), rest))

    def begun(text: str, found: Place) -> int:
        """Where the last character begins a literal: alone, it is told where it stands if it turns out to begin none."""
        return found.start() if found.start() == len(text) - 1 and text[-1] not in literals else -1

    return TextState(search, quiet, begun=begun)


def _text_pattern(literals: Iterable[str], words: Collection[bytes]) -> bytes:
    """A pattern of _TOLD where no literal begins, nor behind it one of the `words`: it ends in what looks like more of a word."""
    firsts = {literal[0] for literal in literals if literal > "\x7f"}
    none = b"".join(rb"(?<!(?i:%04x))" % ord(first) for first in firsts)
    return _TOLD + none + (rb"(?!%b)" % _any_of(words) if words else b"")


def _begins(rests: Iterable[bytes], depth: int) -> bytes:
    """A pattern of what may be one of these in a JSON string, told by so many bytes, its end or an escape; b"": anything."""
    followed: dict[bytes, list[bytes]] = {}
    for rest in rests:
        followed.setdefault(rest[:1], []).append(rest[1:])
    if b"" in followed or not depth:
        return b""
    by_tail: dict[bytes, list[bytes]] = {}
    for byte, there in followed.items():
        by_tail.setdefault(_begins(there, depth - 1), []).append(byte)
    # a character told by its number is none of them if it is no ASCII, and they all are
    ways = [rb"\\u00[0-7]" if all(byte.isascii() for byte in followed) else rb"\\u"]
    if codes := [code for code, meant in _ESCAPES.items() if meant in followed]:
        ways.append(rb"\\" + _any_of(codes))
    return rb'(?:"|%b)' % b"|".join([*ways, *(_any_of(some) + tail for tail, some in by_tail.items())])


def _any_of(characters: Iterable[bytes]) -> bytes:
    return b"[" + b"".join(map(re.escape, characters)) + b"]"
