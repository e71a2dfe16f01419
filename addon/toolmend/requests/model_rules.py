"""Resolves options that an upstream does not accept together: a forced tool, thinking, a response format.

    tool_choice required + a model that thinks by default     thinking is disabled: the client asked only for the tool
    tool_choice required + thinking requested                 the choice becomes auto
    json_object + thinking at DashScope                       thinking is disabled

`without_conflicts` does this before the writers, which need not handle such conflicts.
"""

from collections.abc import Iterable
from typing import Any

from ..core import json_text
from ..core.fastclass import replace
from .conversation import Conversation, Format, Reasoning, TextPart, ThinkingPart, Tool, ToolChoice, ToolUse, Turn
from .fields import add_note
from .request_limits import Quirks
from .schemas import is_recursive
from .stand_ins import AS_JSON

OFF = Reasoning(enabled=False)

_SCHEMA = "Answer with one JSON object of this schema, and nothing else:\n{}"


def without_conflicts(conversation: Conversation, quirks: Quirks, api: str, notes: list[str]) -> Conversation:
    """Returns the conversation without options that conflict at this upstream.

    Args:
        conversation: The conversation.
        quirks: What the upstream accepts.
        api: The upstream's API.
        notes: Collects what was changed.
    """
    conversation = _resolve_tool_choice(_limit_tools(conversation, quirks, notes), quirks, notes)
    conversation = _resolve_format(conversation, quirks, api, notes)
    return _resolve_thinking(conversation, quirks, api, notes)


def _limit_tools(conversation: Conversation, quirks: Quirks, notes: list[str]) -> Conversation:
    """Reduces the tools to the upstream's limit: called and forced tools have priority, then the first ones."""
    conversation = _with_unique_tools(conversation, notes)
    limit = quirks.max_tools
    if limit is None or len(conversation.tools) <= limit:
        return conversation
    wanted = {part.name for turn in conversation.turns for part in turn.parts if isinstance(part, ToolUse)}
    wanted |= set(conversation.tool_choice.names) if conversation.tool_choice else set()
    order = sorted(range(len(conversation.tools)), key=lambda at: getattr(conversation.tools[at], "name", "") not in wanted)
    kept = sorted(order[:limit])
    add_note(notes, f"Of {len(conversation.tools)} tools {limit} are offered: this upstream takes no more")
    return replace(conversation, tools=tuple(conversation.tools[at] for at in kept))


def _with_unique_tools(conversation: Conversation, notes: list[str]) -> Conversation:
    """Removes tools with the name of an earlier one: upstreams refuse a repeated name."""
    seen: set[str] = set()
    tools: list[Any] = []
    for tool in conversation.tools:
        if isinstance(tool, Tool) and tool.name in seen:
            add_note(notes, f"The tool {tool.name} is offered once: it is in the request twice")
            continue
        seen |= {tool.name} if isinstance(tool, Tool) else set()
        tools.append(tool)
    return conversation if len(tools) == len(conversation.tools) else replace(conversation, tools=tuple(tools))


def asks_to_think(reasoning: Reasoning | None) -> bool:
    """Whether the client explicitly asks for reasoning."""
    if reasoning is None or reasoning.enabled is False or reasoning.effort == "none":
        return False
    return bool(reasoning.enabled or reasoning.effort or reasoning.budget)


def _resolve_tool_choice(conversation: Conversation, quirks: Quirks, notes: list[str]) -> Conversation:
    choice, reasoning = conversation.tool_choice, conversation.reasoning
    if choice is None or choice.mode not in ("required", "tool"):
        return conversation
    if quirks.forced_choice == "never":
        add_note(notes, "`tool_choice` is auto: this upstream lets no tool be forced")
        return replace(conversation, tool_choice=_as_auto(choice))
    if quirks.forced_choice == "unless_thinking":
        if asks_to_think(reasoning) or (quirks.thinks and not quirks.can_stop_thinking):
            add_note(notes, "`tool_choice` is auto: this upstream lets no tool be forced while it thinks")
            return replace(conversation, tool_choice=_as_auto(choice))
        if quirks.thinks and reasoning is None:
            add_note(notes, "Thinking is disabled: this upstream lets no tool be forced while it thinks")
            conversation = replace(conversation, reasoning=OFF)
    if choice.mode == "tool" and not quirks.named_choice:
        add_note(notes, f"`tool_choice` is required, with {choice.names[0]} alone: this upstream lets no tool be named")
        return replace(conversation, tool_choice=ToolChoice("required", choice.names))
    return conversation


