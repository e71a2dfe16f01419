"""The input of a freeform (custom) tool, and the arguments of the function that stands for it: the one into the other, in pieces.

    *** Begin Patch\\n+"a"     ⇄     {"input":"*** Begin Patch\\n+\\"a\\""}

Rule of this file: what comes out does not depend on where the text was cut. Arguments that are not of that shape are the input
as they stand: models write it bare, too.
"""

import re

from ...core import json_text
from ...core.scanner import Reading, Scanner

MAX_BEFORE = 16 * 1024
"""Characters in front of the input, other arguments among them: a description or a working directory. Twice as many are held."""

MAX_BLANKS = 256
"""Blanks behind a quote that are waited for, to see whether it ends the input."""

_BLANKS = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'[^"\\]*')
_VALUE = re.compile(r'[^"{}\[\],]*')
_PLAIN = re.compile(r'[^"\\]+')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = frozenset("0123456789abcdefABCDEF")


class FreeformInput:
    """Bare input → arguments."""

    def __init__(self) -> None:
        self._head = '{"input":"'

    def feed(self, text: str) -> str:
        """The next piece."""
        head, self._head = self._head, ""
        return head + json_text.inside(text)

    def end(self, *, broken: bool = False) -> str:
        """The rest; `broken`: the call was broken off, and stays so."""
        return "" if broken else self._head + '"}'


class Unwrap:
    """Arguments → bare input, which stands in the member `key`."""

    def __init__(self, key: str = "input") -> None:
        self._key = f'"{key}"'
        self._scanner = Scanner()
        self._out: list[str] = []
        self._reading = self._read()

    def feed(self, arguments: str) -> str:
        """The next piece."""
        self._scanner.feed(arguments)
        return self._go_on()

    def end(self, *, broken: bool = False) -> str:
        """The rest: what was held."""
        self._scanner.ended = True
        return self._go_on()

    def _go_on(self) -> str:
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
        while True:  # behind the input nothing counts; if there was none, all does
            if not found:
                self._out.append(scanner.text[scanner.start :])
            scanner.start = scanner.pos = len(scanner.text)
            yield

    def _input(self) -> Reading[bool]:
        """Goes to the first character of the input. Whether there is one; if there are no arguments at all, it is empty."""
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
        """Goes past another member. Whether it, and what was before it, is short enough, and whole."""
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
            scanner.pos += 1  # what is escaped
        return False

    def _blanks(self) -> Reading[bool]:
        """Goes past blanks. Whether they, and what was before them, are few enough."""
        few = yield from self._scanner.run(_BLANKS, MAX_BEFORE)
        return few is not None and self._scanner.pos - self._scanner.start <= MAX_BEFORE

    def _string(self) -> Reading[None]:
        """The text of a JSON string, up to the quote that ends it."""
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
        """Whether a quote ends the string: behind it stands what can. If not, the model forgot to escape it."""
        scanner = self._scanner
        scanner.pos += 1
        if (yield from scanner.run(_BLANKS, MAX_BLANKS)) is None:
            return True
        return (yield from scanner.peek()) in ("", ",", "}")

    def _escape(self) -> Reading[None]:
        """One escape; two where they are the halves of one character. What is no escape stays as it is."""
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
            scanner.pos = scanner.start + 6  # the second is read by itself
        self._take(chr(value))

    def _hex(self) -> Reading[int | None]:
        """The number behind a `u`; None, and no more steps, where there is none."""
        scanner = self._scanner
        scanner.pos += 1
        for _ in range(4):
            if (yield from scanner.peek()) not in _HEX:
                return None
            scanner.pos += 1
        return int(scanner.text[scanner.pos - 4 : scanner.pos], 16)
