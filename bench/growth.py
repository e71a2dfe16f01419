"""What grows, told from what wobbles: a figure for each window, and a line through them with its error.

Rule of this file: numbers in, numbers out; what growth is too much is said elsewhere.
"""

import statistics
from collections.abc import Mapping, Sequence
from itertools import batched

WINDOWS = 12


def windows(samples: Sequence[Mapping[str, float]], name: str) -> list[tuple[float, float]]:
    """(hours, the median) of each window."""
    size = max(1, len(samples) // WINDOWS)
    return [
        (statistics.median(look["at"] for look in some) / 3600, statistics.median(look[name] for look in some))
        for some in batched(samples, size)
    ]


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The slope of least squares, and its standard error; both 0 where there are fewer than three points."""
    if len(points) < 3:
        return 0.0, 0.0
    slope, intercept = statistics.linear_regression(*zip(*points, strict=True))
    middle = statistics.fmean(x for x, _ in points)
    residual = sum((y - slope * x - intercept) ** 2 for x, y in points) / (len(points) - 2)
    return slope, (residual / sum((x - middle) ** 2 for x, _ in points)) ** 0.5
