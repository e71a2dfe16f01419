"""JSON that is read fast and written as little as can be.

Rule of this file: reading gives the same with or without a fast reader, and no more values than are worth it; what need not
change is never written anew: a member of an object is replaced in the text, and every other character of the text stays.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from json.encoder import encode_basestring
from typing import Any

_fast_loads: Callable[[bytes | str], Any] | None
_fast_dumps: Callable[..., bytes] | None
_INDENTED = 0
try:
    from orjson import OPT_INDENT_2 as _INDENTED
    from orjson import dumps as _fast_dumps
    from orjson import loads as _fast_loads
except ImportError:  # mitmproxy's standalone binaries can install nothing
    _fast_loads = _fast_dumps = None

_ODD = re.compile("[\x85\u2028\u2029\ud800-\udfff]")
"""What JSON has no need to escape, but ends a line for `str.splitlines`, and so for clients that read with httpx; and halves of
surrogate pairs, as a stream may split one, which have no UTF-8."""

MANY = 80_000
"""Values of a text that are read, in 10 MiB and 40 ms, in which every stream waits: nine thousand messages have so many."""

SMALL = 384 * 1024
"""Bytes of a text whose values are not counted: at three bytes each, and 72 when they are read, they take 9 MiB."""

_NO_MARKS = bytes(set(range(256)) - set(b'",[{'))
_DIGITS = bytes(ord("0") if 48 <= n < 58 else ord(" ") for n in range(256))
_LONG_NUMBER = b"0" * 19
_EACH = 6
_SOME_OF_IT = b"0" * (len(_LONG_NUMBER) // _EACH)
"""What there is of a long number in every sixth byte, at least: most texts are told by these to hold none."""

_UTF8 = "utf-8-sig"
"""The encoding: a mark of the byte order, as some servers put it in front, is no part of the text."""

_BLANKS = re.compile(r"[ \t\n\r]*")
_NUMBERS = {"Infinity": "1e999", "-Infinity": "-1e999", "NaN": "null"}
"""What the standard library writes and no JSON has, and what every reader takes for the same, as far as there is such a thing."""

WORDS = {"None": "null", "null": "null", "True": "true", "true": "true", "False": "false", "false": "false"}
"""The words that are literals, and those that are in Python, in JSON."""

ESCAPED = frozenset('"\\/bfnrtu')
"""What JSON has behind a backslash. XX: that `u` has its four digits behind it is not looked at."""

_STRING_OR_WORD = re.compile(r'"(?:[^"\\]|\\.)*+"|-?Infinity|NaN')
_BETWEEN = re.compile(r"(?:[ \t\n\r,\[\]]|data:)*")
_scan = json.JSONDecoder().raw_decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_any = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class NotJSON(ValueError):
    """The text is no JSON, or none that can be read within bounds (depth, digits, values)."""


class CrowdedError(NotJSON):
    """There are more values than are worth it."""


def loads(data: bytes) -> Any:
    """The value of a UTF-8 JSON text, as `json.loads` gives it. Raises NotJSON."""
    if len(data) > SMALL and _is_crowded(data):
        raise CrowdedError(f"it has more than {MANY} values")
    # orjson turns integers beyond 64 bits into floats, and refuses lone surrogates, NaN and 1e400, which json accepts
    if _fast_loads is not None and not _has_long_number(data):
        try:
            return _fast_loads(data)
        except ValueError:
            pass
    try:
        return json.loads(data.decode(_UTF8))
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error)) from None


def is_json(data: bytes) -> bool:
    """Whether a text is JSON that `loads` reads."""
    try:
        loads(data)
    except NotJSON:
        return False
    return True


def _has_long_number(data: bytes) -> bool:
    some = data[::_EACH].translate(_DIGITS).find(_SOME_OF_IT) >= 0
    return some and data.translate(_DIGITS).find(_LONG_NUMBER) >= 0


def readable(data: bytes) -> bytes:
    """A JSON text in which single characters are wrong, as it is meant: bytes that are no UTF-8, control characters in strings.

    Who reads a stream as browsers do gets U+FFFD for the former. Raises NotJSON where more is wrong.
    """
    if len(data) > SMALL and _is_crowded(data):
        raise CrowdedError(f"it has more than {MANY} values")
    try:
        return dumps(json.loads(data.decode(_UTF8, "replace"), strict=False)).encode()
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error)) from None


def objects(data: bytes) -> list[bytes]:
    """The texts of objects that stand in a list, or one behind another, as where what ends an event was lost.

    Raises NotJSON where there is anything else.
    """
    if len(data) > SMALL and _is_crowded(data):
        raise CrowdedError(f"it has more than {MANY} values")
    text = data.decode(_UTF8, "replace")
    found: list[bytes] = []
    at = _behind(_BETWEEN, text, 0)
    try:
        while at < len(text):
            value, end = _scan(text, at)
            if not isinstance(value, dict):
                raise NotJSON("no JSON object")
            found.append(text[at:end].encode())
            at = _behind(_BETWEEN, text, end)
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error)) from None
    return found


def _is_crowded(data: bytes) -> bool:
    """Whether there are more values than are read: one for each comma and each bracket that opens, outside of strings."""
    if sum(map(data.count, (b",", b"[", b"{"))) <= MANY:
        return False
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
    if bare.count(b'"') > 4 * MANY:  # two for a value, and two for its name
        return True
    return sum(map(len, bare.split(b'"')[::2])) > MANY


def quote(text: str) -> str:
    """A JSON string of one line. Each character is written alike wherever it stands, so pieces of a text make the whole."""
    quoted = encode_basestring(text)
    return quoted if quoted.isascii() else _ODD.sub(_escaped, quoted)


def inside(text: str) -> str:
    """A text as it stands between the quotes of a JSON string."""
    return quote(text)[1:-1]


def dumps(value: Any) -> str:
    """Compact JSON on one line, characters as they are. It is JSON also where a number is none, or none that a float can hold."""
    try:
        text = _encode(value)
    except ValueError:
        text = _encode_any(value)
        text = _STRING_OR_WORD.sub(lambda found: _NUMBERS.get(found[0], found[0]), text)
    return text if text.isascii() else _ODD.sub(_escaped, text)


def body(value: Any) -> bytes:
    """Compact JSON of a whole body, where lines may end anywhere. With orjson at a fifth of the cost; it writes NaN as null."""
    if _fast_dumps is not None:
        with suppress(TypeError):  # what it cannot write is written as ever: large integers, halves of surrogate pairs
            return _fast_dumps(value)
    return dumps(value).encode()


def lines(value: Any) -> bytes:
    """JSON that people read: a line for each value."""
    if _fast_dumps is not None:
        with suppress(TypeError):  # see body
            return _fast_dumps(value, option=_INDENTED) + b"\n"
    text = json.dumps(value, ensure_ascii=False, indent=2)
    # half a surrogate pair has no UTF-8; what replaces it is its JSON escape
    return text.encode(errors="backslashreplace") + b"\n"


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def replace_member(text: str, key: str, value: str) -> str:
    """The text of a JSON object with the value of one of its members replaced; the member is added where it is missing.

    `value` is JSON text. Raises NotJSON where `text` is no JSON object.
    """
    try:
        span = _member(text, key)
    except (ValueError, IndexError, RecursionError):
        raise NotJSON("no JSON object") from None
    start, end, missing = span
    return f"{text[:start]}{missing}{value}{text[end:]}"


def member(text: str, key: str) -> str:
    """The text of a member's value, the last one of that name, of a JSON object that has it."""
    start, end, _ = _member(text, key)
    return text[start:end]


