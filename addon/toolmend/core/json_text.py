"""JSON that is parsed fast and rewritten as little as possible.

1. Parsing gives the same values with or without the fast parser, within a bounded number of values.
2. Text that need not change is not serialised again: a member of an object is replaced in the text, and every other character
   stays.
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
"""Characters that JSON need not escape but that end a line for `str.splitlines`, and so for clients that use httpx; and halves of
surrogate pairs, which a stream may split and which have no UTF-8.
"""

MANY = 80_000
"""Values of a text that are parsed: 10 MiB and 40 ms, in which every stream waits. Nine thousand messages have this many."""

SMALL = 384 * 1024
"""Bytes of a text whose values are not counted: at three bytes each in the text, and 72 in memory, they take 9 MiB."""

_NO_MARKS = bytes(set(range(256)) - set(b'",[{'))
_DIGITS = bytes(ord("0") if 48 <= n < 58 else ord(" ") for n in range(256))
_LONG_NUMBER = b"0" * 19
_EACH = 6
_SOME_OF_IT = b"0" * (len(_LONG_NUMBER) // _EACH)
"""The part of a long number that every sixth byte shows at least: without it a text contains no long number."""

_UTF8 = "utf-8-sig"
"""The encoding: some servers send a byte order mark, which is not part of the text."""

_BLANKS = re.compile(r"[ \t\n\r]*")
_NUMBERS = {"Infinity": "1e999", "-Infinity": "-1e999", "NaN": "null"}
"""What the standard library writes although it is not JSON, and the closest JSON that every reader accepts."""

WORDS = {"None": "null", "null": "null", "True": "true", "true": "true", "False": "false", "false": "false"}
"""Literals of JSON and Python, as JSON."""

ESCAPED = frozenset('"\\/bfnrtu')
"""The characters that JSON allows after a backslash. XX: the four digits after `u` are not checked."""

_STRING_OR_WORD = re.compile(r'"(?:[^"\\]|\\.)*+"|-?Infinity|NaN')
_BETWEEN = re.compile(r"(?:[ \t\n\r,\[\]]|data:)*")
_scan = json.JSONDecoder().raw_decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_any = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class NotJSON(ValueError):
    """The text is not JSON, or cannot be parsed within bounds (depth, digits, values)."""


class CrowdedError(NotJSON):
    """The text has more values than MANY."""


def loads(data: bytes) -> Any:
    """Returns the value of a UTF-8 JSON text, as `json.loads` does. Raises NotJSON."""
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
    """Whether `loads` can parse a text."""
    try:
        loads(data)
    except NotJSON:
        return False
    return True


def _has_long_number(data: bytes) -> bool:
    some = data[::_EACH].translate(_DIGITS).find(_SOME_OF_IT) >= 0
    return some and data.translate(_DIGITS).find(_LONG_NUMBER) >= 0


def readable(data: bytes) -> bytes:
    """Repairs single wrong characters of a JSON text: invalid UTF-8 becomes U+FFFD as in browsers, control characters in strings.

    Raises NotJSON if more is wrong.
    """
    if len(data) > SMALL and _is_crowded(data):
        raise CrowdedError(f"it has more than {MANY} values")
    try:
        return dumps(json.loads(data.decode(_UTF8, "replace"), strict=False)).encode()
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error)) from None


def objects(data: bytes) -> list[bytes]:
    """Returns the texts of objects in a list, or of consecutive objects, as after a lost event end.

    Raises NotJSON if there is anything else.
    """
    if len(data) > SMALL and _is_crowded(data):
        raise CrowdedError(f"it has more than {MANY} values")
    text = data.decode(_UTF8, "replace")
    found: list[bytes] = []
    at = _after(_BETWEEN, text, 0)
    try:
        while at < len(text):
            value, end = _scan(text, at)
            if not isinstance(value, dict):
                raise NotJSON("not a JSON object")
            found.append(text[at:end].encode())
            at = _after(_BETWEEN, text, end)
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error)) from None
    return found


def _is_crowded(data: bytes) -> bool:
    """Whether there are more values than MANY: one for each comma and each opening bracket outside of strings."""
    if sum(map(data.count, (b",", b"[", b"{"))) <= MANY:
        return False
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
    if bare.count(b'"') > 4 * MANY:  # two of a value and two of its name
        return True
    return sum(map(len, bare.split(b'"')[::2])) > MANY


def quote(text: str) -> str:
    """Returns a JSON string on one line. Each character is escaped independently, so quoted pieces join to the quoted whole."""
    quoted = encode_basestring(text)
    return quoted if quoted.isascii() else _ODD.sub(_escaped, quoted)


def inside(text: str) -> str:
    """Returns a text as it stands between the quotes of a JSON string."""
    return quote(text)[1:-1]


def dumps(value: Any) -> str:
    """Returns compact JSON on one line, without escaping non-ASCII. Also valid for NaN, and for numbers beyond a float."""
    try:
        text = _encode(value)
    except ValueError:
        text = _encode_any(value)
        text = _STRING_OR_WORD.sub(lambda found: _NUMBERS.get(found[0], found[0]), text)
    return text if text.isascii() else _ODD.sub(_escaped, text)


def body(value: Any) -> bytes:
    """Returns compact JSON of a whole body, where line ends do not matter. orjson costs a fifth; it writes NaN as null."""
    if _fast_dumps is not None:
        with suppress(TypeError):  # it cannot write large integers and halves of surrogate pairs
            return _fast_dumps(value)
    return dumps(value).encode()


def lines(value: Any) -> bytes:
    """Returns indented JSON for people."""
    if _fast_dumps is not None:
        with suppress(TypeError):  # see body
            return _fast_dumps(value, option=_INDENTED) + b"\n"
    text = json.dumps(value, ensure_ascii=False, indent=2)
    # half of a surrogate pair has no UTF-8; backslashreplace writes its JSON escape
    return text.encode(errors="backslashreplace") + b"\n"


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def replace_member(text: str, key: str, value: str) -> str:
    """Returns the text of a JSON object with one member replaced, or added if it is missing.

    `value` is JSON text. Raises NotJSON if `text` is not a JSON object.
    """
    try:
        span = _member(text, key)
    except (ValueError, IndexError, RecursionError):
        raise NotJSON("not a JSON object") from None
    start, end, missing = span
    return f"{text[:start]}{missing}{value}{text[end:]}"


def member(text: str, key: str) -> str:
    """Returns the text of a member's value, the last one of that name, of a JSON object that has it."""
    start, end, _ = _member(text, key)
    return text[start:end]


def without_member(text: str, key: str) -> str:
    """Returns the text of a JSON object without a member, in every occurrence; the object is serialised again."""
    return dumps({name: value for name, value in loads(text.encode()).items() if name != key})


def _member(text: str, key: str) -> tuple[int, int, str]:
    """Returns start and end of a member's value, the last one of that name, and the text to insert before a new value."""
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
    return _after(_BLANKS, text, at)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    assert match
    return match.end()
