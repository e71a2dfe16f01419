"""MiniMax M3: each tag carries a prefix, an argument is an element named after it.

    ]<]minimax[>[<tool_call>
    ]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.md]<]minimax[>[</path>]<]minimax[>[</invoke>
    ]<]minimax[>[</tool_call>

Objects are nested elements, arrays hold `<item>` elements; which of the two an empty element is, the schema says. Values are raw
text, typed by the schema. Source: the MiniMax-M3 template by way of vLLM and mlx-lm.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import json_text
from ..scanner import Reading
from ..values import is_string, to_json, types_of
from .tag import ATTRIBUTE, Tag
from .tags import TagDialect

if TYPE_CHECKING:
    from ..reader import Reader

_P = "]<]minimax[>["
_NAME = re.compile(r"[^<>/\s]*")
_ELEMENT = re.compile(re.escape(_P) + r"<(/?)([^<>/\s]+)>")
_MAX_NAME = 128


class MinimaxM3(TagDialect):
    """The tags of a call, and its elements."""

    def read_body(self, reader: "Reader", name: str, commit: Callable[[], None]) -> Reading[bool]:
        scanner = reader.scanner
        root = reader.tools.schemas.get(name, {})
        properties = reader.tools.properties(name)
        given: list[str] = []
        stops = self.closers + self.openers
        while True:
            yield from scanner.blanks()
            if (yield from scanner.ahead(stops)):
                break
            element = yield from self._begin(reader)
            if element is None:
                if not given:
                    return False
                if (yield from scanner.peek()):
                    reader.broken()
                    return True
                break
            if not given:
                commit()
            key = ("{" if not given else ", ") + json_text.quote(element) + ": "
            given.append(element)
            if not (yield from self._value(reader, key, element, properties, root, given)):
                reader.broken()
                return True
        if not given:
            commit()
        reader.arguments("}" if given else "{}")
        reader.end()
        return True

    def _begin(self, reader: "Reader") -> Reading[str | None]:
        """The name of the element that begins here; None, and no step, if none does."""
        scanner = reader.scanner
        back = scanner.pos - scanner.start
        if (yield from scanner.literal((_P + "<",))):
            name = yield from scanner.run(_NAME, _MAX_NAME)
            if name and (yield from scanner.literal((">",))):
                return name
        scanner.pos = scanner.start + back
        return None

    def _value(
        self, reader: "Reader", key: str, element: str, properties: Mapping[str, Any], root: Any, given: list[str]
    ) -> Reading[bool]:
        """Reads an element's content and tells it. False if it is broken off."""
        schema = properties.get(element)
        if schema is not None and is_string(schema, root):
            reader.arguments(key + '"')
            whole = yield from self._text(
                reader, element, properties, given, lambda text: reader.arguments(json_text.quote(text)[1:-1])
            )
            reader.arguments('"' if whole else "")
            return whole
        pieces: list[str] = []
        whole = yield from self._text(reader, element, properties, given, pieces.append)
        if whole:
            reader.arguments(key + _build("".join(pieces), schema, root))
        return whole

    def _text(
        self, reader: "Reader", element: str, properties: Mapping[str, Any], given: list[str], emit: Callable[[str], None]
    ) -> Reading[bool]:
        """Emits what stands in an element, nested elements and all. False if the text ends before it does."""
        scanner = reader.scanner
        end, depth = f"{_P}</{element}>", 0
        while True:
            found = scanner.text.find("]", scanner.pos)
            at = found if found >= 0 else len(scanner.text)
            if at > scanner.pos:
                piece, scanner.pos = scanner.text[scanner.pos : at], at
                emit(piece)
            if found < 0:
                if scanner.ended:
                    return False
                yield
                continue
            if (yield from scanner.literal((end,))):
                if depth == 0 and (yield from self._follows(reader)):
                    return True
                depth -= depth > 0
                emit(end)
                continue
            if depth == 0 and (yield from scanner.ahead(self.closers)):
                return True
            back = scanner.pos - scanner.start
            child = yield from self._begin(reader)
            if child is None:
                scanner.pos += 1
                emit(scanner.text[scanner.pos - 1])
            elif depth == 0 and child in properties and child not in given:  # the next argument: this one has no end
                scanner.pos = scanner.start + back
                return True
            else:
                depth += child == element
                emit(f"{_P}<{child}>")

    def _follows(self, reader: "Reader") -> Reading[bool]:
        """Whether what stands here can follow an element: another tag, or the end of the text."""
        scanner = reader.scanner
        back = scanner.pos - scanner.start
        yield from scanner.blanks()
        found = not (yield from scanner.peek()) or (yield from scanner.ahead((_P,))) is not None
        scanner.pos = scanner.start + back
        return found


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
    inner = schema if isinstance(schema, Mapping) else {}
    if all(name == "item" for name, _ in children) and "object" not in types:
        items = inner.get("items")
        return "[" + ", ".join(_build(content, items, root) for _, content in children) + "]"
    properties = inner.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
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
)
