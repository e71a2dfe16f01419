"""Calls as XML elements, from models without tokens for calls, or with damaged ones.

    <read_file><path>a.md</path></read_file>                                        the element has the tool's name
    <function><name>bash</name><parameter name="command">ls</parameter></function>      the name is an element (opencrabs#419)
    <rivoke name="bash"><parameter rname="command">ls</parameter></invoke>          a misspelt tag (hermes-agent#73472)
    <function_bash><parameter=command>ls</parameter></function>                     (opencode#30633)
    <parameter=bash><parameter=command>ls</parameter></function>                    (ds4#1050)
    <tvoe_calls><invoke name="bash">…</invoke></tvoe_calls>                         a misspelt wrapper (agent-os#1624)

Any XML looks like this, so a call is parsed to its end before it counts. It must begin a line, have the exact name of an offered
tool, only declared and all required parameters, and only markup may follow it. For a model that is known to misspell (DeepSeek
V4: `xml_misspelt`), the tag may have any name.
"""

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING

from ...core import json_text
from ...core.fastclass import replace
from ...core.scanner import Reading, Scanner
from ...core.schema_values import items_of, to_json, types_of
from ...core.tools import Tools
from ..engine import closers
from ..engine.closers import read_closer
from ..engine.dialect import CustomDialect
from ..engine.envelope import ARGUMENTS, NAMES
from ..engine.json_body import follow_object
from ..engine.names import opener_names
from ..engine.value_text import without_line_ends

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

MAX_TAG = 256
"""Characters of an element's begin tag."""

MAX_PARAMETERS = 64
MAX_UNENDED = 32
"""Values without an end tag, each of which is parsed to the end of the text."""

_COLON = re.compile(r"^(\s*\w+):\s+(?=\w)")
_CLOSES = re.compile(r"<(?=\s?[/\\]|[|pav]|\s?\Z)")
"""Where a closing tag may begin, in any spelling of `read_closer`."""

_TAG = re.compile(r"\s*(?P<word>[\w:.|｜‖-]+)(?P<rest>[^<>]*?)(?P<empty>/?)\s*")
_WORD = re.compile(r"[\w:.|｜‖-]*")
_IN_TAG = re.compile(r"[^<>]*")
_NAMED = re.compile(r"""\s*(?:\w{0,2}name|\w+_name|tool|function|key)\s*=\s*["']?\s*([^"'\s=]+)\s*["']?(?:\s.*)?""")
_VALUED = re.compile(r"""\s*=\s*["']?\s*([^"'\s=]+)\s*["']?\s*""")
_PREFIXED = re.compile(r"(?:functions?|tool|invoke|call)[_:.-](.+)")
_CALLS = ("function", "function_call", "tool", "tool_call", "tool_use", "invoke", "call", "action")
"""Elements of a call whose name is a child element, or follows this word in the tag."""

_ANY = ("<",)
_HEADS = (
    *(f"<{gap}{word}" for word in ("function", "tool", "invoke", "call") for gap in ("", " ")),
    *("<action>", "<parameter=", "<parameter name"),
)
"""Prefixes of the elements of calls, except elements with a tool's name."""

_WRAPPING = re.compile(r"(?i)call|tool|func|invo")
"""Matches the name of a wrapper, also a misspelt one."""

_NAMES = ("<name>", "<tool_name>", "<function_name>", "<tool>", "<function>")
_PARAMETERS = ("parameter", "param", "argument", "arg")
_ALL = ("<parameters>", "<arguments>", "<args>", "<params>", "<input>", "<parameter_list>")
_MARK = re.compile(r"[|｜‖\s]*DSML[|｜‖\s]*|antml:")
"""DeepSeek's and Claude's prefixes of a tag's word, which they lose in one tag and keep in the next."""
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)


