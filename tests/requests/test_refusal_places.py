"""refusal_places.py: the path that a refusal names, in the spellings of many frameworks, and nothing outside the request."""

from typing import Any

import pytest

from toolmend.requests.refusal_places import MAX_ENTRIES, MAX_FOUND, Places, at, snake

REQUEST: dict[str, Any] = {
    "model": "m",
    "reasoning_effort": "high",
    "max_tokens": 9,
    "stop": ["x"],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": "a", "reasoning_content": "hm", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"seed": 1}}}]},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"temperature": {}}}}}],
    "metadata": {"own": 1},
}


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("max_tokens", "max_tokens"),
        ("body.max_tokens", "max_tokens"),
        ("$.max_tokens", "max_tokens"),
        ("reasoningEffort", "reasoning_effort"),
        ("messages.1.reasoning_content", "messages[].reasoning_content"),
        ("messages[1].reasoning_content", "messages[].reasoning_content"),
        ("messages.1.assistant.reasoning_content", "messages[].reasoning_content"),
        ("('body', 'messages', 1, 'assistant', 'reasoning_content')", "messages[].reasoning_content"),
        ("messages.0.content.0.text.cache_control", "messages[].content[].cache_control"),
        ("cache_control", "messages[].content[].cache_control"),
        ("tools.0.function.parameters", "tools[].function.parameters"),
        ("max_output_tokens", "max_tokens"),
        ("stop_sequences", "stop"),
        ("temperature", ""),
        ("seed", ""),
        ("own", ""),
        ("unknown", ""),
        ("", ""),
        ("?", ""),
    ],
)
def test_located(place: str, path: str) -> None:
    assert Places(REQUEST).located(place) == path


def test_names_inside_the_users_own_are_not_found() -> None:
    names = Places(REQUEST).names
    assert "metadata" in names
    assert not {"own", "temperature", "seed"} & names.keys()


def test_paths_of_one_name_are_bounded() -> None:
    request = {f"f{at}": {"x": 1} for at in range(2 * MAX_FOUND)}
    assert len(Places(request).anywhere("x")) == MAX_FOUND


def test_steps_along_many_paths_are_bounded() -> None:
    request: dict[str, Any] = {"y": 1}
    for _ in range(40):
        request = {"b": [request, request]}  # 2 ** 40 paths
    assert Places(request).located("b." * 40 + "z.x") == ""


@pytest.mark.parametrize(("name", "snaked"), [("reasoningEffort", "reasoning_effort"), ("stop", "stop"), ("top_P", "top_p"), ("topK", "top_k")])
def test_snake(name: str, snaked: str) -> None:
    assert snake(name) == snaked


@pytest.mark.parametrize(
    ("path", "value"),
    [("max_tokens", 9), ("messages[].reasoning_content", "hm"), ("messages[].content[].text", "hi"), ("stop[]", "x"), ("messages.x", None), ("none[].x", None)],
)
def test_at(path: str, value: Any) -> None:
    assert at(REQUEST, path) == value


def test_at_reads_a_number_of_entries() -> None:
    rows = [{}] * MAX_ENTRIES + [{"x": 1}]
    assert at({"rows": rows}, "rows[].x") is None
    assert at({"rows": rows[1:]}, "rows[].x") == 1
