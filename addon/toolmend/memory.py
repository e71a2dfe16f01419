"""How the process that we are in uses its memory, for as long as we are in it.

Rule of this file: nothing here changes what is done, and what a platform has no word for is left as it is.
"""

import ctypes
import gc
from contextlib import suppress

_ARENA_MAX = -8
"""glibc's M_ARENA_MAX, malloc.h."""


def settle() -> None:
    """All is loaded, and none of our threads has begun.

    All modules, 100,000 objects, are looked through no more: that takes 60 ms, in which every stream waits. And what one thread
    frees another gets: with a heap of its own, the one that writes recordings keeps what it has needed at the worst of times.
    """
    gc.freeze()
    with suppress(Exception):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def unsettle() -> None:
    """After a reload of the script, its old modules are garbage."""
    gc.unfreeze()
