"""Inkling: an envelope after its tool's name.

    <|message_model|>read_file<|content_invoke_tool_json|>{"name": "read_file", "args": {"path": "a.md"}}<|end_message|>

Source: its chat template; no leak is known.
"""

import re
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.tag import Tag
from ..engine.tags import TagDialect

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_BEGIN = ("<|message_model|>",)
_NAME = re.compile(r"[^\s<>{}]*")


class Inkling(TagDialect):
    """A tag dialect with a name before the envelope, which is skipped: the name in the envelope counts."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        if (yield from scanner.literal(_BEGIN)):
            yield from scanner.run(_NAME, 128)
            if not (yield from scanner.ahead(self.call.begin)):
                return False
        return (yield from TagDialect.read(self, parser))


INKLING = Inkling(
    "inkling",
    wrapper=Tag(_BEGIN),
    call=Tag(("<|content_invoke_tool_json|>",), end=("<|end_message|>",)),
    arguments="envelope",
)
