"""The texts of a recorded file, as somebody reads them: each by the place where it stands, and in a stream joined.

    data: {"choices":[{"index":0,"delta":{"content":"Your key is s"}}]}
    data: {"choices":[{"index":0,"delta":{"content":"k-AB"}}]}       →   choices.0.delta.content: Your key is sk-AB (lines 1, 3)

Rule of this file: strings that a client joins are joined, those at the same names, indices and ranks, as echo_mask.py has it; all
others stand alone, and what Bedrock has in base64 is read. Names of members that may be more than a name are texts, too.
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
"""The last part of the path of a text that is the name of a member."""

_SAID = re.compile(r"[A-Za-z_-]{1,40}")
"""Names of members that are told; others may be a secret themselves."""

_ALONE = {name.decode() for name in NEVER_JOINED} | {A_NAME}
_SAME = {name.decode(): other.decode() for name, other in SAME_TEXT.items()}


@mutable
class RecordedText:
    """What stands at one place: of each piece the text, and its line; 0 in a file that is one JSON value."""

    pieces: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list, repr=False, compare=False)

    def line_at(self, offset: int) -> int:
        """The line where a character of the joined text stands."""
        if len(self._ends) != len(self.pieces):
            self._ends = list(accumulate(map(len, self.pieces)))
        return self.lines[min(bisect_right(self._ends, offset), len(self._ends) - 1)]


def texts_of(name: str, data: bytes) -> dict[str, RecordedText]:
    """The texts of a file, by their paths; what is no JSON has the path ""."""
    texts: dict[str, RecordedText] = {}
    for path, piece, line in _stream(data) if name.endswith(".sse") else _document(data):
        text = texts.setdefault(path, RecordedText())
        text.pieces.append(piece + "\n" * (last_name(path) in _ALONE))
        text.lines.append(line)
    return texts


def last_name(path: str) -> str:
    """The name of the member that a text is the value of, or stands in a list of."""
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
    """The strings of a JSON value with their paths; `joined`: those that a client joins have the same path, by their index."""
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
                    said = known if _SAID.fullmatch(known) else A_NAME
                    rest.append((f"{path}.{said}".removeprefix("."), inner))
                    if name == "bytes" and joined and isinstance(inner, str):
                        rest.append((path, _within(inner)))
                    if said == A_NAME:
                        rest.append((f"{path}.{said}".removeprefix("."), name))
            case list():
                ranked = last_name(path) == RANKED.decode()
                for n, inner in reversed([*enumerate(item)]):
                    rest.append((f"{path}[{n}]" if ranked or not joined else path, inner))


def _within(text: str) -> Any:
    """The JSON that a message of Bedrock's has in base64; None where there is none."""
    try:
        return json_text.loads(b64decode(text, validate=True))
    except (ValueError, RecursionError):
        return None
