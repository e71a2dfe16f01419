r"""Arguments that stand in the text as JSON, passed on as they come.

Rule of this file: R3 of dialects.md. The text of the arguments is the model's own: it is not parsed and written anew, only
followed, to find the brace that closes it. What JSON forbids inside a string is escaped: raw control characters, and backslashes
in front of what JSON has no escape for (`"\d+"`, `"echo \$HOME"`). Of what it forbids elsewhere, a comma that nothing comes
behind goes, and Python's words and strings become its own.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import json_text
from ..course import IN_LEAKED_STRING
from ..scanner import Reading, Scanner
from ..values import to_json
from . import quoted

if TYPE_CHECKING:
    from ..reader import Reader

_IN_STRING = re.compile(r'["\\\x00-\x1f]')
_BLANKS = re.compile(r"\s{0,64}+")
_OUTSIDE = re.compile(rf'["\'{{}}\[\]<TFN]|,(?={_BLANKS.pattern}(?:[}}\]]|\Z))')
_SCALAR = re.compile(r"[^\s,;{}\[\]\"<]*")
MAX_SCALAR = 4096
"""Characters of a number or a word."""

_BRACES = re.compile(r"[}\s]*")

_OBJECT = frozenset({"object"})
MOST_STRINGS = 4
"""Strings within one another, the innermost an object: nobody was seen to put it in more than two."""


def read_arguments(reader: "Reader", commit: Callable[[], None], stops: tuple[str, ...]) -> Reading[bool]:
    """Reads the arguments of a call whose header has been read; `commit` starts the call.

    An object streams; `null`, and nothing before one of `stops`, are `{}`; a string that holds an object is that object (R5).
    False if none of these stands here: then it was no call.
    """
    scanner = reader.scanner
    yield from scanner.blanks()
    arguments = "{}"
    match (yield from scanner.peek()):
        case "{":
            commit()
            if (yield from follow_object(scanner, stops, reader.arguments)):
                reader.end()
                yield from surplus(reader, stops)
            else:
                reader.broken()
            return True
        case '"':
            value = yield from read_string(scanner)
            held = object_in(value) if value else None
            if held is None:
                return False
            arguments = held
        case "n":
            if not (yield from scanner.literal(("null",))):
                return False
            yield from scanner.blanks()
            if (yield from scanner.peek()) and not (yield from scanner.ahead(stops)):
                return False
        case _:
            if not (yield from scanner.ahead(stops)):
                return False
    commit()
    reader.arguments(arguments)
    reader.end()
    return True


def follow_object(scanner: Scanner, stops: tuple[str, ...], emit: Callable[[str], None]) -> Reading[bool]:
    """Emits the text of the object that begins here, as it comes, up to the brace that closes it.

    False if it is broken off: by the end of the text, or by one of `stops` outside a string.
    """
    depth = 0
    in_string = False
    begins = "<[" if any(stop.startswith("[") for stop in stops) else "<"
    while True:
        text, at = scanner.text, scanner.pos
        sent, size = at, len(text)
        pieces: list[str] = []
        done = cut = pythons = False
        while at < size and not done:
            match = (_IN_STRING if in_string else _OUTSIDE).search(text, at)
            if match is None:
                at = size
                break
            at = match.end()
            character = match.group()
            if character == '"':
                in_string = not in_string
            elif not in_string:
                if character in begins or (pythons := character == "'"):
                    at -= 1
                    break
                if character in ",TFN":
                    mended, at = _as_json(text, at - 1, ended=scanner.ended)
                    if cut := mended is None:
                        break
                    pieces += text[sent : match.start()], mended
                    sent = at
                    continue
                depth += 1 if character in "{[" else -1
                done = depth == 0
            elif character != "\\":
                pieces += text[sent : at - 1], json_text.inside(character)
                sent = at
            elif at < size and text[at] in json_text.ESCAPED:
                at += 1
            elif at < size:  # it escapes nothing: it was to be one itself
                pieces += text[sent:at], "\\"
                sent = at
            else:
                at -= 1  # the escape is cut: it waits for its second half
                break
        scanner.pos = at
        emit("".join((*pieces, text[sent:at])))
        if done:
            return True
        if pythons:
            scanner.pos += 1
            if not (yield from quoted.read_string(scanner, "'", emit, escapes=True)):
                return False
        elif at < size and not (in_string or cut):  # a "<", which JSON has no use for here, or a "[" that may be one of `stops`
            if (yield from scanner.ahead(stops)):
                return False
            begin = scanner.text[scanner.pos]
            depth += begin == "["
            scanner.pos += 1
            emit(begin)
        elif scanner.ended:
            return False
        else:
            scanner.course = IN_LEAKED_STRING if in_string and at == size else None
            yield
            scanner.course = None


def _as_json(text: str, at: int, *, ended: bool) -> tuple[str | None, int]:
    """What begins here, be it a comma or a word of Python's, as JSON has it, and where it ends; None: it is not told yet."""
    if text[at] == ",":
        behind = _BLANKS.match(text, at + 1)
        assert behind
        if behind.end() < len(text):
            return "", at + 1
        return (",", at + 1) if ended else (None, at)
    word = next(word for word in json_text.WORDS if word[0] == text[at])
    if text.startswith(word, at):
        return json_text.WORDS[word], at + len(word)
    if word.startswith(text[at:]) and not ended:
        return None, at
    return text[at], at + 1


