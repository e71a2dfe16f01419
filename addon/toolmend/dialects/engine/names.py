"""Tool names in markup."""

from typing import TYPE_CHECKING

from ...core.tools import Tools

if TYPE_CHECKING:
    from .markup_parser import MarkupParser


MAX_NAME = 256
"""Characters of a tool's name that an opener may have. An opener index holds all prefixes of an opener, so its size grows
with the square of the length; the APIs allow names of 64 to 128."""


def opener_names(tools: Tools) -> tuple[str, ...]:
    """Returns the names of the offered tools for dialects whose calls begin with a name, sorted, without huge ones."""
    return tuple(sorted(name for name in tools.schemas if len(name) <= MAX_NAME))


def bare_name(parser: "MarkupParser", header: str) -> str:
    """The name without the prefix `functions.` of some templates, unless an offered tool has exactly that name."""
    return header if header in parser.tools.schemas else header.removeprefix("functions.")
