"""Reads numbers that upstreams send in several types: token counts and indices (`7`, `7.0`, `"7"`)."""

from typing import Any, TypeGuard

from ...core.events import Usage

MAX_CHOICES = 128
"""Choices of one answer that are decoded, as many as OpenAI allows; further ones pass unchanged."""

MAX_COUNT = 2**53 - 1
"""The largest number that all clients can read exactly; the sum of two larger ones could exceed what Python's JSON writes."""


def count(value: Any) -> int:
    """Returns a count; 0 for anything but a positive integer (`true` is not one)."""
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    return value if type(value) is int and 0 < value <= MAX_COUNT else 0


def number(value: Any) -> int:
    """As `count`, and accepts digits in a string."""
    return count(int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 17 else value)


def has_counts(usage: Usage | None) -> TypeGuard[Usage]:
    """Whether a usage has any counts: some upstreams send all members as 0."""
    return usage is not None and usage.input_tokens + usage.output_tokens > 0


def index_of[T](value: Any, other: T) -> int | T:
    """The index that a value means; `other` if it means none."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < 10 else other
    return int(value) if is_index(value) or (isinstance(value, float) and value.is_integer()) else other


def is_index(value: Any) -> bool:
    """Whether every client reads a value as an index (`true` is not one)."""
    return type(value) is int
