"""The fields of a request, with their types: what a client may have written there, or an error that says what is wrong.

Rule of this file: absent and null are the same, and give an empty value. Any other type than the API's is a RequestError
that names the field, and never a TypeError somewhere behind.
"""

from collections.abc import Mapping
from typing import Any

from . import RequestError

type Object = Mapping[str, Any]


def words(text: str) -> frozenset[str]:
    """The names of fields, in a text."""
    return frozenset(text.split())


def an_object(value: Any, where: str) -> Object:
    """A JSON object; an empty one where there is none."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RequestError(f"`{where}` is no object")
    return value


def objects(value: Any, where: str) -> list[Object]:
    """A list of JSON objects."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise RequestError(f"`{where}` is no list")
    if not all(isinstance(entry, dict) for entry in value):  # of JSON; to ask for a Mapping costs ten times as much
        raise RequestError(f"`{where}` holds something that is no object")
    return value


def strings(value: Any, where: str) -> tuple[str, ...]:
    """A list of strings, or one."""
    if isinstance(value, str):
        return (value,)
    if value is not None and not (isinstance(value, list) and all(isinstance(entry, str) for entry in value)):
        raise RequestError(f"`{where}` is no list of strings")
    return tuple(value or ())


def string(fields: Object, key: str) -> str:
    """A string; empty where there is none."""
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise RequestError(f"`{key}` is no string")
    return value or ""


def number(fields: Object, key: str) -> float | None:
    """A number."""
    value = fields.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise RequestError(f"`{key}` is no number")
    return value


def whole(fields: Object, key: str) -> int | None:
    """A whole number."""
    value = number(fields, key)
    if value is None:
        return None
    if value != value or value in (float("inf"), float("-inf")) or int(value) != value:  # noqa: PLR0124 (NaN)
        raise RequestError(f"`{key}` is no whole number")
    return int(value)


def flag(fields: Object, key: str) -> bool | None:
    """True or false."""
    value = fields.get(key)
    if value is not None and not isinstance(value, bool):
        raise RequestError(f"`{key}` is neither true nor false")
    return value


MOST_TOLD = 100
"""Notes of a request: nobody reads more, and each is compared with all before it."""


def add_note(notes: list[str], note: str) -> None:
    """Tells what was left out, once."""
    if len(notes) < MOST_TOLD and note not in notes:
        notes.append(note if len(notes) < MOST_TOLD - 1 else "more is not told")


def left_over(fields: Object, known: frozenset[str], what: str, notes: list[str]) -> None:
    """Tells the members of a part of the request that say something and that no other API knows."""
    if fields.keys() <= known:
        return
    for key, value in fields.items():
        if key not in known and value not in (None, [], {}, False):
            add_note(notes, f"`{key}` of {what} is left out")
