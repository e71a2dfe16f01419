"""Gemma 4, FunctionGemma and Gemini: `call:NAME{…}` with keys without quotes.

    <|tool_call>call:read_file{limit:20,path:<|"|>a.md<|"|>}<tool_call|>                                    Gemma 4
    <start_function_call>call:read_file{limit:20,path:<escape>a.md<escape>}<end_function_call>              FunctionGemma

    call:default_api:read_file{limit:20,path:<ctrl46>a.md<ctrl46>}                                          Gemini

Keys have no quotes; a string is unescaped between two tokens. Models deviate from this: quotes of Python or JSON (vllm#51284),
`call:N(key="x")` in long contexts (omlx#1846), `=` for `:` (ollama#17882), `<|tool_call|>call:N({"key": "x"})` (vmlx-swift#61),
an envelope, or a name without `call:`. A detokenizer that skips special tokens leaves `call:read_file{limit:20,path:a.md}`
(unsloth#8437): then a text ends at the next key that the tool declares. Gemini's form leaks into the text occasionally, also as
`<call:default_api:N{…}/>` (bayes-platform#620) and `declaration:default_api:N{…}` (hermes-agent#74771), often without its tokens.
Source: the chat templates of gemma-4 and functiongemma.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from ...core.fastclass import replace, value
from ...core.scanner import Reading
from ...core.schema_values import is_string
from ...core.tools import Tools
from ..engine.delimited import DelimitedDialect
from ..engine.dialect import Where
from ..engine.envelope import EnvelopeForm, read_envelopes
from ..engine.json_body import surplus
from ..engine.literals import MAX_KEY, Literals, Notation
from ..engine.names import bare_name, opener_names

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_NAME = re.compile(r"[^\s()\[\]{},<>\"']*")
_MODULE = re.compile(r"[\w.-]*?[.:]")
_CALL = ("call:",)
_TAG = "<call:default_api:"
_GEMINI = ("call:default_api:", _TAG, "declaration:default_api:", "<ctrl46>call:default_api:")
_NEXT = tuple("}" + opener for opener in _GEMINI)
"""Ends of a call after a value without tokens."""
_PAIRS = {"{": "}", "(": ")"}


_NOTATION = Notation(
    quotes=('"', "'"),
    brackets=("{", "["),
    separators=(":", "="),
    raw=('<|"|>', "<escape>", "<ctrl46>"),
    free=True,
    key=re.compile(r"[^:={}\[\](),<>\"'\n]*"),
)


class Gemma(DelimitedDialect):
    """Calls between tokens, or without the begin token."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        yield from self.begins(scanner)
        if self.begin and (yield from scanner.ahead(("{", "["))):
            return (yield from read_envelopes(parser, self, EnvelopeForm(ends=self.end)))
        called = yield from scanner.literal(_CALL)
        if self.begin:
            yield from scanner.blanks()
        name = yield from self._name(parser)
        if not parser.accepts(self, name) or not (called or name in parser.tools.schemas):
            return False
        if self.begin:
            yield from scanner.blanks()
        brackets = yield from self._brackets(parser)
        if brackets is None:
            return False
        parser.start(self, parser.new_id(), name)
        if not brackets:
            parser.arguments("{}")
        elif not (yield from self._arguments(parser, name, brackets)):
            parser.break_off()
            return True
        parser.end()
        if len(brackets) > 1:
            yield from scanner.literal((")",))
            parser.drop_markup()
        yield from surplus(parser, self.closers + self.openers)
        return True

    def _name(self, parser: "MarkupParser") -> Reading[str]:
        """Parses a name, without modules that are not part of an offered name: `google:mcp:read_file` (omlx#1830)."""
        words = (yield from parser.scanner.run(_NAME, 128)) or ""
        name = bare_name(parser, words)
        if name in parser.tools.schemas:
            return name
        return next((rest for rest in _without_modules(words) if rest in parser.tools.schemas), "" if ":" in name else name)

    def _arguments(self, parser: "MarkupParser", name: str, brackets: str, stops: tuple[str, ...] = ()) -> Reading[bool]:
        """Parses the arguments after their opening brackets. Returns False if they are cut off."""
        arguments = Literals(parser.scanner, _NOTATION, parser.arguments, (*stops, *self.end, *self.begin))
        if not self.begin:  # the tokens around strings are lost as well
            schema = parser.tools.schemas.get(name, {})
            arguments.declared = declared = parser.tools.properties(name)
            arguments.texts = [key for key in declared if is_string(declared[key], schema)]
        return (yield from arguments.read(_PAIRS[brackets[-1]], _NOTATION.separators))

    def _brackets(self, parser: "MarkupParser") -> Reading[str | None]:
        """Parses the opening brackets of the arguments: `{`, `(`, `({`, or "" if the call ends. None if no arguments follow."""
        scanner = parser.scanner
        brackets = yield from scanner.literal(("{", "("))
        if not brackets:
            return "" if self.begin and (yield from scanner.ahead(self.end)) else None
        yield from scanner.blanks()
        if brackets == "(" and (yield from scanner.literal(("{",))):
            brackets = "({"
        back = scanner.pos - scanner.start
        yield from scanner.blanks()
        found = yield from scanner.ahead((_PAIRS[brackets[-1]], *_NOTATION.strings))
        if not found and (yield from scanner.run(_NOTATION.key, MAX_KEY)):
            found = yield from scanner.ahead(_NOTATION.separators)
        scanner.pos = scanner.start + back
        return brackets if found else None


