"""Deltas that go out unread, and are read later as one.

    upstream   {… "content":"Let me"}   {… "content":" look"}   {… "content":" at it"}          one shape: apis/shape.py
    client     {… "content":"Let me"}   {… "content":" look"}   {… "content":" at it"}          nothing to mend: the same bytes
               {… "arguments":"Let me"} {… "arguments":" look"} {… "arguments":" at it"}        in a call, or in another API
               nothing                                                                          while it is not known what it is
    read       {… "content":"Let me look at it"}                                                before anything else is

Rule of this file: it changes no result. What a stream means does not depend on where its text was cut, so a run of deltas means
what one delta of their joined text does; and that goes through the whole pipeline before the next thing does. A lane is open only
while the two boxes that look into texts, the codec and the reader, say what text is nothing but more of the same (`stops`), and
while the others were seen to let such a delta pass. Then what goes out is known but for the text: the upstream's own bytes; or
what went out for two such deltas in a row, which were the same around the text.
"""

import re
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from ...apis.shared.delta_template import DeltaTemplate, text_of
from ...core.fastclass import replace
from ...core.sse import ServerSentEvent, block_end, parse
from ...core.text_state import ROOM, TextState, cut_off
from .matchers import (
    LONGEST,
    MOST,
    ROW,
    Glance,
    Last,
    Row,
    Wait,
    nothing,
    passing,
    rows,
    same,
    together,
    varying,
    waiting,
    wrapped,
)
from .output_template import Around, OutputTemplate, around, around_all

MOST_CHARACTERS = ROOM // 8
"""Bytes of their texts that are counted; those that matchers.py takes in are few enough. What is read late must be within
ROOM."""

_LINE = re.compile(rb"[\r\n]")

FEW = 3
"""Deltas: to make a lane costs what it costs to read so many."""

MOST_JOINED = 16 * 1024
"""Bytes of texts that become one, to be read later still."""


