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

from .apis.shape import ROOM, Shape, text_of
from .course import Course
from .glance import LONGEST, MOST, Glance, is_utf8, nothing, same, wrapped
from .sse import ServerSentEvent, parse
from .wrap import Wrap

MOST_CHARACTERS = ROOM // 8
"""Characters of them. A chunk that is longer is not looked at: what is read late must be within ROOM."""


class Lane:
    """A run of deltas. `shape`: of whole events. `wrap`: around the last delta that was read; None: they pass as they are."""

    def __init__(self, shape: Shape, course: Course, wrap: Wrap | None) -> None:
        self._shape = shape
        self._course = course
        self._stops = course.stops
        self._escapes = course.escapes
        self._quiet = course.quiet
        self._wrap = wrap
        self._holes = shape.holes(course.quiet) if course.quiet and wrap is None else ()
        self._run: list[bytes] = []  # the events; of those in which more than the text varies, the texts
        self._size = 0
        self._last = b""  # the last event
        self.glance: Glance = self._several if self._holes else nothing
        if course.quiet and not shape.varies:
            run, quiet = self._run, course.quiet
            self.glance = wrapped(shape, quiet, run, wrap, escapes=course.escapes) if wrap else same(shape, quiet, run)

    def begin(self, shape: Shape, course: Course) -> bool:
        """Whether another run can begin here: it is of the same shape, and on the same course."""
        self._run.clear()
        self._size = 0
        return self._shape is shape and self._course is course

    @property
    def empty(self) -> bool:
        """Whether there is nothing to be read."""
        return not self._run

    def skip(self, data: bytes, at: int = 0) -> int:
        """Where the quiet events of the run end that begin at `at`: they pass as they are, and have been taken in.

        `glance` is for chunks that are one such event and no more, and faster.
        """
        if not self._holes or len(self._run) >= MOST or self._size + len(data) > MOST_CHARACTERS:
            return at
        head, holes, quiet, plain = self._shape.head, self._holes, self._quiet, data.isascii()
        start, size, begin, whole = len(head), len(data), at, not self._shape.varies
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
            if first == last or not (plain or is_utf8(data[first:last])):
                break
            self._last = data[at:end]
            self._run.append(self._last if whole else data[first:last])
            at = end
        self._size += at - begin
        return at

    def _several(self, data: bytes) -> bytes | None:
        """What `glance` is where more than the text varies."""
        if len(data) > LONGEST or len(self._run) >= MOST or not data.startswith(self._shape.head):
            return None
        end, first, last, quiet = len(self._shape.head), 0, 0, self._quiet
        for hole, literal, length in self._holes:
            match = hole(data, end)
            if match is None or not data.startswith(literal, stop := match.end()):
                return None
            if hole is quiet:
                first, last = end, stop
            end = stop + length
        text = data[first:last]
        if end != len(data) or not text or not (text.isascii() or is_utf8(text)):
            return None
        self._last = data
        self._run.append(text)
        return data

    def run(self, data: bytes, at: int) -> tuple[bytes, int]:
        """What goes out for the events from `at` on that belong to the run, and where the first begins that does not."""
        begin, span, run, stops, wrap = at, self._shape.span, self._run, self._stops, self._wrap
        out: list[bytes] = []
        at = self.skip(data, at)
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
                out.append(wrap.around(text, len(run), escapes=self._escapes))
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
        wrap, escapes = self._wrap, self._escapes
        return parse(raw, raw), count, wrap.around(text_of(text) or "", count, escapes=escapes) if wrap else raw


def _is_whole(text: str) -> bool:
    """Whether a text holds no half of a surrogate pair, which joined with another half were one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
