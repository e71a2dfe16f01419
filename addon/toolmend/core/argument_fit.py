r"""Fits the JSON text of a call's arguments to the schema of its tool while the text streams.

    {"limit": "5", "tags": "[1, 2]", "note": {"a": 1},}     →     {"limit": 5, "tags": [1, 2], "note": "{\"a\": 1}"}
    {"arguments": {"path": "a.md"}}                         →     {"path": "a.md"}

1. A value changes only if the schema allows exactly one reading of it and the new value is valid. Other text passes unchanged.
2. The result does not depend on how the text was cut.
3. Only text that may still change is held: a string where the schema allows no string, a wrapper up to its end, a comma that a
   closing bracket may follow, and a first name that may be a wrapper's. The last two also occur in correct text: see `pending`.
"""

import json
import re
from math import isfinite
from typing import Any

from . import json_text
from .fastclass import mutable
from .scanner import Reading, Scanner
from .schemas import Schema

MAX_DOUBT = 256 * 1024
"""Characters of one value or wrapper that are held. The longest arguments seen as a string have a tenth of this, and parsing this
much takes at most a quarter of a second.
"""

LIVE = 2048
"""Characters of a wrapper that are held before its content is streamed: enough for the member names of most calls."""

MAX_KEY = 256
"""Characters of a member name that are kept; schemas have no longer names."""

MAX_BLANKS = 64
"""Blanks after a comma that are held with it."""

MOST_WRAPPERS = 4
"""Nesting depth of wrappers in wrappers and strings in strings."""

WRAPPERS = frozenset(
    {"arguments", "args", "kwargs", "input", "parameters", "params", "tool_input", "tool_arguments", "function_args"}
)
"""Names of a member that holds the arguments when a model, or a client's function, wraps them once more."""

_ENVELOPE = frozenset({"name", "tool", "tool_name", "function", "function_name", "recipient_name"})
_LABELS = frozenset({"id", "call_id", "tool_call_id", "type"})
"""_ENVELOPE and _LABELS are members that may stand next to a wrapper: those that name the tool, and ids and types."""

_FIRST = WRAPPERS | _ENVELOPE | _LABELS

_STRING = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+(\\?)', re.DOTALL)
_ESCAPED = re.compile(r'.?[^"\\]*+(?:\\.[^"\\]*+)*+(\\?)', re.DOTALL)
_SCALAR = re.compile(r'[^\s{}\[\]:,"]*')
_BLANKS = re.compile(r"[ \t\r\n]*")
_QUOTED = re.compile(r'[^"{}\[\]]*+')
_PLAIN = re.compile(r'[^"\\]*+')
_STRING_PART = re.compile(r'[^"\\]*+')
_BRACKET = re.compile(r'["{}\[\]]')
_OPENING = re.compile(r'"(\w+)"\s*:\s*\{')
_HALVES = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SAFE = 2**53
"""Integers up to this are exact in every client; a double loses digits of larger ones."""

_DIGITS = 15
"""Decimal digits that every double keeps."""


@mutable
class _Level:
    """An open bracket. If `schema` is None, nothing inside is checked."""

    end: str
    schema: Schema | None
    names: set[str] | None = None  # of the members so far
    name: str | None = None  # of the current member
    count: int = 0  # of items


