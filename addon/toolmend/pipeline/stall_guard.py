"""Stops a pipeline that computes for too long, because every other stream of the proxy waits meanwhile.

    mend = StallGuard(pipeline.feed, pipeline.give_up)        mend(data) → the result of pipeline.feed

1. CPU time of this thread counts, not wall time, which may be long on a busy machine.
2. Reading that clock costs more than most events, so it is read at most 50 times a second, and after a long event.
3. Garbage collection is not counted: any event may trigger it.
4. One long event is allowed: a pattern may be compiled, a virtual machine may count time that it did not get, and a call that
   is interrupted is lost.
"""

import gc
import sys
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Any

STALL = 0.05
"""Seconds of CPU time in one PIECE of a chunk that are too many; most chunks are one piece."""

PIECE = 64 * 1024
"""Bytes. mitmproxy reads no more at once, but decompression may enlarge it."""

LONG = 1.0
"""Seconds in one chunk of many pieces that are too many."""

MARK = 0.02
"""Seconds for which a reading of the clock is reused: the computed time may be too high by this, which is subtracted."""

SOON = 1.0
"""Seconds of CPU time between two stalls with the same cause: in a stream of hours, single ones happen."""


class StalledError(Exception):
    """The message names what took too long."""


class _Collector:
    """A callback of the garbage collector that adds up its CPU time, in seconds."""

    def __init__(self) -> None:
        self.seconds = self._begun = 0.0

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if info["generation"] == 0:  # a thousand times a minute, and short
            return
        # the script was reloaded, and has a callback of its own
        if getattr(sys.modules.get(__name__), "_collector", None) is not self:
            gc.callbacks.remove(self)
            return
        now = thread_time()
        if phase == "start":
            self._begun = now
        elif self._begun:  # a callback that removes itself makes the collector skip the next one
            self.seconds += now - self._begun
            self._begun = 0.0


_collector = _Collector()
gc.callbacks.append(_collector)


def _computed() -> float:
    """Seconds of this thread."""
    return thread_time() - _collector.seconds


class StallGuard:
    """Calls `mend` with each chunk, or PIECE of one. `give_up` is called with the reason, and returns what was held."""

    __slots__ = ("_computed", "_give_up", "_marked", "_mend", "_warned")

    def __init__(self, mend: Callable[[bytes], bytes], give_up: Callable[[str], bytes]) -> None:
        self._mend = mend
        self._give_up = give_up
        self._marked = self._computed = 0.0  # wall time of the last reading, and its result
        self._warned = float("-inf")  # the reading after the last stall

    def __call__(self, data: bytes) -> bytes:
        begun = perf_counter()
        if begun - self._marked > MARK:
            self._marked, self._computed = begun, _computed()
        out = self._mend(data)  # from here on an exception would lose output
        try:
            if perf_counter() - begun > STALL and self._stalls():
                out += self._give_up(f"two events took more than {STALL * 1000:.0f} ms each")
            return out  # noqa: TRY300 - an `else` could fail
        except Exception:
            return out

    def _stalls(self) -> bool:
        """Whether the call took too long, shortly after another one."""
        now = _computed()
        if now - self._computed - MARK <= STALL:
            return False
        before, self._warned = self._warned, now
        return self._computed - before < SOON
