"""watchdog.py: what computes too long in the core is stopped; what does anything else is left alone."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from toolmend.pipeline.pipeline import Pipeline
from toolmend.proxy.envoy.watchdog import STALLED, TICK, Stalled, Watchdog

TICKS = int(STALLED / TICK)


def here(*_: object) -> Any:
    """A frame of a test."""
    return sys._getframe()


def within(call: Callable[[Callable[[], None]], None]) -> Any:
    """A frame below the call of a function."""
    frames: list[Any] = []
    call(lambda: frames.append(sys._getframe()))
    return frames[0]


def in_core() -> Any:
    """A frame below a function of pipeline.py."""
    code = compile("def feed(look):\n    look()", Pipeline.feed.__code__.co_filename, "exec")
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102  a frame of that file
    return within(names["feed"])


def test_a_stalled_event_is_stopped(caplog: pytest.LogCaptureFixture) -> None:
    watchdog, frame = Watchdog(), in_core()
    for _ in range(TICKS - 1):
        watchdog._tick(0, frame)
    with pytest.raises(Stalled):
        watchdog._tick(0, frame)
    assert f"a mend was stopped after {STALLED:.0f} s" in caplog.text


def test_events_that_go_on_are_not() -> None:
    watchdog, frame = Watchdog(), in_core()
    for step in range(3 * TICKS):
        watchdog.steps = step // 2
        watchdog._tick(0, frame)


@pytest.mark.parametrize("frame", [here, lambda: None], ids=["elsewhere", "nowhere"])
def test_other_code_is_never_interrupted(frame: Callable[[], Any]) -> None:
    watchdog, at = Watchdog(), frame()
    for _ in range(3 * TICKS):
        watchdog._tick(0, at)
