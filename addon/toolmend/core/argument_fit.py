r"""The JSON text of a call's arguments, made to fit the schema of its tool while it comes.

    {"limit": "5", "tags": "[1, 2]", "note": {"a": 1},}     →     {"limit": 5, "tags": [1, 2], "note": "{\"a\": 1}"}
    {"arguments": {"path": "a.md"}}                         →     {"path": "a.md"}

1. A value changes only where the schema has one reading of it, and the new value is valid. Other text stays as it is.
2. The result does not depend on where the text was cut.
3. Held is what may still change: a string where the schema allows none, a wrapper up to its end, and for a character or two a
   comma that a bracket may follow and a first name that may be a wrapper's. The last two are in right texts, too: see `pending`.
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
"""Characters of one value, or of a wrapper, that are held. The longest texts of arguments that were seen held as a string have a
tenth of it, and to read so much takes a quarter of a second at most."""

LIVE = 2048
"""Characters of a wrapper that are held before what is in it goes out as it comes: enough for the names of most calls."""

MAX_KEY = 256
"""Characters of a member's name that are kept; a longer one is none of a schema's."""

MAX_BLANKS = 64
"""Blanks after a comma that wait with it."""

MOST_WRAPPERS = 4
"""Wrappers within one another, and strings within one another."""

WRAPPERS = frozenset(
    {"arguments", "args", "kwargs", "input", "parameters", "params", "tool_input", "tool_arguments", "function_args"}
)
"""Names of a member that holds the arguments, where a model writes all of its call, or a client's function, into them."""

_ENVELOPE = frozenset({"name", "tool", "tool_name", "function", "function_name", "recipient_name"})
_LABELS = frozenset({"id", "call_id", "tool_call_id", "type"})
"""Names of the members that may stand beside it: those that name the tool, and those that say nothing of the arguments."""

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
"""Integers up to this are the same in every client; of a longer one a double has not all digits."""

_DIGITS = 15
"""Digits of a number that every double keeps."""


@mutable
class _Level:
    """An open bracket. `schema` None: nothing in it is looked at."""

    end: str
    schema: Schema | None
    names: set[str] | None = None  # those that came
    name: str | None = None  # of the member that is read
    count: int = 0  # of items


