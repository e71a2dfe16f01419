"""The prompt texts for a model without tool calling: template, tools, tool choice, calls and results.

    [{"name": "read_file", "arguments": {"path": "a.md"}}]

The prompt, earlier calls in the history, and the parser of answers (dialects/families/open_json.py) all use this form of a call.
"""

from collections.abc import Iterable, Sequence

from ..core import json_text
from .conversation import TextPart, Tool, ToolChoice, ToolResult, ToolUse

MARK = "{tools}"

DEFAULT = """\
You can call functions. These are the functions, one a line, each with the JSON schema of its parameters:

{tools}

To call functions, write a JSON array in this form, with an object for each call, and end your answer with it:

[{"name": "the_function", "arguments": {"a_parameter": "a value"}}]

Take the names of functions and parameters as they are given, and give every parameter that is required. What you write in this \
form is carried out, and you are told what came of it: do not make that up. If no function is needed, answer in words, without \
such an array.\
"""


def check(template: str) -> None:
    """Raises ValueError, with the correction, unless the template contains `{tools}` exactly once.

    All other braces are literal text.
    """
    right = f"write {MARK} once, where the tools are to stand; other braces stand for themselves"
    if f"{{{MARK}}}" in template:
        raise ValueError(f"the template has {{{MARK}}}, with two braces on each side: {right}")
    if (places := template.count(MARK)) != 1:
        raise ValueError(f"the template has {places or 'no'} {'places' if places else 'place'} for the tools: {right}")


def tools_text(tools: Iterable[Tool]) -> str:
    """The tools, one line of JSON each."""
    return "\n".join(map(_tool, tools))


def _tool(tool: Tool) -> str:
    about = {"description": tool.description} if tool.description else {}
    return json_text.dumps({"name": tool.name, **about, "parameters": tool.schema or {"type": "object", "properties": {}}})


def choice_text(choice: ToolChoice | None, parallel: bool | None) -> str:
    """The instruction for a tool choice; empty if the model may choose."""
    words = []
    names = ", ".join(choice.names) if choice else ""
    match choice.mode if choice else "auto":
        case "none":
            return "Do not call a function now: answer in words."
        case "tool":
            words.append(f"Now you must call the function {names}, whatever else you would say.")
        case "required":
            words.append("Now you must call a function, whatever else you would say.")
    if names and choice and choice.mode != "tool":
        words.append(f"Now you may call only: {names}.")
    if parallel is False:
        words.append("Call one function at a time: the array holds one object.")
    return " ".join(words)


def calls_text(calls: Iterable[ToolUse]) -> str:
    """The text of earlier calls."""
    return "[" + ", ".join(f'{{"name": {json_text.quote(call.name)}, "arguments": {_arguments(call)}}}' for call in calls) + "]"


def _arguments(call: ToolUse) -> str:
    try:
        value = json_text.loads(call.arguments.encode(errors="replace"))
    except json_text.NotJSON:
        value = None
    if isinstance(value, dict):
        return call.arguments.strip()
    return json_text.quote(call.arguments) if call.arguments.strip() else "{}"


def result_text(result: ToolResult, calls: Sequence[ToolUse]) -> str:
    """The text of a result; `calls` are the preceding calls."""
    at = next((at for at, call in enumerate(calls) if call.id == result.id), None)
    if at is None:
        who = "A function that was called earlier"
    else:
        who = f"The function {calls[at].name}" + (f" (call {at + 1} of {len(calls)})" if len(calls) > 1 else "")
    did = "failed" if result.is_error else "returned"
    texts = [part.text for part in result.parts if isinstance(part, TextPart) and part.text]
    has_others = any(not isinstance(part, TextPart) for part in result.parts)
    return "\n".join([f"{who} {did}:", *texts]) if texts or has_others else f"{who} {did}, and said nothing."
