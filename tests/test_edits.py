"""edits.py: changes of a request at paths, and what none of them removes."""

import copy
from typing import Any

import pytest

from toolmend.requests.edits import Edit, edited

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
            assert edited(REQUEST, [edit], notes) == expected
            assert len(notes) == 1 and edit.path in notes[0]
    assert before == REQUEST


def test_anywhere() -> None:
    notes: list[str] = []
    changed = edited(REQUEST, [Edit("**.cache_control.scope")], notes)
    assert changed["messages"][0]["content"] == [{"type": "text", "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize("path", KEPT)
def test_what_stays(path: str) -> None:
    notes: list[str] = []
    assert edited(REQUEST, [Edit(path)], notes) == REQUEST
    assert notes == []


def test_the_order_of_members_stays() -> None:
    assert list(edited(REQUEST, [Edit("max_tokens", "rename", "limit")], [])) == [name if name != "max_tokens" else "limit" for name in REQUEST]


def test_nothing_of_depth_fails() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert edited({"x": deep}, [Edit("**.seed")], [])["x"] is deep
