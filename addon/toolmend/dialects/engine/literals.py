"""Converts arguments in other notations than JSON to JSON incrementally.

    path="a.md", tags=('x', None))      limit:20,path:<|"|>a.md<|"|>}      →      {"path": "a.md", "tags": ["x", null]}

1. One pass without recursion: open brackets are on a stack and strings stream, so the cost of a delta does not depend on the
   length or depth of the arguments.
2. Nothing is evaluated: quotes make a string, and a JSON number is copied. Anything that is not a literal (a call, a sum, a name
   before a bracket) is code, and ends parsing.
"""

import re
from collections.abc import Callable, Container
from math import isfinite

from ...core import json_text
from ...core.fastclass import mutable, value
from ...core.literal_search import openers
from ...core.scanner import Reading, Scanner
from .quoted import read_string

MAX_KEY = 256
MAX_WORD = 4096
"""Characters of a key without quotes, and of a number or a word."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_IDENTIFIER = re.compile(r"[\w-]+")
_WORD = re.compile(r"[^\s,;=()\[\]{}\"']*")


@value
class Notation:
    """A notation for values.

    Attributes:
        quotes: The quotes of strings with Python's escapes.
        brackets: The brackets that open objects ("{"), lists and tuples.
        separators: The strings between a key and its value.
        raw: The tokens around strings without escapes.
        free: Whether an unquoted value may be any text up to the next key; otherwise it is one word.
        flags: Whether a key may be written `--key` without a separator, and members without commas between them.
        key: The pattern of an unquoted key.
    """

    quotes: tuple[str, ...]
    brackets: tuple[str, ...]
    separators: tuple[str, ...]
    raw: tuple[str, ...] = ()
    free: bool = False
    flags: bool = False
    key: re.Pattern[str] = re.compile(r"[\w.-]*")

    @property
    def strings(self) -> tuple[str, ...]:
        """The tokens that can begin a string."""
        return self.raw + self.quotes


_ENDS = {"{": "}", "[": "]", "(": ")"}
_AFTER_CALL = ("", " ", "\t", "\r", "\n", "<", "}", ")")
"""Characters that can follow a call."""
_BEGINS = {end: begin for begin, end in _ENDS.items()}


@mutable
class _Level:
    """An open bracket: its closing bracket, and the separators of its keys and values (none: it has no keys)."""

    end: str
    separators: tuple[str, ...]
    size: int = 0
    comma: bool = False


@mutable
class Literals:
    """Parses the arguments of one call and emits them as JSON text.

    Attributes:
        scanner: The scanner.
        notation: The notation.
        emit: Receives the JSON text.
        stops: Tokens that end a call; open brackets are closed there.
        declared: The parameters that the tool declares, if known.
        texts: The parameters whose values are strings even without quotes.
    """

    scanner: Scanner
    notation: Notation
    emit: Callable[[str], None]
    stops: tuple[str, ...] = ()
    declared: Container[str] = ()
    texts: Container[str] = ()
    _key: str = ""  # the last key, if it had no quotes

    def read(self, end: str, separators: tuple[str, ...]) -> Reading[bool]:
        """Parses members after the opening bracket, up to the bracket `end`.

        Returns False if they are cut off, or are not literals.
        """
        scanner, notation, emit = self.scanner, self.notation, self.emit
        levels = [_Level(end, separators)]
        emit("{")
        while True:
            level = levels[-1]
            yield from scanner.blanks()
            if (yield from scanner.literal((level.end,))):
                if level.end == ")" and not level.separators and level.size == 1 and not level.comma:
                    return False  # parentheses around an expression, not a tuple
                emit("}" if level.separators else "]")
                levels.pop()
                if not levels:
                    return True
            else:
                if level.size:
                    emit(", ")
                level.size += 1
                level.comma = False
                if level.separators and not (yield from self._read_key(level.separators)):
                    return False
                yield from scanner.blanks()
                top = len(levels) == 1
                plain = top and self._key in self.texts
                if not plain and (bracket := (yield from scanner.literal(notation.brackets))):
                    emit("{" if bracket == "{" else "[")
                    levels.append(_Level(_ENDS[bracket], notation.separators if bracket == "{" else ()))
                    continue
                if opener := (yield from scanner.literal(notation.strings)):
                    whole = yield from self._string(opener)
                elif notation.free:
                    whole = yield from self._text(level, top=top, plain=plain)
                else:
                    whole = yield from self._word()
                if not whole:
                    return False
            yield from scanner.blanks()
            level = levels[-1]
            level.comma = bool((yield from scanner.literal((",",))))
            if level.comma or notation.flags or (yield from scanner.ahead((level.end,))):
                continue
            if not (yield from scanner.ahead(self.stops)):
                return False
            emit("".join("}" if level.separators else "]" for level in reversed(levels)))
            return True

    def _read_key(self, separators: tuple[str, ...]) -> Reading[bool]:
        scanner = self.scanner
        self._key = ""
        flag = self.notation.flags and bool((yield from scanner.literal(("--",))))
        if opener := (yield from scanner.literal(self.notation.strings)):
            if not (yield from self._string(opener)):
                return False
        else:
            self._key = ((yield from self._run(self.notation.key, MAX_KEY)) or "").strip()
            if not self._key:
                return False
            self.emit(json_text.quote(self._key))
        yield from scanner.blanks()
        if not (yield from scanner.literal(separators)) and not flag:
            return False
        self.emit(": ")
        return True

    def _string(self, opener: str) -> Reading[bool]:
        return (yield from read_string(self.scanner, opener, self.emit, escapes=opener in self.notation.quotes))

    def _word(self) -> Reading[bool]:
        """Parses a number or a word. Returns whether there is one."""
        word = yield from self._run(_WORD, MAX_WORD)
        if word:
            self.emit(scalar(word) or json_text.quote(word))
        return bool(word)

    def _run(self, pattern: re.Pattern[str], limit: int) -> Reading[str | None]:
        """`Scanner.run`, without moving the scanner if the run is too long: that is text after a call that was cut off."""
        scanner = self.scanner
        back = scanner.pos - scanner.start
        found = yield from scanner.run(pattern, limit)
        if found is None:
            scanner.pos = scanner.start + back
        return found

    def _text(self, level: _Level, *, top: bool, plain: bool) -> Reading[bool]:
        """Parses an unquoted value up to the closing bracket of the level, or a comma before a key.

        Args:
            level: The innermost open bracket.
            top: Whether that is the bracket of the call.
            plain: Whether the value is a string, so that brackets with text directly after them belong to it.
        """
        scanner = self.scanner
        marks = (",", level.end, _BEGINS[level.end], *self.stops)
        pieces: list[str] = []
        depth = size = 0
        while True:
            match = openers(marks).search(scanner.text, scanner.pos)
            end = match.start() if match else len(scanner.text)
            pieces.append(scanner.text[scanner.pos : end])
            size += end - scanner.pos
            scanner.pos = end
            if end == len(scanner.text):
                if scanner.ended:  # without the closing quote no client takes it for a complete value
                    self.emit(json_text.quote("".join(pieces))[:-1])
                    return False
                self.emit("")
                yield
                continue
            mark = yield from scanner.ahead(marks)
            if mark in self.stops:
                break
            if mark == level.end and not depth and not (plain and (yield from self._is_inside())):
                break
            if mark == "," and not depth:
                literal = not plain and size <= MAX_WORD and scalar("".join(pieces).strip()) is not None
                if (yield from self._next_follows(level, literal=literal, top=top)):
                    break
            if mark in _ENDS:
                depth += 1
            elif mark == level.end:
                depth -= depth > 0
            pieces.append(scanner.text[scanner.pos])
            size += 1
            scanner.pos += 1
        text = "".join(pieces).strip()
        self.emit((not plain and scalar(text)) or json_text.quote(text))
        return True

    def _is_inside(self) -> Reading[bool]:
        """Whether the bracket at the scanner's position is text, as in `"}"`: the character after it does not follow a call."""
        self.scanner.pos += 1
        follows = yield from self.scanner.peek()
        self.scanner.pos -= 1
        return follows not in _AFTER_CALL

    def _next_follows(self, level: _Level, *, literal: bool, top: bool) -> Reading[bool]:
        """Whether the comma at the scanner's position ends the value before it, which is a `literal` or text."""
        if literal or not level.separators:
            return True
        scanner = self.scanner
        back = scanner.pos - scanner.start
        scanner.pos += 1
        yield from scanner.blanks()
        last = yield from scanner.ahead((level.end,))
        quote = yield from scanner.literal(self.notation.strings)
        key = ((yield from scanner.run(self.notation.key, MAX_KEY)) or "").strip()
        if quote:
            yield from scanner.literal((quote,))
        yield from scanner.blanks()
        separator = yield from scanner.ahead(level.separators)
        scanner.pos = scanner.start + back
        if last or not separator:
            return bool(last)
        return key in self.declared if top and self.declared else _IDENTIFIER.fullmatch(key) is not None


def scalar(word: str) -> str | None:
    """The JSON of a number or of a word such as `None`; None for anything else. A JSON number is returned unchanged."""
    if word in json_text.WORDS:
        return json_text.WORDS[word]
    if _NUMBER.fullmatch(word):
        return word
    if word[:1].isdigit() or word[:1] in ("+", "-", "."):
        try:
            return str(int(word, 0))  # 0x1f, 1_000, +5
        except ValueError:
            pass
        try:
            number = float(word) if "." in word else float("nan")
        except ValueError:
            return None
        return repr(number) if isfinite(number) else None
    return None
