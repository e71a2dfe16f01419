r"""Finds the values of a JSON text by their paths, without parsing them. The text must be valid JSON.

{"id": "c1", "choices": [{"index": 0, "delta": {"content": "Hi\n"}, "token_ids": [7, 12]}]}
──                        ─                       ────                    ─────
("id",) 8–10    ("choices", 0, "index") 36–37    … "delta", "content") …    … "token_ids") the row as one
"""

import re

from ...core import json_text

MOST, DEEPEST = 128, 12
"""Values of a text, and its depth: more than any delta has."""

NUMBER = rb"-?+(?:0|[1-9]\d{0,17}+)(?:\.\d{1,17}+)?+(?:[eE][+-]?\d{1,2}+)?+"
"""A number that every JSON parser accepts."""

NUMBERS = rb"(?:%b(?:,[ ]?+%b)*+)?+" % (NUMBER, NUMBER)
"""A list of numbers without its brackets."""

ANY_TEXT = re.compile(rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
"""The inside of a JSON string. Escapes are complete, because half of one would change its meaning with the next text."""

_TOKEN = re.compile(rb'"(%b)"(\s*+:)?+|\[(%b)\]|([^\s"\[\]{},:]++)|([\[{])|([\]}])|(,)' % (ANY_TEXT.pattern, NUMBERS))
_STRING, _NAME, _ROW, _WORD, _OPENS, _CLOSES, _NEXT = range(1, 8)

type Path = tuple[str | int, ...]
type Span = tuple[int, int]


def value_spans(data: bytes) -> dict[Path, Span]:
    """The spans of strings (without quotes), numbers, lists of numbers (without brackets) and words.

    Returns {} if a path occurs twice, or the text has too many values or is too deep.
    """
    found: dict[Path, Span] = {}
    known: set[Path] = set()
    path: list[str | int] = []
    for token in _TOKEN.finditer(data):
        kind = token.lastindex
        if kind == _NAME:
            name = token[_STRING]
            path[-1] = json_text.loads(b'"%b"' % name) if name.find(b"\\") >= 0 else name.decode()
            if (here := tuple(path)) in known or len(known) == MOST:
                return {}
            known.add(here)
        elif kind == _OPENS:
            path.append(0 if token[0] == b"[" else "")
            if len(path) > DEEPEST:
                return {}
        elif kind == _CLOSES:
            path.pop()
        elif kind == _NEXT:
            if isinstance(place := path[-1], int):
                path[-1] = place + 1
        elif kind and path:
            found[tuple(path)] = token.span(kind)
            if len(found) > MOST:
                return {}
    return found
