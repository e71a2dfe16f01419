"""Tools for a model that has none of its own: they are told in its prompt, and so is what came of them.

    system     You are a coder.                      system     You are a coder.  You can call functions. … {"name": "read", …}
    user       What is in a.md?                      user       What is in a.md?
    assistant  ToolUse read {"path": "a.md"}    →    assistant  [{"name": "read", "arguments": {"path": "a.md"}}]
    tool       ToolResult "Hello"                    user       The function read returned: Hello

The model answers with the same JSON, which the reader of JSON in prose (dialects/open_json.py) makes calls of again.

Rule of this file: a conversation in, a conversation out, without tools, calls and results. One that has none of them is
returned as it is.
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
"""Bytes of the prompt with the tools: some 300,000 tokens, more than models without tools can read."""


def template_for(profile: Profile, template: str = "") -> str:
    """The prompt for a model: the one given, ours where its profile asks for one, or none."""
    return template or (DEFAULT if profile.tools == "prompt" else "")


def prompted(conversation: Conversation, template: str = DEFAULT, *, system: bool = True) -> Conversation:
    """The conversation with its tools, earlier calls and results told in words. Raises RequestError where they are too many.

    `template` is the prompt, `{tools}` in it the place for the tools: see `check`. It goes behind the system turn; `system`
    False: the model knows no such turn, and its text goes in front of the first user turn, as does that of system turns.
    Tools that only the provider of an API can run are left out: see `left_out`.
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
    """What of the tools a prompt cannot say, a sentence each."""
    others = [tool.value.get("name") or tool.value.get("type") for tool in conversation.tools if isinstance(tool, Other)]
    notes = [f"the tool {name} is left out: a provider runs it, and this model has only what its prompt says" for name in others]
    if strict := [tool.name for tool in conversation.tools if isinstance(tool, Tool) and tool.strict]:
        notes.append(f"the arguments are not made to fit the schema, strict as it is, of: {', '.join(strict)}")
    return tuple(notes)


def _prompt(conversation: Conversation, tools: list[Tool], template: str) -> TextPart:
    instead = "or route it to a model that has tools of its own"
    if len(tools) > MAX_TOOLS:
        wrong = f"the request has {len(tools)} tools, and a prompt may tell of {MAX_TOOLS}"
        raise RequestError(f"{wrong}: offer fewer, {instead}")
    for tool in tools:
        if len(tool.name) > MAX_NAME:
            wrong = f"the tool name {tool.name[:80]!r} has {len(tool.name)} characters, and may have {MAX_NAME}"
            raise RequestError(f"{wrong}: shorten it, {instead}")
    check(template)
    choice = choice_text(conversation.tool_choice, conversation.parallel)
    told = template.replace(MARK, tools_text(tools))
    text = "\n\n".join(filter(None, (told, choice)))
    size = len(text.encode(errors="replace"))
    if size > MAX_PROMPT:
        wrong = f"the tools make a prompt of {size} bytes, and it may have {MAX_PROMPT}"
        raise RequestError(f"{wrong}: offer fewer tools, or shorter descriptions and schemas, {instead}")
    return TextPart(text, next((tool.cache for tool in reversed(tools) if tool.cache), None))


def _with_prompt(turns: list[Turn], prompt: TextPart) -> list[Turn]:
    """The prompt behind the first system turn, or as one."""
    if turns and turns[0].of_system:
        return [replace(turns[0], parts=(*turns[0].parts, prompt)), *turns[1:]]
    return [Turn("system", (prompt,)), *turns]


def _calls_as_text(turns: Iterable[Turn]) -> list[Turn]:
    """The turns, with calls and results in words."""
    told: list[Turn] = []
    calls: list[ToolUse] = []  # those that may be answered now: of the assistant's last turn, or turns in a row
    before = ""
    for turn in turns:
        if turn.role == "assistant":
            calls = (calls if before == "assistant" else []) + [part for part in turn.parts if isinstance(part, ToolUse)]
        before = turn.role
        parts = tuple(_in_words(turn.parts, calls))
        told.append(Turn("user", parts) if turn.role == "tool" else replace(turn, parts=parts))
    return told


def _in_words(parts: Iterable[Part], calls: list[ToolUse]) -> Iterator[Part]:
    for together, group in groupby(parts, lambda part: isinstance(part, ToolUse)):
        if together:
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
    """The turns, those of one role in a row as one: templates of such models often demand that user and assistant alternate."""
    for (role, name), group in groupby(turns, lambda turn: (turn.role, turn.name)):
        yield Turn(role, tuple(_joined(part for turn in group for part in turn.parts)), name)


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, texts in a row as one up to where a cache is to end: such models are often given nothing but a string."""
    row: list[TextPart] = []
    for part in parts:
        if isinstance(part, TextPart):
            row.append(part)
        if row and (row[-1].cache or not isinstance(part, TextPart)):
            yield _one(row)
            row = []
        if not isinstance(part, TextPart):
            yield part
    if row:
        yield _one(row)


def _one(row: list[TextPart]) -> TextPart:
    return TextPart("\n\n".join(text.text for text in row if text.text), row[-1].cache)
