"""Decides when a run may begin: when the next delta is predictable. delta_run.py explains runs.

The codec and the markup parser return which text continues the current one (TextState). The transformers between them must have
passed such a delta, or have rendered two in a row alike, or hold it.
"""

import re
from collections.abc import Sequence

from ...apis.codec import is_numbered
from ...apis.shared.delta_template import DeltaTemplate
from ...apis.shared.delta_template_learner import plain
from ...core.sse import ServerSentEvent
from ...core.text_state import TextState
from ..chunk_reader import RunContext
from .delta_run import DeltaRun
from .matchers import Wait
from .output_template import OutputTemplate, learn_output, quoted

PATIENCE = 32
"""Runs in a row that ended at once before runs are tried less often."""

_NUMBERED = re.compile(rb'"sequence_number"\s*:\s*\d')


class RunOpener:
    """Opens runs, by the state of the codec and the parser, as long as no transformer is busy. `wait`: see DeltaRun."""

    def __init__(self, runs: RunContext, wait: Wait | None = None) -> None:
        self._codec = runs.codec
        self._numbered = is_numbered(runs.codec)
        self._parser = runs.parser
        self._busy = runs.busy
        self._translates = runs.translates
        self._wait = wait
        self._known: tuple[DeltaTemplate, DeltaTemplate | None] | None = None  # the codec's template, and that of whole events
        self._rendered: tuple[DeltaTemplate, OutputTemplate] | None = None  # the last delta's template, and that of its output
        self._passing: DeltaRun | None = None  # the last run that passes unchanged
        self._holding: DeltaRun | None = None  # the last run that is held
        self._made: DeltaRun | None = None  # the last run that was made
        self._short_runs = 0  # runs in a row that were made, or could have been, for too few deltas

    def open(self, sse: ServerSentEvent, output: Sequence[bytes]) -> DeltaRun | None:
        """Returns the run that may follow an event, if any. `output`: the event's, in parts."""
        last, self._rendered = self._rendered, None
        found = self._codec.run_template()
        if found is None or not sse.data:
            return None
        shape, state = found
        if (text := shape.text(sse.data)) is None:
            return None  # an event without text passes, whatever happens to others
        parser_state, whole = self._parser.text_state(shape.kind, shape.choice), self._event_template(shape, sse)
        if parser_state is None or whole is None:
            return None
        state = state or parser_state
        if self._parser.holds:
            return self._held_run(whole, state)
        if any(box.busy for box in self._busy):
            return None
        if output and output[-1] is sse.raw:  # rewritten output may be equal by chance
            if self._passing is None or not self._passing.begin(whole, state):
                if not self._pays():
                    return None
                self._made = self._passing = DeltaRun(whole, state, None, counts=self._numbered, wait=self._wait)
            return self._passing
        if not self._pays():
            return None
        others = whole.others(sse.raw) if whole.varies and not self._translates else ()
        template = learn_output(b"".join(output), quoted(text, escapes=state.escapes), others)
        if template is None:
            return None
        self._rendered = whole, template
        # in another template something else varies
        if last is None or last[0] is not whole or not template.same_around(last[1]):
            return None
        # if a numbered event comes twice, the second one is dropped in a translation
        last_sent = sse.raw if self._translates and self._numbered and whole.varies and _NUMBERED.search(sse.raw) else b""
        self._made = DeltaRun(plain(whole) if template.holes else whole, state, template, wait=self._wait, last_sent=last_sent)
        return self._made

    def _pays(self) -> bool:
        """Whether to make a run: seldom, if the last ones ended at once, as when texts of two kinds alternate."""
        self._short_runs = self._short_runs + 1 if self._made and self._made.short else 0
        return self._short_runs < PATIENCE or self._short_runs % PATIENCE < 2  # two tries in a row, to compare their output

    def _held_run(self, shape: DeltaTemplate, state: TextState) -> DeltaRun | None:
        """The run of held deltas, if only their text varies and they are not numbered."""
        if shape.varies or self._numbered:
            return None
        if self._holding is None or not self._holding.begin(shape, state):
            self._holding = DeltaRun(shape, state, None, holds=True)
        return self._holding

    def _event_template(self, shape: DeltaTemplate, sse: ServerSentEvent) -> DeltaTemplate | None:
        known, whole = self._known or (None, None)
        if known is shape and whole and whole.span(sse.raw):
            return whole
        whole = shape.raw(sse)
        self._known = shape, whole
        return whole if whole and whole.span(sse.raw) else None
