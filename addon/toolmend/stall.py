"""A mend that stalls goes no further: while it computes, every stream of the proxy waits.

    mend = Watched(pipeline.feed, pipeline.give_up)        mend(data) → what pipeline.feed gives

Rule of this file: what counts is what this thread computed, not how long it took: on a busy machine any event may take long. To
ask for that costs more than most events, so it is asked for 50 times a second at most, and where an event took long. And once
is never: what is made for the first time (a pattern, say) is no stall, and a call that is given up in its middle is lost.
"""

from collections.abc import Callable
from time import perf_counter, thread_time

STALL = 0.05
"""Seconds in one event that are too many; for each PIECE of a chunk that holds several."""

PIECE = 64 * 1024
"""Bytes."""

MARK = 0.02
"""Seconds for which an answer is good: by so much, what was computed may be told too high, and is told lower."""

SOON = 10.0
"""Seconds within which a second one comes of the same cause: in the hours of a stream garbage is collected more than once."""


class Watched:
    """`mend` is called with each chunk; `give_up` ends the mending, says why, and returns what had been held."""

    __slots__ = ("_computed", "_give_up", "_marked", "_mend", "_warned")

    def __init__(self, mend: Callable[[bytes], bytes], give_up: Callable[[str], bytes]) -> None:
        self._mend = mend
        self._give_up = give_up
        self._marked = self._computed = 0.0  # when it was asked for last, and the answer
        self._warned = float("-inf")  # when there was one

    def __call__(self, data: bytes) -> bytes:
        begun = perf_counter()
        if begun - self._marked > MARK:
            self._marked, self._computed = begun, thread_time()
        out = self._mend(data)  # from here on there is something to lose
        try:
            if perf_counter() - begun > STALL and self._stalls(len(data)):
                out += self._give_up(f"two events took more than {STALL * 1000:.0f} ms each")
            return out  # noqa: TRY300 - an `else` could fail
        except Exception:
            return out

    def _stalls(self, size: int) -> bool:
        """Whether a chunk of so many bytes took too long, and another did so not long ago."""
        if thread_time() - self._computed - MARK <= STALL * (1 + size // PIECE):
            return False
        before, self._warned = self._warned, perf_counter()
        return self._warned - before < SOON
