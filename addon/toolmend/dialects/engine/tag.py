"""A tag: the tokens around a call, a wrapper or a parameter, each in all its spellings."""

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
"""`name="N"`, in double, single or no quotes, among other attributes in any order; DSML says with `string` whether the value is
raw text or JSON."""


@value
class Tag:
    """`begin HEADER separator … end`.

    `characters` are those that the header may consist of, `header` its pattern; it binds `name`, and for parameters it may
    bind `string` (true or false); what it binds may be `escaped` as in XML. A separator or
    end that has a newline more than another takes it with it.
    """

    begin: tuple[str, ...] = ()
    separator: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    header: re.Pattern[str] = NAME
    characters: re.Pattern[str] = re.compile(r"[^<>{}]*")
    escaped: bool = False


NO_TAG = Tag()
"""Where a dialect has none."""