class XMLCall(CustomDialect):
    """One call, or a misspelt wrapper around calls of any dialect."""

    def of(self, tools: Tools) -> "XMLCall":
        """The dialect with elements named after the tools of a request."""
        return self if self.openers == _ANY else _with_tools(opener_names(tools))

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        begin = scanner.pos - scanner.start
        tag = yield from self._tag(parser)
        if tag is None:
            return False
        word, rest = tag["word"], tag["rest"].strip()
        name = _name_in(parser, word, rest)
        if name is None and not rest and word in _CALLS:
            name = yield from self._name_element(parser)
        if name is None:
            opener = scanner.text[scanner.start + begin : scanner.pos]
            wraps = not rest and not tag["empty"] and not parser.aside[0] and _WRAPPING.search(word)
            if not wraps or parser.opens_wrapper(opener):
                return False
            return (yield from parser.call_in(len(opener), (f"</{word}>", f"</ {word}>"))) is not None
        if word == "function" and rest.startswith("=") and (yield from scanner.look(self._qwen_follows(scanner))):
            return False
        found = yield from parser.attempt(self._call(parser, word, name, empty=bool(tag["empty"])))
        if not found or not (yield from self._ends(parser)):
            return False
        parser.emit_attempts(found)
        return True

    def _tag(self, parser: "MarkupParser") -> Reading[re.Match[str] | None]:
        """Parses the begin tag of an element. Returns early without a name or attribute, as most `<` do not begin a tag."""
        scanner = parser.scanner
        if not (yield from scanner.literal(("<",))):
            return None
        begin = scanner.pos - scanner.start
        yield from scanner.blanks()
        word = yield from scanner.run(_WORD, 64)
        yield from scanner.blanks()
        attribute = yield from scanner.run(_WORD, 64)
        yield from scanner.blanks()
        follows = yield from scanner.peek()
        named = attribute in parser.tools.schemas or (word or "").endswith(":")
        if not word or (attribute and follows != "=" and not (follows == ">" and named)):
            return None
        scanner.pos = scanner.start + begin
        text = yield from scanner.run(_IN_TAG, MAX_TAG)
        return _TAG.fullmatch(_COLON.sub(r"\1=", text)) if text and (yield from scanner.literal((">",))) else None

    def _qwen_follows(self, scanner: Scanner) -> Reading[bool]:
        """Whether the rest of a `<function=…>` has the form of Qwen3-Coder, which has its own dialect."""
        yield from scanner.blanks()
        return bool((yield from scanner.literal(("<parameter=", "</function>"))))

    def _name_element(self, parser: "MarkupParser") -> Reading[str | None]:
        """Parses `<name>bash</name>`. Returns the name of the tool."""
        scanner = parser.scanner
        back = scanner.pos - scanner.start
        yield from scanner.blanks()
        begin = yield from scanner.literal(_NAMES)
        name = ((yield from scanner.run(_IN_TAG, 128)) or "").strip() if begin else ""
        if name in parser.tools.schemas and begin and (yield from scanner.literal((f"</{begin[1:]}",))):
            return name
        scanner.pos = scanner.start + back
        return None

    def _call(self, parser: "MarkupParser", word: str, name: str, *, empty: bool) -> Reading[bool]:
        """Parses the content of a call's element, and its end tag."""
        scanner = parser.scanner
        ends = (word, name, *closers.CALLS)
        arguments: str | None = "{}"
        if not empty:
            yield from scanner.blanks()
            around = yield from scanner.literal(_ALL)
            yield from scanner.blanks()
            inner = (around[1:-1],) if around else ends
            if (yield from scanner.peek()) == "{":
                pieces: list[str] = []
                whole = yield from follow_object(scanner, ("</",), pieces.append)
                arguments = _unwrapped(parser, name, "".join(pieces)) if whole else None
            else:
                arguments = yield from self._parameters(parser, name, inner)
            yield from scanner.blanks()
            if around and (yield from _end(scanner, inner)):
                yield from scanner.blanks()
            if not (yield from _end(scanner, ends)) and (yield from scanner.peek()):
                return False
        if arguments is None or not parser.tools.fits(name, arguments):
            return False
        parser.start(self, parser.new_id(), name)
        parser.arguments(arguments)
        parser.end()
        return True

    def _parameters(self, parser: "MarkupParser", name: str, ends: tuple[str, ...]) -> Reading[str | None]:
        """Parses elements up to an end tag in `ends`, which is not consumed. Returns the arguments as JSON, or None."""
        scanner = parser.scanner
        schema, properties = parser.tools.schemas.get(name, {}), parser.tools.properties(name)
        given: dict[str, str] = {}
        items: dict[str, list[str]] = {}  # name → JSON of each value as a list item
        while len(given) < MAX_PARAMETERS:
            yield from scanner.blanks()
            if not (yield from scanner.peek()) or (yield from scanner.look(_end(scanner, ends))):
                return "{" + ", ".join(f"{json_text.quote(key)}: {value}" for key, value in given.items()) + "}"
            header = yield from self._parameter(parser, name)
            if header is None:
                return None
            text = yield from self._value(parser, name, header[1], ends)
            if text is None:
                return None
            key, types = header[0], types_of(properties.get(header[0]), schema)
            items.setdefault(key, []).append(to_json(text, types_of(items_of(properties.get(key), schema), schema)))
            if key in given:
                parser.fired("repeated_parameter")
            given[key] = f"[{', '.join(items[key])}]" if key in given and "array" in types else to_json(text, types)
        return None

    def _parameter(self, parser: "MarkupParser", name: str) -> Reading[tuple[str, tuple[str, ...]] | None]:
        """Parses the tag of a parameter. Returns its name, and the possible names of its end tag."""
        tag = yield from self._tag(parser)
        if tag is None or tag["empty"]:
            return None
        word, rest = _MARK.sub("", tag["word"]), tag["rest"]
        named = (_NAMED.fullmatch(rest) or _VALUED.fullmatch(rest)) if word in _PARAMETERS else None
        key = named[1] if named else word
        if key not in parser.tools.properties(name):
            return None
        return key, (closers.PARAMETERS if named else (word,))

    def _value(self, parser: "MarkupParser", name: str, closer: tuple[str, ...], ends: tuple[str, ...]) -> Reading[str | None]:
        """Parses a value and its end tag: the first one that another parameter, or the end of the call, follows (R4)."""
        scanner = parser.scanner
        begin = scanner.pos - scanner.start
        wanted = name, closer, ends
        while wanted not in parser.unended and len(parser.unended) < MAX_UNENDED:
            match = _CLOSES.search(scanner.text, scanner.pos)
            if match is None:
                if scanner.ended:
                    parser.unended.add(wanted)
                    return None
                scanner.pos = len(scanner.text)
                yield
                continue
            scanner.pos = match.start()
            end = scanner.pos - scanner.start
            other = "" if (yield from _end(scanner, closer)) else (yield from self._wrong_end(parser, name, ends))
            if other is not None and (yield from scanner.look(self._follows(parser, name, ends))):
                value, after = scanner.text[scanner.start + begin : scanner.start + end], scanner.pos - scanner.start
                yield from scanner.blanks()
                if not other or _is_like(other, closer) or (f"<{other}" not in value and (yield from scanner.peek())):
                    scanner.pos = scanner.start + after
                    return _plain(value)
            scanner.pos = scanner.start + end + 1
        return None

    def _wrong_end(self, parser: "MarkupParser", name: str, ends: tuple[str, ...]) -> Reading[str | None]:
        """Parses a damaged closing tag that is not an end tag of the call.

        Returns:
            The name of an element that no template has; "" for a closing tag of one, and None for other text.
        """
        scanner = parser.scanner
        back = scanner.pos - scanner.start
        closer = yield from read_closer(scanner, (name, *ends))
        if closer and not closer.cut and closer.element not in (name, *ends):
            return "" if closer.element else scanner.text[scanner.start + back : scanner.pos].strip("</\\ >")
        scanner.pos = scanner.start + back
        return None

    def _follows(self, parser: "MarkupParser", name: str, ends: tuple[str, ...]) -> Reading[bool]:
        """Whether the text at the scanner's position can follow a parameter."""
        scanner = parser.scanner
        yield from scanner.blanks()
        if not (yield from scanner.peek()) or (yield from scanner.look(_end(scanner, ends))):
            return True
        return (yield from self._parameter(parser, name)) is not None

    def _ends(self, parser: "MarkupParser") -> Reading[bool]:
        """Whether only markup follows the call."""
        scanner = parser.scanner
        back = scanner.pos - scanner.start
        yield from scanner.blanks()
        follows = yield from scanner.peek()
        scanner.pos = scanner.start + back
        return follows in ("", "<", "[")


