"""MiniMax M2's calls in a notation with flags (openclaw#70331), in place of its own markup.

    [TOOL_CALL] {tool => 'bash', args => {--command "ls -la" --timeout 30}} [/TOOL_CALL]
    [TOOL_CALL]
    {"tool": "bash", "args": {"command": "ls -la"}}
    [/TOOL_CALL]

A call is parsed to its end before it counts: it must name an offered tool, and its arguments must fit.
"""

import re
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.dialect import CustomDialect
from ..engine.envelope import EnvelopeForm, read_envelopes
from ..engine.literals import Literals, Notation
from ..engine.names import bare_name
from ..engine.quoted import PYTHON_QUOTES

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_NOTATION = Notation(PYTHON_QUOTES, brackets=("{", "["), separators=("=>", ":", "="), flags=True)
_IS = r"\s*(?:=>|:|=)\s*"
_NAME = re.compile(rf"\s*(?:tool|name|tool_name|function){_IS}[\"']?(?P<name>[^\s\"'{{}},]+)[\"']?\s*,?\s*(?:\w+{_IS})?")
_HEAD = re.compile(r"[^{}]*")
_CLOSERS = ("[/TOOL_CALL]",)
MAX_HEAD = 256
"""Characters between the brace of a call and that of its arguments."""


class MinimaxArrow(CustomDialect):
    """One call, as an envelope or with flags."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        yield from scanner.literal(self.openers)
        yield from scanner.blanks()
        back = scanner.pos - scanner.start
        found = yield from parser.attempt(read_envelopes(parser, self, EnvelopeForm(ends=_CLOSERS)))
        if found and all(call.ended and parser.tools.fits(call.name, call.arguments) for call in found):
            parser.emit_attempts(found)
            return True
        scanner.pos = scanner.start + back
        if not (yield from scanner.literal(("{",))):
            return False
        match = _NAME.fullmatch((yield from scanner.run(_HEAD, MAX_HEAD)) or "")
        name = bare_name(parser, match["name"]) if match else ""
        if name not in parser.tools.schemas:
            return False
        pieces: list[str] = []
        if (yield from scanner.literal(("{",))):
            if not (yield from Literals(scanner, _NOTATION, pieces.append, _CLOSERS).read("}", _NOTATION.separators)):
                return False
            yield from scanner.blanks()
        arguments = "".join(pieces) or "{}"
        if not (yield from scanner.literal(("}",))) or not parser.tools.fits(name, arguments):
            return False
        parser.start(self, parser.new_id(), name)
        parser.arguments(arguments)
        parser.end()
        return True


MINIMAX_ARROW = MinimaxArrow(
    "minimax_arrow", ("[TOOL_CALL]",), wrappers=("[TOOL_CALL]",), closers=_CLOSERS, ambiguous=True, offered_only=True
)
