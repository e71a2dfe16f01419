"""Writes a Conversation as a request of OpenAI Chat Completions. read.py shows the format.

1. Expects turns in order (turn_order.py) and legal names and ids.
2. `tool` messages directly follow the message with their calls; a user message after the last of them has their images and files.
3. What the upstream does not accept is left out with a note.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .. import web_search
from ..conversation import (
    Conversation,
    Other,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
    Turn,
)
from ..fields import add_note
from ..options import left_out
from ..request_limits import Quirks
from ..schemas import adapted, cleaned, is_strict
from ..stand_ins import REPLY
from .content import Content, replay_members
from .options import options
from .tools import API

_EMPTY = frozenset({"role", "content", "name"})
"""The members of a message without anything left in it: some upstreams refuse such a message."""


def write(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """Returns the request."""
    request: dict[str, Any] = {"model": conversation.model}
    request["messages"] = _messages(conversation, quirks, notes)
    tools = _tools(conversation, quirks, notes)
    request |= tools
    request |= options(conversation, quirks, notes, with_tools="tools" in tools)
    if not quirks.cache_control and _breakpoints(conversation):
        add_note(notes, "`cache_control` is left out: this upstream has no such field")
    for key in conversation.rest if conversation.api != API else ():
        add_note(notes, left_out(key, "Chat Completions"))
    return request


def _breakpoints(conversation: Conversation) -> bool:
    parts = (part for turn in conversation.turns for part in turn.parts)
    return any(getattr(part, "cache", None) for part in (conversation, *conversation.tools, *parts))


def _messages(conversation: Conversation, quirks: Quirks, notes: list[str]) -> list[dict[str, Any]]:
    reasoning = conversation.reasoning
    off = quirks.can_stop_thinking and reasoning is not None and reasoning.enabled is False
    placeholder = "" if off else quirks.placeholder
    messages: list[dict[str, Any]] = []
    shown: list[Any] = []  # images and files of the preceding results, which need a user message
    content = Content(quirks, notes)
    for turn in conversation.turns:
        if shown and turn.role != "user":
            messages.append({"role": "user", "content": shown})
            shown = []
        match turn.role:
            case "assistant":
                message = _assistant(turn, content, placeholder)
                empty = not message["content"] and not quirks.blank and "tool_calls" not in message
                messages += [message] if (message["content"] or message.keys() - _EMPTY) and not empty else []
            case "tool":
                for part in turn.parts:
                    assert isinstance(part, ToolResult)
                    messages.append({"role": "tool", "tool_call_id": part.id, "content": content.of_result(part, shown)})
            case role:
                entries = content.of(turn.parts)
                if shown:
                    entries = [*shown, *([{"type": "text", "text": entries}] if isinstance(entries, str) else entries)]
                    shown = []
                name = _name(turn, quirks, notes)
                messages += [{"role": _role(role, quirks), "content": entries, **name}] if entries else []
    if shown:
        messages.append({"role": "user", "content": shown})
    if not quirks.user_after_tool:
        messages = list(_separated(messages))
    last = messages[-1] if messages else {}
    continued = last.get("role") == "assistant" and last["content"] and "tool_calls" not in last
    if continued and quirks.prefill in ("prefix", "partial"):
        last[quirks.prefill] = True
    return messages


def _separated(messages: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The messages with REPLY after a tool message that a user message follows."""
    previous = ""
    for message in messages:
        if previous == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": REPLY}
        yield message
        previous = message["role"]


def _name(turn: Turn, quirks: Quirks, notes: list[str]) -> dict[str, str]:
    if turn.name and not quirks.names:
        add_note(notes, "`name` of a message is left out: this upstream has no such field")
    return {"name": turn.name} if turn.name and quirks.names else {}


def _role(role: str, quirks: Quirks) -> str:
    return "system" if role == "developer" and not quirks.developer else role


