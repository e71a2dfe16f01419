"""Dialects that the user describes in `[[dialect]]` tables of the settings, or that were learnt from recordings.

    <|tool_start|>read_file<|tool_args|>{"path": "a.md"}<|tool_stop|>          arguments = "json"
    <call tool="read_file"><arg key="path">a.md</arg></call>                   arguments = "parameters"
    <use tool="read_file" path="a.md"/>                                        arguments = "attributes"
    TOOL: read_file\nPATH: a.md\nEND                                            arguments = "lines"
    <act>{"fn": "read_file", "with": {"path": "a.md"}}</act>                   arguments = "envelope"

`{name}` in an end tag is the tool's name, `{id}` is what the pattern binds as `id`, and `{key}` in a parameter's end tag is the
parameter's name. Unless a dialect sets
`strict` to false, it has the conditions of strict_dialect.py.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from ..core import json_text
from ..core.fastclass import replace, value
from ..core.scanner import Reading
from ..core.schema_values import to_json, types_of
from .engine.dialect import Dialect
from .engine.envelope import EnvelopeForm, read_envelopes
from .engine.json_body import read_arguments, surplus
from .engine.parameters import Values, read_parameters
from .engine.strict_dialect import StrictDialect
from .engine.tags import MAX_OPENERS, TagDialect
from .engine.value_text import Tags, without_line_ends

if TYPE_CHECKING:
    from .engine.markup_parser import MarkupParser

type Arguments = Literal["json", "parameters", "attributes", "lines", "envelope"]

NAME_PATTERN = r"(?P<name>[\w.:/-]+?)"
"""A tool's name, up to the separator."""

MAX_HEAD = 256
"""Characters between the begin tag of a call and its arguments: a name, an id, a few tokens."""

MAX_VALUE = 256 * 1024
"""Characters of a value in an attribute or a line."""

_BRACKETS = ("{", "[")
"""Begin tags of bare envelopes."""

_ATTRIBUTE = re.compile(r"""\s*([\w.:-]+)\s*=\s*("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')""", re.DOTALL)


_LINE_NAME = re.compile(r"(\W*)([A-Za-z][\w-]*)")


@value
class Keys:
    """Names of an envelope's members for the tool's name, the arguments and the call's id."""

    name: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    id: tuple[str, ...] = ()


