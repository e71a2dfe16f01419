"""Drops leftover markup next to a call in the text or a native call.

    [{"name": "read_file", "arguments": {}}]</TOOLCALL>        an end tag of another dialect
    <tool_call></tool_call>                                    an empty envelope after a call
    <tool_call>            and then a native call              a begin tag (Rapid-MLX#448)
    </tool_call><tool_call>{"name": …                          an end tag before a call

It is parsed like a dialect. An end tag counts directly after a call in the text, or on a separate line in an answer with calls;
anywhere else it is text.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from .. import DIALECTS
from ..engine.dialect import CustomDialect, Dialect

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

NAME = "leftover_markup"

_IN_LINE = re.compile(r"[ \t]*")
_NOTHING = ("[]", "{}")


class Leftovers(CustomDialect):
    """The end tags and wrappers of some dialects."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        if not (parser.after_call or parser.place.line_start):
            return False
        if not (parser.calls or parser.native_calls):
            if not (closer := (yield from scanner.literal(self.closers))):
                return False
            yield from scanner.blanks()
            follows = yield from scanner.peek()  # holds for a native call that may follow (MarkupParser.native)
            if follows not in ("<", "[") or not (yield from parser.call_in(len(closer), ())):
                return False
            parser.report(self.name)
            return True
        direct = parser.after_call
        if (yield from scanner.literal(self.wrappers)):
            yield from scanner.blanks()
            yield from scanner.literal(_NOTHING)
            yield from scanner.blanks()
        if not (yield from scanner.literal(self.closers)):
            return False
        if not direct:
            yield from scanner.run(_IN_LINE, 256)
            if (yield from scanner.peek()) not in ("", "\r", "\n", "<"):
                return False
        parser.report(self.name)
        parser.drop_markup()
        return True


@lru_cache(256)
def _made(names: tuple[str, ...]) -> Leftovers:
    dialects = [DIALECTS[name] for name in names]
    wrappers = tuple(dict.fromkeys(wrapper for dialect in dialects for wrapper in dialect.wrappers))
    closers = tuple(dict.fromkeys(closer for dialect in dialects for closer in dialect.closers))
    return Leftovers(NAME, (*wrappers, *closers), wrappers=wrappers, closers=closers, ambiguous=True)


def leftovers(dialects: Sequence[Dialect]) -> Leftovers:
    """The leftovers of these dialects."""
    return _made(tuple(dialect.name for dialect in dialects))
