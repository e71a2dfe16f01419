"""The text of a parameter's value: everything up to the tag that ends it, whatever became of that tag.

    <parameter=path>a.md</parameter>      <parameter=path>a.md</paramter></function>      <parameter=path>a.md<parameter=limit>

1. A value ends at its own closing tag if what follows can follow a parameter (R4, dialect-rules.md), so a file may hold them.
2. Any other closing tag, be it damaged, another dialect's or that of the call, ends a value only where the call evidently goes on
   or ends after it: the next parameter, the next call, or nothing but closing tags up to the end of the text.
3. A closing tag of an element that the value itself has opened belongs to the value.
4. A closing tag that is named after a parameter of any offered tool ends a value without an end of its own, if the exact end of
   the call follows, or after one of the tool's own parameters the next parameter; so does one that is named after the value's
   parameter if the value's end follows.
5. Where prose follows, the tag is in doubt until a later closing tag shows that the text before it is the value's; without one
   the value ended at the first. At most MAX_DOUBT characters are held for this, then they belong to the value.
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
from ...core.scanner import Reading, Scanner
from ...core.text_state import without
from .closers import CLOSINGS, OPENINGS, Closer, read_closer
from .tag import Tag

if TYPE_CHECKING:
    from .markup_parser import MarkupParser

MAX_HEADER = 256
"""Characters of a parameter's name with what is around it."""

MAX_DOUBT = 4096
"""Characters after a closing tag that are held while it is in doubt: what follows a call without an end is short."""

MAX_CLOSERS = 8
"""Closing tags in a row that are read to find what comes after them."""

MAX_STRAY = 3
"""Characters without a meaning after a closing tag: `</parameter>.`"""

TURN_ENDS = (
    *("<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|user|>", "<|observation|>"),
    *("<｜end▁of▁sentence｜>", "<end_of_turn>", "<turn|>", "<|end|>", "<|return|>", "<|END_OF_TURN_TOKEN|>", "</s>", "[e~["),
)
"""Tokens that end the model's turn."""

HEAD = 2
"""Characters of a tag by which it is found."""

_FIRSTS = ("<", "]", "\\", "")
"""What a tag may begin with; nothing at the end of the text."""

_HEADER = re.compile(r"[^<>{}\r\n]*")
_WORD = re.compile(r"[\w.-]+")
_UNENDED = re.compile(r"""\s*[=:]*\s*["']?([\w.-]+)["']?\s*[=:]\s*""")
_STRING = re.compile(r"""\bstring\s*=\s*["']?(true|false)""")
_STRAY = re.compile(r"[>.,;:`]*")
_LINE_END = re.compile(r"[ \t]*")
_NEWLINES = ("\n", "\r\n")


@value
class Tags:
    """The tags that matter between the parameters of a call."""

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
    """What follows a closing tag, blanks and other closing tags left out.

    `what`: the end of the text; the next `parameter`, by its `name`; a call; an end tag of the value itself; the exact end of the
    call, if that was asked for; else text. `exact`, `damaged`: closing tags of the call in front of it.
    """

    what: Literal["over", "parameter", "call", "own", "end", "text"]
    exact: int = 0
    damaged: int = 0
    name: str = ""