def surplus(reader: "Reader", stops: tuple[str, ...]) -> Reading[None]:
    """Swallows surplus braces between complete arguments and what ends the call, be it the end of the text."""
    scanner = reader.scanner
    if (yield from scanner.peek()) != "}":
        return
    back = scanner.pos - scanner.start
    yield from scanner.run(_BRACES, 64)
    if (yield from scanner.ahead(stops)) or not (yield from scanner.peek()):
        reader.take()
    else:
        scanner.pos = scanner.start + back


def follow_value(scanner: Scanner, stops: tuple[str, ...], emit: Callable[[str], None]) -> Reading[bool]:
    """Emits the text of the JSON value that begins here; objects and arrays as they come. False if it is broken off."""
    begin = yield from scanner.peek()
    if begin and begin in "{[":
        return (yield from follow_object(scanner, stops, emit))
    if begin and begin in "\"'":
        text = yield from _string(scanner, python=True)
    else:
        text = yield from scanner.run(_SCALAR, MAX_SCALAR)
    if text:
        emit(json_text.WORDS.get(text, text))
    return bool(text)


def read_string(scanner: Scanner, *, python: bool = False) -> Reading[str | None]:
    """The value of a JSON string that begins here, or of one in Python's quotes; None if none does, or it breaks off."""
    text = yield from _string(scanner, python=python)
    if text is None:
        return None
    try:
        value = json_text.loads(text.encode())
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _string(scanner: Scanner, *, python: bool) -> Reading[str | None]:
    """The text of a JSON string, quotes and all, what JSON forbids in it escaped."""
    begin = yield from scanner.peek()
    if begin != '"' and not (python and begin == "'"):
        return None
    pieces: list[str] = []
    scanner.pos += 1
    if begin == "'":
        return "".join(pieces) if (yield from quoted.read_string(scanner, begin, pieces.append, escapes=True)) else None
    while True:
        match = _IN_STRING.search(scanner.text, scanner.pos)
        end = match.start() if match else len(scanner.text)
        pieces.append(scanner.text[scanner.pos : end])
        scanner.pos = end
        character = match.group() if match else ""
        if character == "\\" and end + 1 < len(scanner.text):
            known = scanner.text[end + 1] in json_text.ESCAPED
            pieces.append(scanner.text[end : end + 2] if known else "\\\\")
            scanner.pos = end + 1 + known
        elif character and character != "\\":
            scanner.pos = end + 1
            if character == '"':
                return f'"{"".join(pieces)}"'
            pieces.append(json_text.inside(character))
        elif scanner.ended:
            return None
        else:
            yield


def object_in(value: Any) -> str | None:
    """The JSON of the object that a string holds: as JSON or Python has it, or in a string again. `{}` for null or nothing."""
    text = "{}"
    for _ in range(MOST_STRINGS):
        if not isinstance(value, str):
            break
        text = value.strip() or "null"
        try:
            value = json_text.loads(text.encode())
        except ValueError:
            text = to_json(text, _OBJECT)
            return text if text.startswith("{") else None
    return text if isinstance(value, dict) else "{}" if value is None else None
