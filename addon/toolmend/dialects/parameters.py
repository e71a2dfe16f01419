"""Arguments that stand in tags of their own, one per parameter, as JSON.

    <parameter=path>a.md</parameter><parameter=limit>20</parameter>   →   {"path": "a.md", "limit": 20}

Rule of this file: the typing rule of dialects.md. A value that can only be a string streams as it comes; others wait for their
end, which value_text.py finds.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import json_text
from ..scanner import Reading
from ..value import replace
from ..values import is_string, items_of, json_or_text, to_json, types_of
from .closers import CALLS, PARAMETERS, read_closer
from .envelope import ARGUMENTS
from .json_body import read_arguments
from .value_text import Tags, ValueText

if TYPE_CHECKING:
    from ..reader import Reader

CDATA = "<![CDATA["


def read_parameters(
    reader: "Reader", tags: Tags, name: str, commit: Callable[[], None], kind: "type[Values] | None" = None
) -> Reading[bool]:
    """Reads the parameters of a call of tool `name`, whose header has been read; `commit` starts the call.

    `kind`: how a value is read. Whether there was a call.
    """
    scanner = reader.scanner
    stops = tags.ends + tags.begins
    values = (kind or Values)(reader, tags, name)
    yield from scanner.blanks()
    if (yield from scanner.peek()) == "{":  # the body may be one JSON object
        return (yield from read_arguments(reader, commit, stops))
    parameter = yield from values.next_header()
    if parameter is None and not (yield from scanner.ahead(stops)):
        return False
    commit()
    while parameter is not None:
        if not (yield from values.read(*parameter)):
            values.emit_items()
            reader.broken()
            return True
        parameter = yield from values.next_header()
    if scanner.broken and values.is_cut():
        reader.broken()
        return True
    values.emit_items()
    reader.arguments("}" if values.given else "{}")
    reader.end()
    yield from values.swallow_closers(tags.wrapper.end)
    return True


class Values(ValueText):
    """The parameters of one call."""

    def next_header(self) -> Reading[tuple[str, str | None] | None]:
        """The tag that begins the next parameter, after closing tags that have nothing to close; None if there is no more."""
        scanner = self._reader.scanner
        if self.given:
            yield from scanner.literal((">",))
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
        """Goes past closing tags that follow the call, up to those of the `outer` element."""
        scanner = self._reader.scanner
        while True:
            offset = scanner.pos - scanner.start
            yield from scanner.blanks()
            if (yield from scanner.ahead(outer)) or not (
                (yield from scanner.literal(self._ends)) or (yield from self._swallow(text_may_follow=True))
            ):
                scanner.pos = scanner.start + offset
                return
            self._reader.take()

    def _swallow(self, *, text_may_follow: bool) -> Reading[bool]:
        """Goes past a closing tag that is not exact, if one stands here."""
        scanner = self._reader.scanner
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
        """Reads the value of a parameter and emits it; without a name it is left out. False if the text ends before the value."""
        tag = self._tag
        if (yield from self._reader.scanner.literal((CDATA,))):
            ends = (*tag.end, *(f"</{element}>" for element in (*PARAMETERS, *CALLS, name)))
            self._tag = replace(tag, end=tuple(f"]]>{gap}{end}" for gap in ("", "\n") for end in ends) + tag.end)
        self._value_begins(name)
        if name in self.given:
            whole = yield from self._repeated(name)
        elif name:
            self.emit_items()
            whole = yield from self._value(name, string)
        else:
            whole = yield from self._text(lambda _: self._reader.take())
        self._tag = tag
        return whole

    def _repeated(self, name: str) -> Reading[bool]:
        """Reads another value of a parameter: one more item of a list, or else it is left out, for the first has been sent."""
        pieces: list[str] = []
        whole = yield from self._text(pieces.append)
        reader = self._reader
        if reader.doubtful:
            reader.doubtful.rules.append("repeated_parameter")
        else:
            reader.fired("repeated_parameter")
        if whole and self._items and self.given[-1] == name:
            self._items.append(self._item(name, "".join(pieces)))
        return whole

    def _item(self, name: str, text: str) -> str:
        """The JSON of one of the items that a parameter's values are."""
        return to_json(text, types_of(items_of(self._properties.get(name), self._schema), self._schema))

    def emit_items(self) -> None:
        """Emits the value of a parameter whose schema wants a list: one that stands alone as it is, several as the list."""
        if self._items:
            single, *items = self._items
            self._reader.arguments(f"[{', '.join(items)}]" if len(items) > 1 else single)
            self._items = []

    def _value(self, name: str, string: str | None) -> Reading[bool]:
        reader = self._reader
        pieces: list[str]
        schema = self._properties.get(name)
        if name in ARGUMENTS and schema is None and self._properties and not self.given:
            pieces = []
            whole = yield from self._text(pieces.append)
            if whole:
                self._all_in_one(name, "".join(pieces), string)
            else:
                self._broken_off(self._key(name), pieces)
            return whole
        key = self._key(name)
        if string in ("true", "string") or (string is None and (schema is None or is_string(schema, self._schema))):
            reader.arguments(key + '"')
            whole = yield from self._text(lambda text: reader.arguments(json_text.inside(text)))
            reader.arguments('"' if whole else "")
            return whole
        pieces = []
        whole = yield from self._text(pieces.append)
        if whole:
            text = "".join(pieces)
            types = types_of(schema, self._schema)
            json = json_or_text(text) if string else to_json(text, types)
            if "array" in types and not json.startswith("["):  # another value of the same name may follow, and make a list
                reader.arguments(key)
                self._items = [json, self._item(name, text)]
            else:
                reader.arguments(key + json)
        else:
            self._broken_off(key, pieces)
        return whole

    def _key(self, name: str) -> str:
        """The JSON in front of the next value."""
        key = ("{" if not self.given else ", ") + json_text.quote(name) + ": "
        self.given.append(name)
        return key

    def _broken_off(self, key: str, pieces: list[str]) -> None:
        """What there is of a value that was held for its end: it is not lost, and nobody takes it for a whole one."""
        self._reader.arguments(key + json_text.quote("".join(pieces))[:-1])

    def _all_in_one(self, name: str, text: str, string: str | None) -> None:
        """A parameter that the tool does not declare, called `arguments` or so: an object of declared ones is all of them."""
        try:
            value = json_text.loads(text.encode())
        except ValueError:
            value = None
        if isinstance(value, dict) and value and value.keys() <= self._properties.keys():
            self.given += value
            self._reader.arguments(text.strip()[:-1].rstrip())
            return
        self.given.append(name)
        value = json_or_text(text) if string == "false" else json_text.quote(text)
        self._reader.arguments(f"{{{json_text.quote(name)}: {value}")
