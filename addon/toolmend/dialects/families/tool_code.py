"""Gemini's calls as Python code. Models before Gemini 3 write them without function declarations, or by mistake.

    ```tool_code\\nprint(default_api.read_file(path="a.md", limit=20))\\n```                    (python-aiplatform#4472)
    <tool_code>\\nread_file(path="a.md", limit=20)\\n</tool_code>                               (gemini-cli#22441)
    print(default_api.read_file(path="a.md", limit=20))                                       (openclaw#138373)

A call must begin a line, and have the name of an offered tool and arguments that are `key=` and a literal.
Source: the issues above; the same form is in Google's guide to functions in Gemma's prompt.
"""

from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.dialect import InReasoning, Where
from .python_list import PythonList

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_ENDS = {"```tool_code": ("```",), "<tool_code>": ("</tool_code>",)}
_OPEN = "print(default_api."


class ToolCode(PythonList):
    """One call per line in a fence or in tags, or a single call with the module's name."""

    @property
    def openers(self) -> tuple[str, ...]:
        return (*_ENDS, _OPEN)

    @property
    def ambiguous(self) -> bool:
        return True

    @property
    def offered_only(self) -> bool:
        return True

    @property
    def place(self) -> Where:
        return "line"

    @property
    def in_reasoning(self) -> InReasoning:
        return "never"

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        opener = yield from scanner.literal(self.openers)
        assert opener
        if opener == _OPEN:
            return (yield from self._line(parser, printed=True)) is not False
        called: bool | None = False
        while called is not None:
            back = scanner.pos - scanner.start
            yield from scanner.blanks()
            if called and (yield from scanner.literal(_ENDS[opener])):
                parser.drop_markup()
                return True
            printed = bool((yield from scanner.literal(("print(",))))
            yield from scanner.literal(("default_api.",))
            again = yield from self._line(parser, printed=printed)
            if again is False:
                scanner.pos = scanner.start + back
                return called
            called = again
        return True

    def _line(self, parser: "MarkupParser", *, printed: bool) -> Reading[bool | None]:
        """Parses a call, and the end of its `print`. Returns whether there was one; None if it is cut off."""
        called = yield from self._call(parser, [])
        if called and printed:
            back = parser.scanner.pos - parser.scanner.start
            yield from parser.scanner.blanks()
            if (yield from parser.scanner.literal((")",))):
                parser.drop_markup()
            else:
                parser.scanner.pos = parser.scanner.start + back
        return called

    def _is_call(self, parser: "MarkupParser") -> Reading[bool]:
        if (yield from parser.scanner.ahead((")",))):
            return True
        return (yield from super()._is_call(parser))


TOOL_CODE = ToolCode("tool_code")
