"""Names of tools as models write them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .markup_parser import MarkupParser


def bare_name(reader: "MarkupParser", header: str) -> str:
    """A name without the `functions.` that some templates put in front, unless a tool is offered under just that name."""
    return header if header in reader.tools.schemas else header.removeprefix("functions.")
