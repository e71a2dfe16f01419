"""Interleaved rounds, the best of them; and the CPU time of this thread or of another process.

    best({"identity": run_1, "toolmend": run_2}, rounds=5)  →  {"identity": ns, "toolmend": ns}

Rule of this file: what is compared takes turns, so that a busy machine is busy for all of it; and the best turn counts, as
noise only ever adds.
"""

import gc
import time
from collections.abc import Callable, Mapping, Sequence

type Run = Callable[[], Callable[[], object]]
"""Makes what is measured, unmeasured; calling what it returns is measured."""

LEAST = 3_000_000
"""Nanoseconds that a turn takes at least: what is shorter runs several times, as clocks and interrupts are coarse."""


def best(cases: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """CPU nanoseconds of one run of each case."""
    gc.collect()
    found = {name: _turn(make, 1) for name, make in cases.items()}  # the first round, which tells how long one takes
    repeats = {name: max(1, min(50, int(LEAST / max(ns, 1)))) for name, ns in found.items()}
    for _ in range(rounds - 1):
        for name, make in cases.items():
            found[name] = min(found[name], _turn(make, repeats[name]))
    return found


def _turn(make: Run, repeats: int) -> float:
    runs = [make() for _ in range(repeats)]
    gc.disable()
    try:
        started = time.thread_time_ns()
        for run in runs:
            run()
        return (time.thread_time_ns() - started) / repeats
    finally:
        gc.enable()


def cpu_of(pid: int) -> int:
    """CPU nanoseconds that a process has used so far, all its threads. Linux."""
    return time.clock_gettime_ns((~pid << 3) | 2)  # what clock_getcpuclockid(3) makes of a process id


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of them lies; `values` sorted."""
    return values[min(len(values) - 1, int(len(values) * share))]
