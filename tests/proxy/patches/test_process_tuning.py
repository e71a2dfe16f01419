"""How the process uses its memory: a real one, of its own."""

import ctypes
import gc
import os
import platform
import subprocess
import sys
import weakref
from types import SimpleNamespace

import pytest

from toolmend.proxy.patches import process_tuning

MALLINFO = platform.libc_ver()[0] == "glibc" and hasattr(ctypes.CDLL(None), "mallinfo2")


SETTLED = """
import ctypes, sys
from toolmend.proxy.patches import process_tuning

class Told(ctypes.Structure):  # mallinfo2(3)
    names = "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Told
if sys.argv[1:]:
    process_tuning.tune()
"""
"""Settles if it is told to, and knows what malloc tells of itself."""


PAGES = f"""{SETTLED}
before = libc.mallinfo2().hblks
for _ in range(2):
    data = None  # given back: with it, glibc learns
    data = bytes(4000 * 1024)
print(libc.mallinfo2().hblks - before)
small = bytes(262144)
print(libc.mallinfo2().hblks - before)
"""
"""Tells how many have pages of their own: of one large block, and of that and the buffer of a read."""


TOP = f"""{SETTLED}
for count in (3000, 6000):
    blocks = [bytes(4000) for _ in range(count)]
    del blocks
    print(libc.mallinfo2().keepcost // 2**20)
"""
"""Tells how many MiB are kept at the heap's end when 12 MB, and 24, were given back."""


IDLE = """
import gc, sys
from toolmend.proxy.patches import process_tuning

def taken():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) // 1024

if sys.argv[1:]:
    process_tuning.tune()
    process_tuning.TRIM_EVERY = float(sys.argv[1])
blocks = [bytes(4000) for _ in range(16000)]
before, stay = taken(), blocks[::100]  # between what goes
del blocks
gc.collect()
print(before - taken() > 40)
"""


HEAPS = """
import ctypes, sys
from threading import Thread
from toolmend.proxy.patches import process_tuning

if sys.argv[1:]:
    process_tuning.tune()
kept = []
thread = Thread(target=lambda: kept.extend(bytes(4000) for _ in range(100)))
thread.start()
thread.join()
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
"""


def told(script: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True, env=environment)
    return run.stdout.strip()


@pytest.mark.skipif(not MALLINFO, reason="it is glibc's way")
def test_large_blocks_have_pages_of_their_own() -> None:
    assert told(PAGES).split() == ["0", "0"]
    assert told(PAGES, "settled").split() == ["1", "1"]


@pytest.mark.skipif(not MALLINFO, reason="it is glibc's way")
def test_what_requests_take_is_kept_for_the_next() -> None:
    assert told(TOP).split() == ["0", "0"]
    assert told(TOP, "settled").split() == ["11", "0"]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc's way")
def test_what_lies_idle_is_given_back_now_and_then() -> None:
    assert told(IDLE) == "False"
    assert told(IDLE, "60") == "False"
    assert told(IDLE, "0") == "True"


def test_modules_are_no_garbage_until_the_script_is_loaded_anew() -> None:
    before = list(gc.callbacks)
    process_tuning.tune()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[2] == process_tuning.FULL
    process_tuning.restore()
    assert gc.get_freeze_count() == 0
    assert gc.callbacks == before


@pytest.mark.parametrize("again", [False, True])
def test_what_was_loaded_before_is_not_kept(again: bool) -> None:
    """To look for it takes time, and the first time there is nothing."""

    class Module:
        def __init__(self) -> None:
            self.itself = self

    gc.disable()
    try:
        gone = weakref.ref(Module())
        process_tuning.tune(reloaded=True) if again else process_tuning.tune()
        process_tuning.restore()
        assert (gone() is None) is again
    finally:
        gc.enable()


@pytest.mark.parametrize("error", [OSError, AttributeError, TypeError])
def test_a_platform_without_it_is_left_as_it_is(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise error

    monkeypatch.setattr(process_tuning.ctypes, "CDLL", refuse)
    process_tuning.tune()
    process_tuning.restore()


@pytest.mark.parametrize(
    ("phase", "generation", "later", "given"),
    [("stop", 1, 10.5, [0]), ("stop", 2, 10.5, [0]), ("stop", 0, 10.5, []), ("start", 2, 10.5, []), ("stop", 2, 10.0, [])],
)
def test_when_what_lies_idle_is_given_back(
    phase: str, generation: int, later: float, given: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, now = list[int](), [5.0]
    monkeypatch.setattr(process_tuning.ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=asked.append))
    monkeypatch.setattr(process_tuning, "monotonic", lambda: now[0])
    trim = process_tuning._Trimmer()
    for _ in range(2):  # once in so long
        now[0] = 5.0 + later
        trim(phase, {"generation": generation})
    assert asked == given


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc's way")
def test_threads_have_no_heap_of_their_own() -> None:
    assert told(HEAPS).count("<heap nr=") > 1
    assert told(HEAPS, "settled").count("<heap nr=") == 1
