"""The place of a choice, of a call or of a block in its list, as upstreams tell it: most by a number, some by `0.0` or `"0"`.

Rule of this file: what is no number is no place; it is for others to make one up.
"""

from typing import Any

MAX_CHOICES = 128
"""Choices of one answer that are read, as many as OpenAI gives; those of an upstream that makes up more pass as they come."""


def index_of[T](value: Any, other: T) -> int | T:
    """The index that is meant; `other` where none is."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < 10 else other
    return int(value) if is_index(value) or (isinstance(value, float) and value.is_integer()) else other


def is_index(value: Any) -> bool:
    """Whether every client reads it as one (`true` is none, though Python takes it for one)."""
    return type(value) is int
