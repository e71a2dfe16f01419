"""Wishes of a client that an upstream takes only one of: a forced tool, thinking, a format.

    tool_choice required + a model that thinks by default     thinking is disabled: the client asked for the tool alone
    tool_choice required + thinking that was asked for        the choice is auto
    json_object + thinking at DashScope                       thinking is disabled

`settled` returns the conversation with what remains, so that the writers need not know of such conflicts.
"""

from collections.abc import Iterable
from typing import Any

from ..core import json_text
from ..core.fastclass import replace
from .conversation import Conversation, Format, Reasoning, TextPart, ThinkingPart, Tool, ToolChoice, ToolUse, Turn
from .fields import add_note
from .request_limits import Quirks
from .schemas import is_recursive

OFF = Reasoning(enabled=False)

_OBJECT = "Answer with one JSON object, and nothing else."
_SCHEMA = "Answer with one JSON object of this schema, and nothing else:\n{}"


def settled(conversation: Conversation, quirks: Quirks, api: str, notes: list[str]) -> Conversation:
    """The conversation without wishes that contradict each other at this upstream. `api` is the upstream's."""
    conversation = _chosen(_offered(conversation, quirks, notes), quirks, notes)
    conversation = _formatted(conversation, quirks, api, notes)
    return _thinking(conversation, quirks, api, notes)


def _offered(conversation: Conversation, quirks: Quirks, notes: list[str]) -> Conversation:
    """The conversation with as many tools as the upstream takes: those that were called or are demanded, then the first."""
    conversation = _unique(conversation, notes)
    most = quirks.max_tools
    if most is None or len(conversation.tools) <= most:
        return conversation
    wanted = {part.name for turn in conversation.turns for part in turn.parts if isinstance(part, ToolUse)}
    wanted |= set(conversation.tool_choice.names) if conversation.tool_choice else set()
    order = sorted(range(len(conversation.tools)), key=lambda at: getattr(conversation.tools[at], "name", "") not in wanted)
    kept = sorted(order[:most])
    add_note(notes, f"Of {len(conversation.tools)} tools {most} are offered: this upstream takes no more")
    return replace(conversation, tools=tuple(conversation.tools[at] for at in kept))


def _unique(conversation: Conversation, notes: list[str]) -> Conversation:
    """The conversation with each tool once: upstreams refuse a name that is there twice."""
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
    """Whether the client wants the model to think, and says so."""
    if reasoning is None or reasoning.enabled is False or reasoning.effort == "none":
        return False
    return bool(reasoning.enabled or reasoning.effort or reasoning.budget)


def _chosen(conversation: Conversation, quirks: Quirks, notes: list[str]) -> Conversation:
    choice, reasoning = conversation.tool_choice, conversation.reasoning
    if choice is None or choice.mode not in ("required", "tool"):
        return conversation
    if quirks.forced_choice == "never":
        add_note(notes, "`tool_choice` is auto: this upstream lets no tool be forced")
        return replace(conversation, tool_choice=_free(choice))
    if quirks.forced_choice == "unless_thinking":
        if asks_to_think(reasoning) or (quirks.thinks and not quirks.can_stop_thinking):
            add_note(notes, "`tool_choice` is auto: this upstream lets no tool be forced while it thinks")
            return replace(conversation, tool_choice=_free(choice))
        if quirks.thinks and reasoning is None:
            add_note(notes, "Thinking is disabled: this upstream lets no tool be forced while it thinks")
            conversation = replace(conversation, reasoning=OFF)
    if choice.mode == "tool" and not quirks.named_choice:
        add_note(notes, f"`tool_choice` is required, with {choice.names[0]} alone: this upstream lets no tool be named")
        return replace(conversation, tool_choice=ToolChoice("required", choice.names))
    return conversation


def _free(choice: ToolChoice) -> ToolChoice:
    """The choice without its force; tools that were not allowed stay so."""
    return ToolChoice("auto", choice.names if choice.mode == "required" else ())


def _formatted(conversation: Conversation, quirks: Quirks, api: str, notes: list[str]) -> Conversation:
    """The format as the upstream knows it; in words where it has no field for it."""
    form = conversation.format
    if form is None:
        return conversation
    with_tools = quirks.json_with_tools or not any(isinstance(tool, Tool) for tool in conversation.tools)
    objects = api != "messages"
    if form.kind == "json_schema" and quirks.json_schema and with_tools and not (api == "messages" and is_recursive(form.schema)):
        return conversation
    if form.kind == "json_schema":
        kept = Format("json_object") if objects and with_tools else None
        why = "this upstream only knows json_object" if kept else "this upstream takes no such schema here"
        add_note(notes, f"The schema of the answer's format is in the prompt: {why}")
        return with_words(replace(conversation, format=kept), _SCHEMA.format(json_text.dumps(dict(form.schema))))
    if not (objects and with_tools):
        add_note(notes, "The format json_object is asked for in the prompt: this upstream has no such format here")
        return with_words(replace(conversation, format=None), _OBJECT)
    if quirks.json_word and not any("json" in text.lower() for text in _texts(conversation.turns)):
        add_note(notes, "The prompt asks for JSON: this upstream demands the word for the format json_object")
        return with_words(conversation, _OBJECT)
    return conversation


def _texts(turns: Iterable[Turn]) -> Iterable[str]:
    return (part.text for turn in turns for part in turn.parts if isinstance(part, TextPart))


def with_words(conversation: Conversation, words: str) -> Conversation:
    """The conversation with some more words of the system, where it speaks first."""
    turns = list(conversation.turns)
    count = next((at for at, turn in enumerate(turns) if not turn.of_system), len(turns))
    if count:
        last = turns[count - 1]
        turns[count - 1] = replace(last, parts=(*last.parts, TextPart(words)))
    else:
        turns.insert(0, Turn("system", (TextPart(words),)))
    return replace(conversation, turns=tuple(turns))


def _thinking(conversation: Conversation, quirks: Quirks, api: str, notes: list[str]) -> Conversation:
    """Thinking is disabled where the rest of the request rules it out."""
    reasoning = conversation.reasoning
    if api != "chat" or not quirks.can_stop_thinking or (reasoning and reasoning.enabled is False):
        return conversation
    thinks = quirks.thinks or asks_to_think(reasoning)
    if thinks and quirks.needs_replay and any(map(_is_bare, conversation.turns)):
        add_note(notes, "Thinking is disabled: an earlier call has no reasoning, which this upstream demands back")
        return replace(conversation, reasoning=OFF)
    if thinks and quirks.thinking == "enable_thinking" and conversation.format and conversation.format.kind == "json_object":
        add_note(notes, "Thinking is disabled: this upstream takes no json_object while it thinks")
        return replace(conversation, reasoning=OFF)
    if thinks and quirks.stream_to_think and not conversation.stream:
        add_note(notes, "Thinking is disabled: this model thinks only where the answer is streamed")
        return replace(conversation, reasoning=OFF)
    return conversation


def _is_bare(turn: Turn) -> bool:
    """Whether it is a turn with calls and without the reasoning that led to them."""
    calls = any(isinstance(part, ToolUse) for part in turn.parts)
    return calls and not any(isinstance(part, ThinkingPart) and part.text for part in turn.parts)
