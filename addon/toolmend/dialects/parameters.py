"""Arguments that stand in tags of their own, one per parameter, as JSON.

    <parameter=path>a.md</parameter><parameter=limit>20</parameter>   →   {"path": "a.md", "limit": 20}

Rule of this file: R4 and the typing rule of dialects.md. A value that can only be a string streams as it comes; others wait for
their end. An end tag ends a value only if what follows it can follow a parameter, so a file's content may hold end tags.
"""

import html
from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import json_text
from ..course import without
from ..openings import openers
from ..scanner import Reading, Scanner
from ..value import value
from ..values import is_string, json_or_text, to_json, types_of
from .envelope import ARGUMENTS
from .json_body import read_arguments
from .tag import Tag

if TYPE_CHECKING:

    from ..reader import Reader

MAX_HEADER = 256
"""Characters of a parameter's name with what is around it."""


@value
class Tags:
    """The tags that matter between the parameters of a call."""

    parameter: Tag
    call: Tag
    wrapper: Tag

    @property
    def begins(self) -> tuple[str, ...]:
        return self.call.begin + self.wrapper.begin

    @property
    def ends(self) -> tuple[str, ...]:
        return self.call.end + self.wrapper.end


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
    first = yield from values.header()
    if first is None and not (yield from scanner.ahead(stops)):
        return False
    commit()
    while first is not None:
        if not (yield from values.read(*first)):
            reader.broken()
            return True
        yield from scanner.blanks()
        first = yield from values.header()
    if (yield from scanner.peek()) and not (yield from scanner.ahead(stops)):
        reader.broken()  # the stream was cut inside a tag
        return True
    reader.arguments("}" if values.given else "{}")
    reader.end()
    return True


