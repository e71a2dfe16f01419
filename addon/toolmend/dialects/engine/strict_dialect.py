"""Strict variants of ambiguous dialects, for models without a profile: an alias, a gateway, a new model.

    <tool_call>\\n{"name": "read_file", "arguments": {"path": "a.md"}}\\n</tool_call>        from `my-model`

1. A call is parsed to its end before it counts. It needs the exact name of an offered tool, arguments that fit the schema, and
   the dialect's end tag, and must begin a line outside code.
2. Bare JSON, with or without a fence, must be the whole message.
3. Anything else stays text, and other dialects are tried on it.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...core.fastclass import value
from ...core.scanner import Reading
from .. import DIALECTS
from .dialect import Dialect, InReasoning, Where
from .tags import TagDialect

if TYPE_CHECKING:
    from .emitter import Attempt
    from .markup_parser import MarkupParser

_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)

_PREFIX = "functions."
"""A prefix of names, unless an opener ends with it."""

MAX_CALLS = 64
"""Calls in one wrapper that are parsed."""


@value
class StrictDialect:
    """A dialect with additional conditions for its calls.

    Attributes:
        dialect: The dialect.
        place: See Dialect.
        ends: The end tags that must follow the calls, if the dialect is not a TagDialect.
        only: The openers that count; empty: all.
        around: Openers of wrappers. After a wrapper that is text, such as one within a line, the call is text as well.
    """

    dialect: Dialect
    place: Where = "line"
    ends: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    around: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.dialect.name

    @property
    def openers(self) -> tuple[str, ...]:
        return self.only or self.dialect.openers

    @property
    def inner(self) -> tuple[str, ...]:
        return self.dialect.inner

    @property
    def wrappers(self) -> tuple[str, ...]:
        return ()

    @property
    def closers(self) -> tuple[str, ...]:
        return self.dialect.closers

    @property
    def ambiguous(self) -> bool:
        return True

    @property
    def offered_only(self) -> bool:
        return True

    @property
    def in_reasoning(self) -> InReasoning:
        return self.dialect.in_reasoning

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        begin = scanner.place
        first, end = parser.refused
        if first < begin < end or parser.place.indented or parser.place.in_quotation or parser.aside[0]:
            return False
        if self.place == "message" and parser.native_calls:
            return False
        if (around := self.around or self.dialect.wrappers) and parser.place.after(around):
            return False
        found = yield from self._certain(parser)
        if found:
            parser.emit_attempts(found)
        else:  # no part of the refused text is a call
            parser.refused = begin, max(scanner.place, end if first == begin else 0)
        return bool(found)

    def _certain(self, parser: "MarkupParser") -> Reading[list["Attempt"]]:
        """Parses calls; returns an empty list if one of them is not certain."""
        scanner = parser.scanner
        begin = scanner.pos - scanner.start
        found = yield from parser.attempt(self._calls(parser))
        text = scanner.text[scanner.start + begin : scanner.pos]
        if any(opener.endswith(_PREFIX) for opener in self.openers):
            text = text.replace(_PREFIX, "")
        if not all(_is_certain(parser, call, text) for call in found) or not (self._in_tags or is_balanced(text)):
            return []
        if found and self.place == "message":
            yield from scanner.blanks()
            if (yield from scanner.peek()) or parser.native_calls:
                return []
        return found

    def _calls(self, parser: "MarkupParser") -> Reading[bool]:
        """Parses calls up to the end of the element around them. Returns whether that end was there."""
        scanner = parser.scanner
        begin = scanner.pos - scanner.start
        for _ in range(MAX_CALLS):
            if not (yield from self.dialect.read(parser)):
                return False
            name = parser.attempts[-1].name if parser.attempts else ""
            ends = self._ends(scanner.text[scanner.start + begin : scanner.pos], name)
            if not ends or (not self._ends_apart and scanner.text.endswith(ends, scanner.start + begin, scanner.pos)):
                return True
            back = scanner.pos - scanner.start
            yield from scanner.blanks()
            while closer := (yield from scanner.literal((*self.closers, *ends))):
                if closer in ends:
                    return True
                back = scanner.pos - scanner.start
                yield from scanner.blanks()
            if not (yield from scanner.ahead(self.inner_openers)):
                scanner.pos = scanner.start + back
                return False
        return False

    @property
    def _in_tags(self) -> bool:
        """Whether the arguments are in tags, not in JSON with brackets that could have been mended."""
        return isinstance(self.dialect, TagDialect) and self.dialect.in_tags

    @property
    def _ends_apart(self) -> bool:
        """Whether the end tag of a wrapper may look like that of the call in it."""
        return isinstance(self.dialect, TagDialect) and self.dialect.arguments == "envelope"

    @property
    def inner_openers(self) -> tuple[str, ...]:
        """The openers of the next call in a wrapper."""
        return self.dialect.call.begin if isinstance(self.dialect, TagDialect) else ()

    def _ends(self, text: str, name: str) -> tuple[str, ...]:
        """The end tags of the element that the text begins with, one of which is required; empty if calls need none."""
        if not isinstance(self.dialect, TagDialect):
            return self.ends
        return self.dialect.ends_of(text, name)


def _is_certain(parser: "MarkupParser", call: "Attempt", text: str) -> bool:
    """Whether a call meets all conditions; `text` is its markup."""
    tools = parser.tools
    prefixed = f"{_PREFIX}{call.name}"  # accepted as the name elsewhere, but not exact
    return call.ended and tools.suits(call.name, call.arguments) and (prefixed not in text or prefixed in tools.schemas)


def is_balanced(text: str) -> bool:
    """Whether every bracket outside strings is closed; with an open one, the model may not have finished."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match.group(), 0)
    return depth == 0


_WHOLE_MESSAGES = ("json_array", "json_object", "fence", "python_list")

FOR_UNKNOWN_MODELS: Mapping[str, Dialect] = {
    **{
        name: StrictDialect(DIALECTS[name])
        for name in ("qwen3_coder", "qwen3_named", "hermes", "glm")
    },
    # without the opener `tool_call>`: every text that ends in a `t` would be held for it
    "hermes_openerless": StrictDialect(DIALECTS["hermes_openerless"], only=("{", "["), around=DIALECTS["hermes"].openers),
    "json_tools": StrictDialect(DIALECTS["json_tools"], ends=DIALECTS["json_tools"].closers),
    **{name: StrictDialect(DIALECTS[name], "message") for name in _WHOLE_MESSAGES},
}
"""Rule name → ambiguous dialect, for models without a profile."""