class DeltaRun:
    """A run of deltas. `shape`: of whole events. `wrap`: around the last delta that was read; None: they pass as they are.

    `holds`: nothing goes out for them, as for what is before them: they are read as one event, and leave as one. `counts`: how
    many there are has a meaning. `wait` may keep an event that is to be told with the next one. `behind`: the event in front of
    the run, where one that comes again is dropped.
    """

    def __init__(
        self,
        shape: DeltaTemplate,
        state: TextState,
        wrap: OutputTemplate | None,
        *,
        holds: bool = False,
        counts: bool = False,
        wait: Wait | None = None,
        behind: bytes = b"",
    ) -> None:
        self.holds = holds
        self._shape = shape
        self._text_state = state
        self._holed = wrap is not None and wrap.holes
        self._around: Around | None = None  # of all that varies where it is holed, else of the texts
        if wrap:
            self._around = around_all(wrap, shape, state) if wrap.holes else around(wrap, state)
        self._least = shape.least  # bytes of an event
        self._most = self._least + LONGEST
        self._run: list[bytes] = []  # the texts; one may be that of several events
        self._size = 0
        self._last: Last = deque([behind] if behind else (), maxlen=1)  # where more than the text varies
        self._once = behind != b""
        self._kept: list[bytes] = []  # the events that are held
        self._joins = not holds and (wrap is None or wrap.number < 0)
        self._joined = 0  # deltas that are in no text of their own
        run, last = self._run, self._last
        # a reader that looks for the end of a text may keep some of a piece for the next: it is not known how much
        alone = holds or (wrap is not None and not (state.splits_escapes or state.defers_backslash))
        row = rows(shape, state, run, last if self._once else None, alone=alone)
        self._row: Row | None = None if holds else row
        if wrap or holds:
            several = passing(shape, row, run, last, self.join, self._around if self._holed else None)
        else:
            several = together(shape, state, run, last, self.join, counts=counts)
        self._takes = self._seen(several)  # a chunk that is held
        self.whole = self.glance = nothing if holds else self._takes  # the first has no event wait
        if wait:
            self.glance = self._seen(waiting(shape, state, several if wrap else self._cut(several, wait), wait))

    def _seen(self, several: Glance) -> Glance:
        """`glance`, of one event or of `several`."""
        shape, state, run, join = self._shape, self._text_state, self._run, self.join
        if not shape.varies:
            take = same(shape, state, several, run, join)
        else:
            take = varying(shape, state, several, run, self._last, join, self._around if self._holed else None, once=self._once)
        return wrapped(take, run, join, self._around) if self._around and not self._holed else take

    def begin(self, shape: DeltaTemplate, state: TextState) -> bool:
        """Whether another run can begin here: it is of the same shape, and in the same text state."""
        self._run.clear()
        self._kept.clear()
        self._size = self._joined = 0
        return self._shape is shape and self._text_state is state

    @property
    def empty(self) -> bool:
        """Whether there is nothing to be read."""
        return not self._run

    @property
    def short(self) -> bool:
        """Whether it took so few that to read them would have cost less."""
        return self._joined + len(self._run) < FEW

    def join(self) -> bool:
        """Makes one text of many, if that spares reading them now; whether it did."""
        if not self._joins or len(self._run) < MOST or len(joined := b"".join(self._run)) > MOST_JOINED:
            return False
        self._joined += len(self._run) - 1
        self._run[:] = (joined,)
        return True

    def skip(self, data: bytes, at: int, out: list[bytes]) -> int:
        """Takes in the quiet events of the run that begin at `at`, and puts what goes out for them into `out`: where they end."""
        begin, run = at, self._run
        while self._row and len(run) < MOST and self._size < MOST_CHARACTERS - ROW * LONGEST:
            texts, parts, first, end = self._row(data, at)
            if not texts:
                break
            if self._around:
                out.append(self._around(parts if self._holed else texts, len(run) + 1))
            run += texts
            self._size += sum(map(len, texts))
            if self._shape.varies:
                self._last.append(data[first:end])
            at = end
        if at > begin and not self._around:
            out.append(data[begin:at])
        return at

    def run(self, data: bytes, at: int, out: list[bytes]) -> tuple[int, bool]:
        """Takes in the events from `at` on that belong to the run, and puts what goes out for them into `out`.

        Where the first begins that does not, and whether what is there may still belong to it, when more comes.
        """
        if self.holds:
            out = self._kept
            if not at and len(data) < self._most and self._takes(data):
                out.append(data)
                return len(data), False
        span, run, state = self._shape.span, self._run, self._text_state
        undecided: list[tuple[int, int, int]] = []
        said = ""  # by them
        sure, waits = at, False
        before = self._last[-1] if self._once else b""
        while len(run) + len(undecided) < MOST:
            if not undecided and len(data) - at > 2 * self._least:
                at = sure = self.skip(data, at, out)
                before = self._last[-1] if self._once else b""
            found = span(data, at)
            if found is None:
                break
            first, last, end = found
            if self._once:
                if data[at:end] == before:
                    if undecided:
                        return sure, False
                    at = sure = end
                    continue
                before = data[at:end]
            too_long = end - at >= self._most if self.holds else self._size + last - first > MOST_CHARACTERS
            if too_long:
                break
            text = text_of(data[first:last])
            if text is None or not (text.isascii() or _is_whole(text)):
                break
            if not undecided and state.splits_escapes and cut_off(run):
                said = "\\"
            undecided.append(found)
            said += text
            if len(undecided) == 1:
                size = len(text)
            at = end
            if stop := state.find_stop(said):
                waits = 0 <= state.pending_at(said, stop) < size
                if waits:
                    continue
                return sure, False
            waits = False
            self._take(data, sure, undecided, out)
            sure = end
            undecided.clear()
            said = ""
        return sure, waits if at == len(data) else self._is_cut(data[at : at + self._most])

    def _cut(self, several: Glance, wait: Wait) -> Glance:
        """`glance`, of events that pass as they are, and the beginning of another: that waits for the rest."""
        tail = self._shape.rest[-1][1]

        def glance(data: bytes) -> bytes | None:
            if (given := several(data)) is not None or data.endswith(b"\n"):
                return given
            end = at + len(tail) if (at := data.rfind(tail)) >= 0 else 0
            rest = data[end:]
            if not self._is_cut(rest):
                return None
            given = several(data[:end]) if end else b""
            return None if given is None else wait(rest, given)  # nothing can fail behind it

        return glance

    def _is_cut(self, rest: bytes) -> bool:
        """Whether this is the beginning of an event, likely of the run: who passes a stream on cuts it anywhere."""
        head = self._shape.head
        if len(rest) >= self._most or block_end(rest, 0):
            return False
        if len(rest) <= len(head):
            return head.startswith(rest)
        # in front of another line it is over: some leave out the blank one
        return rest.startswith(head) and not _LINE.search(rest.rstrip(b"\r\n"), len(head))

    def _take(self, data: bytes, at: int, spans: Sequence[tuple[int, int, int]], out: list[bytes]) -> None:
        """Takes in events of a chunk, that begin at `at`, and their texts."""
        texts = [data[first:last] for first, last, _ in spans]
        bounds = [at, *(end for *_, end in spans)]
        events = [data[begin:end] for begin, end in pairwise(bounds)]
        if self._around:
            given = [part for each in events for part in self._shape.parts(each)] if self._holed else texts
            out.append(self._around(given, len(self._run) + 1))
        else:
            out += events
        self._size += sum(map(len, texts))
        self._run += texts
        if self._shape.varies:
            self._last.append(events[-1])

    def read(self) -> tuple[ServerSentEvent, int, bytes]:
        """The run as one delta, how many it stands for, and what must go out for it if it is read now."""
        shape = self._shape
        text, count = b"".join(self._run), self._joined + len(self._run)
        parts = shape.parts(self._last[0], text) if shape.varies else (text,)
        raw = shape.form % parts
        if self._around:
            return parse(raw, raw), count, self._around(parts if self._holed else (text,), count)
        return parse(raw, raw), count, raw

    def held(self) -> ServerSentEvent:
        """`read` for what is held: one event, which came in the bytes of all of them."""
        raw = b"".join(self._kept)
        self._kept.clear()
        return replace(self.read()[0], raw=raw)


def _is_whole(text: str) -> bool:
    """Whether a text holds no half of a surrogate pair, which joined with another half were one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
