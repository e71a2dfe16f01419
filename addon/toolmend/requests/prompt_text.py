"""The words in which a model without tools of its own is told of them: the template, the tools, the choice, calls and results.

    [{"name": "read_file", "arguments": {"path": "a.md"}}]

Rule of this file: there is one form of a call, this one; what is asked for is what earlier calls look like, and what
dialects/open_json.py reads.
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
    """Raises ValueError, with what is wrong and what is right, unless there is exactly one place for the tools.

    That is the text `{tools}`. Nothing else in a template means anything: other braces, as of JSON, stand for themselves.
    """
    right = f"write {MARK} once, where the tools are to stand; other braces stand for themselves"
    if f"{{{MARK}}}" in template:
        raise ValueError(f"the template has {{{MARK}}}, with two braces on each side: {right}")
    if (places := template.count(MARK)) != 1:
        raise ValueError(f"the template has {places or 'no'} {'places' if places else 'place'} for the tools: {right}")


def tools_text(tools: Iterable[Tool]) -> str:
    """The tools, a line of JSON each."""
    return "\n".join(map(_tool, tools))


def _tool(tool: Tool) -> str:
    about = {"description": tool.description} if tool.description else {}
    return json_text.dumps({"name": tool.name, **about, "parameters": tool.schema or {"type": "object", "properties": {}}})


def choice_text(choice: ToolChoice | None, parallel: bool | None) -> str:
    """What the client says of how the tools are to be used; nothing where the model may choose."""
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
    """Earlier calls, in the form of new ones."""
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
    """What came of one of the calls in front of it, as far as it is text."""
    at = next((at for at, call in enumerate(calls) if call.id == result.id), None)
    if at is None:
        who = "A function that was called earlier"
    else:
        who = f"The function {calls[at].name}" + (f" (call {at + 1} of {len(calls)})" if len(calls) > 1 else "")
    did = "failed" if result.is_error else "returned"
    said = [part.text for part in result.parts if isinstance(part, TextPart) and part.text]
    more = any(not isinstance(part, TextPart) for part in result.parts)
    return "\n".join([f"{who} {did}:", *said]) if said or more else f"{who} {did}, and said nothing."
