"""How far the tests are, a line now and then in place of a dot for each: registered where workers run them (conftest.py)."""

import time
from collections.abc import Generator, Mapping
from typing import Any

import pytest

EVERY = 10.0
"""Seconds between two lines; at a terminal each takes the place of the one before."""

type Status = tuple[str, str, str | Mapping[str, bool]]


class Progress:
    """Tells each failure at once, and each few seconds how many tests are done."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._begun = time.monotonic()
        self._told = self._begun
        self._total = self._done = self._failed = 0

    @property
    def _terminal(self) -> pytest.TerminalReporter:
        return self._config.pluginmanager.get_plugin("terminalreporter")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._total = len(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, Status, Status]:
        category, *_ = yield
        return category, "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed += 1
            self._write(f"FAILED {report.nodeid} ({report.when})")

    def pytest_runtest_logfinish(self) -> None:
        self._done += 1
        if (now := time.monotonic()) - self._told > (EVERY / 10 if self._terminal.isatty else EVERY):
            self._told = now
            minutes, seconds = divmod(round(now - self._begun), 60)
            share = 100 * self._done // max(self._total, self._done)
            failed = f", {self._failed} failed" if self._failed else ""
            line = f"{minutes}:{seconds:02} {share} %: {self._done} of {self._total} tests{failed}"
            if self._terminal.isatty:
                self._terminal.rewrite(line, erase=True)
            else:
                self._write(line)

    def _write(self, line: str) -> None:
        self._terminal.ensure_newline()
        self._terminal.write_line(line)


def register(config: pytest.Config) -> None:
    """Where workers run the tests, unless more is asked for, or less."""
    options: Any = config.option
    if getattr(options, "numprocesses", None) and not hasattr(config, "workerinput") and options.verbose == 0:
        config.pluginmanager.register(Progress(config))
