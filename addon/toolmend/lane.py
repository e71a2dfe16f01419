"""Deltas that go out unread, and are read later as one.

    upstream   {… "content":"Let me"}   {… "content":" look"}   {… "content":" at it"}          one shape: apis/shape.py
    client     {… "content":"Let me"}   {… "content":" look"}   {… "content":" at it"}          nothing to mend: the same bytes
               {… "arguments":"Let me"} {… "arguments":" look"} {… "arguments":" at it"}        in a call, or in another API
    read       {… "content":"Let me look at it"}                                                before anything else is

Rule of this file: it changes no result. What a stream means does not depend on where its text was cut, so a run of deltas means
what one delta of their joined text does; and that goes through the whole pipeline before the next thing does. A lane is open only
while the two boxes that look into texts, the codec and the reader, say what text is nothing but more of the same (`stops`), and
while the others were seen to let such a delta pass. Then what goes out is known but for the text: the upstream's own bytes; or
what went out for two such deltas in a row, which were the same around the text.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from . import json_text
from .apis.codec import Counting, Flowing
from .apis.shape import ROOM, Match, Shape, text_of
from .course import Course
from .sse import ServerSentEvent, parse
from .transformers.markup import Markup

MOST = 256
"""Deltas that wait to be read: reading them costs as much as one, so a few hundred make it cost nothing."""

MOST_CHARACTERS = ROOM // 8
"""Characters of them. A chunk that is longer is not looked at: what is read late must be within ROOM."""

LONGEST = 1024
"""Bytes of an event that is taken in without being counted: so many of them are within ROOM as well."""

_SEQUENCE = re.compile(rb'(?<="sequence_number":)\d+')


class Wrap(NamedTuple):
    """What went out around the text, in quotes, of a delta: `parts`, which may hold it twice.

    `number`: of this event, where events have one; `end`: behind it.
    """

    text: bytes
    parts: tuple[bytes, ...]
    number: int = -1
    end: bytes = b""

    def alike(self, other: "Wrap") -> bool:
        """Whether what is around another text is the same, but for its number."""
        surely = len(self.parts) == 2 or self.text != other.text  # a text may say just what a member is called
        return surely and (self.parts, self.end) == (other.parts, other.end)


def wrap_of(given: bytes, quoted: bytes) -> Wrap | None:
    """What is around a text in what went out for it; None where that cannot be told."""
    *parts, last = given.split(quoted)
    if not 1 <= len(parts) <= 2:
        return None
    numbers = _SEQUENCE.findall(given)
    if not numbers:
        return Wrap(quoted, (*parts, last))
    number = _SEQUENCE.search(last)
    if number is None or len(numbers) > 1:
        return None
    return Wrap(quoted, (*parts, last[: number.start()]), int(number[0]), last[number.end() :])


class Lane:
    """A run of deltas. `shape`: of whole events. `wrap`: around the last delta that was read; None: they pass as they are."""

    def __init__(self, shape: Shape, course: Course, wrap: Wrap | None) -> None:
        self._shape = shape
        self._stops = course.stops
        self._escapes = course.escapes
        self._quiet = course.quiet
        self._wrap = wrap
        self._holes = shape.holes(course.quiet) if course.quiet and wrap is None else ()
        self._run: list[bytes] = []  # the events; of those in which more than the text varies, the texts
        self._size = 0
        self._last = b""  # the last event
        self.passes: Callable[[bytes], int] = self._chunk
        if len(self._holes) == 1:
            self.passes = _one(shape.head, self._holes[0], self._run, self._chunk)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to be read."""
        return not self._run

    def _chunk(self, data: bytes) -> int:
        """How much of a chunk is quiet events of the run, which pass as they are: they have been taken in then."""
        if not self._holes or len(self._run) >= MOST or self._size + len(data) > MOST_CHARACTERS:
            return 0
        head, holes, quiet, plain = self._shape.head, self._holes, self._quiet, data.isascii()
        start, size, at = len(head), len(data), 0
        while at < size and data.startswith(head, at):
            end = at + start
            first = last = 0
            for hole, literal, length in holes:
                match = hole(data, end)
                if match is None or not data.startswith(literal, stop := match.end()):
                    first = last = 0
                    break
                if hole is quiet:
                    first, last = end, stop
                end = stop + length
            if first == last or not (plain or _is_utf8(data[first:last])):
                break
            self._take(data, at, first, last, end)
            at = end
        return at

    def run(self, data: bytes, at: int) -> tuple[bytes, int]:
        """What goes out for the events from `at` on that belong to the run, and where the first begins that does not."""
        begin, span, run, stops, wrap = at, self._shape.span, self._run, self._stops, self._wrap
        out: list[bytes] = []
        while len(run) < MOST and self._size + len(data) <= MOST_CHARACTERS:
            found = span(data, at)
            if found is None:
                break
            first, last, end = found
            text = text_of(data[first:last])
            if text is None or stops(text) or not (text.isascii() or _is_whole(text)):
                break
            self._take(data, at, first, last, end)
            if wrap:
                out.append(self._wrapped(wrap, text, len(run)))
            at = end
        if wrap:
            return out[0] if len(out) == 1 else b"".join(out), at
        return data[begin:at], at

    def _take(self, data: bytes, at: int, first: int, last: int, end: int) -> None:
        """Takes in an event of a chunk, and its text."""
        self._size += end - at
        self._last = data[at:end] if len(data) > end - at else data
        self._run.append(data[first:last] if self._shape.varies else self._last)

    def read(self) -> tuple[ServerSentEvent, int, bytes]:
        """The run as one delta, how many it stands for, and what must go out for it if it is read now."""
        shape, run = self._shape, self._run
        if not shape.varies:
            self._last, first, last = run[-1], len(shape.head), -len(shape.rest[0][1])
            run = [event[first:last] for event in run]
        found = shape.span(self._last)
        assert found
        text, count = b"".join(run), len(run)
        raw = self._last[: found[0]] + text + self._last[found[1] :]
        return parse(raw, raw), count, self._wrapped(self._wrap, text_of(text) or "", count) if self._wrap else raw

    def _wrapped(self, wrap: Wrap, text: str, count: int) -> bytes:
        """What goes out for the delta that is the next but so many."""
        quoted = _quoted(text, escapes=self._escapes)
        if wrap.number < 0:
            return quoted.join(wrap.parts)
        return quoted.join(wrap.parts) + b"%d" % (wrap.number + count) + wrap.end


