"""The tools that an API describes and the client runs: as a function, they work with any upstream.

    Messages    {"type": "bash_20250124", "name": "bash"}                                     bash {"command": "ls"}
    Responses   {"type": "local_shell"}, {"type": "shell"}, {"type": "apply_patch"}           local_shell {"command": ["ls"]}

A client of Responses has the call as an item of its own, and the result in another:

    {"type": "local_shell_call", "call_id", "action": {"type": "exec", "command": ["ls"], "env": {}}}    local_shell_call_output
    {"type": "shell_call", "call_id", "action": {"commands": ["ls"]}}                                    shell_call_output
    {"type": "apply_patch_call", "call_id", "operation": {"type": "create_file", "path", "diff"}}        apply_patch_call_output

Rule of this file: values only. Sources: the types of both SDKs, and Anthropic's pages of its tools.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from .fastclass import value

type Builtin = Literal["local_shell", "shell", "apply_patch"]


def _object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _text(description: str = "") -> dict[str, Any]:
    return {"type": "string", **({"description": description} if description else {})}


def _words(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


_NUMBER = {"type": "integer"}
_RANGE = {"type": "array", "items": _NUMBER, "description": "First and last line, from 1; -1 is the end"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_FILE = {
    "path": _text("Absolute path"),
    "file_text": _text("For create: the whole text"),
    "view_range": _RANGE,
    "old_str": _text("For str_replace: text that stands in the file once"),
    "new_str": _text("For str_replace: what takes its place"),
    "insert_line": {**_NUMBER, "description": "For insert: the line after which it goes"},
    "insert_text": _text("For insert: the text"),
}
_EDITOR = _object("command", "path", command=_words("view", "create", "str_replace", "insert"), **_FILE)
_OLDER = _object("command", "path", command=_words("view", "create", "str_replace", "insert", "undo_edit"), **_FILE)
_MEMORY = _object(
    "command",
    command=_words("view", "create", "str_replace", "insert", "delete", "rename"),
    **_FILE,
    old_path=_text("For rename"),
    new_path=_text("For rename"),
)

OF_MESSAGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "bash_": (
        "Runs a command in a bash session that stays open between calls.",
        _object(command=_text("The command"), restart={"type": "boolean", "description": "Begin a new session"}),
    ),
    "text_editor_2025042": ("Views, creates and edits text files.", _EDITOR),
    "text_editor_2025072": ("Views, creates and edits text files.", _EDITOR),
    "text_editor_": ("Views, creates and edits text files.", _OLDER),
    "memory_": ("Keeps notes in files below /memories, which last from one conversation to the next.", _MEMORY),
}
"""By how their types begin: what a model is told of them, and the parameters."""

OF_RESPONSES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "local_shell": (
        "Runs a command on the user's machine.",
        _object(
            "command",
            command={**_TEXTS, "description": "The program and its arguments"},
            working_directory=_text(),
            timeout_ms=_NUMBER,
            env={"type": "object", "additionalProperties": {"type": "string"}},
        ),
    ),
    "shell": (
        "Runs shell commands on the user's machine, each by itself.",
        _object("commands", commands=_TEXTS, timeout_ms=_NUMBER, max_output_length=_NUMBER),
    ),
    "apply_patch": (
        "Creates, changes or deletes one file.",
        _object(
            "type",
            "path",
            type=_words("create_file", "update_file", "delete_file"),
            path=_text(),
            diff=_text("The lines of the change as in a V4A diff: ' ' kept, '-' removed, '+' added; of a new file all with '+'"),
        ),
    ),
}
"""By their types, which are their names as functions, too."""


def of_messages(tool: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Description and parameters of a tool of Messages that its client runs; None for any other."""
    kind = str(tool.get("type"))
    return next((known for begin, known in OF_MESSAGES.items() if kind.startswith(begin)), None)


def of_responses(tool: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The same of Responses: a shell may run in a container of OpenAI's."""
    environment = tool.get("environment")
    if isinstance(environment, Mapping) and environment.get("type") not in (None, "local"):
        return None
    return OF_RESPONSES.get(str(tool.get("type")))


@value
class Form:
    """How a call of Responses is written. The arguments stand in `member`, with what it has `beside` them.

    `text`: of an output item, what the model is told.
    """

    kind: Builtin
    member: str
    beside: Mapping[str, Any]
    text: Callable[[Mapping[str, Any]], str]

    @property
    def item(self) -> str:
        return f"{self.kind}_call"

    @property
    def output(self) -> str:
        return f"{self.kind}_call_output"

    def action(self, arguments: Any) -> dict[str, Any]:
        """What stands in `member`."""
        given = dict(arguments) if isinstance(arguments, Mapping) else {}
        return {**self.beside, **given}

    def arguments(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of an item."""
        given = item.get(self.member)
        action = given if isinstance(given, Mapping) else {}
        own = {**self.beside, "user": None}
        return {name: value for name, value in action.items() if value is not None and (name, value) not in own.items()}


def _said(item: Mapping[str, Any]) -> str:
    output = item.get("output")
    return output if isinstance(output, str) else ""


def _shown(item: Mapping[str, Any]) -> str:
    """What commands wrote, and how they ended."""
    return "\n".join(text for entry in _entries(item.get("output")) for text in _each(entry)) or _said(item)


def _each(entry: Mapping[str, Any]) -> Iterator[str]:
    yield from (text for name in ("stdout", "stderr") if isinstance(text := entry.get(name), str) and text)
    outcome = entry.get("outcome")
    if isinstance(outcome, Mapping) and outcome.get("type") == "timeout":
        yield "(The command ran out of time.)"
    elif isinstance(outcome, Mapping) and outcome.get("exit_code"):
        yield f"(Exit code {outcome['exit_code']})"


def _entries(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


FORMS: tuple[Form, ...] = (
    Form("local_shell", "action", {"type": "exec", "env": {}}, _said),
    Form("shell", "action", {}, _shown),
    Form("apply_patch", "operation", {}, lambda item: _said(item) or f"The patch has {item.get('status') or 'completed'}."),
)
BY_ITEM = {form.item: form for form in FORMS}
BY_OUTPUT = {form.output: form for form in FORMS}
BY_KIND: Mapping[str, Form] = {form.kind: form for form in FORMS}
