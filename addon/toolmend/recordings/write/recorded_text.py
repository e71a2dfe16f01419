"""The texts of a recorded file by their paths, joined as a client joins them.

    data: {"choices":[{"index":0,"delta":{"content":"Your key is s"}}]}
    data: {"choices":[{"index":0,"delta":{"content":"k-AB"}}]}       →   choices.0.delta.content: Your key is sk-AB (lines 1, 3)

Strings at the same names, indices and ranks are joined as in echo_mask.py; all others stand alone. Bedrock's base64 is decoded.
Unusual names of members are texts, too.
"""

import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field
from itertools import accumulate
from typing import Any

from ...apis import decoder_for
from ...core import json_text
from ...core.fastclass import mutable
from ...secrets.echo_mask import NEVER_JOINED, RANKED, SAME_TEXT

A_NAME = "(a name)"
"""The last part of the path of a text that is a member's name."""

_SHOWN = re.compile(r"[A-Za-z_-]{1,40}")
"""Names of members that are shown in paths; others may be a secret themselves."""

_ALONE = {name.decode() for name in NEVER_JOINED} | {A_NAME}
_SAME = {name.decode(): other.decode() for name, other in SAME_TEXT.items()}


@mutable
class RecordedText:
    """The text at one path: of each piece the text and its line; 0 in a file of one JSON value."""

    pieces: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list, repr=False, compare=False)

    def line_at(self, offset: int) -> int:
        """Returns the line of a character of the joined text."""
        if len(self._ends) != len(self.pieces):
            self._ends = list(accumulate(map(len, self.pieces)))
        return self.lines[min(bisect_right(self._ends, offset), len(self._ends) - 1)]


def texts_of(name: str, data: bytes) -> dict[str, RecordedText]:
    """Returns the texts of a file by their paths; what is not JSON has the path ""."""
    texts: dict[str, RecordedText] = {}
    for path, piece, line in _stream(data) if name.endswith(".sse") else _document(data):
        text = texts.setdefault(path, RecordedText())
        text.pieces.append(piece + "\n" * (last_name(path) in _ALONE))
        text.lines.append(line)
    return texts


def last_name(path: str) -> str:
    """Returns the name of the member whose value, or list, contains the text."""
    return path.rpartition(".")[2].partition("[")[0]


def _document(data: bytes) -> Iterator[tuple[str, str, int]]:
    try:
        value = json_text.loads(data)
    except (json_text.NotJSON, RecursionError):
        for line, text in enumerate(data.decode(errors="replace").split("\n"), 1):
            yield "", text + "\n", line
    else:
        for path, text in _strings(value, joined=False):
            yield path, text, 0


def _stream(data: bytes) -> Iterator[tuple[str, str, int]]:
    decoder, line = decoder_for(data), 1
    for event in [*decoder.feed(data), *decoder.close()]:
        try:
            value = json_text.loads(event.data or b"")
        except (json_text.NotJSON, RecursionError):
            yield "", event.raw.decode(errors="replace"), line
        else:
            for path, text in _strings(value, joined=True):
                yield path, text, line
        line += event.raw.count(b"\n")


def _strings(value: Any, *, joined: bool) -> Iterator[tuple[str, str]]:
    """Yields the strings of a JSON value with their paths; `joined`: those that a client joins share a path, by their index."""
    rest: list[tuple[str, Any]] = [("", value)]
    while rest:
        path, item = rest.pop()
        match item:
            case str():
                yield path, item
            case dict():
                if joined:
                    indices = (number for name, number in item.items() if name == "index" or name.endswith("_index"))
                    path = ".".join((*filter(None, [path]), *(str(n) for n in indices if isinstance(n, int))))
                for name, inner in reversed(item.items()):
                    known: str = (joined and _SAME.get(name)) or name
                    shown = known if _SHOWN.fullmatch(known) else A_NAME
                    rest.append((f"{path}.{shown}".removeprefix("."), inner))
                    if name == "bytes" and joined and isinstance(inner, str):
                        rest.append((path, _within(inner)))
                    if shown == A_NAME:
                        rest.append((f"{path}.{shown}".removeprefix("."), name))
            case list():
                ranked = last_name(path) == RANKED.decode()
                for n, inner in reversed([*enumerate(item)]):
                    rest.append((f"{path}[{n}]" if ranked or not joined else path, inner))


def _within(text: str) -> Any:
    """Returns the base64 JSON of a Bedrock message; None if it is not that."""
    try:
        return json_text.loads(b64decode(text, validate=True))
    except (ValueError, RecursionError):
        return None