class ArgumentFit:
    """The arguments of one call of the tool `name`, whose parameters have this schema (None: it is not known).

    `types`: values are made to fit, and wrappers taken off. `commas`: a comma is dropped that nothing follows. `top`: the
    arguments are not read inside a wrapper.
    """

    def __init__(self, name: str, schema: Schema | None, *, types: bool = True, commas: bool = True, top: bool = True) -> None:
        self.rules: list[str] = []  # that fired, until the caller takes them
        self.passing = False  # the text ends in a string that passes
        self.complete = False
        self.pending = False  # what is held is most likely right, and goes out unchanged
        self._name = name
        self._schema = schema if types else None
        self._commas = commas
        self._top = top
        self._scanner = Scanner()
        self._out: list[str] = []
        self._kept: list[str] = []  # text that is held
        self._holds = False
        self._quoting = False
        self._size = 0  # of what is held
        self._levels: list[_Level] = []
        self._reading = self._read()

    def feed(self, text: str) -> str:
        """The next text → what goes to the client now."""
        self._scanner.feed(text)
        return self._advance()

    def end(self) -> str:
        """Nothing more comes: the rest."""
        self._scanner.ended = True
        return self._advance() + self.settle()

    def settle(self) -> str:
        """What is held goes out as it is: something else comes first, or nothing more."""
        self._take()
        self._release()
        out = "".join(self._out)
        self._out.clear()
        return out

    @property
    def holds(self) -> bool:
        """Whether some of the text is not sent."""
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

    # what becomes of the text that has been read

    def _take(self) -> None:
        """The text that has been read goes out, or is held."""
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
        """From here on text is held."""
        self._take()
        self._holds, self.pending = True, pending
        self._size = 0

    def _held(self) -> str:
        """What is held so far."""
        self._take()
        return "".join(self._kept)

    def _release(self, instead: str | None = None) -> None:
        """What is held goes out, as it is or in other words."""
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
        while True:  # it is over, or was no JSON: the rest passes
            if self._top or not self.complete:
                self._scanner.pos = len(self._scanner.text)
            yield

    def _next_member(self, level: _Level) -> Reading[bool]:
        """Reads the next member of an object, or its end. False where that is no JSON."""
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
            # of a member that comes twice the second counts, and the first has gone out: both are left alone from there on
            schema = None if level.name in level.names else level.schema.member(level.name)
            level.names.add(level.name)
        depth = len(self._levels)
        if not (yield from self._value(schema)):
            return False
        return len(self._levels) > depth or (yield from self._behind(level))

    def _next_item(self, level: _Level) -> Reading[bool]:
        if (yield from self._scanner.peek()) == "]":
            return (yield from self._close(level))
        schema = level.schema.item(level.count) if level.schema else None
        level.count += 1
        depth = len(self._levels)
        if not (yield from self._value(schema)):
            return False
        return len(self._levels) > depth or (yield from self._behind(level))

    def _close(self, level: _Level) -> Reading[bool]:
        """Reads a bracket that closes, and what may follow the value that it ends."""
        self._scanner.pos += 1
        self._levels.pop()
        return not self._levels or (yield from self._behind(self._levels[-1]))

    def _behind(self, level: _Level) -> Reading[bool]:
        """Reads a comma after a value; one that a closing bracket follows is dropped. False where that is no JSON."""
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
        """Reads a scalar, or the bracket that opens a container. False where that is no JSON."""
        scanner = self._scanner
        yield from scanner.blanks()
        begin = yield from scanner.peek()
        if begin == '"':
            if schema and "string" not in schema.kinds:
                return (yield from self._doubtful(schema))
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
        """Reads a string, quotes and all. False if it is broken off, or longer than `most`: then `_rest_of_string` goes on."""
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

    def _doubtful(self, schema: Schema) -> Reading[bool]:
        """A string where none is allowed: what it holds may be meant."""
        self._hold()
        whole = yield from self._string(MAX_DOUBT)
        meant = _meant(self._held(), schema) if whole else None
        if meant is not None:
            self._fired("argument_types")
        self._release(meant)
        return whole or (not self._scanner.ended and (yield from self._rest_of_string()))

    def _as_text(self) -> Reading[bool]:
        """An object or array where only a text is allowed: its JSON, as a string."""
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
        """Reads the first name of the arguments; if it is a wrapper's, all of them. Whether it was."""
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
        """Reads arguments whose first name may be a wrapper's. They are held to their end, or until what is in them is sure."""
        scanner, balance = self._scanner, _Balance()
        look = LIVE  # so many characters are held when the next look is taken, however they came
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
                if inner := self._begun(held, schema):
                    yield from self._live(inner)
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

    def _begun(self, held: str, schema: Schema) -> "ArgumentFit | None":
        """The reading of what is in a wrapper, if that begins as the tool's arguments do, and has all that it requires."""
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

    def _live(self, inner: "ArgumentFit") -> Reading[None]:
        """Passes on what is in a wrapper as it comes, and drops what follows it."""
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
        """The names of the members that came so far."""
        return (self._levels[0].names or set()) if self._levels else set()

    @property
    def rest(self) -> str:
        """What came after the end of arguments that stand in a wrapper."""
        return self._scanner.text[self._scanner.pos :] if self.complete else ""


class _Balance:
    """Finds the bracket that closes an object, behind the one that opens it."""

    def __init__(self) -> None:
        self._depth = 1
        self._in_string = self._escaped = False

    def feed(self, text: str) -> int | None:
        """The next text → where the object ends in it."""
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
    """Whole JSON text, made to fit a schema."""
    fit = ArgumentFit("", schema, top=False)
    return fit.feed(text) + fit.rest + fit.end()


def _unwrapped(text: str, schema: Schema, tool: str) -> str | None:
    """The arguments that an object holds under a wrapper's name; None where it holds anything else, or they do not fit."""
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
        if not all(_is_label(name, said, tool) for name, said in others.items() if name not in schema.names or not depth):
            return None
        text = json_text.member(text, wrappers[0])
    text = fitted(text, schema)
    value = _decoded(text)
    fits = isinstance(value, dict) and value.keys() <= schema.names and schema.fits(value)
    return text if fits else None


def _is_label(name: str, value: Any, tool: str) -> bool:
    """Whether a member beside the arguments names their tool, or says nothing of them."""
    if name in _ENVELOPE:
        return isinstance(value, str) and value.rpartition(".")[2] == tool.rpartition(".")[2]
    return name in _LABELS and isinstance(value, str)


def _meant(text: str, schema: Schema) -> str | None:
    """The JSON that a string holds, if it is of a kind that the schema allows, and valid; None for any other string."""
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
    """Whether a text is a literal, or a number that is the same to every reader."""
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
    """What a JSON text says; None where it is none."""
    try:
        return _decoder.decode(text)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise json_text.NotJSON(constant)


_decoder = json.JSONDecoder(parse_constant=_refuse)


def _name(pieces: list[str]) -> str | None:
    """The name that a string of JSON is; None where it is too long to be one of a schema."""
    text = "".join(pieces)
    value = _decoded(f'"{text}"') if len(text) <= MAX_KEY else None
    return value if isinstance(value, str) else None
