"""MiniMax M3: each tag has a prefix, and an argument is an element with its name.

    ]<]minimax[>[<tool_call>
    ]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.md]<]minimax[>[</path>]<]minimax[>[</invoke>
    ]<]minimax[>[</tool_call>

Objects are nested elements, arrays have `<item>` elements; the schema decides what an empty element is. Values are raw text,
typed by the schema. Source: the MiniMax-M3 template in vLLM and mlx-lm.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ...core import json_text
from ...core.fastclass import mutable, replace
from ...core.scanner import Reading
from ...core.schema_values import is_string, items_of, properties_of, to_json, types_of
from ..engine.parameters import Values, read_parameters
from ..engine.tag import ATTRIBUTE, NAME, Tag
from ..engine.tags import TagDialect
from ..engine.value_text import Tags

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_P = "]<]minimax[>["
_ELEMENT = re.compile(re.escape(_P) + r"<(/?)([^<>/\s]+)>")
_NESTS = {"object", "array"}

MAX_NESTED = 64
"""Nested elements that are parsed; deeper ones are ignored, as no tool's arguments are so deep."""


class Elements(Values):
    """The elements of one call; the end tag has the name of the element."""

    def header(self) -> Reading[tuple[str, str | None] | None]:
        if (yield from self._parser.scanner.ahead(self._ends + self._begins)):
            return None
        return (yield from Values.header(self))

    def read(self, name: str, string: str | None) -> Reading[bool]:
        schema = self._properties.get(name)
        self._tag = replace(self._tag, end=(f"{_P}</{name}>",))
        self._element = name
        self._whole = schema is None or bool(types_of(schema, self._schema) & _NESTS)
        return (yield from Values.read(self, name, string))

    def _is_string(self, name: str, string: str | None) -> bool:
        schema = self._properties.get(name)
        return schema is not None and is_string(schema, self._schema)

    def _json(self, name: str, text: str, string: str | None) -> str:
        if self._is_string(name, string):
            return json_text.quote(text)
        return _build(text, self._properties.get(name), self._schema)

    def _item(self, name: str, text: str) -> str:
        return _build(text, items_of(self._properties.get(name), self._schema), self._schema)

    def _next(self, name: str) -> bool:
        return not self._whole and super()._next(name)

    def _nests(self, name: str) -> bool:
        return name == self._element


class MinimaxM3(TagDialect):
    """A tag dialect whose parameters are elements."""

    def read_body(self, parser: "MarkupParser", name: str, commit: Callable[[], None]) -> Reading[bool]:
        tags = Tags(self.parameter, self.call, self.wrapper)
        return (yield from read_parameters(parser, tags, name, commit, Elements))


@mutable
class _Node:
    """An element `text[begin:end]` with the content `text[inner:inner_end]`, and its child elements."""

    name: str
    begin: int
    inner: int
    inner_end: int
    end: int
    children: list["_Node"] = field(default_factory=list)


def _build(text: str, schema: Any, root: Any) -> str:
    """The JSON for the content of an element."""
    return _json(text, _tree(text), schema, root)


def _json(text: str, node: _Node, schema: Any, root: Any) -> str:
    types = types_of(schema, root)
    children = node.children
    if not children or _has_text(text, node):
        content = text[node.inner : node.inner_end]
        if not content.strip() and "string" not in types:
            if "array" in types:
                return "[]"
            if "object" in types:
                return "{}"
        return to_json(content, types)
    if all(child.name == "item" for child in children) and "object" not in types:
        items = items_of(schema, root)
        return "[" + ", ".join(_json(text, child, items, root) for child in children) + "]"
    properties = properties_of(schema, root)
    named: dict[str, list[_Node]] = {}
    for child in children:
        named.setdefault(child.name, []).append(child)
    members = (f"{json_text.quote(name)}: {_member(text, nodes, properties.get(name), root)}" for name, nodes in named.items())
    return "{" + ", ".join(members) + "}"


def _member(text: str, nodes: list[_Node], schema: Any, root: Any) -> str:
    """The JSON of the elements with one name: a list if there are several and the schema allows one, otherwise the last."""
    if len(nodes) > 1 and "array" in types_of(schema, root):
        return "[" + ", ".join(_json(text, node, items_of(schema, root), root) for node in nodes) + "]"
    return _json(text, nodes[-1], schema, root)


def _has_text(text: str, node: _Node) -> bool:
    """Whether there is text, or an element without an end tag, between the child elements."""
    ends = [node.inner, *(child.end for child in node.children)]
    begins = [*(child.begin for child in node.children), node.inner_end]
    return any(text[end:begin].strip() for end, begin in zip(ends, begins, strict=True))


def _tree(text: str) -> _Node:
    """The element tree of a text. An element without an end tag is text, with everything up to the end of its parent."""
    whole = _Node("", 0, 0, len(text), len(text))
    open_, names = [whole], Counter[str]()
    for match in _ELEMENT.finditer(text):
        closing, name = match.groups()
        if not closing:
            open_.append(_Node(name, match.start(), match.end(), match.end(), match.end()))
            names[name] += 1
        elif names[name]:
            while (node := open_.pop()).name != name:
                names[node.name] -= 1
            names[name] -= 1
            node.inner_end, node.end = match.span()
            if len(open_) <= MAX_NESTED:
                open_[-1].children.append(node)
    return whole


MINIMAX_M3 = MinimaxM3(
    "minimax_m3",
    wrapper=Tag((_P + "<tool_call>",), end=(_P + "</tool_call>",)),
    call=Tag((_P + "<invoke",), (">",), (_P + "</invoke>",), ATTRIBUTE),
    arguments="parameters",
    parameter=Tag((_P + "<",), (">",), header=NAME, characters=re.compile(r"[^<>/\\\s]*")),
)
