"""Numbers of tokens, as upstreams tell them."""

from typing import Any, TypeGuard

from ...core.events import Usage

MAX = 2**53 - 1
"""The largest number that all clients can read; the sum of two longer ones may be one that Python does not write."""


def count(value: Any) -> int:
    """The number; 0 where it is none (`true` is none, though Python takes it for one)."""
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    return value if type(value) is int and 0 < value <= MAX else 0


def number(value: Any) -> int:
    """Likewise, and of a text that is one."""
    return count(int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 17 else value)


def has_counts(usage: Usage | None) -> TypeGuard[Usage]:
    """Whether it tells anything: some upstreams have the members, and 0 in each."""
    return usage is not None and usage.input_tokens + usage.output_tokens > 0