class Values:
    """The parameters of one call."""

    def __init__(self, reader: "Reader", tags: Tags, name: str) -> None:
        self.given: list[str] = []
        self._reader = reader
        self._tag = tags.parameter
        self._schema = reader.tools.schemas.get(name, {})
        self._properties = reader.tools.properties(name)
        self._ends, self._begins = tags.ends, tags.begins
        self._certain = 0  # behind scanner.start, how much text is known to be the value's
        self._find_marks()

    def _find_marks(self) -> None:
        """What may end a value, or begin something in it."""
        marks = self._tag.end + self._tag.begin + self._ends + self._begins
        if any(end.startswith("\n") for end in self._tag.end):  # the newline in front of any of them is markup
            marks += tuple("\n" + mark for mark in marks if mark[0] != "\n")
        self._marks = marks
        self._mark = openers(marks)
        self._course = without(marks, frozenset(), self._mark.search)._replace(escapes=json_text.inside)

    def header(self) -> Reading[tuple[str, str | None] | None]:
        """The tag that begins a parameter: its name, and what it says of being a string. None, and no step, if none does."""
        scanner = self._reader.scanner
        offset = scanner.pos - scanner.start
        if (yield from scanner.literal(self._tag.begin)):
            text = yield from scanner.run(self._tag.characters, MAX_HEADER)
            match = self._tag.header.fullmatch(text.strip()) if text else None
            if match and (yield from scanner.literal(self._tag.separator)):
                name = html.unescape(match["name"]) if self._tag.escaped else match["name"]
                return name, match.groupdict().get("string")
        scanner.pos = scanner.start + offset
        return None

    def read(self, name: str, string: str | None) -> Reading[bool]:
        """Reads a value and tells it. False if it is broken off by the end of the text."""
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
            reader.arguments(key + (json_or_text(text) if string else to_json(text, types_of(schema, self._schema))))
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

    def _text(self, emit: Callable[[str], None]) -> Reading[bool]:
        """Emits the text of a value up to its end. False if the text ends before."""
        scanner = self._reader.scanner
        depth = calls = 0  # parameters, calls and wrappers that the value itself holds
        while True:
            match = self._mark.search(scanner.text, scanner.pos)
            end = match.start() if match else len(scanner.text)
            if end > scanner.pos:
                piece, scanner.pos = scanner.text[scanner.pos : end], end
                emit(piece)
            if match is None:
                if scanner.ended:
                    return False
                scanner.course = self._course
                yield
                scanner.course = None
                continue
            found = yield from scanner.literal(self._marks)
            if found is None:  # it only looked like one
                scanner.pos += 1
                emit(scanner.text[scanner.pos - 1])
                continue
            mark = found if found in self._tag.end else found.removeprefix("\n")
            if mark in self._tag.end:
                if (yield from (self._last(inside=calls > 0) if depth else self._follows())):
                    return True
                depth -= depth > 0
            elif mark in self._tag.begin:
                header = yield from self._header_here(len(mark))
                if header and not calls and self._next(header):
                    scanner.pos -= len(mark)
                    return True
                depth += header is not None and self._nests(header)
            elif mark in self._ends:
                if not depth and not calls and (yield from self._last(back=len(mark))):
                    scanner.pos -= len(mark)
                    return True
                calls -= calls > 0
            else:
                calls += 1
            certain = scanner.start + self._certain - scanner.pos  # what was found to be the value's is not read again
            self._certain = 0
            emit(found)
            if certain > 0:
                scanner.pos += certain
                emit(scanner.text[scanner.pos - certain : scanner.pos])

    def _follows(self) -> Reading[bool]:
        """Whether what stands here can follow a parameter: another, the end of the call or its wrapper, the end of text."""
        return (yield from _look(self._reader.scanner, self._can_follow()))

    def _can_follow(self) -> Reading[bool]:
        scanner = self._reader.scanner
        yield from scanner.blanks()
        if (yield from scanner.literal(self._ends + self._begins)) or (yield from self.header()) is not None:
            return True
        rest = scanner.text[scanner.pos :]  # the stream may have been cut inside of what follows
        return scanner.ended and any(mark.startswith(rest) or rest.startswith(self._tag.begin) for mark in self._marks)

    def _last(self, *, back: int = 0, inside: bool = False) -> Reading[bool]:
        """Whether the call surely ends here: tags that end it, then the end of the text, or another call.

        Other text may follow if no end of the value comes later; with `back` (a tag that ends a call, where the value has no
        end of its own) only if the wrapper ends as well; `inside` a call that the value holds, nothing may.
        """
        return (yield from _look(self._reader.scanner, self._only_ends(bool(back), inside), back))

    def _only_ends(self, text_behind: bool, inside: bool) -> Reading[bool]:
        scanner = self._reader.scanner
        count = 0
        while True:
            yield from scanner.blanks()
            if not (yield from scanner.literal(self._ends)):
                break
            count += 1
        if count == 0:
            return False
        if not (yield from scanner.peek()):
            return True
        if inside:
            return False
        if not text_behind or count > 1:
            return not (yield from self._ends_later())
        return bool((yield from scanner.ahead(self._begins)))

    def _ends_later(self) -> Reading[bool]:
        """Whether the value's own end comes, and no other call before it: then the text up to there is the value's."""
        scanner = self._reader.scanner
        stops = self._tag.end + self._begins
        mark = openers(tuple(stops))
        while True:
            match = mark.search(scanner.text, scanner.pos)
            scanner.pos = match.start() if match else len(scanner.text)
            if match:
                found = yield from scanner.literal(stops)
                if found in self._begins:
                    return False
                if found and (yield from self._follows()):
                    self._certain = scanner.pos - len(found) - scanner.start - 2  # a newline in front may be markup
                    return True
                scanner.pos += not found
            elif scanner.ended:
                return False
            else:
                yield

    def _header_here(self, back: int) -> Reading[str | None]:
        """The name of the parameter whose tag begins `back` characters before."""
        scanner = self._reader.scanner
        scanner.pos -= back
        header = yield from _look(scanner, self.header())
        scanner.pos += back
        return header and header[0]

    def _next(self, name: str) -> bool:
        """Whether a parameter's tag begins the next one, and this one has no end: it is declared, and not given yet."""
        return (name in self._properties or not self._properties) and name not in self.given

    def _nests(self, name: str) -> bool:
        """Whether a parameter's tag in a value wants an end tag such as the value's."""
        return True


def _look[T](scanner: Scanner, reading: Reading[T], back: int = 0) -> Reading[T]:
    """Reads ahead, and comes back to where it was."""
    scanner.pos -= back
    offset = scanner.pos - scanner.start
    found = yield from reading
    scanner.pos = scanner.start + offset + back
    return found
