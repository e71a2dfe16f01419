"""Parses calls that are JSON objects (envelopes) with name and arguments, in sequence or in an array.

    {"name": "read_file", "arguments": {"path": "a.md"}}     [{"name": …, "parameters": …}, …]

R6 of dialect-rules.md: the members have any order. Once a valid name is known, arguments stream; arguments before the name are
held until then. Without a member for arguments, the arguments are the members that the tool declares, or an object of these.

Qwen3.5 and 3.6 mix in their tag syntax: `{"function=read_file", "arguments": …}` (qvac#2677), `{"name="read_file", …`
(maclocal-api#141). Some models write the envelope as a Python dict.
"""

import re
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from ...core import json_text
from ...core.fastclass import mutable, replace, value
from ...core.scanner import Reading
from ...core.schema_values import json_or_text
from .json_body import follow_value, object_in, read_string, surplus
from .names import bare_name

if TYPE_CHECKING:
    from .dialect import Dialect
    from .markup_parser import MarkupParser

NAMES = ("name", "tool_name", "function")
ARGUMENTS = ("arguments", "parameters", "input", "args")
_OTHER_ARGUMENTS = ("params", "action_input")
"""Further names of the arguments in strict forms, which no token marks as an envelope."""

_OTHER_NAMES = ("tool", "action", "recipient_name")
"""Members that contain the tool's name in some envelopes, and other data in others: only an offered name counts."""

_LISTS = ("tool_calls", "tool_uses", "function_calls")
"""Members that contain a list of envelopes: some models write the whole message of the API (llama.cpp#14697)."""

MAX_REREADS = 32
"""Values that are parsed again inside one that was not a call: bounds the cost of a thousand nested objects."""

MAX_NESTED = 4
"""Nested objects named "function"; a valid envelope has one."""

_SEPARATORS = re.compile(r"[\s,;]*")
_AS_A_TAG = re.compile(r"(?:function|name)=(.*)")
_NAME = re.compile(r"[\w.-]*")
_WORD = re.compile(r"[\w$]*")
_COMMENTS = ("//", "#")
_LINE = re.compile(r"[^\r\n]*")
_NEXT = (",", ";", "{", "]")
"""Characters that may follow an envelope."""


@value
class EnvelopeForm:
    """The form of a dialect's envelopes.

    Attributes:
        ends: The tokens that end a call or the wrapper.
        ids: Names of the member with the id.
        names: Names of the member with the tool's name.
        arguments: Names of the member with the arguments.
        holds_for_id: Whether the id comes after the arguments, so that these are held until then.
        strict: For envelopes that no token marks: the first member must be one of an envelope, there must be arguments, and
            nothing streams before name and arguments are known.
        lists: Whether an envelope may contain a list of envelopes.
    """

    ends: tuple[str, ...] = ()
    ids: tuple[str, ...] = ("id", "tool_call_id")
    names: tuple[str, ...] = NAMES
    arguments: tuple[str, ...] = ARGUMENTS
    holds_for_id: bool = False
    strict: bool = False
    lists: bool = True


_FIRST = frozenset({*NAMES, *_OTHER_NAMES, *ARGUMENTS, *_OTHER_ARGUMENTS, *_LISTS, "id", "type", "tool_call_id", "index"})
"""Possible names of the first member in a strict form."""

MAX_PIECE = 256
"""Characters, at most, of an envelope that is dropped because it was cut off before its call began, after other calls."""

_QUOTES = ('"', "'")

_NEVER = frozenset({"description"})
"""Members of a tool definition that a call never has."""

_SCHEMA = frozenset({"type", "properties", "$schema"})
"""First members of a JSON schema."""


@mutable
class _Envelope:
    """The parser's state for one envelope."""

    id: str = ""
    name: str | None = None
    arguments: str | None = None  # held until the name is known
    others: dict[str, str] = field(default_factory=dict)  # the other members, as JSON text
    called: bool = False
    end: int = 0  # offset from scanner.start where the call's arguments ended
    wrong: bool = False  # not a call: the name is not offered, or the arguments are not an object
    first: bool = True
    depth: int = 0  # nested objects that are being parsed


def read_envelopes(parser: "MarkupParser", dialect: "Dialect", form: EnvelopeForm) -> Reading[bool]:
    """Parses an envelope or an array of envelopes at the scanner's position. Returns whether there was a call."""
    scanner = parser.scanner
    yield from scanner.blanks()
    in_array = bool((yield from scanner.literal(("[",))))
    called = False
    while True:
        back = scanner.pos - scanner.start
        yield from scanner.run(_SEPARATORS, 4096)
        if (yield from scanner.peek()) != "{" or not (yield from _read_envelope(parser, dialect, form)):
            scanner.pos = scanner.start + back
            break
        called = True
        yield from surplus(parser, (*form.ends, *_NEXT))
    if called and in_array:
        yield from _end_array(parser, form)
    return called


