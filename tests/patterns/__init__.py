"""The documented patterns, as data: what an upstream streams, and what a client must make of it.

One module per provider. `scripts/record-flows` plays each through a real mitmdump and keeps the recording under flows/; the
tests read them directly as well.
"""

import pkgutil
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Pattern:
    """`deltas`: strings are pieces of `field`. `calls`: (id, name, arguments as JSON text), None for an id that is made."""

    request: dict[str, Any]
    deltas: list[Any]
    calls: list[tuple[str | None, str, str]] = field(default_factory=list)
    content: str = ""
    reasoning: str = ""
    field: str = "content"
    finish: str | None = "stop"
    expected_finish: str | None = "tool_calls"
    rules: tuple[str, ...] = ()


def all_patterns() -> dict[str, Pattern]:
    """Every pattern, by `module/name`."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {f"{m.__name__.rpartition('.')[2]}/{name}": pattern for m in modules for name, pattern in m.PATTERNS.items()}


def recorded_patterns() -> dict[str, Pattern]:
    """Those that are kept as recordings: all of Kimi's, and of the others the first for each set of rules that mended something.

    A recording is replayed at every two-way split; for all patterns that would take an hour.
    """
    chosen: dict[tuple[str, tuple[str, ...]], str] = {}
    patterns = all_patterns()
    for name, pattern in patterns.items():
        module = name.partition("/")[0]
        if module == "kimi" or len(pattern.rules) > 1:
            chosen.setdefault((name if module == "kimi" else module, pattern.rules), name)
    return {name: patterns[name] for name in chosen.values()}
