"""Reads a stream in runs: deltas are sent as soon as they are recognised, and processed later as one. See delta_run.py.

    chunk     data: {… "Let me"}  data: {… " look"}  data: {… finish_reason}
    sent      data: {… "Let me"}  data: {… " look"}                                 recognised, so not processed yet
    process   data: {… "Let me look"}                data: {… finish_reason}        before anything else is

1. A run begins where an event does, and is processed before the next event.
2. What a run sends counts as delivered at once; processing it later must give the same output.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...apis.codec import Decoder
from ...core.sse import ServerSentEvent, SseDecoder
from ..chunk_reader import ChunkReader, Process, RunContext, no_match
from ..undelivered import UndeliveredInput
from .run_opener import RunOpener

if TYPE_CHECKING:
    from .delta_run import DeltaRun


class RunReader(ChunkReader):
    """Reads one stream, of SSE events."""

    def __init__(self, decoder: SseDecoder, process: Process, undelivered: UndeliveredInput, runs: RunContext) -> None:
        super().__init__(decoder, process, undelivered)
        self._events = decoder
        self._runs = runs
        self._opener = RunOpener(runs, self._wait if runs.may_wait else None)
        self._run: DeltaRun | None = None  # the run that may continue
        self._waiting = b""  # events that may belong to it

    def read(self, data: bytes, out: list[bytes]) -> None:
        """Takes a chunk, in runs where possible."""
        data = self._waiting + data
        at, self._waiting, self.try_fast = 0, b"", no_match
        if self._run:
            self._run.join()
            end = data.rfind(b"\n\n", 0, -2) + 2  # the last event may be cut, or end as a call begins
            if end > 1 and (output := self._run.match_events(data[:end])) is not None:
                out.append(output)
                at = end
                self._undelivered.mark_sent(out, at)
        while at < len(data):
            if self._run is None:
                events, at = self._events.take(data, at)
                self._process_all(events, out)
                continue
            end, waits = self._run.run(data, at, out)
            if not self._run.holds:
                self._undelivered.mark_sent(out, end - at)
            at = end
            if waits and self._runs.may_wait:
                self._waiting, self.try_fast = data[at:], self._continue
                return
            if at < len(data):
                self._end_run(out)
        if self._run:
            self.try_fast = self._run.try_fast

    def flush(self, out: list[bytes]) -> None:
        """Processes the run, if it has any deltas."""
        if self._run and not self._run.empty:
            self._end_run(out)

    def close(self, out: list[bytes]) -> Sequence[ServerSentEvent]:
        """Processes the run, what waited for more, and the end of the body."""
        self._end_run(out)
        self.read(b"", out)
        self._end_run(out)
        return super().close(out)

    def stop(self) -> None:
        """Drops the run."""
        self._run, self.try_fast = None, no_match

    def _process_all(self, events: Sequence[ServerSentEvent], out: list[bytes]) -> None:
        for sse in events:
            before = len(out)
            self._process(sse, out)
            self._run = self._opener.open(sse, out[before:])
        if self._run and not self._events.between:
            self._run = None

    def _end_run(self, out: list[bytes]) -> None:
        """Processes the run as one delta. Its output was sent, or it was held."""
        run, self._run = self._run, None
        if run is None or run.empty:
            return
        if run.holds:
            self._process(run.held(), out)
            return
        sse, count, due = run.read()
        for box in self._runs.numbered:
            box.skip(count - 1)
        sent: list[bytes] = []
        self._process(sse, sent)
        self._undelivered.ignore_reread()
        assert b"".join(sent) == due

    def _wait(self, data: bytes, output: bytes) -> bytes:
        """Keeps an event for the next chunk. Returns `output`, which is that of the events before it."""
        self._waiting, self.try_fast = data, self._continue
        # one expression: an exception before its end has taken nothing, and nothing can fail after it
        return self._undelivered.begin(b"" if self._runs.translates else data, []) or output  # type: ignore[func-returns-value]

    def _continue(self, data: bytes) -> bytes | None:
        """`try_fast` after an event was kept: it is recognised together with this chunk."""
        if self._run is None or (output := self._run.match_events(self._waiting + data)) is None:
            self.try_fast = no_match
            return None
        self._waiting, self.try_fast = b"", self._run.try_fast
        # one expression: an exception before its end has accounted for nothing, and nothing can fail after it
        return self._undelivered.mark_all_sent() or output  # type: ignore[func-returns-value]


def new_reader(
    decoder: Decoder, process: Process, undelivered: UndeliveredInput, runs: RunContext | None = None
) -> ChunkReader:
    """Returns a reader that passes runs, if the stream may have any."""
    if runs and isinstance(decoder, SseDecoder):
        return RunReader(decoder, process, undelivered, runs)
    return ChunkReader(decoder, process, undelivered)
