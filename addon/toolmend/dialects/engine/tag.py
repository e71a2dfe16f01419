"""A tag: the tokens around a call, a wrapper or a parameter, with all spellings."""

import re

from ...core.fastclass import value

NAME = re.compile(r"(?P<name>[^\s<>{}]+)")
"""A bare name."""

QUOTED = re.compile(r"""["']?(?P<name>[^\s<>{}"']+)["']?""")
"""A bare name, in quotes or not."""

_OTHER = r"""[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=]+)"""
_WORD = r"""[^\s"'<>=]++"""
_STRING = r"""(?:(?=(?:[^"']|"[^"]*"|'[^']*')*?\bstring\s*=\s*["']?(?P<string>true|false)\b)|)"""

ATTRIBUTE = re.compile(
    rf"""{_STRING}(?:{_OTHER}\s++)*?name\s*+=\s*+["']?\s*+(?P<name>{_WORD}(?:\s++{_WORD})*?)\s*["']?(?:\s++{_OTHER})*"""
)
"""`name="N"`, in double, single or no quotes, with other attributes in any order. In DSML, `string` states whether the value is
raw text or JSON."""


@value
class Tag:
    """`begin HEADER separator … end`.

    Attributes:
        begin, separator, end: The alternatives of each token; a longer one, such as one with a newline, has priority.
        header: The pattern of the header. It binds `name`, and for parameters it may bind `string` (true or false).
        characters: The characters that the header may consist of.
        escaped: Whether the name has XML entities.
    """

    begin: tuple[str, ...] = ()
    separator: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    header: re.Pattern[str] = NAME
    characters: re.Pattern[str] = re.compile(r"[^<>{}]*")
    escaped: bool = False


NO_TAG = Tag()
"""For dialects without such a tag."""