def _end_array(parser: "MarkupParser", form: EnvelopeForm) -> Reading[None]:
    """Drops the bracket that ends an array, and a second one at the end of the text, or a comma before a cut-off end."""
    scanner = parser.scanner
    back = scanner.pos - scanner.start
    yield from scanner.blanks()
    if (yield from scanner.literal(("]",))):
        parser.drop_markup()
        back = scanner.pos - scanner.start  # 0, except in an attempt, which drops nothing
        yield from scanner.blanks()
        yield from scanner.literal(("]",))
    else:
        yield from scanner.run(_SEPARATORS, 4096)
        if (yield from scanner.peek()) == "{" and (yield from _is_piece(parser, form)):
            scanner.pos = len(scanner.text)
    if (yield from scanner.peek()) and not (yield from scanner.ahead(form.ends)):
        scanner.pos = scanner.start + back
    else:
        parser.drop_markup()


def _is_piece(parser: "MarkupParser", form: EnvelopeForm) -> Reading[bool]:
    """Whether the rest of the text is the beginning of an envelope that was cut off before its call could begin."""
    scanner = parser.scanner
    begin = scanner.pos - scanner.start
    whole = yield from _follow(parser, form, lambda _: None)
    size = len(scanner.text) - scanner.start - begin
    is_piece = not whole and scanner.ended and scanner.pos == len(scanner.text) and size <= MAX_PIECE
    scanner.pos = scanner.start + begin
    return is_piece


def _read_envelope(parser: "MarkupParser", dialect: "Dialect", form: EnvelopeForm) -> Reading[bool]:
    envelope = _Envelope()
    closed = yield from _read_members(parser, dialect, form, envelope)
    if envelope.called:
        if closed:
            parser.drop_markup()
        return True
    if envelope.wrong or envelope.name is None or (envelope.arguments is None and (form.strict or not closed)):
        return False
    parser.start(dialect, _id(parser, envelope), envelope.name)
    parser.arguments(envelope.arguments or _declared(parser, envelope))
    parser.end()
    return True


def _read_members(parser: "MarkupParser", dialect: "Dialect", form: EnvelopeForm, envelope: _Envelope) -> Reading[bool]:
    """Parses an object's members. Returns whether the closing brace was there."""
    scanner = parser.scanner
    scanner.pos += 1
    if not form.strict:
        yield from scanner.literal(("{",))  # doubled, as in a template
    while True:
        yield from scanner.run(_SEPARATORS, 4096)
        if not form.strict and (yield from scanner.literal(_COMMENTS)):
            yield from scanner.run(_LINE, 4096)
            continue
        offset = scanner.pos - scanner.start
        if (yield from scanner.literal(("}",))):
            return True
        key = yield from read_string(scanner, python=not form.strict)
        if key is None and not form.strict:
            key = (yield from scanner.run(_WORD, 64)) or None
        if key is not None:
            yield from scanner.blanks()
        if key is None or not (yield from scanner.literal((":",))):
            if not form.strict and key and (yield from _named_as_a_tag(parser, dialect, envelope, key)):
                continue
            scanner.pos = scanner.start + (offset if not envelope.called else envelope.end)
            return False
        if form.strict and (key in _NEVER or (envelope.first and key not in _FIRST)):
            envelope.wrong = envelope.wrong or not envelope.called
        envelope.first = False
        if not envelope.wrong:
            yield from scanner.blanks()
            yield from _read_member(parser, dialect, form, envelope, key)
        if envelope.wrong:
            return False


