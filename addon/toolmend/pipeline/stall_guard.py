"""A mend that stalls goes no further: while it computes, every stream of the proxy waits.

    mend = Watched(pipeline.feed, pipeline.give_up)        mend(data) → what pipeline.feed gives

Rule of this file: what counts is what this thread computed, not how long it took: on a busy machine any event may take long. To
ask for that costs more than most events, so it is asked for 50 times a second at most, and where an event took long. Nor is
garbage that is collected meanwhile the event's doing: it is everybody's. And once is never: what is made for the first time (a
pattern, say) is no stall, a virtual machine may count what it was not given, and a call that is given up in its middle is lost.
"""

import gc
import sys
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Any

STALL = 0.05
"""Seconds in one PIECE of a chunk that are too many; most chunks are one."""

PIECE = 64 * 1024
"""Bytes. What mitmproxy reads at once is no larger, but may be what its coding made large."""

LONG = 1.0
"""Seconds in one chunk, of many pieces, that are too many."""

MARK = 0.02
"""Seconds for which an answer is good: by so much, what was computed may be told too high, and is told lower."""

SOON = 1.0
"""Seconds of this thread's from one to the next that comes of the same cause: in the hours of a stream anything happens twice."""


class StalledError(Exception):
    """The message says what took too long."""


class _Collector:
    """Is told when garbage is collected, and for how long it was, in seconds of whichever thread did so."""

    def __init__(self) -> None:
        self.seconds = self._begun = 0.0

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if info["generation"] == 0:  # a thousand times a minute, and short
            return
        if getattr(sys.modules.get(__name__), "_collector", None) is not self:  # the script was reloaded: another one is told
            gc.callbacks.remove(self)
            return
        now = thread_time()
        if phase == "start":
            self._begun = now
        else:
            self.seconds += now - self._begun


_collector = _Collector()
gc.callbacks.append(_collector)


def _computed() -> float:
    """Seconds of this thread."""
    return thread_time() - _collector.seconds


class StallGuard:
    """`mend` is called with each chunk, or PIECE of one; `give_up` ends the mending, says why, and returns what had been held."""

    __slots__ = ("_computed", "_give_up", "_marked", "_mend", "_warned")

    def __init__(self, mend: Callable[[bytes], bytes], give_up: Callable[[str], bytes]) -> None:
        self._mend = mend
        self._give_up = give_up
        self._marked = self._computed = 0.0  # when it was asked for last, and the answer
        self._warned = float("-inf")  # the answer behind the last one that took too long

    def __call__(self, data: bytes) -> bytes:
        begun = perf_counter()
        if begun - self._marked > MARK:
            self._marked, self._computed = begun, _computed()
        out = self._mend(data)  # from here on there is something to lose
        try:
            if perf_counter() - begun > STALL and self._stalls():
                out += self._give_up(f"two events took more than {STALL * 1000:.0f} ms each")
            return out  # noqa: TRY300 - an `else` could fail
        except Exception:
            return out

    def _stalls(self) -> bool:
        """Whether it took too long, and another did so not long before."""
        now = _computed()
        if now - self._computed - MARK <= STALL:
            return False
        before, self._warned = self._warned, now
        return self._computed - before < SOON
