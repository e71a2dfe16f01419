"""A pytest plugin, `-p tests.support.coverage_plugin`: which lines of the core each test runs, and how long it takes.

Rule of this file: it is loaded before anything of toolmend is, in every worker of xdist too. It changes nothing but in how many
ways a stream is cut: that matters to few branches, and takes most of the time. What it finds lies in .coverage, with the ids of
the tests as contexts, and in pytest's cache.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import coverage
import pytest

from tests.support import cuts
from tests.support.paths import TESTS

CONFIG = TESTS / "coverage.toml"
TIMES = "toolmend/times"
"""The key in pytest's cache: seconds by id."""

_cover = coverage.Coverage(config_file=str(CONFIG), data_suffix=True)
_cover.start()
from toolmend.recordings.fixtures import verification  # noqa: E402 - what this imports is measured too

_times: dict[str, float] = {}


def _few(cuts: Callable[..., Iterator[list[bytes]]]) -> Callable[..., Iterator[list[bytes]]]:
    """Whole, byte by byte, and once at random; or three of what there is."""
    return lambda *arguments, **named: islice(cuts(*arguments, **named), 3)


for name in ("cuts", "everywhere", "at_every_place"):
    setattr(cuts, name, _few(getattr(cuts, name)))
_MOST = verification.MAX_WORK


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if item.name != "test_the_cuts_are_those_of_the_tests"]  # here they are not


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _cover.switch_context(item.nodeid)
    verification.MAX_WORK = 0 if item.path.name == "test_replay.py" else _MOST  # so no recording is split in two
    try:
        return (yield)
    finally:
        _cover.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _times[report.nodeid] = round(_times.get(report.nodeid, 0) + report.duration, 4)


def pytest_sessionfinish(session: pytest.Session) -> None:
    _cover.stop()
    _cover.save()
    cache = getattr(session.config, "cache", None)  # there is none with `-p no:cacheprovider`
    if cache and not hasattr(session.config, "workerinput"):
        cache.set(TIMES, _times)