def _assistant(turn: Turn, content: Content, placeholder: str) -> dict[str, Any]:
    calls: list[dict[str, Any]] = []
    thoughts: list[ThinkingPart] = []
    visible: list[Part] = []
    refusal = ""
    for part in turn.parts:
        match part:
            case ToolUse():
                calls.append(_call(part))
            case ThinkingPart():
                thoughts.append(part)
            case RefusalPart() if content.quirks.refusals:
                refusal += part.text
            case RefusalPart():
                visible.append(TextPart(part.text))
            case _:
                visible.append(part)
    message: dict[str, Any] = {"role": "assistant", "content": content.of(visible) or None}
    if thoughts:
        message |= replay_members(thoughts, content.quirks, content.notes)
    if placeholder and calls and content.quirks.replay:
        message.setdefault(content.quirks.replay, placeholder)
    if refusal:
        message["refusal"] = refusal
    if calls:
        message["tool_calls"] = calls
    elif message["content"] is None and not refusal:
        message["content"] = ""
    if calls and message["content"] is None and not content.quirks.empty_content:
        message["content"] = ""
    return message | _name(turn, content.quirks, content.notes)


def _call(use: ToolUse) -> dict[str, Any]:
    if use.kind == "custom":
        return {"id": use.id, "type": "custom", "custom": {"name": use.name, "input": use.arguments}, **use.extra}
    return {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": use.arguments or "{}"}, **use.extra}


def _tools(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    choice = conversation.tool_choice
    allowed = choice.names if choice and choice.mode in ("auto", "required") else ()
    tools: list[dict[str, Any]] = []
    members: dict[str, Any] = {}
    for tool in conversation.tools:
        match tool:
            case Other() if web_search.is_search(tool) and quirks.search_tool:
                switch, searching = web_search.for_chat(tool, quirks, notes, forced=web_search.is_forced(conversation))
                members |= switch
                tools += searching
            case Other():
                add_note(notes, web_search.left_out(tool))
            case Tool() if not allowed or tool.name in allowed:
                tools.append(_tool(tool, quirks, notes))
    if not tools:
        return members
    members["tools"] = tools
    if choice and web_search.is_forced(conversation):
        if not any(isinstance(tool, Tool) for tool in conversation.tools):
            members["tool_choice"] = "required"
    elif choice:
        members["tool_choice"] = _choice(choice, {tool.name: tool.kind for tool in conversation.tools if isinstance(tool, Tool)})
    if conversation.parallel is not None and quirks.parallel:
        members["parallel_tool_calls"] = conversation.parallel
    elif conversation.parallel is False:
        add_note(notes, "`parallel_tool_calls` is left out: this upstream has no such field")
    return members


def _choice(choice: ToolChoice, kinds: Mapping[str, str]) -> str | dict[str, Any]:
    if choice.mode != "tool":
        return choice.mode
    kind = kinds.get(choice.names[0], "function")
    return {"type": kind, kind: {"name": choice.names[0]}}


def _tool(tool: Tool, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    inner: dict[str, Any] = {"name": tool.name}
    if tool.description:
        inner["description"] = tool.description
    if tool.kind == "custom":
        return {"type": "custom", "custom": {**inner, **_format(tool)}}
    schema = adapted(tool.schema, quirks, notes, f"the tool {tool.name}")
    inner["parameters"] = cleaned(schema, quirks.formats, notes)
    if tool.strict and quirks.strict and is_strict(inner["parameters"]):
        inner["strict"] = True
    elif tool.strict:
        add_note(notes, f"`strict` of the tool {tool.name} is left out: this upstream cannot hold the model to its schema")
    members: dict[str, Any] = {"type": "function", "function": inner}
    return {**members, "cache_control": dict(tool.cache)} if tool.cache and quirks.cache_control else members


def _format(tool: Tool) -> dict[str, Any]:
    """The member `format` of a custom tool."""
    format_ = dict(tool.format or {})
    if format_.get("type") == "grammar" and "grammar" not in format_:  # Responses has the grammar one level higher
        format_ = {"type": "grammar", "grammar": {key: value for key, value in format_.items() if key != "type"}}
    return {"format": format_} if format_ else {}
