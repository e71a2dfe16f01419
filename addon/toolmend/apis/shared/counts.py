"""Reads token counts of upstreams."""

from typing import Any, TypeGuard

from ...core.events import Usage

MAX = 2**53 - 1
"""The largest number that all clients can read exactly; the sum of two larger ones could exceed what Python's JSON writes."""


def count(value: Any) -> int:
    """Returns a count; 0 for anything but a positive integer (`true` is not one)."""
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    return value if type(value) is int and 0 < value <= MAX else 0


def number(value: Any) -> int:
    """As `count`, and accepts digits in a string."""
    return count(int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 17 else value)


def has_counts(usage: Usage | None) -> TypeGuard[Usage]:
    """Whether a usage has any counts: some upstreams send all members as 0."""
    return usage is not None and usage.input_tokens + usage.output_tokens > 0
