"""How the process that we are in uses its memory, for as long as we are in it.

Rule of this file: nothing here changes what is done, and what a platform has no word for is left as it is.
"""

import ctypes
import gc
from contextlib import suppress
from time import monotonic
from typing import Any

TRIM, MMAP, HEAPS = -1, -3, -8
"""glibc's M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX, malloc.h."""

LARGE = 2048 * 1024
"""Bytes. What is asked for and given back at once must stay cheap: asyncio's 256 KiB whenever it reads, and twelve times what a
request has when orjson reads it, which with pages of its own takes three times as long."""

SPARE = 16 * 1024 * 1024
"""Bytes at the heap's end that are not given back at once: what a request takes is asked for again by the next, page by page."""

FULL = 2
"""Collections of the middle generation until a full one. Python's 10 let mitmproxy's flows and connections, which are in cycles
all, lie until they are more than all that is in use."""

TRIM_EVERY = 10.0
"""Seconds at least between two times that what lies idle is given back: it takes 2 ms of 100 MiB, in which streams wait."""


class _Trimmer:
    """Has malloc give back what lies idle, behind a collection of garbage: then most does."""

    def __init__(self) -> None:
        self._trim = ctypes.CDLL(None).malloc_trim
        self._last = monotonic()

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "stop" and info["generation"] and (now := monotonic()) - self._last > TRIM_EVERY:
            self._last = now
            self._trim(0)


def settle(*, again: bool = False) -> None:
    """All is loaded, and none of our threads has begun. `again`: what was loaded before is garbage by now.

    All modules, 100,000 objects, are looked through no more: that takes 60 ms, in which every stream waits. What is left to look
    through is so little that it can be done often. And what is LARGE gets pages of its own, which are given back with it. By
    itself glibc does so only until the first of them is given back; from then on they lie in the heap, and what is small comes to
    stand between them: in time a quarter of it lies idle. What lies idle all the same, for what comes and goes between what
    stays, is given back every TRIM_EVERY seconds: else memory is the most that ever came at once. And there is one heap: threads
    take turns in Python, and what the one that records gives back in a heap of its own, no other can have.
    """
    if again:
        gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, FULL)
    with suppress(Exception):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP, LARGE)
        mallopt(TRIM, SPARE)
        mallopt(HEAPS, 1)
        gc.callbacks.append(_Trimmer())


def unsettle() -> None:
    """After a reload of the script, its old modules are garbage."""
    gc.unfreeze()
    gc.callbacks[:] = [callback for callback in gc.callbacks if not isinstance(callback, _Trimmer)]
