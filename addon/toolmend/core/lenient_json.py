r"""Repairs JSON as people write it: unquoted names, single quotes, comments, Python literals and tuples, commas too many or few.

    {command: 'ls', // here
     deep: True,}             →     {"command": "ls",
     "deep": true}

Only the wrong parts change. A text with anything else that is not JSON (a word, a function call) is not repaired: its meaning
would be a guess. Unclosed brackets before the last closing ones are closed, `{"a": [1}`; text, or the same object, may follow the
object.
"""

import re

from . import json_text
from .fastclass import mutable
from .python_escapes import ESCAPE, unescaped

_PIECE = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|\#[^\n]*)|(?P<blank>\s+)|(?P<double>"(?:[^"\\]++|\\.)*+")"""
    r"""|(?P<single>'(?:[^'\\]++|\\.|'(?!\s*(?:[,:}\]/\#]|\Z)))*+')|(?P<word>[A-Za-z_$][\w$-]*)"""
    r"""|(?P<other>-?[0-9][0-9.eE+-]*|[{}\[\]():,])""",
    re.DOTALL,
)
"""An apostrophe in single quotes ends the string if what follows may follow a string."""

_BAD = re.compile(r"""\\(?:(?P<right>["\\/bfnrt]|u[0-9A-Fa-f]{4})|.)|[\x00-\x1f]""", re.DOTALL)
_CONTINUES = (",", ":", "'", '"')
"""What follows a closing bracket that was not the last."""
_OPENS = {"}": "{", "]": "[", ")": "("}
_CLOSES = {"{": "}", "[": "]", "(": "]"}
_JSON = {"(": "[", ")": "]"}
_NAMED = re.compile(r"\s*:")


@mutable
class _Level:
    """An open bracket. `valued`: the last member has its colon. `commas`: there are some."""

    bracket: str
    valued: bool = False
    commas: bool = False


def repaired(text: str, before: str = "", *, ended: bool = True) -> str | None:
    """Returns the text of an object as JSON; None if it is not one, or if more is wrong with it than this module repairs.

    Args:
        text: The object, or the rest of one.
        before: The JSON before the rest, of the same brackets.
        ended: The text is complete: missing brackets at the end are added.
    """
    pieces: list[str] = []
    comma = word = -1  # index in `pieces` of the last comma and the last word, while only blanks follow
    at, text = 0, before + text
    stack: list[_Level] = []
    begun = follows = False  # follows: a value, or a name, is before it
    while at < len(text) and (stack or not begun):
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
        begun = True
        level = stack[-1] if stack else None
        if found == ":" and word >= 0:
            pieces[word] = json_text.quote(pieces[word])
        elif found in _OPENS:
            if comma >= 0:
                pieces[comma] = ""
            if all(each.bracket != _OPENS[found] for each in stack):
                continue
            while stack[-1].bracket != _OPENS[found]:
                pieces.append(_CLOSES[stack.pop().bracket])
            if found == ")" and not stack[-1].commas:
                return None  # brackets around an expression
            stack.pop()
        if word >= 0 and found != ":":
            if pieces[word] not in json_text.WORDS:
                return None
            pieces[word] = json_text.WORDS[pieces[word]]
        if level and found == ":":
            level.valued = True
        elif level and found == ",":
            level.valued, level.commas = False, True
        elif level and level.valued and follows and kind in ("single", "double") and _NAMED.match(text, at):
            pieces.append(",")
            level.valued = False
        if found in _CLOSES:
            stack.append(_Level(found))
        comma = len(pieces) if found == "," else -1
        word = len(pieces) if kind == "word" else -1
        follows = kind != "other" or found not in ":,{[("
        pieces.append(_string(found) if kind in ("single", "double") else _JSON.get(found, found))
    if stack and not ended:
        return None
    if stack and comma >= 0:
        pieces[comma] = ""
    first = "".join(pieces).strip()
    result = first + "".join(_CLOSES[each.bracket] for each in reversed(stack))
    if not (result.startswith("{") and json_text.is_json(result.encode(errors="surrogatepass"))):
        return None
    rest = text[at:].strip()
    if ("{" in rest and rest != text[:at].strip()) or rest[:1] in _CONTINUES:
        return None
    return result.removeprefix(before)


def closers(text: str) -> str:
    """Returns the text that an object lacks at its end, if it lacks only brackets."""
    whole = text.rstrip().removesuffix(",")
    result = repaired(whole)
    return result[len(whole.strip()) :] if result and result.startswith(whole.strip()) else ""


def _string(quoted: str) -> str:
    """Converts a string in either quotes to JSON."""
    if quoted[0] == '"':
        return _BAD.sub(_escape, quoted)
    return json_text.quote(ESCAPE.sub(lambda escape: "/" if escape.group() == "\\/" else unescaped(escape), quoted[1:-1]))


def _escape(match: re.Match[str]) -> str:
    found = match.group()
    if match["right"]:
        return found
    return json_text.inside(found) if found[0] != "\\" else "'" if found == "\\'" else json_text.inside(found)
