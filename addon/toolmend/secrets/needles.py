r"""What a mask of echoes looks for: the forms that a request's secrets may have, and what any of them begins with.

    given = sought(frozenset({"sk-ABCDEFGH"}))
    given.begins.search(b'{"content":"is s"}')             a text ends as a secret begins: the rest may come in the next one
    [*covered(given.needles, b"sk-ABCDEFGH?")]             [(0, 11)]
    ends_as_begins(given.heads, b"is sk-A")                3

Rule of this file: it knows texts, and nothing of what they stand in: that is echo_mask.py's.
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
"""Bytes of a secret that are looked for as one. A longer one is looked for in pieces: what may go on is read again and again."""

OVERLAP = 4
"""Bytes that pieces have in common: in base64 those at the ends are in no form (see encodings.py)."""

SUSPICIOUS = 8
"""Bytes. A text that ends with so much of a secret stays masked: a cut stream must not give most of a key away."""

_BACKSLASH = ord("\\")
_HEX_DIGITS = re.compile(rb"\\[ux][0-9a-fA-F]{2,4}|%[0-9a-fA-F]{2}|[0-9a-fA-F]{16,}")
"""What means the same in either case."""

_ESCAPED = re.compile(
    rb"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(/))|%([0-9a-fA-F]{2})|&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));|&(amp|lt|gt|quot|apos);"
)
"""One character: in JSON (also in a JSON string in a JSON string), in source code, in a URL, in HTML."""

_NAMED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
MAX_NESTED = 3
"""Escapes of escapes that are undone, as in `%2573`."""


ENDS = "jqvzbxucwpmikahglfoyrndtse"
"""Letters, those first that seldom end a word."""


@value
class Sought:
    """`needles`: all that is to be masked. `heads`: those of them that a text may be cut in. `begins`: how any head begins."""

    needles: tuple[bytes, ...]
    heads: tuple[bytes, ...]
    begins: re.Pattern[bytes]


@lru_cache(maxsize=32)
def sought(secrets: frozenset[str], spared: int = 0) -> Sought:
    """A key comes with many requests.

    `spared`: characters at the beginning of a secret that may pass where it is cut. A head begins with the one of them that
    seldom ends a text, so that few texts are suspected.
    """
    pieces = sorted({piece for secret in secrets for piece in _pieces(secret)})
    texts = sorted({text for piece in pieces for text in disguises(piece)})
    heads = sorted({_spare(text, spared) for text in texts})
    begins = [_beginnings(heads), *(way for piece in pieces for way in _disguised(_spare(piece, spared)))]
    return Sought(_encoded({*texts, *heads}), _encoded(heads), re.compile(b"|".join(filter(None, begins))))


def _encoded(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(text.encode(errors="surrogatepass") for text in sorted(texts))


def _spare(text: str, most: int) -> str:
    """A text without some of its first characters, at most so many, and no more than a quarter."""
    if text.startswith(("%", "\\")):  # each character is written alike
        return text
    return text[min(range(min(most, len(text) // 4) + 1), key=lambda at: (text[at].isalnum(), ENDS.find(text[at]))) :]


@lru_cache(maxsize=32)
def opening(secrets: frozenset[str], spared: int, length: int) -> re.Pattern[bytes]:
    """The first `length` characters of a head in any of its forms, each character written in any way."""
    pieces = {_spare(piece, spared) for secret in secrets for piece in _pieces(secret)}
    texts = {text for secret in secrets for piece in _pieces(secret) for text in disguises(piece)}
    begun = sorted({_spare(text, spared)[:length] for text in texts})
    plain = [b"".join(b"(?:" + b"|".join(_written(char)) + b")" for char in text) for text in begun]
    return re.compile(b"|".join([*plain, *(way for piece in sorted(pieces) for way in _disguised(piece, length))]))


def _pieces(secret: str) -> Iterator[str]:
    """Pieces that cover a secret; all are as long, but for one that is whole."""
    yield secret[:PIECE]
    for end in range(2 * PIECE - OVERLAP, len(secret) + PIECE - OVERLAP, PIECE - OVERLAP):
        yield secret[max(0, min(end, len(secret)) - PIECE) : end]


def covered(needles: Iterable[bytes], text: bytes) -> Iterator[tuple[int, int]]:
    """What needles cover in a text, also where hexadecimal digits are in another case than theirs."""
    for given in {text, fold(text)}:
        for needle in needles:
            if needle in given:
                for first, last in _spans(needle, given):  # half of an escaped backslash would be no JSON
                    yield (len(text[:first].rstrip(b"\\")) if text[first] == _BACKSLASH else first), last


def escaped_spans(needles: Iterable[bytes], raw: bytes) -> Iterator[tuple[int, int]]:
    """What needles cover in a text some of whose characters are escaped, in whatever way, in JSON or outside of it."""
    text, where = raw, range(len(raw) + 1)  # type: bytes, Sequence[int]
    for _ in range(MAX_NESTED):
        if not _ESCAPED.search(text):
            return
        text, places = _undone(text)
        where = [where[place] for place in places]
        for needle in needles:
            for first, last in _spans(needle, text):
                yield where[first], where[bisect_right(where, where[last - 1])]


def _undone(raw: bytes) -> tuple[bytes, Sequence[int]]:
    """A text without its escapes; and where in `raw` the spelling of each of its bytes, and the end, begins."""
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
    """A text with all hexadecimal digits that may stand for characters in lower case; its length stays."""
    return _HEX_DIGITS.sub(lambda found: found[0].lower(), text)


def _spans(needle: bytes, text: bytes) -> Iterator[tuple[int, int]]:
    """What a needle covers in a text, each byte once: first, and behind the last."""
    behind = 0
    for at in _places(needle, text):
        yield max(at, behind), at + len(needle)
        behind = at + len(needle)


def _places(needle: bytes, text: bytes, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Where a needle stands in a text, overlaps too."""
    at = text.find(needle, start, end)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1, end)


