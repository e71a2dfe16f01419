"""Texts that no dialect makes a call of, about the tools of a request: prose, lists, tables, code, data, other formats quoted.

    texts(tools)  →  "I'll use read_file to look at it first, …", …

A dialect is proven on them: see learning.py. They lie in harmless.txt, between lines of `%%%`, with TOOL, OTHER and KEY in place
of the names of two tools and of a parameter.
"""

from functools import cache
from pathlib import Path

from ..core.tools import Tools

_FILE = Path(__file__).with_name("harmless.txt")
MOST_TOOLS = 8
"""Tools of a request that the texts are told of: each is in all of them."""


@cache
def _templates() -> tuple[str, ...]:
    return tuple(_FILE.read_text(encoding="utf-8").removesuffix("\n").split("\n%%%\n"))


def texts(tools: Tools) -> list[str]:
    """All of them, for each of some tools."""
    names = list(tools.schemas)[:MOST_TOOLS] or ["read_file"]
    found = []
    for number, name in enumerate(names):
        other = names[(number + 1) % len(names)] if len(names) > 1 else "other_tool"
        key = next(iter(tools.properties(name)), "path")
        found += [text.replace("TOOL", name).replace("OTHER", other).replace("KEY", key) for text in _templates()]
    return found
