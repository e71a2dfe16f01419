"""A failure at every line, and of every allocation, while a stream flows: no byte is lost, none comes twice, the stream ends.

A sample of the points is tried; TOOLMEND_TORTURE=all tries every one (and takes many minutes), a number every so-manieth.
"""

import faulthandler
import os
import signal
import sys
from collections import Counter

import pytest

from torture import CASES, ERRORS, Lines, allocation, play, wrong

HOW_MANY = os.environ.get("TOOLMEND_TORTURE", "")
POINTS = 300
"""Of each stream, in the usual run."""

FIRST = 10
"""The allocations before are those that have the stream begin."""

CRASHED = "Python itself crashed"


def points(ran: int) -> range:
    """Those that are tried, of so many."""
    if HOW_MANY:
        return range(1, ran + 1, 1 if HOW_MANY == "all" else int(HOW_MANY))
    return range(1, ran + 1, max(1, ran // POINTS) | 1)


@pytest.mark.timeout(7200 if HOW_MANY else 120)
@pytest.mark.parametrize("name", CASES)
def test_an_exception_at_every_line(name: str) -> None:
    case, counted, found = CASES[name], Lines(), Counter[str]()
    play(case)  # what is made once for all is made
    assert wrong(case, play(case, counted)) is None
    assert counted.ran > 3000
    for at in points(counted.ran):
        fault = Lines(at, ERRORS[at % len(ERRORS)])
        if fails := wrong(case, play(case, fault)):
            found[f"{fails}: {fault.where}, {fault.error.__name__}"] += 1
    assert not found, "\n".join(f"{times} x {what}" for what, times in found.most_common(30))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each allocation fails in a process of its own")
@pytest.mark.timeout(7200 if HOW_MANY else 120)
@pytest.mark.parametrize("name", ["nothing to mend", "a call", "translated"])
def test_every_allocation_fails_once(name: str) -> None:
    """In a child each: what fails beyond Python's own exceptions ends the process, and is told by its exit code.

    Neither orjson nor the json of Python looks everywhere whether it got its memory: that is one or two points of a hundred.
    """
    pytest.importorskip("_testcapi", reason="this Python cannot have allocations fail")
    case = CASES[name]
    play(case)
    assert wrong(case, play(case)) is None
    found = Counter[str]()
    tried = range(FIRST, 6000, 1 if HOW_MANY else 60)
    for at in tried:
        if fails := in_a_child(name, at):
            found[fails] += 1
    crashed = sum(times for what, times in found.items() if what == CRASHED)
    assert not found.keys() - {CRASHED}, found
    assert crashed < len(tried) / 20, "Python itself ends there, but not often"


def in_a_child(name: str, at: int) -> str:
    """What goes wrong where the `at`-th allocation fails; empty if nothing does."""
    read, write = os.pipe()
    if pid := os.fork():
        os.close(write)
        with os.fdopen(read, "rb") as told:
            said = told.read().decode()
        _, status = os.waitpid(pid, 0)
        crashed = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGSEGV, signal.SIGABRT)
        return said or (CRASHED if crashed else f"the process ended with status {status}" if status else "")
    try:
        faulthandler.disable()
        sys.unraisablehook = lambda _: None
        played = play(CASES[name], allocation(at))
        os.write(write, (wrong(CASES[name], played) or "").encode())
        os._exit(0)
    finally:
        os._exit(1)
