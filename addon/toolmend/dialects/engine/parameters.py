"""Converts arguments in tags, one per parameter, to JSON.

    <parameter=path>a.md</parameter><parameter=limit>20</parameter>   →   {"path": "a.md", "limit": 20}

Types follow dialect-rules.md. A long value that can only be a string streams. Other values are held until their end, which
value_text.py finds; short ones also for another value of the same parameter, as the last one counts.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...core import json_text
from ...core.fastclass import replace
from ...core.scanner import Reading
from ...core.schema_values import is_string, items_of, json_or_text, to_json, types_of
from .closers import CALLS, PARAMETERS, read_closer
from .envelope import ARGUMENTS
from .json_body import read_arguments
from .value_text import Tags, ValueText

if TYPE_CHECKING:
    from .markup_parser import MarkupParser

CDATA = "<![CDATA["

MAX_VALUES = 256
"""Characters of values that are held, some lines, because a later value of the same parameter replaces an earlier one."""


def read_parameters(
    parser: "MarkupParser", tags: Tags, name: str, commit: Callable[[], None], kind: "type[Values] | None" = None
) -> Reading[bool]:
    """Parses the parameters of a call after its header. Returns whether there was a call.

    Args:
        parser: The parser.
        tags: The tags of parameter, call and wrapper.
        name: The tool's name.
        commit: Starts the call.
        kind: The class that parses values.
    """
    scanner = parser.scanner
    stops = tags.ends + tags.begins
    values = (kind or Values)(parser, tags, name)
    yield from scanner.blanks()
    if (yield from scanner.peek()) == "{":  # the body may be one JSON object
        return (yield from read_arguments(parser, commit, stops))
    parameter = yield from values.next_header()
    if parameter is None and not (yield from scanner.ahead(stops)):
        return False
    commit()
    while parameter is not None:
        if not (yield from values.read(*parameter)):
            values.emit_held()
            parser.break_off()
            return True
        parameter = yield from values.next_header()
    values.emit_held()
    if scanner.broken and values.is_cut():
        parser.break_off()
        return True
    parser.arguments("}" if values.given else "{}")
    parser.end()
    yield from values.swallow_closers(tags.wrapper.end)
    return True


class Values(ValueText):
    """The parameters of one call."""

    def __init__(self, parser: "MarkupParser", tags: Tags, name: str) -> None:
        super().__init__(parser, tags, name)
        self._held: dict[str, list[str]] = {}  # name → JSON of the value, then JSON of each value as a list item
        self._sent = False  # whether arguments have been emitted

    def next_header(self) -> Reading[tuple[str, str | None] | None]:
        """The name and type in the next parameter's tag, after unmatched closing tags; None after the last parameter."""
        scanner = self._parser.scanner
        if self.given:
            yield from self.stray()
        while True:
            yield from scanner.blanks()
            if (yield from scanner.ahead(self._ends)):
                return None
            if header := (yield from self.any_header()):
                return header
            if (yield from scanner.literal(self._tag.end)):
                continue
            if not (yield from self._swallow(text_may_follow=bool(self.given))):
                return None

    def swallow_closers(self, outer: tuple[str, ...]) -> Reading[None]:
        """Drops closing tags after the call, up to those of the `outer` element."""
        scanner = self._parser.scanner
        while True:
            offset = scanner.pos - scanner.start
            yield from scanner.blanks()
            if (yield from scanner.ahead(outer)) or not (
                (yield from scanner.literal(self._ends)) or (yield from self._swallow(text_may_follow=True))
            ):
                scanner.pos = scanner.start + offset
                return
            self._parser.drop_markup()

    def _swallow(self, *, text_may_follow: bool) -> Reading[bool]:
        """Skips a damaged closing tag, if there is one at the scanner's position."""
        scanner = self._parser.scanner
        offset = scanner.pos - scanner.start
        closer = yield from read_closer(scanner, (self._tool, *self._foreign))
        if closer:
            over = not (yield from scanner.peek())
            follows = bool(closer.element) if text_may_follow else (yield from self._after()).what != "text"
            if follows and not (over and closer.cut and scanner.broken):
                return True
        scanner.pos = scanner.start + offset
        return False

    def read(self, name: str, string: str | None) -> Reading[bool]:
        """Parses a value and emits it, or drops it if `name` is empty. False if the text ends before the value."""
        tag = self._tag
        if (yield from self._parser.scanner.literal((CDATA,))):
            ends = (*tag.end, *(f"</{element}>" for element in (*PARAMETERS, *CALLS, name)))
            self._tag = replace(tag, end=tuple(f"]]>{gap}{end}" for gap in ("", "\n") for end in ends) + tag.end)
        self._value_begins(name)
        if name in self.given:
            whole = yield from self._repeated(name, string)
        elif name:
            whole = yield from self._value(name, string)
        else:
            whole = yield from self._text(lambda _: self._parser.drop_markup())
        self._tag = tag
        return whole

    def _repeated(self, name: str, string: str | None) -> Reading[bool]:
        """Parses a repeated parameter: a further list item, or the value that replaces the earlier one if that is still held."""
        pieces: list[str] = []
        whole = yield from self._text(pieces.append)
        self._parser.report("repeated_parameter")
        if whole and name in self._held:
            text = "".join(pieces)
            items = self._held[name][1:]
            self._held[name] = [self._json(name, text, string), *items, *([self._item(name, text)] if items else [])]
        return whole

    def _item(self, name: str, text: str) -> str:
        """The JSON of a value as a list item."""
        return to_json(text, types_of(items_of(self._properties.get(name), self._schema), self._schema))

    def _json(self, name: str, text: str, string: str | None) -> str:
        """The JSON of a value."""
        if self._is_string(name, string):
            return json_text.quote(text)
        return json_or_text(text) if string else to_json(text, types_of(self._properties.get(name), self._schema))

    def _is_string(self, name: str, string: str | None) -> bool:
        """Whether a value can only be a string."""
        schema = self._properties.get(name)
        return string in ("true", "string") or (string is None and (schema is None or is_string(schema, self._schema)))

    def hold(self, name: str, json: str, items: Sequence[str] = ()) -> None:
        """Holds a value until MAX_VALUES characters are held, or the call ends.

        Args:
            name: The parameter's name.
            json: The JSON of the value.
            items: The JSON of the value as a list item, if the schema wants a list.
        """
        self.given.append(name)
        self._held[name] = [json, *items]
        if sum(map(len, (each for held in self._held.values() for each in held))) > MAX_VALUES:
            self.emit_held()

    def emit_held(self) -> None:
        """Emits the held values; several values of one parameter as a list."""
        held, self._held = self._held, {}
        for name, (single, *items) in held.items():
            self.emit(self._key(name) + (f"[{', '.join(items)}]" if len(items) > 1 else single))

    def emit(self, text: str) -> None:
        """Emits arguments."""
        self._parser.arguments(text)

    def _value(self, name: str, string: str | None) -> Reading[bool]:
        pieces: list[str] = []
        if name in ARGUMENTS and name not in self._properties and self._properties and not self.given:
            whole = yield from self._text(pieces.append)
            if whole:
                self._all_in_one(name, "".join(pieces), string)
            else:
                self._broken_off(name, pieces)
            return whole
        if self._is_string(name, string):
            return (yield from self._string_value(name))
        whole = yield from self._text(pieces.append)
        if whole:
            text = "".join(pieces)
            json = self._json(name, text, string)
            wants_list = "array" in types_of(self._properties.get(name), self._schema) and not json.startswith("[")
            self.hold(name, json, [self._item(name, text)] if wants_list else [])
        else:
            self._broken_off(name, pieces)
        return whole

    def _string_value(self, name: str) -> Reading[bool]:
        """Parses a value that can only be a string; a long one streams."""
        pieces: list[str] = []
        size = 0

        def emit(text: str) -> None:
            nonlocal size
            if size > MAX_VALUES:
                self.emit(json_text.inside(text))
                return
            pieces.append(text)
            size += len(text)
            if size > MAX_VALUES:
                self._is_short = False
                self._begin(name, pieces)

        self._is_short = True
        whole = yield from self._text(emit)
        self._is_short = False
        if size > MAX_VALUES:
            self.emit('"' if whole else "")
        elif whole:
            self.hold(name, json_text.quote("".join(pieces)))
        else:
            self._broken_off(name, pieces)
        return whole

    def _key(self, name: str) -> str:
        """The JSON before the next value."""
        key = (", " if self._sent else "{") + json_text.quote(name) + ": "
        self._sent = True
        return key

    def _begin(self, name: str, pieces: list[str]) -> None:
        """Emits the first part of a string."""
        self.emit_held()
        self.given.append(name)
        self.emit(self._key(name) + json_text.quote("".join(pieces))[:-1])

    def _broken_off(self, name: str, pieces: list[str]) -> None:
        """Emits a value that was cut off, without its closing quote, so that no client takes it for a complete one."""
        self._begin(name, pieces)

    def _all_in_one(self, name: str, text: str, string: str | None) -> None:
        """Emits an undeclared parameter such as `arguments`: an object of declared parameters is the whole arguments object."""
        try:
            value = json_text.loads(text.encode())
        except ValueError:
            value = None
        if isinstance(value, dict) and value and value.keys() <= self._properties.keys():
            self.given += value
            self._sent = True
            self.emit(text.strip()[:-1].rstrip())
            return
        self.hold(name, json_or_text(text) if string == "false" else json_text.quote(text))
