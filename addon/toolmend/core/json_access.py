"""Access to parsed JSON of unknown types: a value of another type reads as an empty one.

Typed access that raises for a wrong type is in requests/fields.py.
"""

from collections.abc import Mapping
from typing import Any


def as_object(value: Any) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict | Mapping) else {}  # `dict` first: the check for a Mapping is ten times slower


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The entries of a list that are objects."""
    return [entry for entry in value if isinstance(entry, dict | Mapping)] if isinstance(value, list) else []


def strings(value: Any) -> list[str]:
    """The entries of a list that are strings."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []
