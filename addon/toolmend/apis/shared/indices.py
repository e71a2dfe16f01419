"""Reads the index of a choice, a call or a block: most upstreams send a number, some `0.0` or `"0"`."""

from typing import Any

MAX_CHOICES = 128
"""Choices of one answer that are decoded, as many as OpenAI allows; further ones pass unchanged."""


def index_of[T](value: Any, other: T) -> int | T:
    """The index that a value means; `other` if it means none."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < 10 else other
    return int(value) if is_index(value) or (isinstance(value, float) and value.is_integer()) else other


def is_index(value: Any) -> bool:
    """Whether every client reads a value as an index (`true` is not one)."""
    return type(value) is int