@value
class OwnDialect(TagDialect):
    """A user's dialect.

    Attributes:
        body: The form of the arguments.
        pattern: The regex for the text between the begin tag and the separator; it binds `name`, and may bind `id`.
        keys: Names of an envelope's members, if they differ from the usual ones.
        strict: Whether calls must meet the conditions of strict_dialect.py.
    """

    body: Arguments = "json"
    pattern: str = NAME_PATTERN
    keys: Keys = Keys()
    strict: bool = True

    @property
    def openers(self) -> tuple[str, ...]:
        return self.wrapper.begin + self.call.begin

    @property
    def closers(self) -> tuple[str, ...]:
        return tuple(end for end in (*self.call.end, *self.wrapper.end) if "{name}" not in end and "{id}" not in end)

    @property
    def wrappers(self) -> tuple[str, ...]:
        return ()

    @property
    def in_tags(self) -> bool:
        return self.body not in ("json", "envelope")

    def ends_of(self, text: str, name: str) -> tuple[str, ...]:
        """The end tags of the element (wrapper or call) that the text begins with."""
        if self.wrapper.begin and text.startswith(self.wrapper.begin) and self.wrapper.end:
            return self.wrapper.end
        return self._ends(name, self._id_in(text))

    def _id_in(self, text: str) -> str:
        """The id in the begin tag of a call."""
        if "id" not in (pattern := head(self.pattern, self.call.separator)).groupindex:
            return ""
        begin = max((begin for begin in self.call.begin if text.startswith(begin)), key=len, default="")
        match = pattern.match(text, len(begin))
        return match["id"] if match else ""

    def _ends(self, name: str, id_: str) -> tuple[str, ...]:
        """The end tags of a call, with its name and id."""
        return tuple(end.replace("{name}", name).replace("{id}", id_) for end in self.call.end)

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        last = found = yield from scanner.literal(self.openers)
        wrapped = False
        for _ in range(MAX_OPENERS):
            if not found:
                break
            last, wrapped = found, wrapped or found in self.wrapper.begin
            if found in self.call.begin:
                break
            yield from scanner.blanks()
            found = yield from scanner.literal(self.openers)
        if last not in self.call.begin or not (wrapped or self.bare or parser.attempts):
            return False
        if self.body == "envelope":
            if last in _BRACKETS:
                scanner.pos -= len(last)
            called = yield from read_envelopes(parser, self, self._form())
            if called and not any(end.startswith("}") for end in self.closers):
                yield from surplus(parser, self.closers + self.openers)
            return called
        bound = yield from self._read_head(parser)
        if not bound or not bound["name"] or not parser.accepts(self, bound["name"]):
            return False
        called = yield from self._body(parser, bound["name"], self._ends(bound["name"], bound.get("id", "")))
        if called and wrapped:
            parser.open_wrapper(self, self.wrapper.end)
        return called

    def _form(self) -> EnvelopeForm:
        keys = self.keys
        form = EnvelopeForm(ends=self.closers + self.openers)
        form = replace(form, names=keys.name) if keys.name else form
        form = replace(form, arguments=keys.arguments) if keys.arguments else form
        return replace(form, ids=keys.id) if keys.id else form

    def _read_head(self, parser: "MarkupParser") -> Reading[dict[str, str] | None]:
        """Parses the text between the begin tag of a call and its arguments. Returns what its pattern binds."""
        scanner = parser.scanner
        pattern = head(self.pattern, self.call.separator)
        while True:
            text = scanner.text[scanner.pos : scanner.pos + MAX_HEAD]
            match = pattern.match(text)
            if match and (match.end() < len(text) or scanner.ended or len(text) == MAX_HEAD):
                scanner.pos += match.end()
                return {key: text.strip() for key, text in match.groupdict("").items()}
            if scanner.ended or len(text) == MAX_HEAD or "\n\n\n" in text:
                return None
            yield

    def _body(self, parser: "MarkupParser", name: str, ends: tuple[str, ...]) -> Reading[bool]:
        def commit() -> None:
            parser.start(self, parser.new_id(), name)

        call = replace(self.call, end=ends)
        match self.body:
            case "json":
                return (yield from read_arguments(parser, commit, (*ends, *self.wrapper.end, *self.openers)))
            case "parameters" if self.strict:
                return (yield from self._parameters(parser, name, commit, (*ends, *self.wrapper.end)))
            case "parameters":
                tags = Tags(self.parameter, call, self.wrapper)
                return (yield from read_parameters(parser, tags, name, commit, _Elements))
            case "attributes":
                return (yield from self._attributes(parser, name, commit, ends))
            case "lines":
                return (yield from self._lines(parser, name, commit, (*ends, *self.wrapper.end, *self.openers)))
        return False

    def _parameters(
        self, parser: "MarkupParser", name: str, commit: Callable[[], None], ends: tuple[str, ...]
    ) -> Reading[bool]:
        """Parses parameters up to the end tag of the call, without consuming that tag."""
        scanner = parser.scanner
        given: dict[str, str] = {}
        while True:
            yield from scanner.blanks()
            if (yield from scanner.ahead(ends)):
                break
            key = yield from self._key(parser, name)
            if not key or key in given:
                return False
            text = yield from self._value(parser, name, key, ends)
            if text is None:
                return False
            given[key] = text
        return _emit_call(parser, name, given, commit)

    def _key(self, parser: "MarkupParser", name: str) -> Reading[str | None]:
        """Parses the tag of a declared parameter. Returns its name; "" for the tag of one that is not declared."""
        scanner, tag = parser.scanner, self.parameter
        if not (yield from scanner.literal(tag.begin)):
            return None
        text = yield from scanner.run(tag.characters, MAX_HEAD)
        match = tag.header.fullmatch(text.strip()) if text else None
        if not match or not (yield from scanner.literal(tag.separator)):
            return None
        return match["name"] if match["name"] in parser.tools.properties(name) else ""

    def _value(self, parser: "MarkupParser", name: str, key: str, ends: tuple[str, ...]) -> Reading[str | None]:
        """Parses a value and its end tag: the first one that another parameter, or the end of the call, follows (R4).

        Returns None, too, if the end is in doubt: a parameter follows that is not declared, or the quote may be escaped.
        """
        scanner = parser.scanner
        closers = tuple(end.replace("{key}", key) for end in self.parameter.end)
        begin = scanner.pos - scanner.start
        firsts = {closer[0] for closer in closers}
        while True:
            text = scanner.text
            at = min((place for first in firsts if (place := text.find(first, scanner.pos)) >= 0), default=-1)
            if at < 0:
                if scanner.ended or len(text) - scanner.start - begin > MAX_VALUE:
                    return None
                scanner.pos = len(text)
                yield
                continue
            scanner.pos = at
            end = at - scanner.start
            if (yield from scanner.literal(closers)):
                after = scanner.pos - scanner.start
                yield from scanner.blanks()
                if not (follows := bool((yield from scanner.ahead(ends)))):
                    next_key = yield from self._key(parser, name)
                    if next_key == "" and not any("{key}" in text for text in self.parameter.end):
                        return None
                    follows = bool(next_key)
                if follows:
                    scanner.pos = scanner.start + after
                    value = scanner.text[scanner.start + begin : scanner.start + end]
                    if not self._quotes:
                        return without_line_ends(value)
                    # a backslash before the last quote may escape it, or be the last character
                    return None if value.endswith("\\") else _unquoted(f'"{value}"')
            scanner.pos = scanner.start + end + 1

    @property
    def _quotes(self) -> bool:
        """Whether the values are attributes of the parameters' tags, in quotes."""
        tag = self.parameter
        return all(text.endswith('"') for text in tag.separator) and all(text.startswith('"') for text in tag.end)

    def _attributes(
        self, parser: "MarkupParser", name: str, commit: Callable[[], None], ends: tuple[str, ...]
    ) -> Reading[bool]:
        """Parses `key="value"` up to the end of the tag, without consuming that end."""
        scanner = parser.scanner
        given: dict[str, str] = {}
        while True:
            back = scanner.pos - scanner.start
            yield from scanner.blanks()
            if (yield from scanner.ahead(ends)):
                break
            scanner.pos = scanner.start + back
            match = _ATTRIBUTE.match(scanner.text, scanner.pos)
            if match and (match.end() < len(scanner.text) or scanner.ended):
                if match[1] in given:
                    return False
                given[match[1]] = _unquoted(match[2])
                scanner.pos = match.end()
                continue
            if scanner.ended or len(scanner.text) - scanner.pos > MAX_VALUE:
                return False
            yield
        return _emit_call(parser, name, given, commit)

    def _lines(self, parser: "MarkupParser", name: str, commit: Callable[[], None], ends: tuple[str, ...]) -> Reading[bool]:
        """Parses `key: value`, one or more lines each, up to the end tag, which is not consumed, or up to an empty line."""
        scanner = parser.scanner
        known = {key.casefold(): key for key in parser.tools.properties(name)}
        given: dict[str, list[str]] = {}
        key, form = None, None
        while True:
            back = scanner.pos - scanner.start
            yield from scanner.blanks()
            ended = yield from scanner.ahead(ends)
            scanner.pos = scanner.start + back
            if ended:
                break
            line = yield from _line(parser)
            if line is None:
                break
            found = self._key_of(line, known)
            if found:
                key = found[0]
                if key in given:
                    return False
                given[key] = [found[1]]
                form = self._line_form(line)
            elif form and form == self._line_form(line) and len(given[key or ""]) == 1:
                return False  # a parameter that is not declared
            elif key is None or (not line.strip() and not ends):
                if line.strip() or key:
                    scanner.pos = scanner.start + back
                    break
            else:
                given[key].append(line)
        return _emit_call(parser, name, {key: "\n".join(lines).rstrip("\n") for key, lines in given.items()}, commit)

    def _line_form(self, line: str) -> tuple[str, str, bool] | None:
        """How a line writes a parameter: the text before its name, the separator, whether the name is in upper case."""
        match = _LINE_NAME.match(line)
        separator = next((text for text in self.parameter.separator if match and line.startswith(text, match.end())), None)
        return (match[1], separator, match[2].isupper()) if match and separator else None

    def _key_of(self, line: str, known: dict[str, str]) -> tuple[str, str] | None:
        """The declared parameter at the beginning of a line, and the text after it."""
        text = line.lstrip()
        if self.parameter.begin:
            begin = next((begin for begin in self.parameter.begin if text.startswith(begin)), None)
            if begin is None:
                return None
            text = text[len(begin) :]
        for separator in self.parameter.separator:
            key, there, rest = text.partition(separator.rstrip() or separator)
            if there and key.strip().casefold() in known:
                return known[key.strip().casefold()], rest.removeprefix(separator[len(separator.rstrip()) :])
        return None


