"""Describes tools in the prompt for a model without tool calling, and turns earlier calls and results into text.

    system     You are a coder.                      system     You are a coder.  You can call functions. … {"name": "read", …}
    user       What is in a.md?                      user       What is in a.md?
    assistant  ToolUse read {"path": "a.md"}    →    assistant  [{"name": "read", "arguments": {"path": "a.md"}}]
    tool       ToolResult "Hello"                    user       The function read returned: Hello

The model answers with the same JSON, which dialects/families/open_json.py parses into calls.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from ..core.fastclass import replace
from ..providers.model_profiles import Profile
from . import RequestError
from .conversation import Conversation, Other, Part, TextPart, Tool, ToolResult, ToolUse, Turn
from .custom_tools import as_functions
from .names import MAX_NAME
from .prompt_text import DEFAULT, MARK, calls_text, check, choice_text, result_text, tools_text

__all__ = ["DEFAULT", "check", "left_out", "prompted"]

MAX_TOOLS = 1000
MAX_PROMPT = 1024 * 1024
"""Bytes of the prompt with the tools: about 300,000 tokens, more than the context window of models without tool calling."""


def template_for(profile: Profile, template: str = "") -> str:
    """The given template, or DEFAULT if the model's profile asks for a prompt; empty otherwise."""
    return template or (DEFAULT if profile.tools == "prompt" else "")


def prompted(conversation: Conversation, template: str = DEFAULT, *, system: bool = True) -> Conversation:
    """Returns the conversation with its tools, earlier calls and results as text; unchanged if it has none of them.

    Tools that only a provider can run are left out: see `left_out`.

    Args:
        conversation: The conversation.
        template: The prompt, with `{tools}` in the place of the tools: see `check`. It is appended to the system turn.
        system: Whether the model has a system role; otherwise the texts of system turns precede the first user turn.

    Raises:
        RequestError: Too many tools, too long a name, or too long a prompt.
    """
    parts = [part for turn in conversation.turns for part in turn.parts]
    used = any(isinstance(part, (ToolUse, ToolResult)) for part in parts)
    moved = not system and any(turn.of_system for turn in conversation.turns)
    if not (conversation.tools or used or moved):
        return conversation
    conversation, _ = as_functions(conversation)
    tools = [tool for tool in conversation.tools if isinstance(tool, Tool)]
    turns = _calls_as_text(conversation.turns)
    if tools:
        turns = _with_prompt(turns, _prompt(conversation, tools, template))
    if not system:
        turns = [replace(turn, role="user") if turn.of_system else turn for turn in turns]
    return replace(conversation, turns=tuple(_merged(turns)), tools=(), tool_choice=None, parallel=None)


def left_out(conversation: Conversation) -> tuple[str, ...]:
    """One note for each property of the tools that a prompt cannot express."""
    others = [tool.value.get("name") or tool.value.get("type") for tool in conversation.tools if isinstance(tool, Other)]
    notes = [f"the tool {name} is left out: a provider runs it, and this model has only what its prompt says" for name in others]
    if strict := [tool.name for tool in conversation.tools if isinstance(tool, Tool) and tool.strict]:
        notes.append(f"the arguments are not made to fit the schema, strict as it is, of: {', '.join(strict)}")
    return tuple(notes)


def _prompt(conversation: Conversation, tools: list[Tool], template: str) -> TextPart:
    instead = "or route it to a model that has tools of its own"
    if len(tools) > MAX_TOOLS:
        problem = f"the request has {len(tools)} tools, and a prompt may describe {MAX_TOOLS}"
        raise RequestError(f"{problem}: offer fewer, {instead}")
    for tool in tools:
        if len(tool.name) > MAX_NAME:
            problem = f"the tool name {tool.name[:80]!r} has {len(tool.name)} characters, and may have {MAX_NAME}"
            raise RequestError(f"{problem}: shorten it, {instead}")
    check(template)
    choice = choice_text(conversation.tool_choice, conversation.parallel)
    prompt = template.replace(MARK, tools_text(tools))
    text = "\n\n".join(filter(None, (prompt, choice)))
    size = len(text.encode(errors="replace"))
    if size > MAX_PROMPT:
        problem = f"the tools make a prompt of {size} bytes, and it may have {MAX_PROMPT}"
        raise RequestError(f"{problem}: offer fewer tools, or shorter descriptions and schemas, {instead}")
    return TextPart(text, next((tool.cache for tool in reversed(tools) if tool.cache), None))


def _with_prompt(turns: list[Turn], prompt: TextPart) -> list[Turn]:
    """Appends the prompt to the first system turn, or adds a system turn."""
    if turns and turns[0].of_system:
        return [replace(turns[0], parts=(*turns[0].parts, prompt)), *turns[1:]]
    return [Turn("system", (prompt,)), *turns]


def _calls_as_text(turns: Iterable[Turn]) -> list[Turn]:
    """The turns with calls and results as text."""
    converted: list[Turn] = []
    calls: list[ToolUse] = []  # calls of the last assistant turn, or of several in a row: results may belong to these
    previous = ""
    for turn in turns:
        if turn.role == "assistant":
            calls = (calls if previous == "assistant" else []) + [part for part in turn.parts if isinstance(part, ToolUse)]
        previous = turn.role
        parts = tuple(_parts_as_text(turn.parts, calls))
        converted.append(Turn("user", parts) if turn.role == "tool" else replace(turn, parts=parts))
    return converted


def _parts_as_text(parts: Iterable[Part], calls: list[ToolUse]) -> Iterator[Part]:
    for is_call, group in groupby(parts, lambda part: isinstance(part, ToolUse)):
        if is_call:
            uses = [part for part in group if isinstance(part, ToolUse)]
            yield TextPart(calls_text(uses), uses[-1].cache)
            continue
        for part in group:
            if isinstance(part, ToolResult):
                yield TextPart(result_text(part, calls), part.cache)
                yield from (other for other in part.parts if not isinstance(other, TextPart))
            else:
                yield part


def _merged(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Merges consecutive turns of one role: many chat templates of such models require that user and assistant alternate."""
    for (role, name), group in groupby(turns, lambda turn: (turn.role, turn.name)):
        yield Turn(role, tuple(_joined(part for turn in group for part in turn.parts)), name)


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Joins consecutive texts up to a cache breakpoint: many such models accept only a string as content."""
    row: list[TextPart] = []
    for part in parts:
        if isinstance(part, TextPart):
            row.append(part)
        if row and (row[-1].cache or not isinstance(part, TextPart)):
            yield _join(row)
            row = []
        if not isinstance(part, TextPart):
            yield part
    if row:
        yield _join(row)


def _join(row: list[TextPart]) -> TextPart:
    return TextPart("\n\n".join(text.text for text in row if text.text), row[-1].cache)
