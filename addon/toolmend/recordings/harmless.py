"""Texts about a request's tools in which no dialect may find a call: prose, lists, tables, code, data, quoted formats.

    texts(tools)  →  "I'll use read_file to look at it first, …", …

Learnt dialects are tested with them: see learning.py. harmless.txt has the texts, separated by lines of `%%%`, with the
placeholders TOOL, OTHER and KEY for the names of two tools and a parameter.
"""

from functools import cache
from pathlib import Path

from ..core.tools import Tools

_FILE = Path(__file__).with_name("harmless.txt")
MOST_TOOLS = 8
"""Tools of a request that are inserted, each into all texts."""


@cache
def _templates() -> tuple[str, ...]:
    return tuple(_FILE.read_text(encoding="utf-8").removesuffix("\n").split("\n%%%\n"))


def texts(tools: Tools) -> list[str]:
    """Returns all texts for each of some tools."""
    names = list(tools.schemas)[:MOST_TOOLS] or ["read_file"]
    found = []
    for number, name in enumerate(names):
        other = names[(number + 1) % len(names)] if len(names) > 1 else "other_tool"
        key = next(iter(tools.properties(name)), "path")
        found += [text.replace("TOOL", name).replace("OTHER", other).replace("KEY", key) for text in _templates()]
    return found
