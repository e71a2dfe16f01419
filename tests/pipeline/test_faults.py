"""A failure at every line, and of every allocation, while a stream flows: no byte is lost, none comes twice, the stream ends.

A sample of the points is tried, others in each run, and ten times as many in a deep one (support/cuts.py); TOOLMEND_TORTURE=all tries every one (and takes many minutes), a number every so-manieth.
"""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.support.cuts import DEEP, dice_for
from tests.support.faults import CASES, CRASHED, ERRORS, Lines, play, wrong

HOW_MANY = os.environ.get("TOOLMEND_TORTURE", "")
POINTS = 3000 if DEEP else 150
"""Of each stream."""

FIRST = 10
"""The allocations before are those that have the stream begin."""


def points(ran: int) -> range:
    """Those that are tried, of so many."""
    if HOW_MANY:
        return range(1, ran + 1, 1 if HOW_MANY == "all" else int(HOW_MANY))
    step = max(1, ran // POINTS) | 1
    return range(1 + dice_for(ran).randrange(step), ran + 1, step)


@pytest.mark.timeout(7200 if HOW_MANY or DEEP else 120)
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
    tried = range(FIRST, 6000, 1 if HOW_MANY else 60 if DEEP else 120)
    command = [sys.executable, "-W", "error:This process:DeprecationWarning", "-m", "tests.support.faults", name, *map(str, (tried.start, tried.stop, tried.step))]
    told = subprocess.run(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    found = Counter(json.loads(told.stdout))
    crashed = found.pop(CRASHED, 0)
    assert not found
    assert crashed < len(tried) / 20, "Python itself ends there, but not often"
