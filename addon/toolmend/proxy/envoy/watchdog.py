"""A mend that does not end: it runs where all streams run, so it would hold up every one of them, and Envoy notices nothing.

    an event takes STALLED s      an exception is raised in it, where it computes; so its stream goes on as it comes, as for any
                                  exception in a mend, and the others go on with it
    the event loop stands, HUNG s where each thread is goes to the log, and the process ends: Envoy's health check has sent new
                                  requests to other workers long before, and who still waits here gets an end

Why not in threads: a Python thread that computes cannot be ended, and slows down all others for as long as it goes on; and what
is called from several threads at once (the recorder, the counters) would have to be made for it, for every event of every stream.
A signal reaches the computing itself, also in a regular expression. It is raised in the core alone, which does no I/O and
holds no lock, and whose every door catches exceptions (pipeline.py): nowhere else could it leave a thing half done.

Rule of this file: time is counted in ticks, so that a process that was stopped for a while is not taken for one that hangs; but
for the last resort, which has to work where no line of Python does.
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
"""Seconds."""

STALLED = 5.0
"""Seconds in one event; stall_guard.py ends a mend that is merely slow. A whole answer of 16 MiB takes one or two."""

HUNG = 60.0
"""Seconds; more than anything that ends by itself."""

_CORE = {Pipeline.feed.__code__.co_filename, translate.__code__.co_filename}
"""Files of whose functions each is called by one that catches what is raised below it."""


class Stalled(Exception):
    """An event took too long."""


class Watchdog:
    """At work in its `with` block, in the main thread. `steps` is to be counted up when an event begins, and when it ends."""

    def __init__(self) -> None:
        self.steps = 0
        self._seen = 0  # steps, at the last tick
        self._ticks = 0  # since then

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGALRM, self._tick)
        signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        faulthandler.cancel_dump_traceback_later()

    async def watch(self) -> None:
        """Says all the time that the event loop goes round; to be run as a task."""
        while True:
            with suppress(ValueError, OSError):  # a stderr that is none
                faulthandler.dump_traceback_later(HUNG, exit=True, file=sys.__stderr__ or 2)
            await asyncio.sleep(TICK)

    def _tick(self, _: int, frame: FrameType | None) -> None:
        if self.steps != self._seen:
            self._seen, self._ticks = self.steps, 0
            return
        self._ticks += 1
        if frame and self._ticks * TICK >= STALLED and _in_core(frame):
            place = f"{frame.f_code.co_name} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"
            logger.error("toolmend: a mend is ended, it took %.0f s and was in %s", self._ticks * TICK, place)
            raise Stalled


def _in_core(frame: FrameType) -> bool:
    at: FrameType | None = frame
    while at:
        if at.f_code.co_filename in _CORE:
            return True
        at = at.f_back
    return False
