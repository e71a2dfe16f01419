"""Regular expressions: each that looks for something in what strangers write takes time in proportion to it (R15).

Rule of this file: every pattern of a module is tried, on its own literals in a row: those nearly match, again and again. Those that
are only asked what stands at one place are named here, and those for what a user says of their own settings left out.
"""

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

import toolmend

pytestmark = pytest.mark.slow

SIZES = (800, 6_400)
STEEP = 22.0
"""Times as long for the second: eight is linear, sixty-four quadratic."""
LITTLE = 0.002
"""Seconds of CPU for it that say nothing yet."""
UNITS = (*' \n\r\ta1"\\{[<=.-_/:', "a ", "a\n")

AT_ONE_PLACE = (
    "apis.shared.arguments._OPENING", "apis.shared.call_identity._NO_END", "apis.shared.headers._DURATION", "apis.shared.delta_template._PREFIX", "core.text_state._STOP_IN_STRING",
    "core.text_state._STOP_IN_LEAKED", "secrets.names.CREDENTIAL", "secrets.names.HEADER", "secrets.names.QUERY", "dialects.engine.tag.ATTRIBUTE",
    "dialects.families.kimi_k2._COUNTED", "dialects.families.kimi_k3._CALL", "dialects.families.kimi_k3._ARGUMENT", "providers.model_profiles._SPECIAL",
    "providers.model_profiles._THINKS", "providers.model_profiles._MAY_THINK", "recordings.read.secret_scan.UNLIKE_TEXT", "core.sse._IDLE", "core.sse._BEGIN",
)
"""Or in a name of some hundred characters at most."""
OF_A_USER = ("cli.", "config.", "proxy.envoy.")


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Every pattern that is a value of a module, by its name; one of several modules once."""
    named = (name.rpartition(".") for name in AT_ONE_PLACE)
    seen = {getattr(importlib.import_module(f"toolmend.{module}"), name) for module, _, name in named}
    for module in pkgutil.walk_packages(toolmend.__path__, "toolmend."):
        place = module.name.removeprefix("toolmend.")
        if place.startswith(OF_A_USER) or place.endswith("__main__") or place == "recordings.pytest_plugin":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern) and value not in seen:
                seen.add(value)
                yield f"{place}.{name}", value


PATTERNS = dict(patterns())


def literals(parsed: Any) -> Iterator[str]:
    """The runs of characters that stand in a pattern as they are."""
    run = ""
    for op, value in parsed:
        if str(op) == "LITERAL":
            run += chr(value)
            continue
        if run:
            yield run
        run = ""
        for part in value if isinstance(value, (tuple, list)) else [value]:
            if isinstance(part, re._parser.SubPattern):  # type: ignore[attr-defined]
                yield from literals(part)
            elif isinstance(part, list):
                for branch in part:
                    if isinstance(branch, re._parser.SubPattern):  # type: ignore[attr-defined]
                        yield from literals(branch)
    if run:
        yield run


def seconds(pattern: re.Pattern[Any], text: str) -> float:
    data = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
    best = 1e9
    for _ in range(3):
        begun = time.thread_time()
        for _ in pattern.finditer(data):
            pass
        best = min(best, time.thread_time() - begun)
        if best < LITTLE:
            break
    return best


@pytest.mark.parametrize("name", PATTERNS)
def test_what_nearly_matches(name: str) -> None:
    pattern = PATTERNS[name]
    own = sorted(set(literals(re._parser.parse(pattern.pattern, pattern.flags))), key=len)[:16]  # type: ignore[attr-defined]
    for unit in (*UNITS, *own):
        small, large = (seconds(pattern, unit * (size // len(unit))) for size in SIZES)
        assert large < max(LITTLE, STEEP * small), unit
