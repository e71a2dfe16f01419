r"""What a mask of echoes looks for: the forms that a request's secrets may have, and what any of them begins with.

    needles, begins = sought(frozenset({"sk-ABCDEFGH"}))
    begins.search(b'{"content":"is s"}')                   a text ends as a secret begins: the rest may come in the next one
    [*spans(needles[0], b"sk-ABCDEFGH?")]                  [(0, 11)]
    ends_as_begins(needles, b"is sk-A")                    3

Rule of this file: it knows texts, and nothing of what they stand in: that is echo.py's.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .disguises import disguises

PIECE = 512
"""Bytes of a secret that are looked for as one. A longer one is looked for in pieces: what may go on is read again and again."""

OVERLAP = 4
"""Bytes that pieces have in common: in base64 those at the ends are in no form (see disguises.py)."""

SUSPICIOUS = 8
"""Bytes. A text that ends with so much of a secret stays masked: a cut stream must not give most of a key away."""


@lru_cache(maxsize=32)
def sought(secrets: frozenset[str]) -> tuple[tuple[bytes, ...], re.Pattern[bytes]]:
    """All that is to be masked, and what any of it begins with. A key comes with many requests."""
    texts = sorted({text for secret in secrets for piece in _pieces(secret) for text in disguises(piece)})
    return tuple(text.encode(errors="surrogatepass") for text in texts), re.compile(_beginnings(texts))


def _pieces(secret: str) -> Iterator[str]:
    """Pieces that cover a secret; all are as long, but for one that is whole."""
    yield secret[:PIECE]
    for end in range(2 * PIECE - OVERLAP, len(secret) + PIECE - OVERLAP, PIECE - OVERLAP):
        yield secret[max(0, min(end, len(secret)) - PIECE) : end]


def spans(needle: bytes, text: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """What a needle covers in a text, each byte once: first, and behind the last."""
    behind = start
    for at in _places(needle, text, start, end):
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
    for needle in needles:
        for at in _places(needle[:1], text, max(0, len(text) - len(needle) + 1), found):
            if needle.startswith(text[at:]):
                found = at
                break
    return found


def is_most(needles: Iterable[bytes], text: bytes) -> bool:
    """Whether a needle begins with a text, and it is most of it."""
    return any(needle.startswith(text) and len(text) >= min(SUSPICIOUS, len(needle) // 2) for needle in needles)


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


def _written(char: str) -> list[bytes]:
    r"""Regexes for the ways to write a character: as it is, `\u0073`, and `\n` or `\/`."""
    code = char.encode("utf-16-be", "surrogatepass").hex()
    digits = [f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in code]
    escaped = "".join("\\\\u" + "".join(digits[i : i + 4]) for i in range(0, len(digits), 4))
    short = "\\/" if char == "/" else json.dumps(char, ensure_ascii=False)[1:-1]
    literals = [re.escape(text.encode(errors="surrogatepass")) for text in (char, short)]
    return list(dict.fromkeys((*literals, escaped.encode())))
