"""builtin_tools.py: which tools are known, and calls of them as items of Responses, and back."""

from typing import Any

import pytest

from toolmend.core.builtin_tools import BY_ITEM, BY_KIND, BY_OUTPUT, FORMS, OF_RESPONSES, of_messages, of_responses


@pytest.mark.parametrize(
    ("kind", "required"),
    [
        ("bash_20250124", []),
        ("text_editor_20250728", ["command", "path"]),
        ("text_editor_20250429", ["command", "path"]),
        ("text_editor_20241022", ["command", "path"]),
        ("memory_20250818", ["command"]),
        ("web_search_20250305", None),
        ("custom", None),
        (None, None),
    ],
)
def test_tools_of_messages(kind: Any, required: list[str] | None) -> None:
    known = of_messages({"type": kind, "name": "n"})
    assert (known[1]["required"] if known else None) == required


def test_only_older_editors_undo() -> None:
    def commands(kind: str) -> list[str]:
        known = of_messages({"type": kind})
        assert known
        found: list[str] = known[1]["properties"]["command"]["enum"]
        return found

    assert "undo_edit" in commands("text_editor_20250124")
    assert "undo_edit" not in commands("text_editor_20250728")


@pytest.mark.parametrize(
    ("tool", "known"),
    [
        ({"type": "local_shell"}, True),
        ({"type": "shell"}, True),
        ({"type": "shell", "environment": {"type": "local"}}, True),
        ({"type": "shell", "environment": {"type": "container_auto"}}, False),
        ({"type": "apply_patch"}, True),
        ({"type": "function"}, False),
        ({}, False),
    ],
)
def test_tools_of_responses(tool: dict[str, Any], known: bool) -> None:
    found = of_responses(tool)
    assert (found is not None) == known
    assert not known or found == OF_RESPONSES[tool["type"]]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)
def test_forms_are_found_by_each_name(form: Any) -> None:
    assert BY_KIND[form.kind] is BY_ITEM[f"{form.kind}_call"] is BY_OUTPUT[f"{form.kind}_call_output"] is form


@pytest.mark.parametrize(
    ("kind", "arguments", "action"),
    [
        ("local_shell", {"command": ["ls"]}, {"type": "exec", "command": ["ls"], "env": {}}),
        ("local_shell", {"command": ["ls"], "env": {"A": "1"}}, {"type": "exec", "command": ["ls"], "env": {"A": "1"}}),
        ("shell", {"commands": ["ls"]}, {"commands": ["ls"]}),
        ("apply_patch", {"type": "delete_file", "path": "a"}, {"type": "delete_file", "path": "a"}),
    ],
)
def test_arguments_there_and_back(kind: str, arguments: dict[str, Any], action: dict[str, Any]) -> None:
    form = BY_KIND[kind]
    assert form.action(arguments) == action
    assert form.arguments({form.member: action}) == arguments


def test_what_is_no_object_has_no_arguments() -> None:
    form = BY_KIND["local_shell"]
    assert form.action("ls") == {"type": "exec", "env": {}}
    assert form.arguments({"action": "ls"}) == {}
    assert form.arguments({"action": {"command": ["ls"], "user": None, "timeout_ms": None}}) == {"command": ["ls"]}


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"type": "local_shell_call_output", "output": "a"}, "a"),
        ({"type": "local_shell_call_output", "output": 1}, ""),
        ({"type": "shell_call_output", "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 1}}]}, "a\nb\n(Exit code 1)"),
        ({"type": "shell_call_output", "output": [{"stdout": "a", "outcome": {"type": "exit", "exit_code": 0}}]}, "a"),
        ({"type": "shell_call_output", "output": [{"stdout": "", "outcome": {"type": "timeout"}}]}, "(The command ran out of time.)"),
        ({"type": "shell_call_output", "output": "plain"}, "plain"),
        ({"type": "apply_patch_call_output", "output": "ok"}, "ok"),
        ({"type": "apply_patch_call_output", "status": "failed"}, "The patch has failed."),
        ({"type": "apply_patch_call_output"}, "The patch has completed."),
    ],
)
def test_outputs_as_text(item: dict[str, Any], text: str) -> None:
    assert BY_OUTPUT[item["type"]].text(item) == text
