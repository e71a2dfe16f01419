"""Dialects that are data: a call has one shape, `begin NAME separator BODY end`, in a wrapper or not.

Rule of this file: it holds what all of them share (R1 commit point, R2 names, R7 missing ends, R9 wrappers and doubled openers
of dialects.md), so each is fixed once. What one model alone does stands in that model's file.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..scanner import Reading, Scanner, openers
from .json_body import read_arguments

if TYPE_CHECKING:
    from ..reader import Reader

MAX_NAME = 160
"""Characters of a name with what is around it: names of tools have at most 128, `functions.` and a counter come on top."""
MAX_HEADER = 512

_NAME = re.compile(r"[A-Za-z0-9_.:/-]*")
_RESIDUE = re.compile(r"[^{\n]*")


@dataclass(frozen=True, slots=True)
class Tag:
    """The tokens of a call or of a wrapper, each with all its spellings."""

    begin: tuple[str, ...] = ()
    separator: tuple[str, ...] = ()
    end: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagDialect:
    """A dialect of tags whose arguments are JSON."""

    name: str
    call: Tag
    wrapper: Tag = Tag()

    @property
    def openers(self) -> tuple[str, ...]:
        return self.wrapper.begin + self.call.begin

    @property
    def closers(self) -> tuple[str, ...]:
        return self.call.end + self.wrapper.end

    def read(self, reader: "Reader") -> Reading[bool]:
        scanner = reader.scanner
        wrapped = False
        last = found = yield from scanner.literal(self.openers)
        while found:  # a wrapper, or a second opener in front of the real one
            last = found
            wrapped = wrapped or found in self.wrapper.begin
            yield from scanner.blanks()
            found = yield from scanner.literal(self.openers)
        if last not in self.call.begin:
            return False
        header = yield from self._header(reader)
        if header is None:
            return False
        identity = self.identify(reader, header)
        if identity:
            id_, name = identity
            called = yield from read_arguments(
                reader, lambda: reader.start(self, id_, name), self.closers + self.openers
            )
        else:
            called = yield from self.nameless(reader, header)
        if called and wrapped:
            reader.wrapped(self.wrapper.end)
        return called

    def _header(self, reader: "Reader") -> Reading[str | None]:
        """Reads what stands before the arguments; the name, with what the dialect writes around it."""
        scanner = reader.scanner
        header = yield from scanner.run(_NAME, MAX_NAME)
        if not header:
            return None
        yield from scanner.blanks()
        if (yield from scanner.literal(self.call.separator)) or (yield from scanner.ahead(self.closers)):
            return header
        match (yield from scanner.peek()):
            case "{":
                return header if header in reader.tools else None
            case "<":
                return header if (yield from self._residue(scanner)) else None
        return None

    def _residue(self, scanner: Scanner) -> Reading[bool]:
        """Goes past other tokens that got between a name and its separator (R2)."""
        residue = yield from scanner.run(_RESIDUE, MAX_HEADER)
        if residue is None or not residue.startswith("<|"):
            return False
        found = openers([*self.call.separator, *self.openers, *self.closers]).search(residue)
        if found is None or found.group() not in self.call.separator:
            return False
        scanner.pos -= len(residue) - found.end()
        return True

    def identify(self, reader: "Reader", header: str) -> tuple[str, str] | None:
        """The id and the name of the call that a header is of."""
        return reader.new_id(), bare_name(reader, header)

    def nameless(self, reader: "Reader", header: str) -> Reading[bool]:
        """Reads a call whose header has no name. Whether there was one."""
        return False
        yield


def bare_name(reader: "Reader", header: str) -> str:
    """A name without the `functions.` that some templates put in front, unless a tool is offered under just that name."""
    return header if header in reader.tools.schemas else header.removeprefix("functions.")
