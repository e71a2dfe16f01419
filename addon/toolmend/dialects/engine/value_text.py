"""Finds the end of a parameter's value, also where the closing tag is damaged or missing.

    <parameter=path>a.md</parameter>      <parameter=path>a.md</paramter></function>      <parameter=path>a.md<parameter=limit>

1. A value ends at its own closing tag if the text after it can follow a parameter (R4 of dialect-rules.md), so a file may contain
   such tags.
2. Any other closing tag (damaged, of another dialect, or of the call) ends a value only if the next parameter, the next call, or
   only closing tags up to the end of the text follow it.
3. The closing tag of an element that the value itself opened belongs to the value.
4. A closing tag with the name of any offered tool's parameter ends a value that has no own closing tag, if the exact end of the
   call follows; with the name of one of this tool's parameters also if the next parameter follows. A closing tag with the name of
   the value's parameter ends it as well if the value's closing tag follows.
5. If prose follows, the tag is undecided: a later closing tag shows that the text before it belongs to the value; otherwise the
   value ended at the first tag. At most MAX_DOUBT characters are held for this; after that they belong to the value.
"""

import html
import re
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from ...core import json_text
from ...core.fastclass import value
from ...core.literal_search import openers
from ...core.scanner import Reading
from ...core.text_state import without
from .closers import CLOSINGS, OPENINGS, Closer, read_closer
from .tag import Tag

if TYPE_CHECKING:
    from .markup_parser import MarkupParser

MAX_HEADER = 256
"""Characters of the header of a parameter's tag."""

MAX_DOUBT = 4096
"""Characters that are held after an undecided closing tag: text after a call without an end is short."""

MAX_CLOSERS = 8
"""Closing tags in a row that are skipped to find the text after them."""

MAX_STRAY = 3
"""Meaningless characters after a closing tag: `</parameter>.`"""

TURN_ENDS = (
    *("<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|user|>", "<|observation|>"),
    *("<｜end▁of▁sentence｜>", "<end_of_turn>", "<turn|>", "<|end|>", "<|return|>", "<|END_OF_TURN_TOKEN|>", "</s>", "[e~["),
)
"""Tokens that end the model's turn."""

HEAD = 2
"""Characters of a tag that the search uses."""

_FIRSTS = ("<", "]", "\\", "")
"""First characters of tags; "" at the end of the text."""

_HEADER = re.compile(r"[^<>{}\r\n]*")
_WORD = re.compile(r"[\w.-]+")
_UNENDED = re.compile(r"""\s*[=:]*\s*["']?([\w.-]+)["']?\s*[=:]\s*""")
_STRING = re.compile(r"""\bstring\s*=\s*["']?(true|false)""")
_STRAY = re.compile(r"[>.,;:`]*")
_LINE_END = re.compile(r"[ \t]*")
_NEWLINES = ("\n", "\r\n")


@value
class Tags:
    """The tags of a call with parameters."""

    parameter: Tag
    call: Tag
    wrapper: Tag

    @property
    def begins(self) -> tuple[str, ...]:
        return self.call.begin + self.wrapper.begin

    @property
    def ends(self) -> tuple[str, ...]:
        return self.call.end + self.wrapper.end


@value
class After:
    """What follows a closing tag, after blanks and further closing tags.

    Attributes:
        what: The end of the text ("over"), the next parameter, a call, an end tag of the value itself ("own"), the exact end of
            the call ("end", only from a quick search), or other text.
        exact, damaged: The number of the call's closing tags before it.
        name: The name of the parameter.
    """

    what: Literal["over", "parameter", "call", "own", "end", "text"]
    exact: int = 0
    damaged: int = 0
    name: str = ""


