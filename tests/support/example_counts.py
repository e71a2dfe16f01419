"""How many examples Hypothesis tries of a test that has many cases, or where each costs much: a part of what its profile says.

So a deep run has more of these as well (conftest.py).
"""

from hypothesis import settings


def examples(part: float) -> settings:
    return settings(max_examples=max(1, round(settings().max_examples * part)))
