"""Mistral: an array of JSON envelopes (tokenizers up to v7), or name and arguments (v11 on: Devstral, Ministral, Small 3.2).

    [TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "a.md"}, "id": "VvvODy9mT"}]
    [TOOL_CALLS]read_file[ARGS]{"path": "a.md"}[TOOL_CALLS]get_time[CALL_ID]VvvODy9mT[ARGS]{"zone": "UTC"}

In an envelope the id comes after the arguments, so these are held for it. `[ARGS]` may be missing. Source: mistral-common,
tokenizers v3, v11 and v13.
"""

import re
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.dialect import CustomDialect
from ..engine.envelope import EnvelopeForm, read_envelopes
from ..engine.json_body import read_arguments
from ..engine.names import bare_name

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_NAME = re.compile(r"[^\s\[\]{}<>\"']*")
_ID = re.compile(r"[A-Za-z0-9_.:-]*")
MAX_OPENERS = 4
"""Openers in a row, as there may be a second one before the real one. The bound keeps the cost of many openers linear."""

_FORM = EnvelopeForm(ends=("[TOOL_CALLS]", "[/TOOL_CALLS]"), holds_for_id=True)


class Mistral(CustomDialect):
    """Both forms."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        for _ in range(MAX_OPENERS):
            if (yield from scanner.literal(self.openers)):
                yield from scanner.blanks()
        begin = yield from scanner.peek()
        if begin and begin in "[{" and not (yield from scanner.ahead(("[ARGS]", "[CALL_ID]"))):
            return (yield from read_envelopes(parser, self, _FORM))
        name = bare_name(parser, (yield from scanner.run(_NAME, 128)) or "")
        if not parser.accepts(self, name):
            return False
        yield from scanner.blanks()
        id_ = ""
        if (yield from scanner.literal(("[CALL_ID]",))):
            yield from scanner.blanks()
            id_ = (yield from scanner.run(_ID, 64)) or ""
            yield from scanner.blanks()
        yield from scanner.literal(("[ARGS]",))
        id_ = id_ if id_ and id_ not in parser.ids else parser.new_id()
        return (yield from read_arguments(parser, lambda: parser.start(self, id_, name), self.closers + self.openers))


MISTRAL = Mistral("mistral", ("[TOOL_CALLS]",), wrappers=("[TOOL_CALLS]",), closers=("[/TOOL_CALLS]",), offered_only=True)