class ValueText:
    """Reads the values of one call up to their ends. `given`: the names of the parameters so far."""

    def __init__(self, reader: "MarkupParser", tags: Tags, name: str) -> None:
        self.given: list[str] = []
        self._reader = reader
        self._tool = name
        self._tag, self._call = tags.parameter, tags.call
        self._schema = reader.tools.schemas.get(name, {})
        self._properties = reader.tools.properties(name)
        self._ends, self._begins = tags.ends, tags.begins
        self._certain = 0  # after scanner.start, how much text is known to be the value's
        self._openings = OPENINGS
        self._names: tuple[str, ...] = ()  # what a closing tag may be named after
        self._foreign = reader.tools.parameter_names - {name}  # and what it may be, if the call ends after it
        self._opened: Counter[str] = Counter()  # elements that the value has opened, by their names

    # what stands between values

    def header(self) -> Reading[tuple[str, str | None] | None]:
        """The tag that begins a parameter: its name, and whether it says to be a string. None, and no step, if none does."""
        scanner = self._reader.scanner
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
        """The same, also of a damaged tag that can only mean one parameter; "" is the name of one that may mean several."""
        return (yield from self.header()) or (yield from self._damaged_header())

    def _damaged_header(self) -> Reading[tuple[str, str | None] | None]:
        scanner = self._reader.scanner
        offset = scanner.pos - scanner.start
        stems = _stems(self._tag)
        text = (yield from scanner.run(_HEADER, MAX_HEADER)) if (yield from scanner.literal(stems)) else None
        name = None
        if text is not None and not text[:1].isalnum():  # else it is the tag of another element
            ended = yield from scanner.literal((*self._tag.separator, ">\n", ">", "\n", "\r\n"))
            named = {word for word in _WORD.findall(text) if self._next(word) and word in self._properties}
            cut = None if ">" in (ended or "") else _UNENDED.match(text)
            if cut and cut[1] in named and (not ended or text[cut.end() :].strip(" \"'")):  # the value begins on the tag's line
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
        """Which parameter a tag without a name means, which has been read: the one that its text names, or that is left."""
        scanner = self._reader.scanner
        offset = scanner.pos - scanner.start
        text = (yield from scanner.run(_HEADER, MAX_HEADER)) or ""
        word, closer = text.strip(), (yield from scanner.literal(self._tag.end))
        if word in self._properties and self._next(word) and closer and (yield from self._after(quick=True)).what == "text":
            yield from scanner.literal(_NEWLINES)
            return word
        scanner.pos = scanner.start + offset
        if not text.strip() and (yield from _look(scanner, self._closing_follows())):
            return None
        left = [name for name in self._properties if name not in self.given]
        required = [name for name in left if name in (self._schema.get("required") or ())]
        return left[0] if len(left) == 1 else required[0] if len(required) == 1 else ""

    def _closing_follows(self) -> Reading[bool]:
        scanner = self._reader.scanner
        yield from scanner.blanks()
        return bool((yield from scanner.literal(self._ends)) or (yield from read_closer(scanner, self._names)))

    # the value

    def _value_begins(self, name: str) -> None:
        """The value of this parameter follows."""
        self._names = tuple(filter(None, (name, self._tool)))
        named = (*self._names, *sorted(self._foreign))
        self._openings = (*OPENINGS, *(f"<{each}" for each in named))
        self._opened.clear()
        self._marks, heads = _marks(self._tag, self._ends + self._begins, frozenset(f"<{each[:1]}" for each in named))
        self._head = openers(heads)
        self._text_state = without(heads, frozenset(), self._head.search)._replace(escapes=json_text.inside)

    def _text(self, emit: Callable[[str], None]) -> Reading[bool]:
        """Emits the text of a value up to its end. False if the text ends before."""
        scanner = self._reader.scanner
        depth = calls = 0  # parameters, calls and wrappers that the value itself holds
        said = literal = False  # there is text; there are end tags in it
        trims = any(end.startswith("\n") for end in self._tag.end)  # the newline in front of its own end is markup, too
        while True:
            match = self._head.search(scanner.text, scanner.pos)
            end = match.start() if match else len(scanner.text)
            if end > scanner.pos:
                piece, scanner.pos = scanner.text[scanner.pos : end], end
                said = said or not piece.isspace()
                emit(piece)
            if match is None:
                if scanner.ended:
                    return False
                scanner.text_state = self._text_state
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
                    over = yield from self._own_ends(doubled=said and not literal and not any(self._opened.values()))
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
            if not (found or newline):  # it only looked like one
                found = scanner.text[scanner.pos]
                scanner.pos += 1
            certain = scanner.start + self._certain - scanner.pos  # what was found to be the value's is not read again
            self._certain = 0
            said = said or bool(found)
            emit(newline + found)
            if certain > 0:
                scanner.pos += certain
                emit(scanner.text[scanner.pos - certain : scanner.pos])

    def _own_ends(self, *, doubled: bool) -> Reading[bool]:
        """Whether the value's own end tag, which has been read, ends it. `doubled`: it does if it stands there twice, too."""
        after = yield from self._after(quick=True)
        doubled = doubled and after.what == "own" and not after.damaged
        if doubled:
            after = yield from _look(self._reader.scanner, self._after_doubled())
        if after.what != "text":
            return after.what != "own"
        doubted = doubled or after.damaged > 0 or (yield from self._at_line_end())
        return doubted and not (yield from self._ends_later(weak=True))

    def _after_doubled(self) -> Reading[After]:
        """What follows end tags of the value that stand here in a row."""
        scanner = self._reader.scanner
        for _ in range(MAX_CLOSERS):
            yield from scanner.blanks()
            if not (yield from scanner.literal(self._tag.end)):
                break
        return (yield from self._after(quick=True))

    def _call_ends(self, mark: str) -> Reading[bool]:
        """Whether an end of the call or its wrapper, which has been read, ends a value without an end of its own.

        The scanner is left in front of it, unless the call goes on after it.
        """
        after = yield from self._after()
        ends = yield from self._ends_by(after, certain=after.exact > 0)
        if ends and after.what != "parameter":
            self._reader.scanner.pos -= len(mark)
        return ends

    def _closes(self, *, again: bool) -> Reading[bool]:
        """Goes past a closing tag that is not exact, if one stands here that ends the value; else no step is made.

        `again`: if it does not, it is read again without the newline in front of it.
        """
        scanner = self._reader.scanner
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
        """Goes past what an opening tag begins with, if it is one of an element that a closing tag may name."""
        scanner = self._reader.scanner
        found = yield from scanner.literal(self._openings)
        if found and not (yield from scanner.peek()).isalnum():
            self._opened[found[1:]] += 1
        return found or ""

    def _ends_with(self, closer: Closer) -> Reading[bool]:
        """Whether this closing tag, which has been read, ends the value."""
        if closer.cut and (yield from self._reader.scanner.ahead(self._tag.end)):
            return True  # an end tag that was begun twice
        after = yield from self._after()
        if after.what == "over" and closer.cut and not after.exact and self._reader.scanner.broken:
            return False
        if after.what == "own" and closer.element == self._names[0] and not closer.cut and not after.damaged:
            return (yield from _look(self._reader.scanner, self._after_doubled())).what != "text"
        return (yield from self._ends_by(after, certain=after.exact > 0))

    def _ends_by(self, after: After, *, certain: bool) -> Reading[bool]:
        """Whether what follows a closing tag that is not the value's own shows that the value ended there."""
        match after.what:
            case "over" | "call":
                return True
            case "parameter":
                return self._next(after.name)
            case "text" if certain or after.damaged or (yield from self._at_line_end()):
                return not (yield from self._ends_later(weak=not certain))
        return False

    def _call_begins(self, back: int) -> Reading[bool]:
        """Whether a tag that begins a call, which has been read, ends the value in front of it.

        It does if the call is one of an offered tool, and no end of the value comes after it. Then the scanner is left in front.
        """
        scanner = self._reader.scanner
        begins = (yield from _look(scanner, self._is_call())) and not (yield from self._ends_later(weak=True, nested=True))
        scanner.pos -= back if begins else 0
        return begins

    def _is_call(self) -> Reading[bool]:
        """Whether the name of an offered tool stands here, after more tags that begin a call or not."""
        scanner = self._reader.scanner
        yield from scanner.blanks()
        for _ in range(MAX_CLOSERS):
            if not (yield from scanner.literal(self._begins)):
                break
            yield from scanner.blanks()
        text = yield from scanner.run(self._call.characters, MAX_HEADER)
        match = self._call.header.fullmatch(text.strip()) if text else None
        return match is not None and match["name"] in self._reader.tools.schemas

    def _turn_ends(self, back: int) -> Reading[bool]:
        """Whether a token that ends the turn, which has been read, is the last of the text, and ends the value in front of it."""
        scanner = self._reader.scanner
        offset = scanner.pos - scanner.start
        yield from scanner.blanks()
        over = not (yield from scanner.peek()) and not scanner.broken
        scanner.pos = scanner.start + offset - (back if over else 0)
        return over

    def _last(self, *, inside: bool) -> Reading[bool]:
        """Whether an end tag of the value, which has been read and may be that of one inside it, surely ends the call.

        `inside` a call that the value holds, nothing may follow.
        """
        after = yield from self._after()
        if not after.exact or (inside and after.what != "over"):
            return False
        return after.what == "over" or not (yield from self._ends_later(weak=False))

    # what follows

    def _at_line_end(self) -> Reading[bool]:
        """Whether nothing but blanks follows on the line."""
        return (yield from _look(self._reader.scanner, self._line_ends()))

    def _line_ends(self) -> Reading[bool]:
        scanner = self._reader.scanner
        yield from scanner.run(_LINE_END, MAX_HEADER)
        return bool((yield from scanner.literal(_NEWLINES)) or (yield from scanner.ahead(TURN_ENDS)))

    def _after(self, *, quick: bool = False) -> Reading[After]:
        """What follows; no step is made. `quick`: an exact end of the call is all that is asked for."""
        return (yield from _look(self._reader.scanner, self._read_after(quick=quick)))

    def _read_after(self, *, quick: bool) -> Reading[After]:
        scanner = self._reader.scanner
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
        """Goes past characters that got between a closing tag and the end of its line."""
        scanner = self._reader.scanner
        offset = scanner.pos - scanner.start
        stray = yield from scanner.run(_STRAY, MAX_STRAY)
        if stray is None or (stray.strip(">") and (yield from scanner.peek()) not in ("", "\r", "\n", "<")):
            scanner.pos = scanner.start + offset

    def is_cut(self) -> bool:
        """Whether the text ends in the middle of what may follow a parameter."""
        scanner = self._reader.scanner
        rest = scanner.text[scanner.pos : scanner.pos + MAX_HEADER]
        return scanner.ended and (rest.startswith(self._tag.begin) or any(mark.startswith(rest) for mark in self._marks))

    def _ends_later(self, *, weak: bool, nested: bool = False) -> Reading[bool]:
        """Whether an end tag comes that can only be the value's: then the text up to there is the value's.

        Args:
            weak: little speaks for an end of the value so far. Then MAX_DOUBT characters without one are the value's, and so is
                all that is left of a text that is broken off.
            nested: a call begins here, which may be one in the value. Else the next call is the end of the search.

        """
        return (yield from _look(self._reader.scanner, self._finds_end(weak=weak, nested=nested)))

    def _finds_end(self, *, weak: bool, nested: bool) -> Reading[bool]:
        scanner = self._reader.scanner
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
                    if not nested and (not weak or (yield from _look(scanner, self._is_call()))):
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
                self._certain = scanner.pos - scanner.start - len("\r\n")  # a newline in front of a tag may be markup
                return True

    def _header_here(self, back: int) -> Reading[str | None]:
        """The name of the parameter whose tag begins `back` characters before."""
        scanner = self._reader.scanner
        scanner.pos -= back
        header = yield from _look(scanner, self.header())
        scanner.pos += back
        return header and header[0]

    def _next(self, name: str) -> bool:
        """Whether a parameter's tag begins the next one, and this one has no end: it is declared, and not given yet."""
        return (name in self._properties or not self._properties) and name not in self.given

    def _nests(self, name: str) -> bool:
        """Whether a parameter's tag in a value wants an end tag such as the value's."""
        return True


