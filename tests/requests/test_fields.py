"""fields.py: what is absent is empty, what has a wrong type is an error that names the field, notes stand once and are bounded."""

from collections.abc import Callable
from typing import Any

import pytest

from toolmend.requests import RequestError
from toolmend.requests.fields import (
    MAX_NOTES,
    add_note,
    an_object,
    flag,
    note_unknown,
    number,
    objects,
    string,
    strings,
    whole,
    words,
)

type Read = Callable[[Any], Any]
READERS: dict[str, tuple[Read, Any]] = {
    "object": (lambda value: an_object(value, "f"), {}),
    "objects": (lambda value: objects(value, "f"), []),
    "strings": (lambda value: strings(value, "f"), ()),
    "string": (lambda value: string({"f": value}, "f"), ""),
    "number": (lambda value: number({"f": value}, "f"), None),
    "whole": (lambda value: whole({"f": value}, "f"), None),
    "flag": (lambda value: flag({"f": value}, "f"), None),
}


@pytest.mark.parametrize("kind", READERS)
def test_null_is_empty(kind: str) -> None:
    read, empty = READERS[kind]
    assert read(None) == empty


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("object", {"a": 1}, {"a": 1}),
        ("objects", [{"a": 1}], [{"a": 1}]),
        ("strings", "a", ("a",)),
        ("strings", ["a", "b"], ("a", "b")),
        ("string", "a", "a"),
        ("number", 1.5, 1.5),
        ("whole", 2, 2),
        ("whole", 2.0, 2),
        ("flag", False, False),
    ],
)
def test_right_types(kind: str, value: Any, read: Any) -> None:
    assert READERS[kind][0](value) == read


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        ("object", [], "`f` is not an object"),
        ("objects", {}, "`f` is not a list"),
        ("objects", [{}, 1], "`f` has an entry that is not an object"),
        ("strings", 1, "`f` is not a list of strings"),
        ("strings", ["a", None], "`f` is not a list of strings"),
        ("string", 1, "`f` is not a string"),
        ("number", "1", "`f` is not a number"),
        ("number", True, "`f` is not a number"),
        ("whole", 1.5, "`f` is not a whole number"),
        ("whole", float("inf"), "`f` is not a whole number"),
        ("whole", float("nan"), "`f` is not a whole number"),
        ("flag", 1, "`f` is neither true nor false"),
    ],
)
def test_wrong_types_name_the_field(kind: str, value: Any, sentence: str) -> None:
    with pytest.raises(RequestError) as raised:
        READERS[kind][0](value)
    assert str(raised.value) == sentence


def test_notes_stand_once_and_are_bounded() -> None:
    notes: list[str] = []
    for at in range(2 * MAX_NOTES):
        add_note(notes, f"note {at}")
        add_note(notes, f"note {at}")
    assert len(notes) == MAX_NOTES == len(set(notes))
    assert notes[-2:] == [f"note {MAX_NOTES - 2}", "further notes are omitted"]


def test_unknown_members_with_a_value_are_noted() -> None:
    notes: list[str] = []
    fields = {"a": 1, "b": 2, "c": None, "d": [], "e": {}, "f": False, "g": 0}
    note_unknown(fields, words("a"), "a message", notes)
    assert notes == ["`b` of a message is left out"]  # 0 == False