def _read_member(parser: "MarkupParser", dialect: "Dialect", form: EnvelopeForm, envelope: _Envelope, key: str) -> Reading[None]:
    scanner = parser.scanner
    begin = yield from scanner.peek()
    if envelope.called:
        yield from follow_value(scanner, form.ends, lambda _: None)
    elif key in form.names and envelope.name is None and begin in _QUOTES:
        _named(parser, dialect, envelope, (yield from read_string(scanner, python=True)) or "")
    elif key in form.names and envelope.name is None and not form.strict and begin.isalpha():
        name = (yield from scanner.run(_NAME, 128)) or ""
        _named(parser, dialect, envelope, name)
        envelope.wrong = name not in parser.tools.schemas
    elif key in _OTHER_NAMES and envelope.name is None and begin in _QUOTES:
        name = bare_name(parser, ((yield from read_string(scanner, python=True)) or "").strip())
        if name in parser.tools.schemas:
            envelope.name = name
        else:
            envelope.others[key] = json_text.quote(name)
    elif key in _LISTS and begin in ("[", "{") and form.lists:
        envelope.called = yield from read_envelopes(parser, dialect, replace(form, lists=False))
        envelope.wrong = not envelope.called
    elif key == "function" and begin == "{" and envelope.depth < MAX_NESTED:
        envelope.depth += 1
        yield from _read_members(parser, dialect, form, envelope)
        envelope.depth -= 1
    elif key in form.ids and begin in _QUOTES:
        envelope.id = (yield from read_string(scanner, python=True)) or ""
    elif (key in form.arguments or (form.strict and key in _OTHER_ARGUMENTS)) and envelope.arguments is None:
        if form.strict and begin == "{" and (yield from _is_schema(parser, envelope)):
            envelope.wrong = True
        elif begin == "{" and envelope.name and not form.holds_for_id:
            parser.start(dialect, _id(parser, envelope), envelope.name)
            envelope.called = True
            if (yield from follow_value(scanner, form.ends, parser.arguments)):
                parser.end()
            else:
                parser.break_off()
            envelope.end = scanner.pos - scanner.start
        else:
            envelope.arguments = yield from _held_arguments(parser, form)
            envelope.wrong = envelope.arguments is None
    else:
        pieces: list[str] = []
        envelope.wrong = not (yield from _follow(parser, form, pieces.append))
        envelope.others[key] = "".join(pieces)


def _named(parser: "MarkupParser", dialect: "Dialect", envelope: _Envelope, name: str) -> None:
    envelope.name = bare_name(parser, name.strip())
    envelope.wrong = not parser.accepts(dialect, envelope.name)


def _named_as_a_tag(parser: "MarkupParser", dialect: "Dialect", envelope: _Envelope, key: str) -> Reading[bool]:
    """Whether a key without a value has the name in tag syntax; its closing quote may come before or after the name."""
    match = _AS_A_TAG.fullmatch(key)
    if not match or envelope.name is not None:
        return False
    name = match[1]
    if not name:
        name = (yield from parser.scanner.run(_NAME, 128)) or ""
        yield from parser.scanner.literal(('"',))
    _named(parser, dialect, envelope, name)
    return not envelope.wrong


def _is_schema(parser: "MarkupParser", envelope: _Envelope) -> Reading[bool]:
    """Whether the object at the scanner's position is the schema of arguments, not arguments."""
    scanner = parser.scanner
    back = scanner.pos - scanner.start
    scanner.pos += 1
    yield from scanner.blanks()
    first = yield from read_string(scanner)
    scanner.pos = scanner.start + back
    return first in _SCHEMA and first not in parser.tools.properties(envelope.name or "")


def _follow(parser: "MarkupParser", form: EnvelopeForm, emit: Callable[[str], None]) -> Reading[bool]:
    """`follow_value` for a value that may not belong to a call, so that its content may be parsed again."""
    scanner = parser.scanner
    parser.again = parser.again + 1 if scanner.place < parser.followed else 0
    if parser.again > MAX_REREADS:
        return False
    whole = yield from follow_value(scanner, form.ends, emit)
    parser.followed = max(parser.followed, scanner.place)
    return whole


def _held_arguments(parser: "MarkupParser", form: EnvelopeForm) -> Reading[str | None]:
    """The text of an object, of an object in a string, or `{}` for null; None for anything else, or if the text is cut off."""
    pieces: list[str] = []
    if not (yield from _follow(parser, form, pieces.append)):
        return None
    text = "".join(pieces)
    if text.startswith("{"):
        return text
    try:
        return object_in(json_text.loads(text.encode()))
    except ValueError:
        return None


def _declared(parser: "MarkupParser", envelope: _Envelope) -> str:
    """The arguments of an envelope without a member for them."""
    declared = parser.tools.properties(envelope.name or "").keys()
    texts = [text for text in envelope.others.values() if text.startswith("{")]
    members = [f"{json_text.quote(key)}: {json_or_text(text)}" for key, text in envelope.others.items() if key in declared]
    for text in ("{" + ", ".join(members) + "}",) if members else texts:
        try:
            value = json_text.loads(text.encode())
        except ValueError:
            continue
        if isinstance(value, dict) and value.keys() <= declared:
            return text
    return "{}"


def _id(parser: "MarkupParser", envelope: _Envelope) -> str:
    return envelope.id if envelope.id and envelope.id not in parser.ids else parser.new_id()
