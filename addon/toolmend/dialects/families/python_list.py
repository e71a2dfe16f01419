"""Calls as Python code: Llama 3.2 and 4, Olmo 3, LFM2.

    [read_file(path="a.md", limit=20), get_time(zone='UTC')]                            Llama, bare
    <|python_start|>[read_file(path="a.md", limit=20)]<|python_end|>                    Llama 4
    <function_calls>\\nread_file(path="a.md", limit=20)\\nget_time(zone="UTC")\\n</function_calls>        Olmo 3
    <|tool_call_start|>[read_file(path="a.md", limit=20)]<|tool_call_end|>              LFM2, or a JSON array inside

A bare call must begin a line and name an offered tool, and its first argument must be `key=` and a literal: positional arguments
and names are code. Source: vLLM's and SGLang's pythonic parsers, the chat templates of Olmo 3 and LFM2.
"""

import re
from typing import TYPE_CHECKING

from ...core import json_text
from ...core.scanner import Reading
from ..engine.delimited import DelimitedDialect
from ..engine.envelope import EnvelopeForm, read_envelopes
from ..engine.literals import Literals, Notation
from ..engine.names import bare_name
from ..engine.quoted import PYTHON_QUOTES

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_PYTHON = Notation(PYTHON_QUOTES, brackets=("{", "[", "("), separators=(":",))

_NAME = re.compile(r"[^\s()\[\]{},;=<>\"']*")
_KEY = re.compile(r"[\w.-]*")
_WORD = re.compile(r"\w*")
_SEPARATORS = re.compile(r"[\s,;]*")


class PythonList(DelimitedDialect):
    """Calls between tokens, or a bare list of them."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        yield from self.begins(scanner)
        back = scanner.pos - scanner.start
        bracket = yield from scanner.literal(("[",))
        yield from scanner.blanks()
        if self.begin and (yield from scanner.peek()) == "{":
            scanner.pos = scanner.start + back
            called = yield from read_envelopes(parser, self, EnvelopeForm(ends=self.end))
        else:
            calls: list[tuple[str, list[str]]] = []
            called = yield from self._calls(parser, calls)
            if called and bracket:
                back = scanner.pos - scanner.start
                yield from scanner.blanks()
                if (yield from scanner.literal(("]",))):
                    parser.drop_markup()
                    yield from self._again(parser, calls)
                else:
                    scanner.pos = scanner.start + back
        if called and self.begin:
            parser.open_wrapper(self, self.end)
        return called

    def _again(self, parser: "MarkupParser", calls: list[tuple[str, list[str]]]) -> Reading[None]:
        """Drops a copy of the list after the end token, without tokens, as LFM2 writes it."""
        scanner = parser.scanner
        back = scanner.pos - scanner.start
        yield from scanner.blanks()
        if self.begin and (yield from scanner.literal(self.end)):
            yield from scanner.blanks()
            if (yield from scanner.literal(("[",))):
                again = yield from parser.attempt(self._calls(parser, []))
                yield from scanner.blanks()
                same = [(call.name, call.arguments) for call in again] == [(name, "".join(pieces)) for name, pieces in calls]
                if same and (yield from scanner.literal(("]",))):
                    parser.fired("duplicate_call")
                    parser.drop_markup()
                    return
        scanner.pos = scanner.start + back

    def _calls(self, parser: "MarkupParser", calls: list[tuple[str, list[str]]]) -> Reading[bool]:
        """Parses calls up to other text or a cut-off call, and appends them to `calls`. Returns whether there were any."""
        scanner = parser.scanner
        called: bool | None = False
        while called is not None:
            back = scanner.pos - scanner.start
            if called:
                yield from scanner.run(_SEPARATORS, 4096)
            again = yield from self._call(parser, calls)
            if again is False:
                scanner.pos = scanner.start + back
                return called
            called = again
        return True

    def _call(self, parser: "MarkupParser", calls: list[tuple[str, list[str]]]) -> Reading[bool | None]:
        """Parses a call. Returns whether there was one; None if it is cut off."""
        scanner = parser.scanner
        name = bare_name(parser, (yield from scanner.run(_NAME, 128)) or "")
        if not parser.accepts(self, name) or not (yield from scanner.literal(("(",))):
            return False
        back = scanner.pos - scanner.start
        yield from scanner.blanks()
        if not (yield from self._is_call(parser)):
            return False
        scanner.pos = scanner.start + back
        parser.start(self, parser.new_id(), name)
        pieces: list[str] = []
        calls.append((name, pieces))

        def emit(text: str) -> None:
            if self.begin:
                pieces.append(text)
            parser.arguments(text)

        if (yield from Literals(scanner, _PYTHON, emit).read(")", ("=",))):
            parser.end()
            return True
        parser.break_off()
        return None

    def _is_call(self, parser: "MarkupParser") -> Reading[bool]:
        """Whether the text after the bracket can be arguments: `)` or `key=`, followed by a literal in a bare call."""
        scanner = parser.scanner
        if (yield from scanner.literal((")",))):
            yield from scanner.blanks()
            return not (self.ambiguous and (yield from scanner.peek())) or bool((yield from scanner.ahead((",", "]"))))
        key = yield from scanner.run(_KEY, 128)
        yield from scanner.blanks()
        if not key or (yield from scanner.literal(("=", "=="))) != "=":
            return False
        yield from scanner.blanks()
        begin = yield from scanner.peek()
        if not self.ambiguous or begin in tuple("[{(+-.0123456789"):
            return True
        return bool((yield from scanner.ahead(PYTHON_QUOTES))) or (yield from scanner.run(_WORD, 8)) in json_text.WORDS


PYTHON_LIST = PythonList("python_list", end=("<|python_end|>",), opener="[")
LLAMA_PYTHON = PythonList("llama_python", ("<|python_start|>",), ("<|python_end|>",))
OLMO3 = PythonList("olmo3", ("<function_calls>",), ("</function_calls>",))
LFM2 = PythonList("lfm2", ("<|tool_call_start|>",), ("<|tool_call_end|>",))
