"""A run: deltas that are sent before they are decoded, and decoded later as one.

    upstream   {… "content":"Let me"}   {… "content":" look"}   {… "content":" at it"}          one template: delta_template.py
    client     {… "content":"Let me"}   {… "content":" look"}   {… "content":" at it"}          nothing to correct: unchanged
               {… "arguments":"Let me"} {… "arguments":" look"} {… "arguments":" at it"}        in a call, or in another API
               nothing                                                                          while it is undecided
    decoded    {… "content":"Let me look at it"}                                                before anything else

A run does not change the result. The meaning of a stream does not depend on where its text is cut, so a run is equivalent to
one delta with the concatenated text, which passes through the whole pipeline before the next event does. A run is open only
while the two parts that parse texts, the codec and the markup parser, return which text merely continues (TextState), and while
the others passed such a delta. Then the output is known except for the text: the upstream's own bytes, or what was sent for two
such deltas in a row, which was the same around the text.
"""

import re
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from ...apis.shared.delta_template import DeltaTemplate, text_of
from ...core.fastclass import replace
from ...core.sse import ServerSentEvent, block_end, parse
from ...core.text_state import ROOM, TextState, cut_off
from ..chunk_reader import Matcher, no_match
from .matchers import (
    LONGEST,
    MOST,
    ROW,
    Last,
    RowMatcher,
    Wait,
    match_beginning,
    match_joined,
    match_plain,
    match_several,
    match_varying,
    safe_rows,
    with_output,
)
from .output_template import OutputTemplate, Renderer, render, render_varying

MOST_CHARACTERS = ROOM // 8
"""Bytes of their texts that are counted; what matchers.py accepts is little enough. What is decoded late must be within ROOM."""

_LINE = re.compile(rb"[\r\n]")

FEW = 3
"""Deltas: making a run costs as much as decoding that many."""

MOST_JOINED = 16 * 1024
"""Bytes of texts that are joined, to be decoded later."""


