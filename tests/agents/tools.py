"""The agents' tools, as their requests offer them, and what a call of one looks like.

Rule of this file: an agent's tool is known by its name and its parameters; no agent is known here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRICKY = 'mended — "é" {"a": [1, {}]} </b>'
"""What the shell is to write: whatever is quoted, escaped or taken for markup on the way is another text."""

LONG = "".join(
    f"{number}\tif (a < {number} && b > 1) {{ say(\"é — \\n {{'x': [{number}]}}\"); }}\n\n    // </parameter> ‘{number}’ 🌤 $HOME\n"
    for number in range(60)
)
"""What a file is to hold: 5 KB of what programs are made of. No blank ends a line: Claude Code takes those away."""

FILE = "long.txt"

type Arguments = dict[str, Any] | str
"""Of a call: a string is what a tool of free text is given."""


@dataclass(frozen=True)
class Tool:
    """An offered tool. `namespace`: the one it stands in, if it does."""

    name: str
    namespace: str
    parameters: frozenset[str]


def command(number: int) -> str:
    """What the agent is to run in its working directory."""
    return f"printf '%s\\n' '{TRICKY}' > proof-{number}.txt && cat proof-{number}.txt"


def long_command() -> str:
    """The long file, where no tool but the shell writes files."""
    return f"cat > {FILE} <<'END OF FILE'\n{LONG}END OF FILE\n"


def run(tool: Tool, line: str) -> Arguments | None:
    """The arguments of a call that runs a line; None: the tool is no shell."""
    match tool.name:
        case "Bash" | "bash" | "run_shell_command" | "Shell" | "shell_command":
            return {"command": line} | ({"description": "Write the proof"} if "description" in tool.parameters else {})
        case "exec_command":
            return {"cmd": line}
        case "shell":
            return {"command": ["bash", "-c", line]}
        case "exec":
            return f"const said = await tools.exec_command({json.dumps({'cmd': line})}); text(said.output ?? said);"
    return None


def write(tool: Tool, folder: Path) -> Arguments | None:
    """The arguments of a call that writes the long file; None: the tool is not for that."""
    if tool.name.lower() not in ("write", "write_file"):
        return None
    path = next(name for name in ("file_path", "filePath", "path") if name in tool.parameters)
    return {path: str(folder / FILE), "content": LONG}


def offered(body: Mapping[str, Any]) -> Iterator[Tool]:
    """The tools of a request of any API."""
    listed = list(body.get("tools") or ())
    for item in body.get("input") or ():
        if isinstance(item, dict) and item.get("type") == "additional_tools":
            listed += item["tools"]
    for tool in listed:
        if "functionDeclarations" in tool:
            yield from (_tool(each) for each in tool["functionDeclarations"])
        elif tool.get("type") == "namespace":
            yield from (_tool(each, tool["name"]) for each in tool["tools"])
        else:
            yield _tool(tool.get("function", tool))


def _tool(tool: Mapping[str, Any], namespace: str = "") -> Tool:
    schema: Mapping[str, Any] = next((tool[name] for name in ("parameters", "input_schema", "parametersJsonSchema") if tool.get(name)), {})
    return Tool(tool.get("name", ""), namespace, frozenset(schema.get("properties", ())))
