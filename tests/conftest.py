"""Hypothesis: no deadlines, since machines are shared; a few examples of each, and many with TESTS_DEEP=1 (support/cuts.py).

Nobody's own settings: the variables of whoever runs the tests, and their config.toml, change none. Nor does a shell that runs them
in the background, where an interrupt is ignored, by all programs that are started as well.

Every request that a test translates, for whatever it tests, passes the strict upstream of its host and model.
"""

import gc
import importlib
import json
import os
import signal
from typing import Any

import pytest
from hypothesis import settings

from tests.support import progress
from tests.support.cuts import DEEP, SEED
from tests.support.strict_upstream import refusal

gc.disable()  # until the first test

OURS = ("TOOLMEND_PYTHON", "TOOLMEND_TORTURE", "TOOLMEND_EXACT")
"""Variables that say how to test."""

for name in [name for name in os.environ if name.startswith("TOOLMEND_") and name not in OURS]:
    del os.environ[name]
os.environ["XDG_CONFIG_HOME"] = f"{os.devnull}/none"  # a folder that cannot be
os.environ["XDG_DATA_HOME"] = f"{os.devnull}/none"  # where learnt refusals would go

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("ci", deadline=None, max_examples=25, print_blob=True)
settings.register_profile("default", deadline=None, print_blob=True)  # scripts/test-coverage
settings.register_profile("deep", deadline=None, max_examples=500, print_blob=True)
settings.load_profile("deep" if DEEP else "ci")


def pytest_configure(config: pytest.Config) -> None:
    progress.register(config)
    # a warning of ours fails the test, as it will be an error one day; what others do in their own modules is theirs
    for kind in ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning", "SyntaxWarning", "UserWarning"):
        config.addinivalue_line("filterwarnings", f"error::{kind}:(toolmend|tests)([.]|$)")
    config.addinivalue_line("filterwarnings", "error:The model .* is deprecated:DeprecationWarning")
    config.addinivalue_line("filterwarnings", "error:This process .* is multi-threaded:DeprecationWarning")  # and forks


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that start programs and wait for them come between those that compute, so that each worker has both to do."""
    by_kind: dict[bool, dict[str, list[pytest.Item]]] = {}
    for item in items:
        by_kind.setdefault(item.path.parent.name == "e2e", {}).setdefault(str(item.path), []).append(item)
    placed: list[tuple[float, list[pytest.Item]]] = []
    for files in by_kind.values():
        total, before = sum(map(len, files.values())), 0
        for file in files.values():
            placed.append((before / total, file))
            before += len(file)
    items[:] = [item for _, file in sorted(placed, key=lambda each: each[0]) for item in file]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """All that was imported and collected stays to the end: no collection of garbage looks through it, and none ran before."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How to have the very same cuts once more."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(f"Streams were cut at random: TESTS_CUTS={SEED} cuts them alike again.")


translation: Any = importlib.import_module("toolmend.requests.translate")
unchecked = translation._translate


def checked(request: Any, client: str, upstream: str, model: str, host: str, *args: Any, **more: Any) -> Any:
    """`_translate`, whose result no known upstream refuses. A client that says nothing at all is told so by its upstream."""
    made = unchecked(request, client, upstream, model, host, *args, **more)
    if client != upstream and host and made.request.get("messages") != []:
        refused = refusal(upstream, host, str(made.request.get("model") or model), json.loads(json.dumps(made.request)))
        assert refused is None, f"{host} refuses this ({refused.rule}): {refused.body}\n{json.dumps(made.request)[:2000]}"
    return made


translation._translate = checked
