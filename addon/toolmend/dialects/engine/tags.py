"""Dialects as data: calls of the form `begin NAME separator BODY end`, with or without a wrapper; parameters have the same form.

The rules that all of these share are here: R1 commit point, R2 names, R7 missing ends, R9 wrappers and doubled openers of
dialect-rules.md. Behaviour of a single model is in that model's file.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ...core.fastclass import value
from ...core.literal_search import openers
from ...core.scanner import Reading, Scanner
from .closers import read_closer
from .dialect import InReasoning, Where
from .envelope import ARGUMENTS, EnvelopeForm, read_envelopes
from .json_body import read_arguments, surplus
from .names import bare_name
from .parameters import read_parameters
from .tag import NO_TAG, Tag
from .value_text import MAX_CLOSERS, Tags

if TYPE_CHECKING:
    from .markup_parser import MarkupParser

MAX_HEADER = 512
"""Characters between the beginning of a tag and its separator."""

MAX_OPENERS = 8
"""Openers in a row of one call. More are text: parsing them again and again would take quadratic time."""

_RESIDUE = re.compile(r"[^{\n]*")
_TOKENS = re.compile(r"(?:<\|[^|<>]*\|>[\w.= -]*)+")  # each with a word or two after it: `<|channel|>commentary to=f`


@value
class TagDialect:
    """A dialect of tags.

    Attributes:
        name: The name of the rule.
        call: The tag of a call.
        wrapper: The tag around calls.
        arguments: The form of the body: a JSON object, parameters in tags, or an envelope with name and arguments.
        parameter: The tag of a parameter.
        bare: Whether a call may stand without its wrapper.
        ambiguous: See Dialect.
        place: See Dialect.
    """

    name: str
    call: Tag
    wrapper: Tag = NO_TAG
    arguments: Literal["json", "parameters", "envelope"] = "json"
    parameter: Tag = NO_TAG
    bare: bool = True
    ambiguous: bool = False
    place: Where = "any"

    @property
    def offered_only(self) -> bool:
        return self.ambiguous

    @property
    def in_reasoning(self) -> InReasoning:
        return "doubtful" if self.ambiguous else "call"

    @property
    def openers(self) -> tuple[str, ...]:
        return self.wrapper.begin + self.call.begin

    @property
    def inner(self) -> tuple[str, ...]:
        return () if self.bare else self.call.begin

    @property
    def wrappers(self) -> tuple[str, ...]:
        return self.wrapper.begin or (self.call.begin if self.arguments == "envelope" and self.place != "word" else ())

    @property
    def closers(self) -> tuple[str, ...]:
        return self.call.end + self.wrapper.end

    @property
    def in_tags(self) -> bool:
        """Whether arguments are in tags, not in JSON."""
        return self.arguments == "parameters"

    def ends_of(self, text: str, _name: str) -> tuple[str, ...]:
        """The end tags of the element (wrapper or call) that the text begins with; the second argument is the tool's name."""
        return self.wrapper.end if self.wrapper.begin and text.startswith(self.wrapper.begin) else self.call.end

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        wrapped = False
        last = found = yield from scanner.literal(self.openers)
        for _ in range(MAX_OPENERS):  # a wrapper, or a second opener before the real one
            if not found:
                break
            last = found
            wrapped = wrapped or found in self.wrapper.begin
            yield from scanner.blanks()
            found = yield from scanner.literal(self.openers)
        if last not in self.call.begin:
            return False
        if self.arguments == "envelope":
            called = yield from read_envelopes(parser, self, EnvelopeForm(ends=self.closers + self.openers))
            if called:
                yield from surplus(parser, self.closers + self.openers)
                yield from self._foreign_end(parser)
            return called
        header = yield from self._header(parser)
        if header is None:
            return False
        called = yield from (self._read_empty if header.endswith("/") else self.read_call)(parser, header)
        if called and wrapped:
            parser.open_wrapper(self, self.wrapper.end)
        return called

    def _foreign_end(self, parser: "MarkupParser") -> Reading[None]:
        """Drops closing tags of other elements between an envelope and its end."""
        scanner = parser.scanner
        back = scanner.pos - scanner.start
        for _ in range(MAX_CLOSERS):
            yield from scanner.blanks()
            if (yield from scanner.ahead(self.closers)):
                parser.drop_markup()
                return
            closer = yield from read_closer(scanner, ARGUMENTS)
            if not closer or closer.cut:
                break
        scanner.pos = scanner.start + back

    def read_call(self, parser: "MarkupParser", header: str) -> Reading[bool]:
        """Parses the text after a call's header. Returns whether there was a call."""
        identity = self.identify(parser, header)
        if identity is None:
            return False
        id_, name = identity
        return (yield from self.read_body(parser, name, lambda: parser.start(self, id_, name)))

    def _read_empty(self, parser: "MarkupParser", header: str) -> Reading[bool]:
        """Emits a call without arguments for a self-closing tag, `<function=get_time/>`."""
        identity = self.identify(parser, header.removesuffix("/"))
        if identity is None or identity[1] not in parser.tools:
            return False
        parser.start(self, *identity)
        parser.arguments("{}")
        parser.end()
        yield from ()
        return True

    def read_body(self, parser: "MarkupParser", name: str, commit: Callable[[], None]) -> Reading[bool]:
        """Parses the arguments of a call and returns whether there was a call; `commit` starts it."""
        if self.arguments == "json":
            return (yield from read_arguments(parser, commit, self.closers + self.openers))
        return (yield from read_parameters(parser, Tags(self.parameter, self.call, self.wrapper), name, commit))

    def identify(self, parser: "MarkupParser", header: str) -> tuple[str, str] | None:
        """The id and the name from a header; None if it is not the header of a call."""
        name = bare_name(parser, header)
        return (parser.new_id(), name) if parser.accepts(self, name) else None

    def _header(self, parser: "MarkupParser") -> Reading[str | None]:
        """Parses the text before the arguments. Returns its `name`, with a slash appended for a self-closing tag, or None."""
        scanner = parser.scanner
        text = yield from scanner.run(self.call.characters, MAX_HEADER)
        closed = ">" in self.call.separator and (text or "").rstrip().endswith("/")
        match = self.call.header.fullmatch(text.strip().rstrip("/ ") if closed else text.strip()) if text else None
        if match is None:
            return None
        header = match["name"]
        if closed:
            return f"{header}/" if (yield from scanner.literal(self.call.separator)) else None
        if self.arguments == "parameters" and self.call.separator and (yield from scanner.ahead(self.parameter.begin)):
            return header if header in parser.tools else None  # the tag has no end
        if not self.call.separator or (yield from scanner.literal(self.call.separator)):
            return header
        if (yield from scanner.ahead(self.closers)):  # neither separator nor arguments; prose may mention both tokens
            named = self.identify(parser, header)
            return header if named and named[1] in parser.tools else None
        match (yield from scanner.peek()):
            case "{":
                return header if header in parser.tools else None
            case "<":
                return header if (yield from self._residue(scanner)) else None
        return None

    def _residue(self, scanner: Scanner) -> Reading[bool]:
        """Skips other tokens between a name and its separator (R2). Returns whether an object follows, so that this is a call."""
        residue = yield from scanner.run(_RESIDUE, MAX_HEADER)
        found = openers((*self.call.separator, *self.openers, *self.closers)).search(residue or "")
        if not residue or found is None or found.group() not in self.call.separator:
            return False
        if not _TOKENS.fullmatch(residue, 0, found.start()):
            return False
        scanner.pos -= len(residue) - found.end()
        back = scanner.pos - scanner.start
        yield from scanner.blanks()
        begins = (yield from scanner.peek()) == "{"
        scanner.pos = scanner.start + back
        return begins