def _without_modules(words: str) -> Iterator[str]:
    """Yields a name without its first module, without its first two modules, …"""
    rest = words
    while match := _MODULE.match(rest):
        rest = rest[match.end() :]
        yield rest


class GeminiDialect(Gemma):
    """Calls with Gemini's module name, which ordinary text does not contain, so that they count anywhere."""

    @property
    def openers(self) -> tuple[str, ...]:
        return _GEMINI

    @property
    def place(self) -> Where:
        return "any"

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        tagged = (yield from scanner.literal(_GEMINI)) == _TAG
        name = yield from self._name(parser)
        if not parser.accepts(self, name):
            return False
        brackets = yield from self._brackets(parser)
        if not brackets:
            return False
        parser.start(self, parser.new_id(), name)
        if not (yield from self._arguments(parser, name, brackets, ("}/>", "}>", *_NEXT) if tagged else _NEXT)):
            parser.break_off()
            return True
        parser.end()
        if tagged:
            yield from scanner.literal(("/>", ">"))
            parser.drop_markup()
        return True


@value
class HeadlessGemma(Gemma):
    """Calls that begin with the name (tensai#217): only tokens in them or after them distinguish them from code.

    `tools`: the names of the offered tools.
    """

    tools: tuple[str, ...] = ()

    @property
    def openers(self) -> tuple[str, ...]:
        return tuple(f"{name}{{" for name in self.tools)

    def of(self, tools: Tools) -> "HeadlessGemma":
        """The dialect with the tools of a request."""
        return _headless(opener_names(tools))

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        opener = yield from scanner.literal(self.openers)
        assert opener
        name = opener[:-1]
        pieces: list[str] = []
        begin = scanner.pos - scanner.start
        if not (yield from Literals(scanner, _NOTATION, pieces.append, self.end).read("}", _NOTATION.separators)):
            return False
        written = scanner.text[scanner.start + begin : scanner.pos]
        if not (yield from scanner.literal(self.end)) and not any(token in written for token in _NOTATION.raw):
            return False
        if not parser.tools.fits(name, "".join(pieces)):
            return False
        parser.start(self, parser.new_id(), name)
        parser.arguments("".join(pieces))
        parser.end()
        return True


GEMMA4 = Gemma("gemma4", ("<|tool_call>", "<|tool_call|>"), ("<tool_call|>", "<|/tool_call|>", "<|tool_response>"))
FUNCTIONGEMMA = Gemma(
    "functiongemma", ("<start_function_call>",), ("<end_function_call>", "<start_function_response>")
)
GEMMA_STRIPPED = Gemma("gemma_stripped", end=("<tool_call|>", "<end_function_call>"), opener="call:")
GEMINI = GeminiDialect("gemini")
GEMMA_HEADLESS = HeadlessGemma("gemma_headless", end=GEMMA4.end)


@lru_cache(64)
def _headless(names: tuple[str, ...]) -> HeadlessGemma:
    return replace(GEMMA_HEADLESS, tools=names)
