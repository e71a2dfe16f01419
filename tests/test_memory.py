"""How the process uses its memory: real threads, in a process of their own."""

import gc
import os
import platform
import subprocess
import sys

import pytest

from toolmend import memory

ARENAS = """
import ctypes, sys, threading
from toolmend import memory

if sys.argv[1:]:
    memory.settle()
begin = threading.Barrier(4)

def use():
    begin.wait()
    for _ in range(2000):
        bytes(range(256)) * 40

threads = [threading.Thread(target=use) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
"""


def heaps(*arguments: str) -> int:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONMALLOC": "malloc"}
    run = subprocess.run([sys.executable, "-c", ARENAS, *arguments], capture_output=True, text=True, check=True, env=environment)
    return run.stdout.count("<heap ")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a heap for each thread is glibc's way")
def test_threads_have_one_heap() -> None:
    assert heaps() > 1
    assert heaps("settled") == 1


def test_modules_are_no_garbage_until_the_script_is_loaded_anew() -> None:
    memory.settle()
    assert gc.get_freeze_count() > 0
    memory.unsettle()
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("error", [OSError, AttributeError, TypeError])
def test_a_platform_without_it_is_left_as_it_is(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise error

    monkeypatch.setattr(memory.ctypes, "CDLL", refuse)
    memory.settle()
    memory.unsettle()
