"""Converts between the input of a freeform (custom) tool and the arguments of the function that replaces it, in pieces.

    *** Begin Patch\\n+"a"     ⇄     {"input":"*** Begin Patch\\n+\\"a\\""}

The result does not depend on where the text is cut. Arguments of another shape are taken for the input itself, which some
models write bare.
"""

import re

from ...core import json_text
from ...core.scanner import Reading, Scanner

MAX_BEFORE = 16 * 1024
"""Characters before the input, with other arguments: a description or a working directory. Twice as many are held."""

MAX_BLANKS = 256
"""White space after a quote that is awaited to decide whether the quote ends the input."""

_BLANKS = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'[^"\\]*')
_VALUE = re.compile(r'[^"{}\[\],]*')
_PLAIN = re.compile(r'[^"\\]+')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = frozenset("0123456789abcdefABCDEF")


class FreeformInput:
    """Converts bare input to arguments."""

    def __init__(self) -> None:
        self._head = '{"input":"'

    def feed(self, text: str) -> str:
        """Takes the next piece."""
        head, self._head = self._head, ""
        return head + json_text.inside(text)

    def end(self, *, broken: bool = False) -> str:
        """Returns the rest. `broken`: the call was broken off, so its JSON stays incomplete."""
        return "" if broken else self._head + '"}'


class Unwrap:
    """Converts arguments to bare input, which is their member `key`."""

    def __init__(self, key: str = "input") -> None:
        self._key = f'"{key}"'
        self._scanner = Scanner()
        self._out: list[str] = []
        self._reading = self._read()

    def feed(self, arguments: str) -> str:
        """Takes the next piece."""
        self._scanner.feed(arguments)
        return self._advance()

    def end(self, *, broken: bool = False) -> str:
        """Returns the rest, which was held."""
        self._scanner.ended = True
        return self._advance()

    def _advance(self) -> str:
        next(self._reading, None)
        out = "".join(self._out)
        self._out.clear()
        return out

    def _read(self) -> Reading[None]:
        scanner = self._scanner
        found = yield from self._input()
        if found:
            scanner.start = scanner.pos
            yield from self._string()
        while True:  # after the input nothing counts; without input, everything is the input
            if not found:
                self._out.append(scanner.text[scanner.start :])
            scanner.start = scanner.pos = len(scanner.text)
            yield

    def _input(self) -> Reading[bool]:
        """Reads up to the first character of the input. Returns whether there is one; `{}` is empty input."""
        scanner = self._scanner
        if not ((yield from self._blanks()) and (yield from scanner.literal(("{",)))):
            return False
        if (yield from self._blanks()) and (yield from scanner.literal(("}",))):
            return (yield from self._blanks()) and not (yield from scanner.peek())
        while (yield from self._blanks()):
            if (yield from scanner.literal((self._key,))):
                if not ((yield from self._blanks()) and (yield from scanner.literal((":",))) and (yield from self._blanks())):
                    return False
                return bool((yield from scanner.literal(('"',))))
            if not ((yield from self._other()) and (yield from scanner.literal((",",)))):
                break
        return False

    def _other(self) -> Reading[bool]:
        """Reads past another member. Returns whether it is complete, and short enough with all before it."""
        scanner, depth = self._scanner, 0
        while scanner.pos - scanner.start <= MAX_BEFORE:
            character = yield from scanner.peek()
            if character == '"':
                if not (yield from self._skip_string()):
                    return False
            elif not character or (character == "}" and not depth):
                return False
            elif character == "," and not depth:
                return True
            elif character in "{}[],":
                depth += {"{": 1, "[": 1, ",": 0}.get(character, -1)
                scanner.pos += 1
            elif (yield from scanner.run(_VALUE, MAX_BEFORE)) is None:
                return False
        return False

    def _skip_string(self) -> Reading[bool]:
        scanner = self._scanner
        scanner.pos += 1
        while scanner.pos - scanner.start <= MAX_BEFORE and (yield from scanner.run(_STRING, MAX_BEFORE)) is not None:
            character = yield from scanner.peek()
            scanner.pos += 1
            if character == '"':
                return True
            if not (character and (yield from scanner.peek())):
                return False
            scanner.pos += 1  # the escaped character
        return False

    def _blanks(self) -> Reading[bool]:
        """Reads past white space. Returns whether all so far is short enough."""
        few = yield from self._scanner.run(_BLANKS, MAX_BEFORE)
        return few is not None and self._scanner.pos - self._scanner.start <= MAX_BEFORE

    def _string(self) -> Reading[None]:
        """Reads a JSON string up to its closing quote."""
        scanner = self._scanner
        while character := (yield from scanner.peek()):
            if character == '"':
                if (yield from self._is_end()):
                    return
                self._take(scanner.text[scanner.start : scanner.pos])
            elif character == "\\":
                yield from self._escape()
            else:
                match = _PLAIN.match(scanner.text, scanner.pos)
                assert match
                scanner.pos = match.end()
                self._take(match.group())

    def _take(self, text: str) -> None:
        self._out.append(text)
        self._scanner.start = self._scanner.pos

    def _is_end(self) -> Reading[bool]:
        """Whether a quote ends the string: a comma or brace follows. Otherwise the model forgot to escape it."""
        scanner = self._scanner
        scanner.pos += 1
        if (yield from scanner.run(_BLANKS, MAX_BLANKS)) is None:
            return True
        return (yield from scanner.peek()) in ("", ",", "}")

    def _escape(self) -> Reading[None]:
        """Reads an escape, or two that are a surrogate pair. An unknown escape stays as it is."""
        scanner = self._scanner
        scanner.pos += 1
        character = yield from scanner.peek()
        if character in _ESCAPES:
            scanner.pos += 1
            self._take(_ESCAPES[character])
            return
        value = (yield from self._hex()) if character == "u" else None
        if value is None:
            self._take(scanner.text[scanner.start : scanner.pos])
            return
        if 0xD800 <= value < 0xDC00 and (yield from scanner.ahead(("\\u",))):
            scanner.pos += 1
            low = yield from self._hex()
            if low is not None and 0xDC00 <= low < 0xE000:
                self._take(chr(0x10000 + (value - 0xD800) * 0x400 + low - 0xDC00))
                return
            scanner.pos = scanner.start + 6  # the second escape is read separately
        self._take(chr(value))

    def _hex(self) -> Reading[int | None]:
        """Reads the number after `u`; None, and no further, if there is none."""
        scanner = self._scanner
        scanner.pos += 1
        for _ in range(4):
            if (yield from scanner.peek()) not in _HEX:
                return None
            scanner.pos += 1
        return int(scanner.text[scanner.pos - 4 : scanner.pos], 16)