class _Elements(Values):
    """Parameters whose end tag may contain the parameter's name."""

    def read(self, name: str, string: str | None) -> Reading[bool]:
        tag = self._tag
        if any("{key}" in end for end in tag.end):
            self._tag = replace(tag, end=tuple(end.replace("{key}", name) for end in tag.end))
        whole = yield from Values.read(self, name, string)
        self._tag = tag
        return whole


def _line(parser: "MarkupParser") -> Reading[str | None]:
    """Parses a line; None at the end of the text, or if the line is too long."""
    scanner = parser.scanner
    begin = scanner.pos - scanner.start
    while True:
        end = scanner.text.find("\n", scanner.pos)
        if end >= 0 or scanner.ended:
            break
        if len(scanner.text) - scanner.start - begin > MAX_VALUE:
            return None
        yield
    at = scanner.start + begin
    if at >= len(scanner.text):
        return None
    scanner.pos = end + 1 if end >= 0 else len(scanner.text)
    return scanner.text[at : end if end >= 0 else len(scanner.text)].removesuffix("\r")


def _emit_call(parser: "MarkupParser", name: str, given: dict[str, str], commit: Callable[[], None]) -> bool:
    """Emits a call whose values are texts, converted to the types of the tool's schema."""
    schema, properties = parser.tools.schemas.get(name, {}), parser.tools.properties(name)
    texts = (
        f"{json_text.quote(key)}: {to_json(text, types_of(properties.get(key), schema))}" for key, text in given.items()
    )
    commit()
    parser.arguments("{" + ", ".join(texts) + "}")
    parser.end()
    return True


def _unquoted(text: str) -> str:
    inner = text[1:-1]
    if "\\" in inner and text[0] == '"':
        try:
            return str(json_text.loads(text.encode()))
        except ValueError:
            return inner
    return inner.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") if "&" in inner else inner


@lru_cache(256)
def head(pattern: str, separators: tuple[str, ...]) -> re.Pattern[str]:
    """The regex for the text between the begin tag of a call and its arguments."""
    alternatives = "|".join(re.escape(separator) for separator in sorted(separators, key=len, reverse=True))
    return re.compile(rf"[ \t\r\n]*{pattern}(?:{alternatives})" if separators else rf"[ \t\r\n]*{pattern}(?=[\s{{<>]|$)")


@lru_cache(256)
def engine_dialect(dialect: OwnDialect) -> Dialect:
    """The dialect for the engine: a StrictDialect if it is strict."""
    return StrictDialect(dialect, dialect.place) if dialect.strict else dialect


def own_of(rows: Sequence[OwnDialect], names: Sequence[str] | None) -> list[Dialect]:
    """The armed dialects of the user: all of them, or those in `names`."""
    return [engine_dialect(row) for row in rows if names is None or row.name in names]