def without_member(text: str, key: str) -> str:
    """The text of a JSON object without one of its members, wherever and as often as it is there; it is written anew."""
    return dumps({name: value for name, value in loads(text.encode()).items() if name != key})


def _member(text: str, key: str) -> tuple[int, int, str]:
    """Where the value of a member begins and ends, the last one of that name, and what to write in front of a new value."""
    found: tuple[int, int] | None = None
    at = _skip(text, int(text.startswith("\ufeff")))
    if text[at] != "{":
        raise ValueError
    at = _skip(text, at + 1)
    if text[at] == "}":
        return at, at, quote(key) + ":"
    while True:
        if text[at] != '"':
            raise ValueError
        name, at = _scan(text, at)
        at = _skip(text, at)
        if text[at] != ":":
            raise ValueError
        start = _skip(text, at + 1)
        _, end = _scan(text, start)
        if name == key:
            found = start, end
            if text.find(f'"{key}"', end) < 0:
                return start, end, ""
        at = _skip(text, end)
        if text[at] == "}":
            return (*found, "") if found else (at, at, f",{quote(key)}:")
        if text[at] != ",":
            raise ValueError
        at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    return _behind(_BLANKS, text, at)


def _behind(what: re.Pattern[str], text: str, at: int) -> int:
    match = what.match(text, at)
    assert match
    return match.end()