def _as_auto(choice: ToolChoice) -> ToolChoice:
    """The choice with mode auto; a list of allowed tools stays."""
    return ToolChoice("auto", choice.names if choice.mode == "required" else ())


def _resolve_format(conversation: Conversation, quirks: Quirks, api: str, notes: list[str]) -> Conversation:
    """Replaces a response format that the upstream does not accept by instructions in the system prompt."""
    format_ = conversation.format
    if format_ is None:
        return conversation
    with_tools = quirks.json_with_tools or not any(isinstance(tool, Tool) for tool in conversation.tools)
    objects = api != "messages"
    native = quirks.json_schema and with_tools
    if format_.kind == "json_schema" and native and not (api == "messages" and is_recursive(format_.schema)):
        return conversation
    if format_.kind == "json_schema":
        kept = Format("json_object") if objects and with_tools else None
        why = "this upstream only knows json_object" if kept else "this upstream takes no such schema here"
        add_note(notes, f"The schema of the answer's format is in the prompt: {why}")
        return with_instruction(replace(conversation, format=kept), _SCHEMA.format(json_text.dumps(dict(format_.schema))))
    if not (objects and with_tools):
        add_note(notes, "The format json_object is asked for in the prompt: this upstream has no such format here")
        return with_instruction(replace(conversation, format=None), AS_JSON)
    if quirks.json_word and not any("json" in text.lower() for text in _texts(conversation.turns)):
        add_note(notes, "The prompt asks for JSON: this upstream demands the word for the format json_object")
        return with_instruction(conversation, AS_JSON)
    return conversation


def _texts(turns: Iterable[Turn]) -> Iterable[str]:
    return (part.text for turn in turns for part in turn.parts if isinstance(part, TextPart))


def with_instruction(conversation: Conversation, text: str) -> Conversation:
    """Returns the conversation with a text appended to the leading system turns."""
    turns = list(conversation.turns)
    count = next((at for at, turn in enumerate(turns) if not turn.of_system), len(turns))
    if count:
        last = turns[count - 1]
        turns[count - 1] = replace(last, parts=(*last.parts, TextPart(text)))
    else:
        turns.insert(0, Turn("system", (TextPart(text),)))
    return replace(conversation, turns=tuple(turns))


def _resolve_thinking(conversation: Conversation, quirks: Quirks, api: str, notes: list[str]) -> Conversation:
    """Disables thinking where the rest of the request excludes it."""
    reasoning = conversation.reasoning
    if api != "chat" or not quirks.can_stop_thinking or (reasoning and reasoning.enabled is False):
        return conversation
    thinks = quirks.thinks or asks_to_think(reasoning)
    if thinks and quirks.needs_replay and any(map(_lacks_reasoning, conversation.turns)):
        add_note(notes, "Thinking is disabled: an earlier call has no reasoning, which this upstream demands back")
        return replace(conversation, reasoning=OFF)
    if thinks and quirks.thinking == "enable_thinking" and conversation.format and conversation.format.kind == "json_object":
        add_note(notes, "Thinking is disabled: this upstream takes no json_object while it thinks")
        return replace(conversation, reasoning=OFF)
    if thinks and quirks.stream_to_think and not conversation.stream:
        add_note(notes, "Thinking is disabled: this model thinks only where the answer is streamed")
        return replace(conversation, reasoning=OFF)
    return conversation


def _lacks_reasoning(turn: Turn) -> bool:
    """Whether a turn has calls but no reasoning."""
    calls = any(isinstance(part, ToolUse) for part in turn.parts)
    return calls and not any(isinstance(part, ThinkingPart) and part.text for part in turn.parts)