class ArgumentFit:
    """The arguments of one call, fitted to the schema of its tool.

    Args:
        name: The tool's name; a wrapper may repeat it.
        schema: The schema of the tool's parameters; None if unknown.
        types: Converts values to the types of the schema and removes wrappers.
        commas: Drops trailing commas.
        top: False for arguments that are themselves inside a wrapper.
    """

    def __init__(self, name: str, schema: Schema | None, *, types: bool = True, commas: bool = True, top: bool = True) -> None:
        self.rules: list[str] = []  # that fired; the caller empties it
        self.passing = False  # the text so far ends inside a string that passes unchanged
        self.complete = False
        self.pending = False  # the held text is most likely correct and will pass unchanged
        self._name = name
        self._schema = schema if types else None
        self._commas = commas
        self._top = top
        self._scanner = Scanner()
        self._out: list[str] = []
        self._kept: list[str] = []  # the held text
        self._holds = False
        self._quoting = False
        self._size = 0  # characters of the held text
        self._levels: list[_Level] = []
        self._reading = self._read()

    def feed(self, text: str) -> str:
        """Takes the next text; returns the text to send now."""
        self._scanner.feed(text)
        return self._advance()

    def end(self) -> str:
        """Ends the arguments; returns the rest of the text to send."""
        self._scanner.ended = True
        return self._advance() + self.settle()

    def settle(self) -> str:
        """Returns the held text unchanged: another event comes first, or the arguments are over."""
        self._take()
        self._release()
        out = "".join(self._out)
        self._out.clear()
        return out

    @property
    def holds(self) -> bool:
        """Whether any text is held."""
        return self._holds

    def _fired(self, rule: str) -> None:
        self.rules.append(rule)

    def _advance(self) -> str:
        next(self._reading, None)
        self._take()
        if len(self._out) == 1:
            return self._out.pop()
        out = "".join(self._out)
        self._out.clear()
        return out

    # output

    def _take(self) -> None:
        """Moves the text read so far to the output, or to the held text."""
        scanner = self._scanner
        if scanner.pos > scanner.start:
            text = scanner.text[scanner.start : scanner.pos]
            scanner.start = scanner.pos
            if self._holds:
                self._kept.append(text)
                self._size += len(text)
            else:
                self._out.append(json_text.inside(text) if self._quoting else text)

    def _hold(self, *, pending: bool = False) -> None:
        """Holds all text from here on."""
        self._take()
        self._holds, self.pending = True, pending
        self._size = 0

    def _held(self) -> str:
        """Returns the held text."""
        self._take()
        return "".join(self._kept)

    def _release(self, instead: str | None = None) -> None:
        """Sends the held text, or `instead` in its place."""
        self._take()
        if instead is None:
            self._out += self._kept
        elif instead:
            self._out.append(instead)
        self._kept.clear()
        self._holds = self.pending = False

    # reading

    def _read(self) -> Reading[None]:
        yield from self._value(self._schema)
        while self._levels:
            yield from self._scanner.blanks()
            level = self._levels[-1]
            if level.end == "}":
                right = yield from self._next_member(level)
            else:
                right = yield from self._next_item(level)
            if not right:
                break
        else:
            self.complete = True
        self._levels.clear()
        while True:  # the arguments are complete, or not JSON: the rest passes
            if self._top or not self.complete:
                self._scanner.pos = len(self._scanner.text)
            yield

    def _next_member(self, level: _Level) -> Reading[bool]:
        """Reads the next member of an object, or its end. Returns False if that is not JSON."""
        scanner = self._scanner
        match (yield from scanner.peek()):
            case '"':
                if self._top and len(self._levels) == 1 and not level.names and level.name is None:
                    if (yield from self._first_name(level)):
                        self._levels.clear()
                        return True
                else:
                    kept: list[str] = []
                    yield from self._string(kept=kept)
                    level.name = _name(kept)
                return (yield from self._after_key(level))
            case "}":
                return (yield from self._close(level))
            case _:
                return False

    def _after_key(self, level: _Level) -> Reading[bool]:
        scanner = self._scanner
        yield from scanner.blanks()
        if (yield from scanner.peek()) != ":":
            return False
        scanner.pos += 1
        yield from scanner.blanks()
        schema = None
        if level.schema and level.names is not None and level.name is not None:
            # in a repeated member the second value counts, but the first is already sent: the second is not changed
            schema = None if level.name in level.names else level.schema.member(level.name)
            level.names.add(level.name)
        depth = len(self._levels)
        if not (yield from self._value(schema)):
            return False
        return len(self._levels) > depth or (yield from self._after_value(level))

    def _next_item(self, level: _Level) -> Reading[bool]:
        if (yield from self._scanner.peek()) == "]":
            return (yield from self._close(level))
        schema = level.schema.item(level.count) if level.schema else None
        level.count += 1
        depth = len(self._levels)
        if not (yield from self._value(schema)):
            return False
        return len(self._levels) > depth or (yield from self._after_value(level))

    def _close(self, level: _Level) -> Reading[bool]:
        """Reads a closing bracket and what may follow the value that it ends."""
        self._scanner.pos += 1
        self._levels.pop()
        return not self._levels or (yield from self._after_value(self._levels[-1]))

    def _after_value(self, level: _Level) -> Reading[bool]:
        """Reads the comma after a value and drops it if a closing bracket follows. Returns False if that is not JSON."""
        scanner = self._scanner
        yield from scanner.blanks()
        character = yield from scanner.peek()
        if character == level.end:
            return True
        if character != ",":
            return False
        if not self._commas:
            scanner.pos += 1
            return True
        self._hold(pending=True)
        scanner.pos += 1
        few = yield from scanner.run(_BLANKS, MAX_BLANKS)
        follows = (yield from scanner.peek()) if few is not None else ""
        if self._holds:
            drop = follows == level.end
            if drop:
                self._fired("argument_json")
            self._release(self._held()[1:] if drop else None)
        return True

    def _value(self, schema: Schema | None) -> Reading[bool]:
        """Reads a scalar, or the bracket that opens a container. Returns False if that is not JSON."""
        scanner = self._scanner
        yield from scanner.blanks()
        begin = yield from scanner.peek()
        if begin == '"':
            if schema and "string" not in schema.kinds:
                return (yield from self._misplaced_string(schema))
            return (yield from self._string())
        if begin and begin in "{[":
            kind = "object" if begin == "{" else "array"
            if schema and kind not in schema.kinds and schema.takes_any_text and self._levels:
                return (yield from self._as_text())
            scanner.pos += 1
            inner = schema if schema and kind in schema.kinds else None
            self._levels.append(_Level("}" if begin == "{" else "]", inner, set() if begin == "{" else None))
            return True
        return bool((yield from self._scalar()))

    def _scalar(self) -> Reading[bool]:
        scanner = self._scanner
        size = 0
        while True:
            match = _SCALAR.match(scanner.text, scanner.pos)
            assert match
            size += match.end() - scanner.pos
            scanner.pos = match.end()
            if scanner.pos < len(scanner.text) or scanner.ended:
                return size > 0
            yield

    def _string(self, most: int | None = None, kept: list[str] | None = None) -> Reading[bool]:
        """Reads a string with its quotes. Returns False if it is cut off or exceeds `most`; `_rest_of_string` then reads on."""
        self._scanner.pos += 1
        return (yield from self._rest_of_string(most, kept))

    def _rest_of_string(self, most: int | None = None, kept: list[str] | None = None) -> Reading[bool]:
        scanner = self._scanner
        size = 0
        escaped = False
        while True:
            match = (_ESCAPED if escaped else _STRING).match(scanner.text, scanner.pos)
            assert match
            if kept is not None and size <= MAX_KEY:
                kept.append(match.group())
            size += match.end() - scanner.pos
            scanner.pos = match.end()
            ends = scanner.text[scanner.pos : scanner.pos + 1] == '"'
            if ends or scanner.ended or (most is not None and size > most):
                scanner.pos += ends
                return ends
            escaped = match[1] == "\\" if scanner.pos > match.start() else escaped
            self.passing = not (self._holds or self._quoting or escaped or kept is not None)
            yield
            self.passing = False

    # values that may change

    def _misplaced_string(self, schema: Schema) -> Reading[bool]:
        """Reads a string where the schema allows no string; the value inside it may be meant."""
        self._hold()
        whole = yield from self._string(MAX_DOUBT)
        meant = _value_in_string(self._held(), schema) if whole else None
        if meant is not None:
            self._fired("argument_types")
        self._release(meant)
        return whole or (not self._scanner.ended and (yield from self._rest_of_string()))

    def _as_text(self) -> Reading[bool]:
        """Reads an object or array where the schema allows only a string, and emits its JSON as a string."""
        scanner = self._scanner
        self._take()
        self._out.append('"')
        self._fired("argument_types")
        self._quoting = True
        depth = 0
        while True:
            match = _QUOTED.match(scanner.text, scanner.pos)
            assert match
            scanner.pos = match.end()
            character = yield from scanner.peek()
            if not character:
                break
            if character == '"':
                if not (yield from self._string()):
                    break
                continue
            scanner.pos += 1
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(character, 0)
            if not depth:
                break
        self._take()
        self._quoting = False
        if not depth:
            self._out.append('"')
        return not depth

    # wrappers

    def _first_name(self, level: _Level) -> Reading[bool]:
        """Reads the first member name, and all of the arguments if it is a wrapper's. Returns whether it was."""
        schema, scanner = self._schema, self._scanner
        options = _FIRST - schema.names if schema and schema.closed else frozenset()
        name = ""
        self._hold(pending=True)
        scanner.pos += 1
        whole = False
        while any(option.startswith(name) for option in options):
            match = _PLAIN.match(scanner.text, scanner.pos)
            assert match
            name += match.group()
            scanner.pos = match.end()
            if scanner.pos < len(scanner.text):
                whole = scanner.text[scanner.pos] == '"'
                scanner.pos += whole
                break
            if scanner.ended or not any(option.startswith(name) for option in options):
                break
            yield
        if schema and whole and name in options and self._holds:
            self.pending = False
            yield from self._wrapped(schema)
            return True
        self._release()
        kept = [name]
        if not whole:
            yield from self._rest_of_string(kept=kept)
        level.name = _name(kept)
        return False

    def _wrapped(self, schema: Schema) -> Reading[None]:
        """Reads arguments that may be wrapped. They are held to their end, or until the wrapper is certain."""
        scanner, balance = self._scanner, _Balance()
        look = LIVE  # held characters at which the next attempt is made, however the text was cut
        while True:
            piece = scanner.text[scanner.pos : scanner.pos + look - self._size]
            end = balance.feed(piece)
            scanner.pos += len(piece) if end is None else end
            held = self._held()
            if end is not None:
                meant = _unwrapped("{" + held, schema, self._name)
                if meant is not None:
                    self._fired("argument_types")
                self._release(None if meant is None else meant[1:])
                return
            if self._size >= look:
                if inner := self._unwrap_early(held, schema):
                    yield from self._stream_wrapped(inner)
                    return
                look *= 2
                if look > MAX_DOUBT:
                    self._release()
                    yield from self._pass(balance)
                    return
            elif scanner.ended:
                return
            else:
                yield

    def _unwrap_early(self, held: str, schema: Schema) -> "ArgumentFit | None":
        """The parser of the wrapped arguments, if they begin as the tool's arguments do and have all required members."""
        match = _OPENING.match(held)
        if match is None or match[1] not in WRAPPERS - schema.names:
            return None
        inner = ArgumentFit(self._name, schema, commas=self._commas, top=False)
        sent = inner.feed(held[match.end() - 1 :])
        names = inner.names
        if inner.complete or not (names and schema.required <= names <= schema.names):
            return None
        self._fired("argument_types")
        self._release(sent[1:])
        return inner

    def _stream_wrapped(self, inner: "ArgumentFit") -> Reading[None]:
        """Streams the wrapped arguments and drops what follows them."""
        scanner = self._scanner
        while not inner.complete:
            if scanner.ended:
                self._out.append(inner.end())
                return
            self._out.append(inner.feed(scanner.text[scanner.pos :]))
            self.rules += inner.rules
            inner.rules.clear()
            scanner.start = scanner.pos = len(scanner.text) - len(inner.rest)
            if not inner.complete:
                self.passing = inner.passing
                yield
                self.passing = False
        self._hold()
        yield from self._pass(_Balance())
        self._release("")

    def _pass(self, balance: "_Balance") -> Reading[None]:
        """Reads the rest of the arguments unchanged."""
        scanner = self._scanner
        while (end := balance.feed(scanner.text[scanner.pos :])) is None:
            scanner.pos = len(scanner.text)
            if scanner.ended:
                return
            yield
        scanner.pos += end

    @property
    def names(self) -> set[str]:
        """The names of the top-level members so far."""
        return (self._levels[0].names or set()) if self._levels else set()

    @property
    def rest(self) -> str:
        """The text after the end of arguments that are inside a wrapper."""
        return self._scanner.text[self._scanner.pos :] if self.complete else ""


