"""DeepSeek V3, R1-0528 and V3.1: JSON arguments after the name, between tokens.

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file
    ```json
    {"path": "a.md"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>                                          V3

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.md"}<｜tool▁call▁end｜>    V3.1

`｜` is U+FF5C, `▁` U+2581; leaks also have `|`, and `_`, a blank or `\\_`. The text after the separator distinguishes the two
forms: JSON or a fence (the name is before the separator), or a name (the word `function` is before it). Source: the models' chat
templates.
"""

import re
from itertools import product
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.tag import Tag
from ..engine.tags import TagDialect

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_NAME = re.compile(r"[^\s<>{}`]*")
_FENCES = ("```json", "```")


def _token(*words: str) -> tuple[str, ...]:
    """All spellings of a token."""
    return tuple(f"<{bar}{gap.join(words)}{bar}>" for bar, gap in product(("｜", "|"), ("▁", "_", " ", "\\_")))


class DeepSeekV3(TagDialect):
    """A tag dialect with the name before or after the separator."""

    def read_call(self, parser: "MarkupParser", header: str) -> Reading[bool]:
        scanner = parser.scanner
        yield from scanner.blanks()
        name = yield from scanner.run(_NAME, 128)
        if name in ("null", "") or name is None or header != "function":
            scanner.pos -= len(name or "")
            name = header
        yield from scanner.blanks()
        fenced = yield from scanner.literal(_FENCES)
        called = yield from TagDialect.read_call(self, parser, name)
        if called and fenced:
            back = scanner.pos - scanner.start
            yield from scanner.blanks()
            if (yield from scanner.literal(("```",))):
                parser.drop_markup()
            else:
                scanner.pos = scanner.start + back
        return called


DEEPSEEK_V3 = DeepSeekV3(
    "deepseek_v3",
    wrapper=Tag(_token("tool", "calls", "begin"), end=_token("tool", "calls", "end")),
    call=Tag(
        _token("tool", "call", "begin"),
        _token("tool", "sep"),
        _token("tool", "call", "end"),
        characters=re.compile(r"[A-Za-z0-9_.:/\s-]*"),
    ),
)
