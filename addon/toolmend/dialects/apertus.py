"""Apertus: the name is the key of the arguments.

    <|tools_prefix|>[{"read_file": {"path": "a.md"}}, {"get_time": {"zone": "UTC"}}]<|tools_suffix|>

Source: the Apertus chat template.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..scanner import Reading
from .json_body import read_arguments, read_string

if TYPE_CHECKING:
    from ..reader import Reader

_SEPARATORS = re.compile(r"[\s,\[]*")
_CLOSING = re.compile(r"[\s}\]]*")


@dataclass(frozen=True, slots=True)
class Apertus:
    """Calls of one array."""

    name: str = "apertus"
    openers: tuple[str, ...] = ("<|tools_prefix|>",)
    inner: tuple[str, ...] = ()
    closers: tuple[str, ...] = ("<|tools_suffix|>",)
    ambiguous: bool = False
    offered_only: bool = False
    place: Literal["any", "line", "message"] = "any"
    in_reasoning: Literal["call", "doubtful", "never"] = "call"

    def read(self, reader: "Reader") -> Reading[bool]:
        scanner = reader.scanner
        yield from scanner.literal(self.openers)
        called = False
        while True:
            back = scanner.pos - scanner.start
            yield from scanner.run(_SEPARATORS, 4096)
            if not (yield from self._one(reader)):
                scanner.pos = scanner.start + back
                return called
            called = True
            yield from scanner.run(_CLOSING, 4096)
            reader.take()

    def _one(self, reader: "Reader") -> Reading[bool]:
        scanner = reader.scanner
        if not (yield from scanner.literal(("{",))):
            return False
        yield from scanner.blanks()
        name = ((yield from read_string(scanner)) or "").strip()
        yield from scanner.blanks()
        if not reader.accepts(self, name) or not (yield from scanner.literal((":",))):
            return False
        id_ = reader.new_id()
        return (yield from read_arguments(reader, lambda: reader.start(self, id_, name), ("}", *self.closers)))


APERTUS = Apertus()