def _one(
    head: bytes, hole: tuple[Match, bytes, int], run: list[bytes], chunk: Callable[[bytes], int]
) -> Callable[[bytes], int]:
    """What `Lane.passes` is where nothing but the text varies: most chunks are one event. Written for speed."""
    quiet, tail, length = hole
    start, least = len(head), len(head) + length

    def passes(data: bytes) -> int:
        size = len(data)
        if (
            least < size < LONGEST
            and (match := quiet(data, start))
            and match.end() + length == size
            and data.endswith(tail)
            and data.startswith(head)
            and (data.isascii() or _is_utf8(data))
            and len(run) < MOST
        ):
            run.append(data)
            return size
        return chunk(data)

    return passes


class Busy(Protocol):
    """A transformer that may do more with deltas than let them pass."""

    @property
    def busy(self) -> bool: ...


class Lanes:
    """Opens lanes: of the codec and the reader as they stand, as long as none of the `others` is busy.

    `translates`: nothing passes as it is.
    """

    def __init__(self, codec: Flowing, markup: Markup, others: Sequence[Busy], *, translates: bool) -> None:
        self._codec = codec
        self._markup = markup
        self._others = others
        self._translates = translates
        self._known: tuple[Shape, Shape | None] | None = None  # the codec's, and that of whole events
        self._wrap: Wrap | None = None  # around the last delta

    def open(self, sse: ServerSentEvent, given: bytes) -> Lane | None:
        """The lane of what may come behind an event that was read, if there is one; `given` is what went out for it."""
        last, self._wrap = self._wrap, None
        told = self._codec.course()
        if told is None or not sse.data:
            return None
        shape, course = told
        goes_on, whole = self._markup.course(shape.kind, shape.choice), self._of_events(shape, sse)
        if goes_on is None or whole is None or any(box.busy for box in self._others):
            return None
        course = course or goes_on
        if given == sse.raw and not self._translates:
            return Lane(whole, course, None)
        if shape.varies and not (self._translates or isinstance(self._codec, Counting)):
            return None  # what varies stands in what goes out
        text = shape.text(sse.data)
        self._wrap = wrap = wrap_of(given, _quoted(text, escapes=course.escapes)) if text else None
        return Lane(whole, course, wrap) if wrap and last and wrap.alike(last) else None

    def _of_events(self, shape: Shape, sse: ServerSentEvent) -> Shape | None:
        known, whole = self._known or (None, None)
        if known is shape and whole and whole.span(sse.raw):
            return whole
        whole = shape.raw(sse)
        self._known = shape, whole
        return whole if whole and whole.span(sse.raw) else None


def _quoted(text: str, *, escapes: bool) -> bytes:
    return json_text.quote(json_text.quote(text)[1:-1] if escapes else text).encode()


def _is_whole(text: str) -> bool:
    """Whether a text holds no half of a surrogate pair, which joined with another half were one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
