"""edits.py: changes of a request at paths, and what none of them removes."""

import copy
from typing import Any

import pytest

from toolmend.requests.edits import Edit, apply_edits, edit_of, is_edit, text_of

REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "name": "a", "content": [{"type": "text", "cache_control": {"type": "ephemeral", "scope": "x"}}]}, {"role": "assistant"}],
    "tools": [{"type": "function", "function": {"name": "f", "strict": True}}],
    "store": False,
    "max_tokens": 100,
    "reasoning_effort": "xhigh",
    "text": {"verbosity": "low"},
}


def gone(*names: str) -> dict[str, Any]:
    return {key: item for key, item in REQUEST.items() if key not in names}


ROWS: list[tuple[Edit, dict[str, Any]]] = [
    (Edit("store"), gone("store")),
    (Edit("text.verbosity"), gone("text")),
    (Edit("tools[].function.strict"), {**REQUEST, "tools": [{"type": "function", "function": {"name": "f"}}]}),
    (Edit("max_tokens", "rename", "max_completion_tokens"), {**gone("max_tokens"), "max_completion_tokens": 100}),
    (Edit("max_tokens", "at_most", 10), {**REQUEST, "max_tokens": 10}),
    (Edit("max_tokens", "at_least", 1000), {**REQUEST, "max_tokens": 1000}),
    (Edit("reasoning_effort", "one_of", ("low", "high")), {**REQUEST, "reasoning_effort": "high"}),
    (Edit("reasoning_effort", "one_of", ("quick",)), gone("reasoning_effort")),
    (Edit("stream", "set", True), {**REQUEST, "stream": True}),
    (Edit("store", "set", True), {**REQUEST, "store": True}),
]
KEPT = ["messages[].content", "messages[].content[].text", "messages[].role", "**.text", "tools[].function", "tools[].function.name", "model", "messages", "tools", "messages[]", "tools[]", "seed", "messages[].seed", "messages.role", "store.x", "", "[]", "**.seed"]


def test_edits(subtests: pytest.Subtests) -> None:
    before = copy.deepcopy(REQUEST)
    for edit, expected in ROWS:
        with subtests.test(edit.path, do=edit.do):
            notes: list[str] = []
            assert apply_edits(REQUEST, [edit], notes) == expected
            assert len(notes) == 1 and edit.path in notes[0]
    assert before == REQUEST


def test_anywhere() -> None:
    notes: list[str] = []
    changed = apply_edits(REQUEST, [Edit("**.cache_control.scope")], notes)
    assert changed["messages"][0]["content"] == [{"type": "text", "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize("path", KEPT)
def test_what_stays(path: str) -> None:
    notes: list[str] = []
    assert apply_edits(REQUEST, [Edit(path)], notes) == REQUEST
    assert notes == []


def test_the_order_of_members_stays() -> None:
    assert list(apply_edits(REQUEST, [Edit("max_tokens", "rename", "limit")], [])) == [name if name != "max_tokens" else "limit" for name in REQUEST]


def test_nothing_of_depth_fails() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert apply_edits({"x": deep}, [Edit("**.seed")], [])["x"] is deep


TEXTS: list[tuple[str, Edit]] = [
    ("store", Edit("store")),
    ("**.cache_control.scope", Edit("**.cache_control.scope")),
    ("max_tokens -> max_completion_tokens", Edit("max_tokens", "rename", "max_completion_tokens")),
    ("reasoning_effort -> reasoning.effort", Edit("reasoning_effort", "rename", "reasoning.effort")),
    ("reasoning_effort in low high", Edit("reasoning_effort", "one_of", ("low", "high"))),
    ("store = false", Edit("store", "set", False)),
    ("max_tokens <= 8192", Edit("max_tokens", "at_most", 8192)),
    ("temperature >= 0.01", Edit("temperature", "at_least", 0.01)),
    ("stop[:4]", Edit("stop", "cut", 4)),
    ("tools[].function.parameters ~ valid -minItems", Edit("tools[].function.parameters", "schema", ("valid", "-minItems"))),
    ("messages[].content - thinking redacted_thinking", Edit("messages[].content", "without", ("thinking", "redacted_thinking"))),
]


@pytest.mark.parametrize(("text", "edit"), TEXTS)
def test_texts(text: str, edit: Edit) -> None:
    assert edit_of(text) == edit and text_of(edit) == text


WRONG = ["", "a b", "a ->", "a <= x", "messages", "messages[].content", "messages[].content - text", "tools[:1]", "max_tokens -> messages"]


@pytest.mark.parametrize("text", [*WRONG, "messages[].content[].input.x", "tools[].function.parameters.x", "messages[].tool_calls[].function.name", "messages[].content[].type in a b"])
def test_what_is_no_edit(text: str) -> None:
    assert not is_edit(text)


MORE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("reasoning_effort -> reasoning.effort", {"reasoning_effort": "low", "reasoning": {"summary": "auto"}}, {"reasoning": {"summary": "auto", "effort": "low"}}),
    ("reasoning_effort -> reasoning.effort", {"reasoning_effort": "low", "reasoning": "x"}, {"reasoning": "x"}),
    ("stop[:1]", {"stop": ["a", "b"]}, {"stop": ["a"]}),
    ("user[:2]", {"user": "abc"}, {"user": "ab"}),
    ("stop[:1]", {"stop": 3}, {"stop": 3}),
    ("input - reasoning", {"input": [{"type": "reasoning"}, {"type": "message"}]}, {"input": [{"type": "message"}]}),
    ("input - reasoning", {"input": [{"type": "reasoning"}]}, {"input": [{"type": "reasoning"}]}),
    ("input - reasoning", {"input": "hi"}, {"input": "hi"}),
    ("messages[].role in system user", {"messages": [{"role": "developer"}, {"role": "user"}, {"role": "odd"}]}, {"messages": [{"role": "system"}, {"role": "user"}, {"role": "odd"}]}),
    ("tool_choice in auto none", {"tool_choice": {"type": "function"}}, {"tool_choice": "auto"}),
    ("service_tier in a b", {"service_tier": "c"}, {}),
    ("tools[].input_schema ~ root -format", {"tools": [{"input_schema": {"anyOf": [{"properties": {"a": {"format": "x"}}}]}}]}, {"tools": [{"input_schema": {"type": "object", "properties": {"a": {"description": 'format: "x"'}}, "description": "Give one of: a"}}]}),
    ("tools[].input_schema ~ root", {"tools": [{"input_schema": 3}]}, {"tools": [{"input_schema": 3}]}),
]


@pytest.mark.parametrize(("text", "given", "expected"), MORE)
def test_more_changes(text: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert apply_edits(given, [edit_of(text)], []) == expected