class DeltaRun:
    """A run of deltas.

    Args:
        shape: The template of whole events.
        state: The lexical state of their text.
        template: The template of their output; None: they pass unchanged.
        holds: They have no output, like those before them: they are decoded as one event, and leave as one.
        counts: Their number matters.
        wait: Keeps an event that must be decoded with the next one.
        last_sent: The event before the run, if repeated events are dropped.
    """

    def __init__(
        self,
        shape: DeltaTemplate,
        state: TextState,
        template: OutputTemplate | None,
        *,
        holds: bool = False,
        counts: bool = False,
        wait: Wait | None = None,
        last_sent: bytes = b"",
    ) -> None:
        self.holds = holds
        self._shape = shape
        self._text_state = state
        self._renders_values = template is not None and template.holes
        self._render: Renderer | None = None  # takes all varying values if more than the text is rendered, else the texts
        if template:
            self._render = render_varying(template, shape, state) if template.holes else render(template, state)
        self._least = shape.least  # bytes of an event
        self._most = self._least + LONGEST
        self._run: list[bytes] = []  # the texts; one may belong to several events
        self._size = 0
        self._last: Last = deque([last_sent] if last_sent else (), maxlen=1)  # if more than the text varies
        self._once = last_sent != b""
        self._kept: list[bytes] = []  # the held events
        self._joins = not holds and (template is None or template.number < 0)
        self._joined = 0  # deltas that have no text of their own in the run
        run, last = self._run, self._last
        # a parser that looks for the end of a text may keep some of a piece for the next: how much is unknown
        alone = holds or (template is not None and not (state.splits_escapes or state.defers_backslash))
        row = safe_rows(shape, state, run, last if self._once else None, alone=alone)
        self._safe_row: RowMatcher | None = None if holds else row
        if template or holds:
            several = match_several(shape, row, run, last, self.join, self._render if self._renders_values else None)
        else:
            several = match_joined(shape, state, run, last, self.join, counts=counts)
        self._match = self._matcher(several)  # for a chunk that is held
        self.match_events = self.try_fast = no_match if holds else self._match  # the first event does not wait
        if wait:
            self.try_fast = self._matcher(match_beginning(shape, state, several if template else self._cut(several, wait), wait))

    def _matcher(self, several: Matcher) -> Matcher:
        """A matcher for one event, or for `several`."""
        shape, state, run, join = self._shape, self._text_state, self._run, self.join
        if not shape.varies:
            take = match_plain(shape, state, several, run, join)
        else:
            renderer = self._render if self._renders_values else None
            take = match_varying(shape, state, several, run, self._last, join, renderer, once=self._once)
        return with_output(take, run, join, self._render) if self._render and not self._renders_values else take

    def begin(self, shape: DeltaTemplate, state: TextState) -> bool:
        """Starts another run with this object, if template and state are the same. Returns whether they are."""
        self._run.clear()
        self._kept.clear()
        self._size = self._joined = 0
        return self._shape is shape and self._text_state is state

    @property
    def empty(self) -> bool:
        """Whether there is nothing to decode."""
        return not self._run

    @property
    def short(self) -> bool:
        """Whether the run was so short that decoding its deltas would have cost less."""
        return self._joined + len(self._run) < FEW

    def join(self) -> bool:
        """Joins the texts, if that avoids decoding them now. Returns whether it did."""
        if not self._joins or len(self._run) < MOST or len(joined := b"".join(self._run)) > MOST_JOINED:
            return False
        self._joined += len(self._run) - 1
        self._run[:] = (joined,)
        return True

    def skip(self, data: bytes, at: int, out: list[bytes]) -> int:
        """Takes the safe events from `at` on, and puts their output into `out`. Returns where they end."""
        begin, run = at, self._run
        while self._safe_row and len(run) < MOST and self._size < MOST_CHARACTERS - ROW * LONGEST:
            texts, parts, first, end = self._safe_row(data, at)
            if not texts:
                break
            if self._render:
                out.append(self._render(parts if self._renders_values else texts, len(run) + 1))
            run += texts
            self._size += sum(map(len, texts))
            if self._shape.varies:
                self._last.append(data[first:end])
            at = end
        if at > begin and not self._render:
            out.append(data[begin:at])
        return at

    def run(self, data: bytes, at: int, out: list[bytes]) -> tuple[int, bool]:
        """Takes the events from `at` on that belong to the run, and puts their output into `out`.

        Returns:
            Where they end, and whether what follows may still belong to the run when more data comes.
        """
        if self.holds:
            out = self._kept
            if not at and len(data) < self._most and self._match(data):
                out.append(data)
                return len(data), False
        span, run, state = self._shape.span, self._run, self._text_state
        undecided: list[tuple[int, int, int]] = []
        text_so_far = ""  # text of the undecided events
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
                text_so_far = "\\"
            undecided.append(found)
            text_so_far += text
            if len(undecided) == 1:
                size = len(text)
            at = end
            if stop := state.find_stop(text_so_far):
                waits = 0 <= state.pending_at(text_so_far, stop) < size
                if waits:
                    continue
                return sure, False
            waits = False
            self._take(data, sure, undecided, out)
            sure = end
            undecided.clear()
            text_so_far = ""
        return sure, waits if at == len(data) else self._is_cut(data[at : at + self._most])

    def _cut(self, several: Matcher, wait: Wait) -> Matcher:
        """A matcher for events that pass unchanged, followed by the beginning of another one, which waits for its rest."""
        tail = self._shape.rest[-1][1]

        def try_fast(data: bytes) -> bytes | None:
            if (output := several(data)) is not None or data.endswith(b"\n"):
                return output
            end = at + len(tail) if (at := data.rfind(tail)) >= 0 else 0
            rest = data[end:]
            if not self._is_cut(rest):
                return None
            output = several(data[:end]) if end else b""
            return None if output is None else wait(rest, output)  # nothing can fail after this

        return try_fast

    def _is_cut(self, rest: bytes) -> bool:
        """Whether `rest` is the beginning of an event, likely of the run: gateways cut streams anywhere."""
        head = self._shape.head
        if len(rest) >= self._most or block_end(rest, 0):
            return False
        if len(rest) <= len(head):
            return head.startswith(rest)
        # another line ends it: some upstreams omit the blank line
        return rest.startswith(head) and not _LINE.search(rest.rstrip(b"\r\n"), len(head))

    def _take(self, data: bytes, at: int, spans: Sequence[tuple[int, int, int]], out: list[bytes]) -> None:
        """Takes events of a chunk, which begin at `at`."""
        texts = [data[first:last] for first, last, _ in spans]
        bounds = [at, *(end for *_, end in spans)]
        events = [data[begin:end] for begin, end in pairwise(bounds)]
        if self._render:
            output = [part for each in events for part in self._shape.parts(each)] if self._renders_values else texts
            out.append(self._render(output, len(self._run) + 1))
        else:
            out += events
        self._size += sum(map(len, texts))
        self._run += texts
        if self._shape.varies:
            self._last.append(events[-1])

    def read(self) -> tuple[ServerSentEvent, int, bytes]:
        """Returns the run as one delta, the number of its deltas, and the output due for it if it is decoded now."""
        shape = self._shape
        text, count = b"".join(self._run), self._joined + len(self._run)
        parts = shape.parts(self._last[0], text) if shape.varies else (text,)
        raw = shape.form % parts
        if self._render:
            return parse(raw, raw), count, self._render(parts if self._renders_values else (text,), count)
        return parse(raw, raw), count, raw

    def held(self) -> ServerSentEvent:
        """`read` for a held run: one event, whose raw bytes are those of all of them."""
        raw = b"".join(self._kept)
        self._kept.clear()
        return replace(self.read()[0], raw=raw)


def _is_whole(text: str) -> bool:
    """Whether a text is free of surrogate halves, which could join with another half."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
