"""Numbers of tokens, as upstreams tell them."""

from typing import Any


def count(value: Any) -> int:
    """The number; 0 where it is none (`true` is none, though Python takes it for one)."""
    return value if type(value) is int and value > 0 else 0
