r"""The literals that an echo mask searches for: all forms of a request's secrets, and how each form begins.

    given = needle_set(frozenset({"sk-ABCDEFGH"}))
    given.begins.search(b'{"content":"is s"}')             a text ends as a secret begins: the rest may follow in the next one
    [*covered(given.needles, b"sk-ABCDEFGH?")]             [(0, 11)]
    ends_as_begins(given.heads, b"is sk-A")                3

This module only sees texts; the JSON around them is up to echo_mask.py.
"""

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ..core.fastclass import value
from .encodings import disguises

PIECE = 512
"""Bytes of a secret that are searched as one. A longer one is searched in pieces: a text that may continue is searched
repeatedly.
"""

OVERLAP = 4
"""Bytes that pieces share: in base64 the bytes at the ends are in no form (see encodings.py)."""

SUSPICIOUS = 8
"""Bytes. A text that ends with this much of a secret stays masked: a cut stream must not reveal most of a key."""

_BACKSLASH = ord("\\")
_HEX_DIGITS = re.compile(rb"\\[ux][0-9a-fA-F]{2,4}|%[0-9a-fA-F]{2}|[0-9a-fA-F]{16,}")
"""Hexadecimal digits that mean the same in either case."""

_ESCAPED = re.compile(
    rb"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(/))|%([0-9a-fA-F]{2})|&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));|&(amp|lt|gt|quot|apos);"
)
"""One escaped character: in JSON (also nested), in source code, in a URL, in HTML."""

_NAMED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
MAX_NESTED = 3
"""Nested escapes that are decoded, as in `%2573`."""


ENDS = "jqvzbxucwpmikahglfoyrndtse"
"""Letters, those first that rarely end a word."""


@value
class NeedleSet:
    """`needles`: everything to mask. `heads`: those that a text may be cut in. `begins`: matches the beginning of any head."""

    needles: tuple[bytes, ...]
    heads: tuple[bytes, ...]
    begins: re.Pattern[bytes]


@lru_cache(maxsize=32)
def needle_set(secrets: frozenset[str], spared: int = 0) -> NeedleSet:
    """Returns the needles of a request's secrets; cached, as a key comes with many requests.

    `spared`: characters at the beginning of a secret that may pass where it is cut. A head begins with the one of them that most
    rarely ends a text, so that few texts are suspected.
    """
    pieces = sorted({piece for secret in secrets for piece in _pieces(secret)})
    texts = sorted({text for piece in pieces for text in disguises(piece)})
    heads = sorted({_spare(text, spared) for text in texts})
    begins = [_beginnings(heads), *(way for piece in pieces for way in _disguised(_spare(piece, spared)))]
    return NeedleSet(_encoded({*texts, *heads}), _encoded(heads), re.compile(b"|".join(filter(None, begins))))


