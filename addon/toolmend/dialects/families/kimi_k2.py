"""Kimi K2, K2-Thinking, K2.5 and later: an id with the tool's name, and JSON arguments, between tokens.

    <|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.md"}
    <|tool_call_end|><|tool_calls_section_end|>

The id is `functions.NAME:COUNTER` with a counter over the whole conversation. It must reach the client verbatim: the template
prints it back, and a model that gets foreign ids stops calling tools after a few turns. Source: Kimi-K2-Instruct,
docs/tool_call_guidance.md and chat_template.jinja; the singular section tokens are from streams in the wild.

After a conversation with ids of another provider, the model writes such ids, or damaged ones: `functionsexec5`,
`functions_exec_1` (sglang#21377), `call_9f31ab`, or none. Then the call is for the one offered tool that fits the id or the
arguments; if none fits, the markup stays text.
"""

import re
from typing import TYPE_CHECKING, Any

from ...core import json_text
from ...core.scanner import Reading
from ..engine.envelope import ARGUMENTS, NAMES
from ..engine.json_body import follow_object
from ..engine.names import bare_name
from ..engine.tag import Tag
from ..engine.tags import TagDialect

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_COUNTED = re.compile(r"(?P<name>.*[^:]):\d+")
_NAMELESS = re.compile(r"(?:functions\.)?:?(?P<counter>\d*)")
_FOREIGN = re.compile(
    r"(?:call|toolu|tool|chatcmpl|fc)[_-]\S*\d\S*|(?=\S*\d)[0-9a-f]{4,}(?:-?[0-9a-f]+)*|functions?[_:/-]?\S*\d|\S*[_.-]\d+"
)
"""Ids of other providers, and names with a counter in another form than the template's."""

_AROUND = r"(?:\d{{1,4}}[._:-])?(?:(?:functions?|tools?)[._:/-]?)?{}(?:[._:/#-]?\d{{1,9}})*:?"
"""An offered name with possible additions."""


class KimiK2(TagDialect):
    """A tag dialect with the rules for ids."""

    def identify(self, parser: "MarkupParser", header: str) -> tuple[str, str] | None:
        fitting = _named_in(parser, header)
        if fitting:
            return (header if header not in parser.ids else new_id(parser, fitting)), fitting
        counted = _COUNTED.fullmatch(header)
        if counted:
            name = bare_name(parser, counted["name"])
            return (header if header not in parser.ids else new_id(parser, name)), name
        name = bare_name(parser, header)
        return new_id(parser, name), name

    def read_call(self, parser: "MarkupParser", header: str) -> Reading[bool]:
        nameless = _NAMELESS.fullmatch(header)
        if nameless is None and not (parser.tools.known and _is_foreign(parser, header)):
            return (yield from TagDialect.read_call(self, parser, header))
        # only a counter, or an id: the arguments name the tool, or fit only one offered tool
        yield from parser.scanner.blanks()
        if (yield from parser.scanner.peek()) != "{":
            return False
        pieces: list[str] = []
        if not (yield from follow_object(parser.scanner, self.closers, pieces.append)):
            return False
        try:
            arguments = json_text.loads("".join(pieces).encode())
        except (json_text.NotJSON, UnicodeEncodeError):
            return False
        name, given = _called(parser, arguments)
        if not name:
            return False
        id_ = f"functions.{name}:{nameless['counter']}" if nameless and nameless["counter"] else header if not nameless else ""
        parser.start(self, id_ if id_ and id_ not in parser.ids else new_id(parser, name), name)
        parser.arguments("".join(pieces) if given is arguments else json_text.dumps(given))
        parser.end()
        return True

    def _header(self, parser: "MarkupParser") -> Reading[str | None]:
        scanner = parser.scanner
        back = scanner.pos - scanner.start
        header = yield from super()._header(parser)
        if header is not None:
            return header
        scanner.pos = scanner.start + back
        yield from scanner.blanks()
        return "" if (yield from scanner.literal(self.call.separator)) or (yield from scanner.ahead(("{",))) else None


def _named_in(parser: "MarkupParser", header: str) -> str:
    """The offered tool that a header names with other additions than the template's; "" if there is not exactly one."""
    if not parser.tools.known or header in parser.tools or bare_name(parser, header) in parser.tools:
        return ""
    counted = _COUNTED.fullmatch(header)
    if counted and bare_name(parser, counted["name"]) in parser.tools:
        return ""
    fitting = [name for name in parser.tools.schemas if re.fullmatch(_AROUND.format(re.escape(name)), header)]
    return fitting[0] if len(fitting) == 1 else ""


def _is_foreign(parser: "MarkupParser", header: str) -> bool:
    """Whether a header is an id that names no offered tool."""
    if _COUNTED.fullmatch(header) or bare_name(parser, header) in parser.tools or _named_in(parser, header):
        return False
    return _FOREIGN.fullmatch(header) is not None


def _called(parser: "MarkupParser", arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool that fits the arguments, which may be an envelope, and the arguments; "" for the name if that is unclear."""
    name = next((arguments[key] for key in NAMES if isinstance(arguments.get(key), str)), "")
    inner = next((arguments[key] for key in ARGUMENTS if isinstance(arguments.get(key), dict)), None)
    if inner is not None and bare_name(parser, name) in parser.tools.schemas:
        return bare_name(parser, name), inner
    fitting = parser.tools.fitting(arguments)
    if len(fitting) == 1:
        return fitting[0], arguments
    rest = {key: value for key, value in arguments.items() if key != "name"}
    offered = bare_name(parser, name)
    return (offered, rest) if offered in parser.tools.schemas and offered in parser.tools.fitting(rest) else ("", {})


def new_id(parser: "MarkupParser", name: str) -> str:
    """The next free id of the conversation; the growing step bounds the search if clients have used many ids ahead."""
    counter, step = parser.tools.calls_so_far + parser.calls, 1
    while f"functions.{name}:{counter}" in parser.ids:
        counter, step = counter + step, step * 2
    return f"functions.{name}:{counter}"


KIMI_K2 = KimiK2(
    "kimi_k2",
    call=Tag(
        ("<|tool_call_begin|>",),
        ("<|tool_call_argument_begin|>",),
        ("<|tool_call_end|>",),
        header=re.compile(r"(?P<name>[A-Za-z0-9_.:/#-]{1,160})"),
        characters=re.compile(r"[A-Za-z0-9_.:/#\s-]*"),
    ),
    wrapper=Tag(
        begin=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        end=("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
    ),
)
