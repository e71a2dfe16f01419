r"""JSON as people write it, as JSON: names without quotes, single quotes, comments, Python's words, commas that nothing follows.

    {command: 'ls', // here
     deep: True,}             →     {"command": "ls",
     "deep": true}

Only what is wrong changes. A text with anything else that is no JSON (a word, a call, a bracket too few) is not repaired: what it
means would be a guess.
"""

import re

from . import json_text
from .python_escapes import ESCAPE, unescaped

_PIECE = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|\#[^\n]*)|(?P<blank>\s+)|(?P<double>"(?:[^"\\\x00-\x1f]|\\.)*")"""
    r"""|(?P<single>'(?:[^'\\]|\\.)*')|(?P<word>[A-Za-z_$][\w$-]*)|(?P<other>-?[0-9][0-9.eE+-]*|[{}\[\]:,])""",
    re.DOTALL,
)


def repaired(text: str) -> str | None:
    """The text of an object as JSON; None where it is none, or more than the above is wrong with it."""
    pieces: list[str] = []
    comma = word = -1  # places in `pieces`: of the last comma, of the last word, while only blanks followed
    at = 0
    while at < len(text):
        match = _PIECE.match(text, at)
        if match is None:
            return None
        at, found = match.end(), match.group()
        kind = match.lastgroup
        if kind == "skip":
            continue
        if kind == "blank":
            pieces.append(found)
            continue
        if found == ":" and word >= 0:
            pieces[word] = json_text.quote(pieces[word])
        elif found in ("}", "]") and comma >= 0:
            pieces[comma] = ""
        if word >= 0 and found != ":":
            if pieces[word] not in json_text.WORDS:
                return None
            pieces[word] = json_text.WORDS[pieces[word]]
        comma = len(pieces) if found == "," else -1
        word = len(pieces) if kind == "word" else -1
        pieces.append(json_text.quote(ESCAPE.sub(unescaped, found[1:-1])) if kind == "single" else found)
    result = "".join(pieces).strip()
    return result if result.startswith("{") and json_text.is_json(result.encode(errors="surrogatepass")) else None
