r"""Filler for what was said: as long, of the same kinds of characters, and as good a JSON.

    {"content": "Let me read src/plan.md:\n{\"n\": 42}"}   →   {"content": "Xxx xx xxxx xxx/xxxx.xx:\n{\"x\": 11}"}

Rule of this file: punctuation, blanks and escapes stay, and so does every length in bytes. What is text is told by the names of
members.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any

from .. import json_text

TEXTS = (
    "content|reasoning|reasoning_content|text|thinking|arguments|partial_json|delta|refusal|input|output|summary|instructions|system|prompt"
    "|title|description|explanation|data|url|image_url|file_data|signature|encrypted_content"
)
"""Members that hold what somebody said. Keywords, names, ids are in others."""

_TEXT = re.compile(rb'"(?:' + TEXTS.encode() + rb')"\s*:\s*"((?:[^"\\]|\\.)*)"')
_WORD = re.compile(rb"\\+u[0-9a-fA-F]{4}|\\+.|[0-9]+[eE][+-]?[0-9]+|([A-Za-z0-9\x80-\xff]+)", re.DOTALL)
r"""A word; escapes are none (`\n` is no n), nor is 1e5."""
_FILLER = bytes(
    ord("x") if 97 <= n < 123 else ord("X") if 65 <= n < 91 else ord("1") if 48 <= n < 58 else n for n in range(256)
)
KEPT = frozenset((b"true", b"false", b"null"))
"""Words that are none."""


def words_of(body: bytes) -> Iterator[tuple[bytes, list[tuple[int, int]]]]:
    """The words of the texts, and where they stand: in one place, or where a text is cut, in several."""
    spans = [match.span(1) for match in _TEXT.finditer(body) if match[1]]
    text = b"".join(body[first:last] for first, last in spans)
    where = [at for first, last in spans for at in range(first, last)]
    for match in _WORD.finditer(text):
        if match[1]:
            places = where[match.start() : match.end()]
            runs: list[tuple[int, int]] = []
            for at in places:
                if runs and runs[-1][1] == at:
                    runs[-1] = (runs[-1][0], at + 1)
                else:
                    runs.append((at, at + 1))
            yield match[1], runs


def with_filler(body: bytes, words: Collection[bytes]) -> bytes:
    """The body with filler for these words."""
    out = bytearray(body)
    for word, runs in words_of(body):
        if word in words:
            for first, last in runs:
                out[first:last] = _filler(body[first:last])
    return bytes(out)


def _filler(word: bytes) -> bytes:
    """As many bytes, of the same kinds; a character beyond ASCII is one of as many bytes."""
    plain = word.translate(_FILLER)
    try:
        text = plain.decode()
    except UnicodeDecodeError:  # a character that is cut
        return plain
    stand_in = {1: "", 2: "\u00e9", 3: "\u5b57", 4: "\U0001d54f"}
    return "".join(stand_in[len(char.encode())] or char for char in text).encode()


def filled(value: Any, name: str = "") -> Any:
    """A part of a request with filler for what was said, and without the descriptions of tools."""
    match value:
        case str() if re.fullmatch(TEXTS, name):
            return _WORD.sub(
                lambda match: _filler(match[0]) if match[1] and match[0] not in KEPT else match[0],
                value.encode(errors="surrogatepass"),
            ).decode(errors="surrogatepass")
        case dict():
            return {
                key: filled(item, key)
                for key, item in value.items()
                if not (key == "description" and isinstance(item, str) and name != "properties")
            }
        case list():
            return [filled(item, name) for item in value]
    return value


def names_in(value: Any) -> set[bytes]:
    """The words of all names and keywords of a part of a request, which may stand in the stream as well."""
    return {match[1] for match in _WORD.finditer(json_text.dumps(filled(value)).encode(errors="replace")) if match[1]}


def says(raw: bytes) -> bool:
    """Whether an event holds a piece of text."""
    return any(match[1] for match in _TEXT.finditer(raw))
