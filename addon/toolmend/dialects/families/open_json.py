"""Calls as bare JSON or JSON in a fence, from models without tokens for tools.

    [{"name": "read_file", "arguments": {"path": "a.md"}}]          {"name": "get_time", "parameters": {"zone": "UTC"}}

Qwen models write it between the tags of the tools in their prompt: <tools>{"name": "get_time", "arguments": {}}</tools>
(vllm#32926).

A call must name an offered tool, and have arguments that are an object or null. Similar data stays text, and is held only up to
the first member that an envelope does not have. Source: xLAM, Llama 3 and Qwen2.5-Coder templates; replies in kronk#950.
"""

import re
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.dialect import CustomDialect
from ..engine.envelope import EnvelopeForm, read_envelopes

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_FORM = EnvelopeForm(strict=True)
_MORE = {"```": re.compile("`*"), "~~~": re.compile("~*")}
_LANGUAGES = ("json", "JSON", "tool_call", "tool_calls", "tool_code", "tool_use", "function_call", "")


class OpenJSON(CustomDialect):
    """A bare array or object."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        return (yield from self.read_calls(parser))

    def read_calls(self, parser: "MarkupParser") -> Reading[bool]:
        """Parses envelopes at the scanner's position. Returns whether there was a call."""
        return (yield from read_envelopes(parser, self, _FORM))


class JsonTools(OpenJSON):
    """JSON between the tags of the tools in the prompt; a tool definition there is not a call."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        yield from parser.scanner.literal(self.openers)
        return (yield from self.read_calls(parser))


class Fence(OpenJSON):
    """A fence with nothing but calls, which is dropped with them."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        return (yield from self.read_fence(parser))

    def read_fence(self, parser: "MarkupParser") -> Reading[bool]:
        """Parses a fence at the scanner's position. Returns whether there was a call in it."""
        scanner = parser.scanner
        fence = yield from scanner.literal(tuple(_MORE))
        assert fence
        fence += (yield from scanner.run(_MORE[fence], 64)) or ""
        yield from scanner.literal(_LANGUAGES[:-1])
        yield from scanner.blanks()
        if not (yield from self.read_calls(parser)):
            return False
        while True:
            yield from scanner.blanks()
            if (yield from scanner.literal((fence,))):
                parser.drop_markup()
                return True
            if not (yield from self.read_calls(parser)):
                scanner.pos = scanner.start  # after the last call
                return True


JSON_ARRAY = OpenJSON("json_array", ("[",), ambiguous=True, offered_only=True, in_reasoning="never")
JSON_OBJECT = OpenJSON("json_object", ("{",), ambiguous=True, offered_only=True, in_reasoning="never")
JSON_TOOLS = JsonTools(
    "json_tools", ("<tools>",), closers=("</tools>",), ambiguous=True, offered_only=True, place="line", in_reasoning="never"
)
FENCE = Fence("fence", tuple(_MORE), ambiguous=True, offered_only=True, place="line", in_reasoning="never")
