"""Tunes CPython's garbage collector and glibc's malloc for a proxy that runs for days.

Cost: a full collection looks at all modules, 100,000 objects, and stops every stream for 60 ms; mitmproxy's flows are reference
cycles that stay until one; and glibc keeps freed blocks: without this, memory stays at the highest level it ever had.
Version: CPython 3.12 to 3.14 (`gc.freeze`, thresholds of three generations), glibc (`mallopt`, `malloc_trim`).
Obsolete when: tests/proxy/patches/test_process_tuning.py passes without it.
On a platform without glibc only the garbage collector is tuned. Nothing here changes results.
"""

import ctypes
import gc
from contextlib import suppress
from time import monotonic
from typing import Any

TRIM, MMAP, HEAPS = -1, -3, -8
"""glibc's M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX (malloc.h)."""

LARGE = 2048 * 1024
"""Bytes from which a block gets pages of its own. Short-lived blocks must stay below: asyncio's 256 KiB for each read, and twelve
times a request's size when orjson parses it, which takes three times as long on pages of its own."""

SPARE = 16 * 1024 * 1024
"""Bytes of free heap that glibc keeps: what one request frees, the next one allocates, page by page."""

FULL = 2
"""Collections of the middle generation until a full one. With CPython's 10, mitmproxy's flows and connections, all reference
cycles, grow to more than all live objects."""

TRIM_EVERY = 10.0
"""Seconds at least between two calls of malloc_trim: it takes 2 ms for 100 MiB, and streams wait meanwhile."""


class _Trimmer:
    """A gc callback that returns free heap to the system after a collection, when most of it is free."""

    def __init__(self) -> None:
        self._trim = ctypes.CDLL(None).malloc_trim
        self._last = monotonic()

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "stop" and info["generation"] and (now := monotonic()) - self._last > TRIM_EVERY:
            self._last = now
            self._trim(0)


def tune(*, reloaded: bool = False) -> None:
    """Applies the tuning. Must run when all modules are loaded and before toolmend starts a thread.

    Args:
        reloaded: Whether the script was reloaded, so the modules loaded before are garbage.
    """
    if reloaded:
        gc.collect()
    # All that is loaded now is never collected again. Little is left to traverse, so full collections can be frequent.
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, FULL)
    with suppress(Exception):
        mallopt = ctypes.CDLL(None).mallopt
        # Without a fixed threshold, glibc raises it once the first large block is freed: then large blocks go to the heap, small
        # ones land between them, and in time a quarter of the heap is unused.
        mallopt(MMAP, LARGE)
        mallopt(TRIM, SPARE)
        # One arena: threads alternate in Python anyway, and memory freed in the recorder's arena would serve no other thread.
        mallopt(HEAPS, 1)
        gc.callbacks.append(_Trimmer())


def restore() -> None:
    """Makes the modules of before a reload collectable, and removes the gc callback."""
    gc.unfreeze()
    gc.callbacks[:] = [callback for callback in gc.callbacks if not isinstance(callback, _Trimmer)]
