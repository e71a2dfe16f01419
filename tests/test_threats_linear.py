"""Text made to be expensive, for each dialect and for the redactor: twice the text costs twice the time (R15).

Rule of this file: CPU time alone is looked at, and of that only how it grows. Each input is measured small and large; one that looks
suspicious is measured again, with the best of several runs on a longer ladder, before it is called a fault.
"""

import json
import time
from collections.abc import Callable, Iterator
from math import log
from typing import Any

import pytest

from patterns import all_patterns
from streams import chunk, event
from toolmend.pipeline import Pipeline
from toolmend.redaction import Redactor

pytestmark = pytest.mark.slow

SMALL, LARGE = 4_000, 32_000
LADDER = (16_000, 64_000, 256_000)
GROWTH = 1.35
"""The exponent; the target is 1.2, and a loaded machine adds to it. What is quadratic has 2."""
UNITS = ("<", "{", "[", '"', "\\", "\n", "a", '{"', "<|", "`")
PATTERNS = all_patterns()


def by_rule() -> dict[str, list[str]]:
    """The patterns of each dialect: the first that it mends."""
    found: dict[str, list[str]] = {}
    for name, pattern in PATTERNS.items():
        if (
            pattern.rules
            and all(isinstance(delta, str) for delta in pattern.deltas)
            and not (names := found.setdefault(pattern.rules[0], []))
        ):
            names.append(name)
    return found


RULES = by_rule()


def inputs(text: str, size: Callable[[str], int]) -> Iterator[tuple[str, str]]:
    """Calls that go on for ever at three places, each with things that nearly end, or open, or quote; and calls without end."""
    places = sorted({0, *(round(len(text) * part) for part in (0.5, 0.85))})
    for at in places:
        before = text[:at]
        for unit in (*UNITS, text[max(0, at - 12) : at] or "x", text[-12:-1], text[:12], before or "y"):
            yield f"{unit[:20]!r} at {at}", before + unit * (size(unit) // len(unit) + 1)


def cpu(pattern: Any, text: str) -> float:
    """Seconds of this process for a stream of it, in deltas of 400 characters."""
    events = [event(chunk({pattern.field: text[at : at + 400]})) for at in range(0, len(text), 400)]
    pipeline = Pipeline(pattern.request)
    start = time.process_time()
    for data in events:
        pipeline.feed(data)
    pipeline.close()
    return time.process_time() - start


def exponent(run: Callable[[int], float], sizes: tuple[int, ...], repeats: int) -> float:
    """How the time grows between the first size and the last, by the best of some runs each."""
    best = [min(run(size) for _ in range(repeats)) for size in sizes]
    return log(max(best[-1], 1e-9) / max(best[0], 0.0005)) / log(sizes[-1] / sizes[0])


@pytest.mark.parametrize("rule", RULES)
def test_dialects(rule: str) -> None:
    for name in RULES[rule]:
        pattern = PATTERNS[name]
        text = "".join(pattern.deltas)
        cases = [dict(inputs(text, lambda _, size=size: size)) for size in (SMALL, LARGE)]  # type: ignore[misc]
        for case in cases[0]:
            small, large = cases[0][case], cases[1][case]
            if log(max(cpu(pattern, large), 1e-9) / max(cpu(pattern, small), 0.001)) / log(LARGE / SMALL) > GROWTH:
                assert measured(pattern, text, case) <= GROWTH, (name, case)


def measured(pattern: Any, text: str, case: str) -> float:
    made = {size: dict(inputs(text, lambda _, size=size: size))[case] for size in LADDER[:2]}  # type: ignore[misc]
    return min(exponent(lambda size: cpu(pattern, made[size]), LADDER[:2], 3) for _ in range(2))


def test_redaction() -> None:
    """All shapes of keys at once, over what begins as many of them do."""
    redactor = Redactor(("hunter2hunter2",))
    for unit in (
        "sk-",
        "eyJ",
        "eyJa.",
        "-----BEGIN PRIVATE KEY",
        "-----BEGIN PRIVATE KEY-----",
        "Bearer ",
        "xoxb-",
        "sk-a-",
        "//a:",
        "%73",
        "hunter2",
    ):

        def run(size: int, unit: str = unit) -> float:
            body = json.dumps({"content": unit * (size // len(unit))}).encode()
            start = time.process_time()
            redactor.body(body)
            return time.process_time() - start

        assert exponent(run, LADDER, 2) <= GROWTH, unit
