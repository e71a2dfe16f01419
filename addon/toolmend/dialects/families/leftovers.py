"""Markup left over around a call that was found, by itself or as a real call of the upstream.

    [{"name": "read_file", "arguments": {}}]</TOOLCALL>        an end of another dialect's
    <tool_call></tool_call>                                    an empty envelope after a call
    <tool_call>            and then the provider's own call    a beginning (Rapid-MLX#448)

No dialect, but read by the same engine. An end counts directly after a call of the text, or on a line of its own in an answer
that has calls; anywhere else it is text.
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
    """The ends and wrappers of some dialects."""

    def read(self, reader: "MarkupParser") -> Reading[bool]:
        scanner = reader.scanner
        if not (reader.after_call or reader.place.line_start):
            return False
        if not (reader.calls or reader.native_calls):
            if (yield from scanner.literal(self.closers)):  # it waits for what follows: a call of the provider's (Reader.native)
                yield from scanner.blanks()
                yield from scanner.peek()
            return False
        direct = reader.after_call
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
        reader.fired(self.name)
        reader.drop_markup()
        return True


@lru_cache(256)
def _made(names: tuple[str, ...]) -> Leftovers:
    dialects = [DIALECTS[name] for name in names]
    wrappers = tuple(dict.fromkeys(wrapper for dialect in dialects for wrapper in dialect.wrappers))
    closers = tuple(dict.fromkeys(closer for dialect in dialects for closer in dialect.closers))
    return Leftovers(NAME, (*wrappers, *closers), wrappers=wrappers, closers=closers, ambiguous=True)


def leftovers(dialects: Sequence[Dialect]) -> Leftovers:
    """What may be left over of these dialects."""
    return _made(tuple(dialect.name for dialect in dialects))
