"""When a lane may open: where the next delta is told before it comes. delta_run.py is what one is.

Rule of this file: the codec and the reader say what text is nothing but more of the same, by the TextState that they return; and
what they are between was seen to let such a delta pass, or to put the same around two in a row, or has nothing yet.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ...apis.codec import SupportsRuns, is_numbered
from ...apis.shared.delta_template import DeltaTemplate, Kind
from ...apis.shared.delta_template_learner import plain
from ...core.sse import ServerSentEvent
from ...core.text_state import TextState
from .delta_run import DeltaRun
from .output_template import OutputTemplate, quoted, wrap_of

if TYPE_CHECKING:
    from .matchers import Wait

PATIENCE = 32
"""Lanes in a row that were made for nothing."""

_NUMBERED = re.compile(rb'"sequence_number"\s*:\s*\d')


class Busy(Protocol):
    """A transformer that may do more with deltas than let them pass."""

    @property
    def busy(self) -> bool: ...


class Reading(Protocol):
    """What looks into texts; of a pipeline, transformers.markup.Markup."""

    @property
    def holds(self) -> bool: ...

    def text_state(self, kind: Kind, choice: int) -> TextState | None: ...


class RunOpener:
    """Opens lanes: of the codec and the reader as they stand, as long as none of the `others` is busy.

    `translates`: nothing passes as it is. `wait`, if it is set: see Lane.
    """

    def __init__(self, codec: SupportsRuns, markup: Reading, others: Sequence[Busy], *, translates: bool) -> None:
        self._codec = codec
        self._counts = is_numbered(codec)
        self._markup = markup
        self._others = others
        self._translates = translates
        self.wait: Wait | None = None
        self._known: tuple[DeltaTemplate, DeltaTemplate | None] | None = None  # the codec's, and that of whole events
        self._wrapped: tuple[DeltaTemplate, OutputTemplate] | None = None  # the last delta's shape, and what was around it
        self._passing: DeltaRun | None = None  # the last one that let events pass as they are
        self._holding: DeltaRun | None = None  # the last one whose events were held
        self._made: DeltaRun | None = None  # the last one that was made
        self._short = 0  # so many in a row were made, or could have been, for too few deltas

    def open(self, sse: ServerSentEvent, given: Sequence[bytes]) -> DeltaRun | None:
        """The lane of what may come behind an event that was read, if there is one; `given` is what went out for it, in parts."""
        last, self._wrapped = self._wrapped, None
        told = self._codec.run_template()
        if told is None or not sse.data:
            return None
        shape, state = told
        if (text := shape.text(sse.data)) is None:
            return None  # one that says nothing passes, whatever becomes of the others
        parser_state, whole = self._markup.text_state(shape.kind, shape.choice), self._of_events(shape, sse)
        if parser_state is None or whole is None:
            return None
        state = state or parser_state
        if self._markup.holds:
            return self._held(whole, state)
        if any(box.busy for box in self._others):
            return None
        if given and given[-1] is sse.raw:  # what is written anew may be the same by chance
            if self._passing is None or not self._passing.begin(whole, state):
                if not self._gains():
                    return None
                self._made = self._passing = DeltaRun(whole, state, None, counts=self._counts, wait=self.wait)
            return self._passing
        if not self._gains():
            return None
        others = whole.others(sse.raw) if whole.varies and not self._translates else ()
        wrap = wrap_of(b"".join(given), quoted(text, escapes=state.escapes), others)
        if wrap is None:
            return None
        self._wrapped = whole, wrap
        if last is None or last[0] is not whole or not wrap.alike(last[1]):  # in another shape something else varies
            return None
        # of numbered events, one that comes again is dropped where it is translated
        behind = sse.raw if self._translates and self._counts and whole.varies and _NUMBERED.search(sse.raw) else b""
        self._made = DeltaRun(plain(whole) if wrap.holes else whole, state, wrap, wait=self.wait, behind=behind)
        return self._made

    def _gains(self) -> bool:
        """Whether to make a lane: seldom, where each of the last was left at once, as where texts of two kinds take turns."""
        self._short = self._short + 1 if self._made and self._made.short else 0
        return self._short < PATIENCE or self._short % PATIENCE < 2  # in two of a row it is seen what goes out around them

    def _held(self, shape: DeltaTemplate, state: TextState) -> DeltaRun | None:
        """The lane of what is held, where nothing else varies in it and each has no number of its own."""
        if shape.varies or self._counts:
            return None
        if self._holding is None or not self._holding.begin(shape, state):
            self._holding = DeltaRun(shape, state, None, holds=True)
        return self._holding

    def _of_events(self, shape: DeltaTemplate, sse: ServerSentEvent) -> DeltaTemplate | None:
        known, whole = self._known or (None, None)
        if known is shape and whole and whole.span(sse.raw):
            return whole
        whole = shape.raw(sse)
        self._known = shape, whole
        return whole if whole and whole.span(sse.raw) else None
