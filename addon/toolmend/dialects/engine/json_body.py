r"""Streams JSON arguments from the text, verbatim except for repairs (R3 of dialect-rules.md).

The text is followed, not parsed and serialized again, to find the closing brace. Repairs inside strings: raw control characters,
backslashes before characters without a JSON escape (`"\d+"`, `"echo \$HOME"`), and quotes that cannot end the string
(`"say "b" now"`) are escaped. Repairs outside strings: trailing commas and comments are dropped, Python's words, strings and
tuples are converted, names and bare words get quotes, and brackets that are open at an end token are closed.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core import json_text
from ...core.scanner import Reading, Scanner
from ...core.schema_values import to_json
from ...core.text_state import IN_LEAKED_STRING
from . import quoted

if TYPE_CHECKING:
    from .markup_parser import MarkupParser

_IN_STRING = re.compile(r'["\\\x00-\x1f]')
_BLANKS = re.compile(r"\s{0,64}+")
_OUTSIDE = re.compile(rf'["\'{{}}\[\]()</#A-Za-z_$]|,(?={_BLANKS.pattern}(?:[}}\]<]|\Z))')
_IN_TUPLE = re.compile(r'["\'{}\[\](),</#A-Za-z_$]')
_WORD = re.compile(r"[\w$]+")
_NAME = re.compile(r"([\w$-]{0,64}+)\s{0,64}+(?P<colon>:)?")
_QUOTED_NAME = re.compile(r'"(?:[\w.$-]{0,64}+(?:"(?:\s{0,64}+(?P<colon>:)?)?)?)?')
_BARE = re.compile(r"([A-Za-z_$][\w$./-]{0,255}+)\s{0,64}+([,}\]])?")
_NUMBERS = ("NaN", "Infinity", "undefined", "nil")
"""Words of other notations that are not text."""

_MISSING_COMMA = re.compile(r'\s{0,64}+"[\w.$-]{0,64}+"\s{0,64}+:')
_COMMENTS = ("#", "//", "/*")
_COMMENT = re.compile(r"/\*.*?\*/|(?:#|//)[^\n<]*", re.DOTALL)
_SCALAR = re.compile(r"[^\s,;{}\[\]\"<]*")
MAX_SCALAR = 4096
"""Characters of a number or a word."""

_BRACES = re.compile(r"[}\s]*")

_OBJECT = frozenset({"object"})
MAX_NESTED_STRINGS = 4
"""Nested JSON strings around an object; models were seen to write up to two."""


def read_arguments(parser: "MarkupParser", commit: Callable[[], None], stops: tuple[str, ...]) -> Reading[bool]:
    """Parses the arguments of a call after its header. Returns False if there are none, so that this is not a call.

    An object streams. `null`, or one of `stops` at once, means `{}`; a string with an object in it is that object (R5).

    Args:
        parser: The parser.
        commit: Starts the call.
        stops: The tokens that end the call.
    """
    scanner = parser.scanner
    yield from scanner.blanks()
    arguments = "{}"
    match (yield from scanner.peek()):
        case "{":
            commit()
            if (yield from follow_object(scanner, stops, parser.arguments)):
                parser.end()
                yield from surplus(parser, stops)
            else:
                parser.break_off()
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
    parser.arguments(arguments)
    parser.end()
    return True


def follow_object(scanner: Scanner, stops: tuple[str, ...], emit: Callable[[str], None]) -> Reading[bool]:
    """Streams the text of an object up to its closing brace. Returns False if the object is cut off.

    Open brackets are closed where one of `stops`, or the end of an array around the object, follows a value.

    Args:
        scanner: The scanner, at the opening brace.
        stops: The tokens that end the call.
        emit: Receives the text.
    """
    brackets: list[str] = []
    before = ""  # the last character outside strings that is not a blank
    quotes = False  # the last character of the string is an apostrophe
    in_string = odd = False  # odd: a string had an unescaped quote in it
    begins = "<[" if any(stop.startswith("[") for stop in stops) else "<"
    while True:
        text, at = scanner.text, scanner.pos
        sent, first, size = at, at, len(text)
        apostrophe = -1  # index of the last one that was escaped
        pieces: list[str] = []
        done = cut = pythons = around = False
        while at < size and not done:
            in_tuple = brackets[-1:] in (["("], ["(,"])
            match = (_IN_STRING if in_string else _IN_TUPLE if in_tuple else _OUTSIDE).search(text, at)
            if match is None:
                before = before if in_string else text[at:].rstrip()[-1:] or before
                at = size
                break
            before = before if in_string else text[at : match.start()].rstrip()[-1:] or before
            at = match.end()
            character = match.group()
            if character == '"':
                if in_string:
                    is_name = before in ("{", ",") and brackets[-1] == "{"
                    bracket = "(" if before == "(" else brackets[-1]
                    ends = is_name or _ends_string(text, at, bracket, stops, ended=scanner.ended, odd=odd)
                    if cut := ends is None:
                        at -= 1
                        break
                    if not ends:  # the quote is part of the string
                        pieces += text[sent : at - 1], '\\"'
                        sent, odd = at, True
                        continue
                    before = character
                    if not is_name and _MISSING_COMMA.match(text, at):
                        pieces += text[sent:at], ","
                        sent, before = at, ","
                in_string = not in_string
            elif not in_string:
                if character in begins or (pythons := character == "'"):
                    at -= 1
                    break
                if character == before == "{" and len(brackets) == 1:  # doubled, as in a template
                    pieces.append(text[sent : at - 1])
                    sent = at
                elif character in "{[":
                    brackets.append(character)
                elif character == "(" and before in (":", ",", "[", "("):  # a tuple, if a comma follows
                    brackets.append(character)
                    pieces += text[sent : at - 1], "["
                    sent = at
                elif character in "()":
                    if in_tuple and character == ")" and (brackets.pop() == "(," or before == "("):
                        pieces += text[sent : at - 1], "]"
                        sent = at
                elif character in "}]":
                    if character == "]" and "[" not in brackets:  # it ends the array around the object
                        at -= 1
                        around = True
                        break
                    brackets.pop()
                    done = not brackets
                else:
                    if in_tuple and character == ",":
                        brackets[-1] = "(,"
                    mended, at = _as_json(text, at - 1, before, ended=scanner.ended)
                    if cut := mended is None:
                        break
                    pieces += text[sent : match.start()], mended
                    sent = at
                    before = mended[-1:] or before
                    continue
                before = character
            elif character != "\\":
                pieces += text[sent : at - 1], json_text.inside(character)
                sent = at
            elif at < size and text[at] in json_text.ESCAPED:
                at += 1
            elif at < size and text[at] == "'" and not _is_apostrophe(text, at - 2, first, apostrophe, otherwise=quotes):
                pieces.append(text[sent : at - 1])  # an apostrophe needs no escape
                sent, apostrophe = at, at
                at += 1
            elif at < size:  # an invalid escape: the backslash is literal, as in a shell's 'it'\''s'
                pieces += text[sent:at], "\\"
                sent = at
            else:
                at -= 1  # the rest of the escape has not arrived yet
                break
        if in_string and at > first:
            quotes = _is_apostrophe(text, at - 1, first, apostrophe, otherwise=False)
        scanner.pos = at
        emit("".join((*pieces, text[sent:at])))
        if done:
            return True
        if around:
            return _close(brackets, before, emit)
        if pythons:
            scanner.pos += 1
            if not (yield from quoted.read_string(scanner, "'", emit, escapes=True)):
                return False
            before = '"'
        elif at < size and not (in_string or cut):  # a "<", which JSON does not allow here, or a "[" that may be one of `stops`
            if (yield from scanner.ahead(stops)):
                return _close(brackets, before, emit)
            begin = scanner.text[scanner.pos]
            if begin == "[":
                brackets.append(begin)
            before = begin
            scanner.pos += 1
            emit(begin)
        elif scanner.ended:
            return False
        else:
            scanner.text_state = IN_LEAKED_STRING if in_string and at == size else None
            yield
            scanner.text_state = None


def _is_apostrophe(text: str, at: int, first: int, escaped: int, *, otherwise: bool) -> bool:
    """Whether an apostrophe stands at a position and had no backslash; `otherwise` if that is before the `first` one."""
    return text[at] == "'" and at != escaped if at >= first else otherwise


def _close(brackets: list[str], before: str, emit: Callable[[str], None]) -> bool:
    """Closes the open brackets after a value. Returns False if the last character does not end a value."""
    if before in (":", ",", "<", ""):
        return False
    emit("".join("}" if bracket == "{" else "]" for bracket in reversed(brackets)))
    return True


def _ends_string(text: str, at: int, bracket: str, stops: tuple[str, ...], *, ended: bool, odd: bool) -> bool | None:
    """Whether the quote before `at` ends its string; None if more text is needed.

    It does if the text after it can follow a value; otherwise it is an unescaped quote in the string.

    Args:
        text: The text.
        at: The position after the quote.
        bracket: The innermost open bracket.
        stops: The tokens that end the call.
        ended: Whether the text is complete.
        odd: Whether there were unescaped quotes, so that a comma alone does not prove the end.
    """
    match = _BLANKS.match(text, at)
    assert match
    at = match.end()
    follows = text[at : at + 1]
    if not follows:
        return True if ended else None
    if follows in "}]" or follows.isspace() or (follows == ")" and bracket[0] == "("):  # more blanks than the pattern matches
        return True
    if follows == ",":
        match = _BLANKS.match(text, at + 1)
        assert match
        at = match.end()
        next_value = text[at : at + 1]
        if not next_value:
            return True if ended else None
        if odd and next_value == '"' and bracket == "{":
            return _matches(_QUOTED_NAME, text, at, ended=ended)
        if next_value.isspace() or next_value in ("\"'{[()]-0123456789tfnTFN/#" if bracket != "{" else "\"'}/#"):
            return True
        return _stands(stops, text, at, ended=ended) if next_value in "<[" else _matches(_NAME, text, at, ended=ended)
    if follows == '"':
        return _matches(_QUOTED_NAME, text, at, ended=ended) if bracket == "{" else False
    if follows in "/#":
        return _stands(_COMMENTS, text, at, ended=ended)
    return _stands(stops, text, at, ended=ended)


def _stands(options: tuple[str, ...], text: str, at: int, *, ended: bool) -> bool | None:
    """Whether one of the options is at a position; None if more text is needed."""
    if text.startswith(options, at):
        return True
    if ended or len(text) - at >= max(map(len, options), default=0):
        return False
    rest = text[at:]
    return None if any(option.startswith(rest) for option in options) else False


def _matches(pattern: re.Pattern[str], text: str, at: int, *, ended: bool) -> bool | None:
    """Whether a name and its colon stand at a position; None if more text is needed."""
    match = pattern.match(text, at)
    assert match
    return None if match.end() == len(text) and not ended and match["colon"] is None else match["colon"] is not None


def _as_json(text: str, at: int, before: str, *, ended: bool) -> tuple[str | None, int]:
    """The JSON for a comma, word or comment at a position, and its end; None for the JSON if more text is needed."""
    if text[at] == ",":
        blanks = _BLANKS.match(text, at + 1)
        assert blanks
        if blanks.end() < len(text):
            return "" if text[blanks.end()] in "}])" else ",", at + 1
        return (",", at + 1) if ended else (None, at)
    if text[at] in "/#":
        begins = _stands(_COMMENTS, text, at, ended=ended)
        comment = _COMMENT.match(text, at)
        over = comment and (comment.end() < len(text) or ended or comment.group().endswith("*/"))
        if comment and over:
            return "", comment.end()
        return (None, at) if not ended and begins is not False else (text[at], at + 1)
    name, word, bare = _NAME.match(text, at), _WORD.match(text, at), _BARE.match(text, at)
    assert name
    assert word
    assert bare
    if not ended and len(text) in (name.end(), bare.end()) and not (name["colon"] or bare[2]):
        return None, at
    if name["colon"]:
        return json_text.quote(name[1]), name.end(1)
    if bare[2] and bare[1] not in json_text.WORDS and bare[1] not in _NUMBERS and before == ":":
        return json_text.quote(bare[1]), bare.end(1)
    return json_text.WORDS.get(word.group(), word.group()), word.end()


def surplus(parser: "MarkupParser", stops: tuple[str, ...]) -> Reading[None]:
    """Drops surplus braces between complete arguments and the end of the call or of the text."""
    scanner = parser.scanner
    if (yield from scanner.peek()) != "}" or (yield from scanner.ahead(stops)):  # an end tag may begin with a brace
        return
    back = scanner.pos - scanner.start
    yield from scanner.run(_BRACES, 64)
    if (yield from scanner.ahead(stops)) or not (yield from scanner.peek()):
        parser.drop_markup()
    else:
        scanner.pos = scanner.start + back


def follow_value(scanner: Scanner, stops: tuple[str, ...], emit: Callable[[str], None]) -> Reading[bool]:
    """Emits the text of a JSON value; objects and arrays stream. Returns False if the value is cut off."""
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
    """The value of a JSON string, or with `python` of one in single quotes; None if there is none, or if it is cut off."""
    text = yield from _string(scanner, python=python)
    if text is None:
        return None
    try:
        value = json_text.loads(text.encode())
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _string(scanner: Scanner, *, python: bool) -> Reading[str | None]:
    """The text of a JSON string with its quotes, and with characters that JSON forbids escaped."""
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
    """The JSON of the object in a string: JSON, a Python dict, or a string with one again. `{}` for null or an empty string."""
    text = "{}"
    for _ in range(MAX_NESTED_STRINGS):
        if not isinstance(value, str):
            break
        text = value.strip() or "null"
        try:
            value = json_text.loads(text.encode())
        except ValueError:
            text = to_json(text, _OBJECT)
            return text if text.startswith("{") else None
    return text if isinstance(value, dict) else "{}" if value is None else None
