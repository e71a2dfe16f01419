"""core/json_access.py: a value of another type reads as an empty one."""

from types import MappingProxyType
from typing import Any

import pytest

from toolmend.core.json_access import as_list, as_object, objects, strings

OTHERS: tuple[Any, ...] = (None, 1, 1.5, True, "text", b"bytes")


@pytest.mark.parametrize("value", [*OTHERS, [1]])
def test_other_types_are_no_object(value: Any) -> None:
    assert as_object(value) == {}


@pytest.mark.parametrize("value", [*OTHERS, {"a": 1}])
def test_other_types_are_empty_lists(value: Any) -> None:
    assert (as_list(value), objects(value), strings(value)) == ([], [], [])


def test_values_of_the_type_are_returned() -> None:
    given = [{"a": 1}, "text", 1, MappingProxyType({"b": 2}), None]
    assert as_object(given[0]) is given[0]
    assert as_list(given) is given
    assert objects(given) == [{"a": 1}, {"b": 2}]
    assert strings(given) == ["text"]