class _Balance:
    """Finds the bracket that closes an object whose opening bracket is already read."""

    def __init__(self) -> None:
        self._depth = 1
        self._in_string = self._escaped = False

    def feed(self, text: str) -> int | None:
        """Takes the next text; returns where the object ends in it."""
        at = 0
        while at < len(text):
            if self._escaped:
                self._escaped = False
                at += 1
            elif self._in_string:
                match = _STRING_PART.match(text, at)
                assert match
                at = match.end()
                if at < len(text):
                    self._escaped, self._in_string = text[at] == "\\", text[at] == "\\"
                    at += 1
            else:
                match = _BRACKET.search(text, at)
                if match is None:
                    return None
                at = match.end()
                self._in_string = match.group() == '"'
                self._depth += {"{": 1, "[": 1, '"': 0}.get(match.group(), -1)
                if not self._depth:
                    return at
        return None


def fitted(text: str, schema: Schema) -> str:
    """Returns whole JSON text, fitted to a schema."""
    fit = ArgumentFit("", schema, top=False)
    return fit.feed(text) + fit.rest + fit.end()


def _unwrapped(text: str, schema: Schema, tool: str) -> str | None:
    """Returns the arguments inside an object's wrapper; None if there are other members, or the arguments do not fit."""
    for depth in range(MOST_WRAPPERS):
        value = _decoded(text)
        if isinstance(value, str):
            text = value.strip()
            continue
        if not isinstance(value, dict):
            return None
        wrappers = [name for name in value if name in WRAPPERS - schema.names]
        if not wrappers:
            break
        others = {name: value[name] for name in value if name not in wrappers[:1]}
        if not all(_is_label(name, label, tool) for name, label in others.items() if name not in schema.names or not depth):
            return None
        text = json_text.member(text, wrappers[0])
    text = fitted(text, schema)
    value = _decoded(text)
    fits = isinstance(value, dict) and value.keys() <= schema.names and schema.fits(value)
    return text if fits else None