def ends_as_begins(needles: Iterable[bytes], text: bytes) -> int:
    """Where the longest beginning of a needle begins that a text ends with; the text's length if there is none."""
    found = len(text)
    for given in {text, fold(text)}:
        for needle in needles:
            for at in _places(needle[:1], given, max(0, len(given) - len(needle) + 1), found):
                if needle.startswith(given[at:]):
                    found = at
                    break
    return found


def is_most(needles: Iterable[bytes], text: bytes) -> bool:
    """Whether a needle begins with a text, and it is most of it."""
    given = (text, fold(text))
    return any(needle.startswith(given) and len(text) >= min(SUSPICIOUS, len(needle) // 2) for needle in needles)


def _beginnings(texts: Iterable[str], length: int = SUSPICIOUS) -> bytes:
    """A regex for secrets that may begin: a value ends with their first characters, or there are eight of them.

    It begins with a literal for each way to write a first character, which makes it fast; what secrets begin with together
    stands there once. A backslash is written in two: one alone is every escape there is, and where that is text, what it
    escapes is found as it is.
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
    """Regexes for the first characters of a secret, each escaped in any way (see _ESCAPED), or in hex of either case.

    Each begins with a literal, as in `_beginnings`.
    """
    if piece.isascii():
        _, *others = ("(?:" + "|".join(_ways(char)) + ")" for char in piece[:length])
        yield from ((way + "".join(others)).encode() for way in _ways(piece[0]))
        yield "".join(_either_case(f"{ord(char):02x}") for char in piece[: length // 2]).encode()


def _ways(char: str) -> list[str]:
    r"""Regexes for one ASCII character: `s`, `%73`, `\u0073`, `\\u0073`, `\x73`, `&#115;`, `&#x73;`."""
    code = ord(char)
    digits = _either_case(f"{code:02x}")
    named = [f"&{name.decode()};" for name, meant in _NAMED.items() if meant == char.encode()]
    escaped = rf"\\\\*(?:(?:u00|x){digits}{'|/' if char == '/' else ''})"
    return [re.escape(char), f"%(?:25)*{digits}", escaped, f"&#(?:0*{code}|[xX]0*{digits});", *named]


def _either_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)


def _written(char: str) -> list[bytes]:
    r"""Regexes for the ways to write a character: as it is, `\u0073`, and `\n` or `\/`."""
    code = char.encode("utf-16-be", "surrogatepass").hex()
    escaped = "".join("\\\\u" + _either_case(code[i : i + 4]) for i in range(0, len(code), 4))
    short = "\\/" if char == "/" else json.dumps(char, ensure_ascii=False)[1:-1]
    literals = [re.escape(text.encode(errors="surrogatepass")) for text in (char, short)]
    return list(dict.fromkeys((*literals, escaped.encode())))
