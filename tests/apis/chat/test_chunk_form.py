"""chunk_form.py: members of the wrong type, and what was meant, where that is certain."""

from typing import Any

import pytest

from toolmend.apis.chat.chunk_form import (
    COMMON,
    fits,
    intended_value,
    is_text,
    joined,
    number_of,
    repeats,
    speaks_as_assistant,
    usage_of_types,
)


@pytest.mark.parametrize(
    ("name", "value", "right", "meant"),
    [
        ("id", "c1", True, "c1"),
        ("id", 7, False, "7"),
        ("id", None, False, ""),
        ("model", True, False, "true"),
        ("created", 1760000000, True, 1760000000),
        ("created", 1760000000.4, False, 1760000000),
        ("created", "1760000000", False, 1760000000),
        ("created", "soon", False, 0),
        ("created", "1" * 17, False, 0),
        ("created", float("inf"), False, 0),
        ("created", True, False, 0),
        ("object", "chat.completion.chunk", True, "chat.completion.chunk"),
        ("object", "chat.completion", False, "chat.completion.chunk"),
        ("object", "", False, "chat.completion.chunk"),
        ("object", "vendor.chunk", True, "vendor.chunk"),
    ],
)
def test_common_members(name: str, value: Any, right: bool, meant: Any) -> None:
    assert fits(name, value, COMMON) == right
    made = intended_value(name, value, COMMON)
    assert (made, type(made)) == (meant, type(meant))
    assert fits(name, made, COMMON)


@pytest.mark.parametrize(
    ("usage", "made"),
    [
        ({"prompt_tokens": 1}, {"prompt_tokens": 1}),
        ({"prompt_tokens": "12", "completion_tokens": 3.0}, {"prompt_tokens": 12, "completion_tokens": 3}),
        ({"prompt_tokens_details": {"cached_tokens": "4"}}, {"prompt_tokens_details": {"cached_tokens": 4}}),
        ({"cost": "0.1"}, {"cost": "0.1"}),
        ({}, None),
        (None, None),
        ([1], None),
    ],
)
def test_usage(usage: Any, made: Any) -> None:
    assert usage_of_types(usage) == made
    if made and usage == made:
        assert usage_of_types(usage) is usage


@pytest.mark.parametrize(("delta", "right"), [({}, True), ({"role": None}, True), ({"role": "assistant"}, True), ({"role": ""}, False), ({"role": "user"}, False)])
def test_role(delta: dict[str, Any], right: bool) -> None:
    assert speaks_as_assistant(delta) == right


@pytest.mark.parametrize(("value", "text"), [(6, "6"), (1.5, "1.5"), (True, "true"), ("6", None), (None, None), ([], None)])
def test_numbers_as_text(value: Any, text: str | None) -> None:
    assert number_of(value) == text


@pytest.mark.parametrize(
    ("content", "right"),
    [
        ("a", True),
        (["a", {"text": "b"}], True),
        ([{"type": "text", "text": "a"}], True),
        ([{"type": "output_text", "text": "a", "annotations": []}], True),
        ([{"type": "text", "text": "a", "annotations": [1]}], False),
        ([{"type": "image_url"}], False),
        ([{"type": "text", "text": 1}], False),
        ([], False),
    ],
)
def test_content_in_parts(content: Any, right: bool) -> None:
    assert is_text(content) == right


@pytest.mark.parametrize(
    ("choices", "lone", "twice"),
    [
        ([{"index": 0}, {"index": 1}], True, False),
        ([{"index": 0}, {"index": 0}], True, True),
        ([{"index": 0}, {"index": "0"}], True, True),
        ([{}, {}], True, True),
        ([{}, {}], False, False),
        ([{"index": 1}, "odd"], True, False),
        ([], True, False),
    ],
)
def test_one_choice_twice(choices: list[Any], lone: bool, twice: bool) -> None:
    assert repeats(choices, lone=lone) == twice


def test_joined() -> None:
    one = {"index": 0, "delta": {"role": "assistant", "content": "a"}, "finish_reason": None}
    two = {"index": 0, "delta": {"content": "b", "role": None}, "finish_reason": "stop"}
    assert joined(one, two, "delta") == {"index": 0, "delta": {"role": "assistant", "content": "b"}, "finish_reason": "stop"}
    assert joined({"index": 0}, {"index": 0, "delta": None}, "delta") == {"index": 0, "delta": {}}
