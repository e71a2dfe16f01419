"""Tables whose rows need no name of their own: many rows are one test, and a row that fails is a subtest with its name.

Rule of this file: a row that passes costs nothing but its check. What a table multiplies (targets, framings, spellings) is tried
whole only in a deep run; in all others each row gets one of them, another one in each run (support/cuts.py tells how to have it again).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import batched

import pytest

from tests.support.cuts import DEEP, dice_for

SIZE = 24
"""Rows of a batch: enough to cost little each, few enough for the workers to share them."""


def batches(names: Iterable[str], size: int = SIZE) -> Callable[[Callable[..., None]], pytest.MarkDecorator]:
    """Marks a test that gets `names`, a batch of them, and shows each to `each_of`."""
    return pytest.mark.parametrize("names", [pytest.param(batch, id=f"{batch[0]} and {len(batch) - 1} more") for batch in batched(names, size)])


def each_of[Row](rows: Iterable[tuple[str, Row]] | Mapping[str, Row], subtests: pytest.Subtests, check: Callable[[Row], object]) -> None:
    """Checks every row, and tells of each that fails by its name."""
    for name, row in rows.items() if isinstance(rows, Mapping) else rows:
        try:
            check(row)
        except (Exception, pytest.fail.Exception):
            with subtests.test(name):
                raise


def part_of(names: Iterable[str], every: int) -> list[str]:
    """One of so many, others in each run; in a deep run all."""
    return [name for name in names if DEEP or dice_for(name).randrange(every) == 0]


def some_of[Choice](choices: Sequence[Choice], name: str) -> Sequence[Choice]:
    """One of the choices for this row, in a deep run all."""
    return choices if DEEP else [dice_for(name).choice(choices)]
