"""MiniMax M3: each tag carries a prefix, an argument is an element named after it.

    ]<]minimax[>[<tool_call>
    ]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.md]<]minimax[>[</path>]<]minimax[>[</invoke>
    ]<]minimax[>[</tool_call>

Objects are nested elements, arrays hold `<item>` elements; which of the two an empty element is, the schema says. Values are raw
text, typed by the schema. Source: the MiniMax-M3 template by way of vLLM and mlx-lm.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import json_text
from ..scanner import Reading
from ..values import is_string, items_of, properties_of, to_json, types_of
from .parameters import Tags, Values, read_parameters
from .tag import ATTRIBUTE, NAME, Tag
from .tags import TagDialect

if TYPE_CHECKING:
    from ..reader import Reader

_P = "]<]minimax[>["
_ELEMENT = re.compile(re.escape(_P) + r"<(/?)([^<>/\s]+)>")
_NESTS = {"object", "array"}


class Elements(Values):
    """The elements of one call: an end tag is of the name that it ends."""

    def header(self) -> Reading[tuple[str, str | None] | None]:
        if (yield from self._reader.scanner.ahead(self._ends + self._begins)):
            return None
        return (yield from Values.header(self))

    def read(self, name: str, string: str | None) -> Reading[bool]:
        schema = self._properties.get(name)
        self._tag = replace(self._tag, end=(f"{_P}</{name}>",))
        self._find_marks()
        self._element = name
        self._whole = schema is None or bool(types_of(schema, self._schema) & _NESTS)
        if schema is not None and is_string(schema, self._schema):
            return (yield from Values.read(self, name, string))
        pieces: list[str] = []
        whole = yield from self._text(pieces.append)
        key = self._key(name)
        if whole:
            self._reader.arguments(key + _build("".join(pieces), schema, self._schema))
        else:
            self._broken_off(key, pieces)
        return whole

    def _next(self, name: str) -> bool:
        return not self._whole and super()._next(name)

    def _nests(self, name: str) -> bool:
        return name == self._element


class MinimaxM3(TagDialect):
    """The tags of a call, and its elements."""

    def read_body(self, reader: "Reader", name: str, commit: Callable[[], None]) -> Reading[bool]:
        tags = Tags(self.parameter, self.call, self.wrapper)
        return (yield from read_parameters(reader, tags, name, commit, Elements))


def _build(text: str, schema: Any, root: Any) -> str:
    """The JSON of what stands in an element."""
    types = types_of(schema, root)
    children = list(_children(text))
    if not children:
        if not text.strip() and "string" not in types:
            if "array" in types:
                return "[]"
            if "object" in types:
                return "{}"
        return to_json(text, types)
    if all(name == "item" for name, _ in children) and "object" not in types:
        items = items_of(schema, root)
        return "[" + ", ".join(_build(content, items, root) for _, content in children) + "]"
    properties = properties_of(schema, root)
    members = (f"{json_text.quote(name)}: {_build(content, properties.get(name), root)}" for name, content in children)
    return "{" + ", ".join(members) + "}"


def _children(text: str) -> list[tuple[str, str]]:
    """The elements at the top of a text, with what stands in them."""
    children: list[tuple[str, str]] = []
    open_: list[str] = []
    begin = 0
    for match in _ELEMENT.finditer(text):
        closing, name = match.groups()
        if not closing:
            if not open_:
                begin = match.end()
            open_.append(name)
        elif name in open_:
            while open_.pop() != name:
                pass
            if not open_:
                children.append((name, text[begin : match.start()]))
    return children


MINIMAX_M3 = MinimaxM3(
    "minimax_m3",
    wrapper=Tag((_P + "<tool_call>",), end=(_P + "</tool_call>",)),
    call=Tag((_P + "<invoke",), (">",), (_P + "</invoke>",), ATTRIBUTE),
    arguments="parameters",
    parameter=Tag((_P + "<",), (">",), header=NAME, characters=re.compile(r"[^<>/\s]*")),
)
