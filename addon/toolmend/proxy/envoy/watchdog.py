"""Ends a mend that computes without end: it runs in the event loop of all streams and would block them unnoticed by Envoy.

    an event takes STALLED s      an exception is raised in the computing code; the stream passes unmended like after any other
                                  exception in a mend, and the other streams go on
    the event loop blocks HUNG s  the stack of each thread is logged and the process ends: Envoy's health check has routed new
                                  requests to other workers long before, and clients still waiting here get an end

Threads are no alternative: a Python thread that computes cannot be ended and slows down all others, and what several threads call
at once (recorder, counters) would need locks for every event. A signal interrupts the computing itself, even a regular
expression. The exception is raised only in the core, which does no I/O, holds no lock, and is called only where exceptions are
caught (pipeline.py), so nothing is left half done.

Time is counted in ticks, so that a process that was suspended does not count as hung; except for the last resort, which must work
when no line of Python runs.
"""

import asyncio
import faulthandler
import logging
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Self

from ...pipeline.pipeline import Pipeline
from ...requests import translate

logger = logging.getLogger(__name__)

TICK = 0.5
"""Seconds between two checks."""

STALLED = 5.0
"""Seconds of one event; stall_guard.py ends a mend that is merely slow. A whole response of 16 MiB takes one or two."""

HUNG = 60.0
"""Seconds; longer than anything that ends without help."""

_CORE = {Pipeline.feed.__code__.co_filename, translate.__code__.co_filename}
"""Files whose functions are called only where exceptions are caught."""


class Stalled(Exception):
    """An event took too long."""


class Watchdog:
    """Active in its `with` block, in the main thread. Callers count `steps` up when an event begins and when it ends."""

    def __init__(self) -> None:
        self.steps = 0
        self._seen = 0  # `steps` at the last tick
        self._ticks = 0  # ticks since `steps` changed

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGALRM, self._tick)
        signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        faulthandler.cancel_dump_traceback_later()

    async def watch(self) -> None:
        """Rearms the last resort while the event loop runs; run it as a task."""
        while True:
            with suppress(ValueError, OSError):  # stderr is closed
                faulthandler.dump_traceback_later(HUNG, exit=True, file=sys.__stderr__ or 2)
            await asyncio.sleep(TICK)

    def _tick(self, _: int, frame: FrameType | None) -> None:
        if self.steps != self._seen:
            self._seen, self._ticks = self.steps, 0
            return
        self._ticks += 1
        if frame and self._ticks * TICK >= STALLED and _in_core(frame):
            place = f"{frame.f_code.co_name} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"
            logger.error("toolmend: a mend was stopped after %.0f s, in %s", self._ticks * TICK, place)
            raise Stalled


def _in_core(frame: FrameType) -> bool:
    at: FrameType | None = frame
    while at:
        if at.f_code.co_filename in _CORE:
            return True
        at = at.f_back
    return False