def _is_label(name: str, value: Any, tool: str) -> bool:
    """Whether a member next to the arguments names their tool, or is an id or type."""
    if name in _ENVELOPE:
        return isinstance(value, str) and value.rpartition(".")[2] == tool.rpartition(".")[2]
    return name in _LABELS and isinstance(value, str)


def _value_in_string(text: str, schema: Schema) -> str | None:
    """Returns the JSON inside a string, if the schema allows its kind and the value is valid; None for any other string."""
    value = _decoded(text)
    if not isinstance(value, str) or _HALVES.search(value):
        return None
    inner = value.strip(" \t\r\n")
    if inner[:1] in ("{", "["):
        inner = fitted(inner, schema) if _decoded(inner) is not None else inner
    elif inner != value or not _is_exact(inner, schema):
        return None
    meant = _decoded(inner)
    return inner if (meant is not None or inner == "null") and schema.fits(meant) else None


def _is_exact(text: str, schema: Schema) -> bool:
    """Whether a text is a literal, or a number that every reader decodes to the same value."""
    if text in ("null", "true", "false"):
        return True
    match = _NUMBER.fullmatch(text)
    if match is None or text == "-0":
        return False
    if not (match[1] or match[2]):
        return len(text) <= len(str(_SAFE)) and abs(int(text)) <= _SAFE
    digits = sum(map(str.isdigit, text.lower().partition("e")[0].lstrip("-0.")))
    return "number" in schema.kinds and digits <= _DIGITS and isfinite(float(text)) and (float(text) != 0 or not digits)


def _decoded(text: str) -> Any:
    """Returns the value of a JSON text; None if it is not JSON."""
    try:
        return _decoder.decode(text)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise json_text.NotJSON(constant)


_decoder = json.JSONDecoder(parse_constant=_refuse)


def _name(pieces: list[str]) -> str | None:
    """Returns the decoded member name; None if it is too long for a schema."""
    text = "".join(pieces)
    value = _decoded(f'"{text}"') if len(text) <= MAX_KEY else None
    return value if isinstance(value, str) else None