@lru_cache(1024)
def _marks(tag: Tag, others: tuple[str, ...], more: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What may end a value, or open something in it, and how these and closing tags begin.

    Args:
        tag: that of the parameter.
        others: the tags of the call and its wrapper.
        more: how other elements begin.

    """
    exact = tuple(mark for mark in (*tag.end, *tag.begin, *others) if mark[0] in "<]\\")
    marks = tuple(dict.fromkeys((*exact, *TURN_ENDS, *OPENINGS)))
    heads = _heads((*marks, *CLOSINGS, *more))
    rare = [head for head in heads if head[0] != "<"]
    return marks, (*heads, *(newline + head for newline in _NEWLINES for head in ("<", *rare)))


@cache
def _stems(tag: Tag) -> tuple[str, ...]:
    """How a parameter's tag begins, whatever follows the element's name."""
    stems = (begin.rstrip(" =") for begin in tag.begin)
    return tuple(dict.fromkeys(stem for stem in stems if stem.endswith(("parameter", "param"))))


@cache
def _heads(marks: tuple[str, ...]) -> tuple[str, ...]:
    """How these begin."""
    return tuple(sorted({mark[:HEAD] for mark in marks}))


def _look[T](scanner: Scanner, reading: Reading[T]) -> Reading[T]:
    """Reads ahead, and comes back to where it was."""
    offset = scanner.pos - scanner.start
    found = yield from reading
    scanner.pos = scanner.start + offset
    return found