class ValueText:
    """Parses the values of one call up to their ends. `given`: the names of the parameters so far."""

    def __init__(self, parser: "MarkupParser", tags: Tags, name: str) -> None:
        self.given: list[str] = []
        self._parser = parser
        self._tool = name
        self._tag, self._call = tags.parameter, tags.call
        self._schema = parser.tools.schemas.get(name, {})
        self._properties = parser.tools.properties(name)
        self._ends, self._begins = tags.ends, tags.begins
        self._is_short = False  # the value is held so far, and streams once it is long: no run of deltas may pass unread
        self._certain = 0  # characters after scanner.start that certainly belong to the value
        self._openings = OPENINGS
        self._names: tuple[str, ...] = ()  # further names of the value's closing tag: parameter and tool
        self._foreign = parser.tools.parameter_names - {name}  # names that count only if the call ends after the tag
        self._opened: Counter[str] = Counter()  # name → open elements inside the value

    # between values

    def header(self) -> Reading[tuple[str, str | None] | None]:
        """Parses a parameter's tag: its name, and its `string` attribute. None, without moving the scanner, for other text."""
        scanner = self._parser.scanner
        offset = scanner.pos - scanner.start
        if (yield from scanner.literal(self._tag.begin)):
            text = yield from scanner.run(self._tag.characters, MAX_HEADER)
            match = self._tag.header.fullmatch(text.strip()) if text else None
            if match and (yield from scanner.literal(self._tag.separator)):
                name = html.unescape(match["name"]) if self._tag.escaped else match["name"]
                if name not in self._properties and (bare := name.strip(":=")) in self._properties:
                    name = bare
                return name, match.groupdict().get("string")
        scanner.pos = scanner.start + offset
        return None

    def any_header(self) -> Reading[tuple[str, str | None] | None]:
        """Like `header`, also for a damaged tag that can only mean one parameter; the name is "" if it may mean several."""
        return (yield from self.header()) or (yield from self._damaged_header())

    def _damaged_header(self) -> Reading[tuple[str, str | None] | None]:
        scanner = self._parser.scanner
        offset = scanner.pos - scanner.start
        stems = _stems(self._tag)
        text = (yield from scanner.run(_HEADER, MAX_HEADER)) if (yield from scanner.literal(stems)) else None
        name = None
        if text is not None and not text[:1].isalnum():  # otherwise it is the tag of another element
            ended = yield from scanner.literal((*self._tag.separator, ">\n", ">", "\n", "\r\n"))
            named = {word for word in _WORD.findall(text) if self._next(word) and word in self._properties}
            cut = None if ">" in (ended or "") else _UNENDED.match(text)
            if cut and cut[1] in named and (not ended or text[cut.end() :].strip(" \"'")):  # the value begins on this line
                name = cut[1]
                scanner.pos -= len(text) - cut.end() + len(ended or "")
            elif ended and len(named) == 1:
                name = named.pop()
            elif ended and ">" in ended and not text.strip(" =:\"'"):
                name = yield from self._unnamed()
        if name is None:
            scanner.pos = scanner.start + offset
            return None
        string = _STRING.search(text or "")
        return name, string and string[1]

    def _unnamed(self) -> Reading[str | None]:
        """The parameter of a tag without a name: the one that its text names, or the only one left; "" if several are left."""
        scanner = self._parser.scanner
        offset = scanner.pos - scanner.start
        text = (yield from scanner.run(_HEADER, MAX_HEADER)) or ""
        word, closer = text.strip(), (yield from scanner.literal(self._tag.end))
        if word in self._properties and self._next(word) and closer and (yield from self._after(quick=True)).what == "text":
            yield from scanner.literal(_NEWLINES)
            return word
        scanner.pos = scanner.start + offset
        if not text.strip() and (yield from scanner.look(self._closing_follows())):
            return None
        left = [name for name in self._properties if name not in self.given]
        required = [name for name in left if name in (self._schema.get("required") or ())]
        return left[0] if len(left) == 1 else required[0] if len(required) == 1 else ""

    def _closing_follows(self) -> Reading[bool]:
        scanner = self._parser.scanner
        yield from scanner.blanks()
        return bool((yield from scanner.literal(self._ends)) or (yield from read_closer(scanner, self._names)))

    # the value

    def _value_begins(self, name: str) -> None:
        """Prepares for the value of a parameter."""
        self._names = tuple(filter(None, (name, self._tool)))
        named = (*self._names, *sorted(self._foreign))
        self._openings = (*OPENINGS, *(f"<{each}" for each in named))
        self._opened.clear()
        self._marks, heads = _marks(self._tag, self._ends + self._begins, frozenset(f"<{each[:1]}" for each in named))
        self._head = openers(heads)
        self._text_state = without(heads, frozenset(), self._head.search)._replace(escapes=json_text.inside)

    def _text(self, emit: Callable[[str], None]) -> Reading[bool]:
        """Streams the text of a value up to its end. Returns False if the text ends before the value."""
        scanner = self._parser.scanner
        depth = calls = 0  # parameters, calls and wrappers inside the value
        has_text = literal = False  # literal: the value contains end tags
        trims = any(end.startswith("\n") for end in self._tag.end)  # the newline before the end tag is markup
        while True:
            match = self._head.search(scanner.text, scanner.pos)
            end = match.start() if match else len(scanner.text)
            if end > scanner.pos:
                piece, scanner.pos = scanner.text[scanner.pos : end], end
                has_text = has_text or not piece.isspace()
                emit(piece)
            if match is None:
                if scanner.ended:
                    return False
                scanner.text_state = None if self._is_short else self._text_state
                yield
                scanner.text_state = None
                continue
            newline = (yield from scanner.literal(_NEWLINES)) or ""
            if newline and (yield from scanner.peek()) not in _FIRSTS:  # most lines of code
                emit(newline)
                continue
            found = (yield from scanner.literal(self._marks)) or ""
            over = False
            if found in self._tag.end:
                if depth:
                    over = yield from self._last(inside=calls > 0)
                    depth -= not over
                else:
                    over = yield from self._own_ends(doubled=has_text and not literal and not any(self._opened.values()))
                    literal = not over
            elif found in self._tag.begin and (name := (yield from self._header_here(len(found)))) is not None:
                over = not (depth or calls) and self._next(name)
                scanner.pos -= len(found) if over else 0
                depth += not over and self._nests(name)
            elif found in self._ends:
                over = not (depth or calls) and (yield from self._call_ends(found))
                calls -= not over and calls > 0
            elif found in self._begins:
                over = not (depth or calls) and (yield from self._call_begins(len(found)))
                calls += not over
            elif found in TURN_ENDS:
                over = yield from self._turn_ends(len(found))
            else:
                scanner.pos -= len(found)
                over = not (depth or calls) and (yield from self._closes(again=newline != ""))
                if not over:
                    opened = yield from self._opens()
                    scanner.pos += max(0, len(found) - len(opened))
                    found = opened if len(opened) > len(found) else found
            if over:
                if newline and not trims and found in self._tag.end:
                    emit(newline)
                return True
            if not (found or newline):  # not a tag
                found = scanner.text[scanner.pos]
                scanner.pos += 1
            certain = scanner.start + self._certain - scanner.pos  # text that is known to be the value's is not searched again
            self._certain = 0
            has_text = has_text or bool(found)
            emit(newline + found)
            if certain > 0:
                scanner.pos += certain
                emit(scanner.text[scanner.pos - certain : scanner.pos])

    def _own_ends(self, *, doubled: bool) -> Reading[bool]:
        """Whether the value's own end tag before the scanner's position ends it. `doubled`: also if the tag is there twice."""
        after = yield from self._after(quick=True)
        doubled = doubled and after.what == "own" and not after.damaged
        if doubled:
            after = yield from self._parser.scanner.look(self._after_doubled())
        if after.what != "text":
            return after.what != "own"
        doubted = doubled or after.damaged > 0 or (yield from self._at_line_end())
        return doubted and not (yield from self._ends_later(weak=True))

    def _after_doubled(self) -> Reading[After]:
        """What follows several end tags of the value in a row."""
        scanner = self._parser.scanner
        for _ in range(MAX_CLOSERS):
            yield from scanner.blanks()
            if not (yield from scanner.literal(self._tag.end)):
                break
        return (yield from self._after(quick=True))

    def _call_ends(self, mark: str) -> Reading[bool]:
        """Whether the end tag of the call or its wrapper before the scanner's position ends a value without an own end tag.

        If so, the scanner moves back before the tag, unless the call continues after it.
        """
        after = yield from self._after()
        ends = yield from self._ends_by(after, certain=after.exact > 0)
        if ends and after.what != "parameter":
            self._parser.scanner.pos -= len(mark)
        return ends

    def _closes(self, *, again: bool) -> Reading[bool]:
        """Skips a damaged or foreign closing tag that ends the value; otherwise the scanner does not move.

        `again`: a tag that does not end the value will be parsed again, without the newline before it.
        """
        scanner = self._parser.scanner
        offset = scanner.pos - scanner.start
        closer = yield from read_closer(scanner, (*self._names, *self._foreign), self._tag.end)
        if closer and self._opened[closer.element] > 0:
            self._opened[closer.element] -= not again
        elif closer and closer.element in self._foreign and closer.element not in self._names:
            after = yield from self._after()
            if closer.element in self._properties and not closer.cut and (after.exact or after.what != "text"):
                ends = yield from self._ends_by(after, certain=True)
            else:
                ends = after.exact > 0 and not after.damaged and after.what in ("over", "call")
            if ends:
                return True
        elif closer and closer.element and (yield from self._ends_with(closer)):
            return True
        scanner.pos = scanner.start + offset
        return False

    def _opens(self) -> Reading[str]:
        """Skips and counts the prefix of an opening tag, if closing tags may have the element's name. Returns the prefix."""
        scanner = self._parser.scanner
        found = yield from scanner.literal(self._openings)
        if found and not (yield from scanner.peek()).isalnum():
            self._opened[found[1:]] += 1
        return found or ""

    def _ends_with(self, closer: Closer) -> Reading[bool]:
        """Whether the closing tag before the scanner's position ends the value."""
        if closer.cut and (yield from self._parser.scanner.ahead(self._tag.end)):
            return True  # an end tag that was started twice
        after = yield from self._after()
        if after.what == "over" and closer.cut and not after.exact and self._parser.scanner.broken:
            return False
        if after.what == "own" and closer.element == self._names[0] and not closer.cut and not after.damaged:
            return (yield from self._parser.scanner.look(self._after_doubled())).what != "text"
        return (yield from self._ends_by(after, certain=after.exact > 0))

    def _ends_by(self, after: After, *, certain: bool) -> Reading[bool]:
        """Whether the text after a closing tag other than the value's own shows that the value ended there."""
        match after.what:
            case "over" | "call":
                return True
            case "parameter":
                return self._next(after.name)
            case "text" if certain or after.damaged or (yield from self._at_line_end()):
                return not (yield from self._ends_later(weak=not certain))
        return False

    def _call_begins(self, back: int) -> Reading[bool]:
        """Whether the begin tag of a call before the scanner's position ends the value; if so, the scanner moves `back`.

        It does if it begins a call of an offered tool, and no end of the value comes after it.
        """
        scanner = self._parser.scanner
        begins = (yield from scanner.look(self._is_call())) and not (yield from self._ends_later(weak=True, nested=True))
        scanner.pos -= back if begins else 0
        return begins

    def _is_call(self) -> Reading[bool]:
        """Whether the name of an offered tool is at the scanner's position, possibly after further begin tags."""
        scanner = self._parser.scanner
        yield from scanner.blanks()
        for _ in range(MAX_CLOSERS):
            if not (yield from scanner.literal(self._begins)):
                break
            yield from scanner.blanks()
        text = yield from scanner.run(self._call.characters, MAX_HEADER)
        match = self._call.header.fullmatch(text.strip()) if text else None
        return match is not None and match["name"] in self._parser.tools.schemas

    def _turn_ends(self, back: int) -> Reading[bool]:
        """Whether a token that ends the turn is the last of the text, and so ends the value; if so, the scanner moves `back`."""
        scanner = self._parser.scanner
        offset = scanner.pos - scanner.start
        yield from scanner.blanks()
        over = not (yield from scanner.peek()) and not scanner.broken
        scanner.pos = scanner.start + offset - (back if over else 0)
        return over

    def _last(self, *, inside: bool) -> Reading[bool]:
        """Whether an end tag that may belong to a parameter inside the value certainly ends the value.

        `inside`: the value contains the beginning of a call; then no text may follow.
        """
        after = yield from self._after()
        if not after.exact or (inside and after.what != "over"):
            return False
        return after.what == "over" or not (yield from self._ends_later(weak=False))

    # what follows

    def _at_line_end(self) -> Reading[bool]:
        """Whether only blanks follow on the line."""
        return (yield from self._parser.scanner.look(self._line_ends()))

    def _line_ends(self) -> Reading[bool]:
        scanner = self._parser.scanner
        yield from scanner.run(_LINE_END, MAX_HEADER)
        return bool((yield from scanner.literal(_NEWLINES)) or (yield from scanner.ahead(TURN_ENDS)))

    def _after(self, *, quick: bool = False) -> Reading[After]:
        """What follows, without moving the scanner. `quick`: stop at an exact end of the call."""
        return (yield from self._parser.scanner.look(self._read_after(quick=quick)))

    def _read_after(self, *, quick: bool) -> Reading[After]:
        scanner = self._parser.scanner
        exact = damaged = 0
        yield from self.stray()
        for _ in range(MAX_CLOSERS):
            yield from scanner.blanks()
            if not (yield from scanner.peek()):
                return After("over", exact, damaged)
            if (yield from scanner.literal(TURN_ENDS)):
                continue
            if header := (yield from self.any_header()):
                return After("parameter", exact, damaged, header[0])
            if (yield from scanner.ahead(self._begins)):
                return After("call", exact, damaged)
            if (yield from scanner.literal(self._ends)):
                if quick:
                    return After("end", exact, damaged)
                exact += 1
            elif (yield from scanner.ahead(self._tag.end)):
                return After("own", exact, damaged)
            elif (yield from read_closer(scanner, self._names)):
                damaged += 1
            else:
                return After("over" if self.is_cut() else "text", exact, damaged)
        return After("text", exact, damaged)

    def stray(self) -> Reading[None]:
        """Skips stray characters between a closing tag and the end of its line."""
        scanner = self._parser.scanner
        offset = scanner.pos - scanner.start
        stray = yield from scanner.run(_STRAY, MAX_STRAY)
        if stray is None or (stray.strip(">") and (yield from scanner.peek()) not in ("", "\r", "\n", "<")):
            scanner.pos = scanner.start + offset

    def is_cut(self) -> bool:
        """Whether the text is cut off inside a tag that may follow a parameter."""
        scanner = self._parser.scanner
        rest = scanner.text[scanner.pos : scanner.pos + MAX_HEADER]
        return scanner.ended and (rest.startswith(self._tag.begin) or any(mark.startswith(rest) for mark in self._marks))

    def _ends_later(self, *, weak: bool, nested: bool = False) -> Reading[bool]:
        """Whether an end tag follows that can only be the value's, so that the text before it belongs to the value.

        Args:
            weak: Whether there is little evidence that the value has ended. Then MAX_DOUBT characters without an end tag, or the
                rest of a text that was cut off, belong to the value.
            nested: Whether a call begins at the scanner's position that may be part of the value. Otherwise the next call ends
                the search.
        """
        return (yield from self._parser.scanner.look(self._finds_end(weak=weak, nested=nested)))

    def _finds_end(self, *, weak: bool, nested: bool) -> Reading[bool]:
        scanner = self._parser.scanner
        begun, depth = scanner.place, 0
        stops = self._tag.end + self._tag.begin + self._begins
        head = openers(_heads(stops))
        while True:
            match = head.search(scanner.text, scanner.pos)
            scanner.pos = match.start() if match else len(scanner.text)
            later = weak and (scanner.place - begun > MAX_DOUBT or (match is None and scanner.ended and scanner.broken))
            if not later and match:
                found = yield from scanner.literal(stops)
                if found in self._tag.begin:
                    name = yield from self._header_here(len(found))
                    depth += name is not None and self._nests(name)
                elif found in self._begins:
                    if not nested and (not weak or (yield from scanner.look(self._is_call()))):
                        return False
                elif found and depth:
                    depth -= 1
                elif found:
                    later = (yield from self._after(quick=True)).what not in ("text", "own")
                    scanner.pos -= len(found) if later else 0
                else:
                    scanner.pos += 1
            elif not later and scanner.ended:
                return False
            elif not later:
                yield
            if later:
                self._certain = scanner.pos - scanner.start - len("\r\n")  # a newline before a tag may be markup
                return True

    def _header_here(self, back: int) -> Reading[str | None]:
        """The name of the parameter whose tag begins `back` characters before the scanner's position."""
        scanner = self._parser.scanner
        scanner.pos -= back
        header = yield from scanner.look(self.header())
        scanner.pos += back
        return header and header[0]

    def _next(self, name: str) -> bool:
        """Whether a parameter's tag inside a value begins the next parameter: it is declared, and not given yet."""
        return (name in self._properties or not self._properties) and name not in self.given

    def _nests(self, name: str) -> bool:
        """Whether a parameter inside a value has the same end tag as the value."""
        return True


