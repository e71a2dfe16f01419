"""Apertus: the tool's name is the key of the arguments.

    <|tools_prefix|>[{"read_file": {"path": "a.md"}}, {"get_time": {"zone": "UTC"}}]<|tools_suffix|>

Source: the Apertus chat template.
"""

import re
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.dialect import CustomDialect
from ..engine.json_body import read_arguments, read_string

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_SEPARATORS = re.compile(r"[\s,\[]*")
_CLOSING = re.compile(r"[\s}\]]*")


class Apertus(CustomDialect):
    """The calls of one array."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        yield from scanner.literal(self.openers)
        called = False
        while True:
            back = scanner.pos - scanner.start
            yield from scanner.run(_SEPARATORS, 4096)
            if not (yield from self._call(parser)):
                scanner.pos = scanner.start + back
                return called
            called = True
            yield from scanner.run(_CLOSING, 4096)
            parser.drop_markup()

    def _call(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        if not (yield from scanner.literal(("{",))):
            return False
        yield from scanner.blanks()
        name = ((yield from read_string(scanner)) or "").strip()
        yield from scanner.blanks()
        if not parser.accepts(self, name) or not (yield from scanner.literal((":",))):
            return False
        id_ = parser.new_id()
        return (yield from read_arguments(parser, lambda: parser.start(self, id_, name), ("}", *self.closers)))


APERTUS = Apertus("apertus", ("<|tools_prefix|>",), closers=("<|tools_suffix|>",))
