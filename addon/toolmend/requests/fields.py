"""Typed access to the fields of a request.

An absent or null field yields an empty value. Any other wrong type raises a RequestError that names the field.
"""

from collections.abc import Mapping
from typing import Any

from . import RequestError

type Object = Mapping[str, Any]


def words(text: str) -> frozenset[str]:
    """The set of words in a text."""
    return frozenset(text.split())


def an_object(value: Any, where: str) -> Object:
    """A JSON object."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RequestError(f"`{where}` is not an object")
    return value


def objects(value: Any, where: str) -> list[Object]:
    """A list of JSON objects."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise RequestError(f"`{where}` is not a list")
    if not all(isinstance(entry, dict) for entry in value):  # parsed JSON, and `isinstance(…, Mapping)` is ten times slower
        raise RequestError(f"`{where}` has an entry that is not an object")
    return value


def strings(value: Any, where: str) -> tuple[str, ...]:
    """A list of strings; a single string is a list of one."""
    if isinstance(value, str):
        return (value,)
    if value is not None and not (isinstance(value, list) and all(isinstance(entry, str) for entry in value)):
        raise RequestError(f"`{where}` is not a list of strings")
    return tuple(value or ())


def string(fields: Object, key: str) -> str:
    """A string."""
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise RequestError(f"`{key}` is not a string")
    return value or ""


def tool_name(fields: Object) -> str:
    """The name of a tool or of a call. Raises RequestError if there is none."""
    name = string(fields, "name")
    if not name:
        raise RequestError("a tool, or a call of one, has no `name`")
    return name


def data_url(url: str) -> tuple[str, str] | None:
    """The media type and the base64 text of a data URL; None for any other URL."""
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return None
    return head.removeprefix("data:").partition(";")[0], data


def number(fields: Object, key: str) -> float | None:
    """A number."""
    value = fields.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise RequestError(f"`{key}` is not a number")
    return value


def whole(fields: Object, key: str) -> int | None:
    """A whole number."""
    value = number(fields, key)
    if value is None:
        return None
    if value != value or value in (float("inf"), float("-inf")) or int(value) != value:  # noqa: PLR0124 (NaN)
        raise RequestError(f"`{key}` is not a whole number")
    return int(value)


def flag(fields: Object, key: str) -> bool | None:
    """True or false."""
    value = fields.get(key)
    if value is not None and not isinstance(value, bool):
        raise RequestError(f"`{key}` is neither true nor false")
    return value


MAX_NOTES = 100
"""Notes of a request, at most: each new one is compared with all before it."""


def add_note(notes: list[str], note: str) -> None:
    """Appends a note about a part that was left out, once; the last of MAX_NOTES is "further notes are omitted"."""
    if len(notes) < MAX_NOTES and note not in notes:
        notes.append(note if len(notes) < MAX_NOTES - 1 else "further notes are omitted")


def note_unknown(fields: Object, known: frozenset[str], part: str, notes: list[str]) -> None:
    """Adds a note for each member of a part of the request that is not in `known` and has a value."""
    if fields.keys() <= known:
        return
    for key, value in fields.items():
        if key not in known and value not in (None, [], {}, False):
            add_note(notes, f"`{key}` of {part} is left out")
