r"""Where the values of a JSON text stand in it, by their paths.

    {"id": "c1", "choices": [{"index": 0, "delta": {"content": "Hi\n"}, "token_ids": [7, 12]}]}
            ──                        ─                       ────                    ─────
    ("id",) 8–10    ("choices", 0, "index") 36–37    … "delta", "content") …    … "token_ids") the row as one

Rule of this file: the text is known to be JSON; this finds places in it, and reads no value.
"""

import re

from ...core import json_text

MOST, DEEPEST = 128, 12
"""Values of a text, and members and elements that one of them may be within: more than any delta has."""

NUMBER = rb"-?+(?:0|[1-9]\d{0,17}+)(?:\.\d{1,17}+)?+(?:[eE][+-]?\d{1,2}+)?+"
"""One that every reader can read, whatever it makes of its digits."""

NUMBERS = rb"(?:%b(?:,[ ]?+%b)*+)?+" % (NUMBER, NUMBER)
"""A row of them, without its brackets."""

ANY_TEXT = re.compile(rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
"""What stands between the quotes of a JSON string. Each escape is whole: with the next text, half of one were another text."""

_TOKEN = re.compile(rb'"(%b)"(\s*+:)?+|\[(%b)\]|([^\s"\[\]{},:]++)|([\[{])|([\]}])|(,)' % (ANY_TEXT.pattern, NUMBERS))
_STRING, _NAME, _ROW, _WORD, _OPENS, _CLOSES, _NEXT = range(1, 8)

type Path = tuple[str | int, ...]
type Span = tuple[int, int]


def leaves(data: bytes) -> dict[Path, Span]:
    """Where strings stand, without their quotes, and numbers, rows of numbers without their brackets, and words.

    Nothing where a path is there twice, or where there are too many, or one is too deep.
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
