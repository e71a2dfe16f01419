"""The tools that an API defines and the client runs. Written as functions they work with any upstream.

    Messages    {"type": "bash_20250124", "name": "bash"}                                     bash {"command": "ls"}
    Responses   {"type": "local_shell"}, {"type": "shell"}, {"type": "apply_patch"}           local_shell {"command": ["ls"]}

A client of Responses reads such a call as an item of its own type, and sends the result in another:

    {"type": "local_shell_call", "call_id", "action": {"type": "exec", "command": ["ls"], "env": {}}}    local_shell_call_output
    {"type": "shell_call", "call_id", "action": {"commands": ["ls"]}}                                    shell_call_output
    {"type": "apply_patch_call", "call_id", "operation": {"type": "create_file", "path", "diff"}}        apply_patch_call_output

Sources: the types of both SDKs, and Anthropic's documentation of its tools.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from .fastclass import value
from .json_access import objects

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
"""By the beginning of the tool's type: the description that a model gets, and the parameters."""

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
"""By the tool's type, which is also its name as a function."""


def of_messages(tool: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Returns description and parameters of a Messages tool that the client runs; None for any other."""
    kind = str(tool.get("type"))
    return next((known for begin, known in OF_MESSAGES.items() if kind.startswith(begin)), None)


def of_responses(tool: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Returns description and parameters of a Responses tool that the client runs; None for any other."""
    environment = tool.get("environment")  # a shell may run in a container of OpenAI's instead
    if isinstance(environment, Mapping) and environment.get("type") not in (None, "local"):
        return None
    return OF_RESPONSES.get(str(tool.get("type")))


@value
class BuiltinForm:
    """How a call of Responses is written as an item.

    `member` holds the arguments and `defaults`; `text` turns an output item into the text that the model gets.
    """

    kind: Builtin
    member: str
    defaults: Mapping[str, Any]
    text: Callable[[Mapping[str, Any]], str]

    @property
    def item(self) -> str:
        return f"{self.kind}_call"

    @property
    def output(self) -> str:
        return f"{self.kind}_call_output"

    def action(self, arguments: Any) -> dict[str, Any]:
        """Returns the value of `member` for these arguments."""
        given = dict(arguments) if isinstance(arguments, Mapping) else {}
        return {**self.defaults, **given}

    def arguments(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments of an item."""
        given = item.get(self.member)
        action = given if isinstance(given, Mapping) else {}
        own = {**self.defaults, "user": None}
        return {name: value for name, value in action.items() if value is not None and (name, value) not in own.items()}


def _output_text(item: Mapping[str, Any]) -> str:
    output = item.get("output")
    return output if isinstance(output, str) else ""


def _shell_output(item: Mapping[str, Any]) -> str:
    """Returns the output of shell commands, with exit codes and timeouts."""
    return "\n".join(text for entry in objects(item.get("output")) for text in _each(entry)) or _output_text(item)


def _patch_output(item: Mapping[str, Any]) -> str:
    return _output_text(item) or f"The patch has {item.get('status') or 'completed'}."


def _each(entry: Mapping[str, Any]) -> Iterator[str]:
    yield from (text for name in ("stdout", "stderr") if isinstance(text := entry.get(name), str) and text)
    outcome = entry.get("outcome")
    if isinstance(outcome, Mapping) and outcome.get("type") == "timeout":
        yield "(The command ran out of time.)"
    elif isinstance(outcome, Mapping) and outcome.get("exit_code"):
        yield f"(Exit code {outcome['exit_code']})"


FORMS: tuple[BuiltinForm, ...] = (
    BuiltinForm("local_shell", "action", {"type": "exec", "env": {}}, _output_text),
    BuiltinForm("shell", "action", {}, _shell_output),
    BuiltinForm("apply_patch", "operation", {}, _patch_output),
)
BY_ITEM = {form.item: form for form in FORMS}
BY_OUTPUT = {form.output: form for form in FORMS}
BY_KIND: Mapping[str, BuiltinForm] = {form.kind: form for form in FORMS}