@lru_cache(1024)
def _marks(tag: Tag, others: tuple[str, ...], more: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tags that may end a value or open an element in it, and the prefixes of these and of closing tags.

    Args:
        tag: The tag of the parameter.
        others: The tags of the call and its wrapper.
        more: Prefixes of other elements.
    """
    exact = tuple(mark for mark in (*tag.end, *tag.begin, *others) if mark[0] in "<]\\")
    marks = tuple(dict.fromkeys((*exact, *TURN_ENDS, *OPENINGS)))
    heads = _heads((*marks, *CLOSINGS, *more))
    rare = [head for head in heads if head[0] != "<"]
    return marks, (*heads, *(newline + head for newline in _NEWLINES for head in ("<", *rare)))


def without_line_ends(text: str) -> str:
    """A value without the line ends next to its tags: one after the begin tag, and then one before the end tag."""
    if text.startswith(("\n", "\r\n")):
        return text.removeprefix("\r").removeprefix("\n").removesuffix("\n").removesuffix("\r")
    return text


@cache
def _stems(tag: Tag) -> tuple[str, ...]:
    """The prefixes of a parameter's tag up to the element's name."""
    stems = (begin.rstrip(" =") for begin in tag.begin)
    return tuple(dict.fromkeys(stem for stem in stems if stem.endswith(("parameter", "param"))))


@cache
def _heads(marks: tuple[str, ...]) -> tuple[str, ...]:
    """The prefixes that the search uses."""
    return tuple(sorted({mark[: HEAD + (mark[1:2] == " ")] for mark in marks}))  # `a < b` is no tag
