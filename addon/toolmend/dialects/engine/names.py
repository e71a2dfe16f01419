"""Tool names in markup."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .markup_parser import MarkupParser


def bare_name(parser: "MarkupParser", header: str) -> str:
    """The name without the prefix `functions.` of some templates, unless an offered tool has exactly that name."""
    return header if header in parser.tools.schemas else header.removeprefix("functions.")
