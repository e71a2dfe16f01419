"""stall_guard.py: what computes for too long twice goes no further; what only waits does, or collects everybody's garbage."""

import gc
import importlib
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from toolmend.pipeline import stall_guard
from toolmend.pipeline.stall_guard import STALL, StallGuard, _collector


@pytest.fixture(autouse=True)
def _loaded_last(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other tests load the script anew."""
    monkeypatch.setitem(sys.modules, "toolmend.pipeline.stall_guard", stall_guard)
    before = list(gc.callbacks)
    gc.callbacks[:] = [*(each for each in before if type(each).__name__ != type(_collector).__name__), _collector]
    yield
    gc.callbacks[:] = before


def computes(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class Mend:
    """Computes, or waits, for as long as each chunk says."""

    def __init__(self, seconds: list[float], *, waits: bool = False) -> None:
        self.seconds = iter(seconds)
        self.waits = waits
        self.gave_up: list[str] = []

    def feed(self, data: bytes) -> bytes:
        (time.sleep if self.waits else computes)(next(self.seconds))
        return data

    def give_up(self, why: str) -> bytes:
        self.gave_up.append(why)
        return b"held"


LONG = 3 * STALL


@pytest.mark.parametrize(
    ("mend", "after"),
    [
        pytest.param(Mend([0, 0, 0]), 0, id="nothing"),
        pytest.param(Mend([0, LONG, 0]), 0, id="once is never"),
        pytest.param(Mend([LONG, 0, LONG]), 3, id="twice"),
        pytest.param(Mend([LONG, LONG, LONG], waits=True), 0, id="to wait is not to compute"),
    ],
)
def test_a_stall(mend: Mend, after: int) -> None:
    watched, data = StallGuard(mend.feed, mend.give_up), b"x"
    out = [watched(data) for _ in range(3)]
    assert out == [data + b"held" if turn == after else data for turn in (1, 2, 3)]
    assert len(mend.gave_up) == bool(after)


def test_two_that_lie_apart_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1.0

    def feed(data: bytes) -> bytes:
        nonlocal now
        now += next(seconds)
        return data

    for clock in ("thread_time", "perf_counter"):
        monkeypatch.setattr(stall_guard, clock, lambda: now)  # the very module: others may have loaded it anew
    for between, ends in ((2 * stall_guard.SOON, False), (stall_guard.SOON / 2, True)):
        seconds = iter([LONG, *[STALL / 2] * int(between / (STALL / 2)), LONG])
        watched = StallGuard(feed, lambda _: b"held")
        out = [watched(b"x") for _ in range(int(between / (STALL / 2)) + 2)]
        assert (out[:-1], out[-1]) == ([b"x"] * (len(out) - 1), b"xheld" if ends else b"x")


def test_however_long_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies between them counts alone."""
    monkeypatch.setattr(stall_guard, "SOON", LONG / 2)
    mend = Mend([LONG, LONG])
    watched = StallGuard(mend.feed, mend.give_up)
    assert [watched(b"x") for _ in range(2)] == [b"x", b"xheld"]


@pytest.mark.parametrize(("generation", "beside", "gives_up"), [(2, 0, False), (1, 0, False), (2, LONG, True)])
def test_to_collect_garbage_is_no_stall(generation: int, beside: float, gives_up: bool) -> None:
    """Whatever it takes; but it is no excuse."""

    def takes_long(phase: str, _: dict[str, Any]) -> None:
        if phase == "start":
            computes(LONG)

    class Collects(Mend):
        def feed(self, data: bytes) -> bytes:
            gc.collect(generation)
            return super().feed(data)

    mend = Collects([beside] * 3)
    watched = StallGuard(mend.feed, mend.give_up)
    gc.freeze()  # no collection looks through what other tests have left
    gc.callbacks.append(takes_long)
    try:
        for _ in range(3):
            watched(b"x")
    finally:
        gc.callbacks.remove(takes_long)
    assert bool(mend.gave_up) == gives_up


def test_another_that_is_loaded_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a reload of the script, of which nothing old may stay."""
    before = list(gc.callbacks)
    monkeypatch.delitem(sys.modules, "toolmend.pipeline.stall_guard")
    other = importlib.import_module("toolmend.pipeline.stall_guard")
    gc.collect()
    try:
        assert [found for found in gc.callbacks if found not in before] == [other._collector]
        assert _collector not in gc.callbacks
    finally:
        gc.callbacks[:] = before


def test_giving_up_may_fail() -> None:
    """What the mend made goes out all the same."""

    def fails(_: str) -> bytes:
        raise OSError

    watched = StallGuard(Mend([LONG, LONG]).feed, fails)
    assert [watched(b"x"), watched(b"y")] == [b"x", b"y"]
