"""Hermes envelopes: Qwen2.5, Qwen3, QwQ, Nous Hermes, Granite 4, MiniCPM, Ernie 4.5 and many fine-tunes.

    <tool_call>
    {"name": "read_file", "arguments": {"path": "a.md", "limit": 20}}
    </tool_call>

Some models put a fence around the envelope, inside the tags. Some lose the opening tag, so that only the end tag shows that this
JSON is a call (hermes-agent#742). Source: the chat templates of Qwen and NousResearch.
"""

from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.dialect import CustomDialect
from ..engine.envelope import EnvelopeForm, read_envelopes
from ..engine.tag import Tag
from ..engine.tags import TagDialect

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_FENCES = ("", "\n```json\n", "\n```\n", "```json\n", "```\n")

HERMES = TagDialect(
    "hermes",
    call=Tag(
        tuple(f"<tool_call>{fence}" for fence in _FENCES), end=("</tool_call>", "```</tool_call>", "```\n</tool_call>")
    ),
    arguments="envelope",
    ambiguous=True,
)

_FORM = EnvelopeForm(ends=HERMES.closers, strict=True)


class HermesOpenerless(CustomDialect):
    """An envelope at the beginning of a line that the end tag follows."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        yield from scanner.literal(("tool_call>",))
        found = yield from parser.attempt(read_envelopes(parser, self, _FORM))
        if not found or not all(call.ended for call in found):
            return False
        yield from scanner.blanks()
        if not (yield from scanner.literal(self.closers)):
            return False
        parser.emit_attempts(found)
        return True


HERMES_OPENERLESS = HermesOpenerless(
    "hermes_openerless", ("{", "[", "tool_call>"), closers=HERMES.closers, ambiguous=True, offered_only=True, place="line",
    in_reasoning="never"
)
