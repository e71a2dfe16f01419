r"""GLM-4.5 to 5.x, also Ling3, Spark2.5, poolside: arguments as pairs of key and value tags.

    <tool_call>read_file
    <arg_key>path</arg_key>
    <arg_value>a.md</arg_value>
    </tool_call>

4.7 and later write no newlines, and a call without arguments is `<tool_call>get_time</tool_call>`. Some write the two characters
`\` `n` for each newline. Source: the GLM-4.5 and GLM-4.6 chat templates.

Under load, models lose tags: `<arg_value>` (vllm#49248: one call in ten), `<arg_key>` (`<tool_call>read_filepath</arg_key>`,
vllm#47190). Others write `<tool_call>` for `<arg_key>` (sigit#95), or a tag of the key twice (vllm#54971). The tool's declaration
decides what is a key.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.parameters import Values, read_parameters
from ..engine.tag import Tag
from ..engine.tags import TagDialect
from ..engine.value_text import MAX_HEADER, Tags

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

NAME = re.compile(r"(?P<name>[^\s<>{}\\]+)")
_NAME_CHARACTERS = re.compile(r"[^<>{}\\]*")
_KEY = re.compile(r"(?P<name>[^<>]+)")
_KEY_CHARACTERS = re.compile(r"[^<>]*")
_GAPS = ("", "\n", "\\n", " ", "\r\n")


def pair(prefix: str = "", suffixes: tuple[str, ...] = ("",)) -> Tag:
    """The tags of a key and its value. `prefix` is before, and one of `suffixes` after, the name of each tag."""
    return Tag(
        tuple(f"{gap}{f'<{prefix}arg_key{suffix}>' * n}" for suffix in suffixes for gap in ("", "\\n") for n in (1, 2)),
        tuple(
            f"{end}{gap}<{prefix}arg_value{suffix}>"  # a key without a closing tag, or with that of a value
            for suffix in suffixes
            for end in ("", f"</{prefix}arg_value{suffix}>")
            for gap in _GAPS
        )
        + tuple(
            f"{f'</{prefix}arg_key{suffix}>' * n}{rest}"
            for suffix in suffixes
            for n in (1, 2)
            for rest in (*(f"{gap}<{prefix}arg_value{suffix}>" for gap in _GAPS), "", "\n")
        ),
        tuple(f"</{prefix}arg_value{suffix}>{gap}" for suffix in suffixes for gap in ("", "\\n")),
        _KEY,
        _KEY_CHARACTERS,
    )


_CALL = Tag(("<tool_call>",), end=("</tool_call>", "\\n</tool_call>"), header=NAME, characters=_NAME_CHARACTERS)


class _Values(Values):
    """Keys without an opening tag, or with that of a call."""

    def header(self) -> Reading[tuple[str, str | None] | None]:
        found = yield from super().header()
        if found:
            return found
        scanner = self._parser.scanner
        offset = scanner.pos - scanner.start
        yield from scanner.literal(_CALL.begin)
        key = ((yield from scanner.run(_KEY_CHARACTERS, MAX_HEADER)) or "").strip()
        if self._next(key) and key in self._properties and (yield from scanner.literal(self._tag.separator)):
            return key, None
        scanner.pos = scanner.start + offset
        return None


class GLMDialect(TagDialect):
    """A tag dialect in which the first key may directly follow the name."""

    def _header(self, parser: "MarkupParser") -> Reading[str | None]:
        scanner = parser.scanner
        back = scanner.pos - scanner.start
        header = yield from super()._header(parser)
        scanner.pos = scanner.start + back
        text = (yield from scanner.run(self.call.characters, MAX_HEADER)) or ""
        if (header or "") in parser.tools or not (yield from scanner.ahead(self.parameter.separator)):
            return header
        name, key = _split(parser, text.strip())
        scanner.pos -= len(text) - text.rindex(key)
        return name

    def read_body(self, parser: "MarkupParser", name: str, commit: Callable[[], None]) -> Reading[bool]:
        return (yield from read_parameters(parser, Tags(self.parameter, self.call, self.wrapper), name, commit, _Values))


def _split(parser: "MarkupParser", text: str) -> tuple[str | None, str]:
    """Splits a text into a tool's name and its parameter's name; None for the tool if no split or several are possible."""
    named = (name for name in parser.tools.schemas if text.startswith(name))
    found = [(name, key) for name in named if (key := text[len(name) :].strip()) in parser.tools.properties(name)]
    return found[0] if len(found) == 1 else (None, "")


GLM = GLMDialect("glm", call=_CALL, arguments="parameters", parameter=pair(), ambiguous=True)