def _encoded(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(text.encode(errors="surrogatepass") for text in sorted(texts))


def _spare(text: str, most: int) -> str:
    """Returns a text without some of its first characters: at most `most`, and at most a quarter."""
    if text.startswith(("%", "\\")):  # every character begins the same
        return text
    return text[min(range(min(most, len(text) // 4) + 1), key=lambda at: (text[at].isalnum(), ENDS.find(text[at]))) :]


@lru_cache(maxsize=32)
def opening(secrets: frozenset[str], spared: int, length: int) -> re.Pattern[bytes]:
    """Returns a pattern for the first `length` characters of a head in any form, each character in any spelling."""
    pieces = {_spare(piece, spared) for secret in secrets for piece in _pieces(secret)}
    texts = {text for secret in secrets for piece in _pieces(secret) for text in disguises(piece)}
    begun = sorted({_spare(text, spared)[:length] for text in texts})
    plain = [b"".join(b"(?:" + b"|".join(_written(char)) + b")" for char in text) for text in begun]
    return re.compile(b"|".join([*plain, *(way for piece in sorted(pieces) for way in _disguised(piece, length))]))


def _pieces(secret: str) -> Iterator[str]:
    """Yields pieces of equal length that cover a secret, or the secret itself if it is short."""
    yield secret[:PIECE]
    for end in range(2 * PIECE - OVERLAP, len(secret) + PIECE - OVERLAP, PIECE - OVERLAP):
        yield secret[max(0, min(end, len(secret)) - PIECE) : end]


def covered(needles: Iterable[bytes], text: bytes) -> Iterator[tuple[int, int]]:
    """Yields the spans of needles in a text, with hexadecimal digits in either case."""
    for given in {text, fold(text)}:
        for needle in needles:
            if needle in given:
                for first, last in _spans(needle, given):  # half of an escaped backslash would not be JSON
                    yield (len(text[:first].rstrip(b"\\")) if text[first] == _BACKSLASH else first), last


def escaped_spans(needles: Iterable[bytes], raw: bytes) -> Iterator[tuple[int, int]]:
    """Yields the spans of needles in a text with escaped characters, of any kind, in JSON or outside."""
    text, where = raw, range(len(raw) + 1)  # type: bytes, Sequence[int]
    for _ in range(MAX_NESTED):
        if not _ESCAPED.search(text):
            return
        text, places = _unescaped(text)
        where = [where[place] for place in places]
        for needle in needles:
            for first, last in _spans(needle, text):
                yield where[first], where[bisect_right(where, where[last - 1])]


def _unescaped(raw: bytes) -> tuple[bytes, Sequence[int]]:
    """Returns a text without its escapes, and where in `raw` the spelling of each of its bytes, and the end, begins."""
    text, where, at = bytearray(), array("L"), 0
    for found in _ESCAPED.finditer(raw):
        first, last = found.span()
        escaped = found[1] or found[2] or found[4] or found[5]
        if name := found[3] or found[7]:
            meant = _NAMED.get(name, name)
        elif found[4]:
            meant = bytes((int(found[4], 16),))
        else:
            code = int(escaped, 16) if escaped else int(found[6])
            meant = chr(code).encode(errors="surrogatepass") if code < 0x110000 else found[0]
        text += raw[at:first] + meant
        where.extend(range(at, first))
        where.extend([first] * len(meant))
        at = last
    where.extend(range(at, len(raw) + 1))
    return bytes(text + raw[at:]), where


def fold(text: bytes) -> bytes:
    """Returns a text with the hexadecimal digits of encoded characters in lower case, at equal length."""
    return _HEX_DIGITS.sub(lambda found: found[0].lower(), text)


def _spans(needle: bytes, text: bytes) -> Iterator[tuple[int, int]]:
    """Yields the spans of a needle in a text, without overlaps."""
    end = 0
    for at in _places(needle, text):
        yield max(at, end), at + len(needle)
        end = at + len(needle)


def _places(needle: bytes, text: bytes, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yields where a needle stands in a text, including overlaps."""
    at = text.find(needle, start, end)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1, end)


def ends_as_begins(needles: Iterable[bytes], text: bytes) -> int:
    """Returns where the longest suffix of a text begins that is a prefix of a needle; the text's length if there is none."""
    found = len(text)
    for given in {text, fold(text)}:
        for needle in needles:
            for at in _places(needle[:1], given, max(0, len(given) - len(needle) + 1), found):
                if needle.startswith(given[at:]):
                    found = at
                    break
    return found


def is_most(needles: Iterable[bytes], text: bytes) -> bool:
    """Whether a text is a prefix of a needle and most of it."""
    given = (text, fold(text))
    return any(needle.startswith(given) and len(text) >= min(SUSPICIOUS, len(needle) // 2) for needle in needles)


def _beginnings(texts: Iterable[str], length: int = SUSPICIOUS) -> bytes:
    """Returns a regex for the possible beginning of a secret: a value that ends with its first characters, or eight of them.

    It begins with a literal for each spelling of a first character, which makes it fast; common prefixes are written once. A
    backslash is only spelled as two: a single one is any escape, and in plain text the escaped character is found unescaped.
    """
    following: dict[tuple[bool, str], list[str]] = {}
    for text in texts:
        following.setdefault((length == SUSPICIOUS and text.startswith("\\u"), text[0]), []).append(text[1:])
    found = []
    for (escaped, char), rests in following.items():
        more = b""
        if length > 1 and all(rests):
            more = rb'(?:"(?!\s*:)|' + _beginnings(rests, length - 1) + b")"
        ways = _written(char)[escaped:]
        found += [way + more for way in (ways if length == SUSPICIOUS else [b"(?:" + b"|".join(ways) + b")"])]
    return b"|".join(found)


def _disguised(piece: str, length: int = SUSPICIOUS) -> Iterator[bytes]:
    """Yields regexes for the first characters of a secret, each escaped in any way (see _ESCAPED), or in hex of either case.

    Each begins with a literal, as in `_beginnings`.
    """
    if piece.isascii():
        _, *others = ("(?:" + "|".join(_ways(char)) + ")" for char in piece[:length])
        yield from ((way + "".join(others)).encode() for way in _ways(piece[0]))
        yield "".join(_either_case(f"{ord(char):02x}") for char in piece[: length // 2]).encode()


def _ways(char: str) -> list[str]:
    r"""Returns regexes for one ASCII character: `s`, `%73`, `\u0073`, `\\u0073`, `\x73`, `&#115;`, `&#x73;`."""
    code = ord(char)
    digits = _either_case(f"{code:02x}")
    named = [f"&{name.decode()};" for name, meant in _NAMED.items() if meant == char.encode()]
    escaped = rf"\\\\*(?:(?:u00|x){digits}{'|/' if char == '/' else ''})"
    return [re.escape(char), f"%(?:25)*{digits}", escaped, f"&#(?:0*{code}|[xX]0*{digits});", *named]


def _either_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)


def _written(char: str) -> list[bytes]:
    r"""Returns regexes for the JSON spellings of a character: verbatim, `\u0073`, and `\n` or `\/`."""
    code = char.encode("utf-16-be", "surrogatepass").hex()
    escaped = "".join("\\\\u" + _either_case(code[i : i + 4]) for i in range(0, len(code), 4))
    short = "\\/" if char == "/" else json.dumps(char, ensure_ascii=False)[1:-1]
    literals = [re.escape(text.encode(errors="surrogatepass")) for text in (char, short)]
    return list(dict.fromkeys((*literals, escaped.encode())))