def _end(scanner: Scanner, names: tuple[str, ...]) -> Reading[bool]:
    """Parses a closing tag with one of these names, in any spelling. False, without moving the scanner, for other text."""
    back = scanner.pos - scanner.start
    closer = yield from read_closer(scanner, names)
    if closer and not closer.cut and closer.element in names:
        return True
    scanner.pos = scanner.start + back
    return False


def _name_in(parser: "MarkupParser", word: str, rest: str) -> str | None:
    """The offered tool that a tag names."""
    offered = parser.tools.schemas
    named = _NAMED.fullmatch(rest) or (_VALUED.fullmatch(rest) if word in (*_CALLS, *_PARAMETERS) else None)
    prefixed = _PREFIXED.fullmatch(word)
    if named:
        return named[1] if named[1] in offered else None
    if word in _CALLS and rest in offered:
        return rest
    if rest:
        return None
    return word if word in offered else prefixed[1] if prefixed and prefixed[1] in offered else None


def _unwrapped(parser: "MarkupParser", name: str, text: str) -> str:
    """The arguments in an envelope of a call of this tool; other text stays as it is."""
    try:
        value = json_text.loads(text.encode())
    except ValueError:
        return text
    if parser.tools.fits(name, text) or not isinstance(value, dict) or name not in (value.get(key) for key in NAMES):
        return text
    return next((json_text.dumps(value[key]) for key in ARGUMENTS if isinstance(value.get(key), dict)), text)


def _is_like(word: str, names: tuple[str, ...]) -> bool:
    """Whether a word is a misspelt one of these names."""
    return any(SequenceMatcher(None, word, name).ratio() >= closers.SIMILAR for name in names)


def _plain(text: str) -> str:
    """A value without its CDATA, or without the line ends next to its tags."""
    cdata = _CDATA.fullmatch(text)
    return cdata[1] if cdata else without_line_ends(text)


XML_CALL = XMLCall("xml_call", _HEADS, ambiguous=True, offered_only=True, place="line", in_reasoning="doubtful")
XML_MISSPELT = replace(XML_CALL, name="xml_misspelt", openers=_ANY)


@lru_cache(256)
def _with_tools(names: tuple[str, ...]) -> XMLCall:
    return replace(XML_CALL, openers=(*_HEADS, *(f"<{name}{end}" for name in names for end in (">", " ", "/"))))
