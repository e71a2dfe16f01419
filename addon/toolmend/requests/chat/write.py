"""A conversation → a request of OpenAI Chat Completions. See chat_read.py for what one looks like.

Rule of this file: the turns are in order (turn_order.py), the names and ids legal. All `tool` messages stand directly behind
their calls, what they cannot hold behind the last of them. What the upstream cannot be told is told in the notes.
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
from ..schemas import cleaned, fitted, is_strict
from .content import Content, replayed
from .options import options
from .tools import API

BETWEEN = "OK."
"""What the assistant says between a tool and the user, where an upstream wants it to: an empty message is refused."""

_EMPTY = frozenset({"role", "content", "name"})
"""All that stands in a message of which everything was left out: some upstreams refuse one."""


def write(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """The request."""
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
    demanded = "" if off else quirks.placeholder
    messages: list[dict[str, Any]] = []
    shown: list[Any] = []  # of the results in front, what only a user can show
    content = Content(quirks, notes)
    for turn in conversation.turns:
        if shown and turn.role != "user":
            messages.append({"role": "user", "content": shown})
            shown = []
        match turn.role:
            case "assistant":
                said = _assistant(turn, content, demanded)
                empty = not said["content"] and not quirks.blank and "tool_calls" not in said
                messages += [said] if (said["content"] or said.keys() - _EMPTY) and not empty else []
            case "tool":
                for part in turn.parts:
                    assert isinstance(part, ToolResult)
                    messages.append({"role": "tool", "tool_call_id": part.id, "content": content.of_result(part, shown)})
            case role:
                told = content.of(turn.parts)
                if shown:
                    told = [*shown, *([{"type": "text", "text": told}] if isinstance(told, str) else told)]
                    shown = []
                name = _name(turn, quirks, notes)
                messages += [{"role": _role(role, quirks), "content": told, **name}] if told else []
    if shown:
        messages.append({"role": "user", "content": shown})
    if not quirks.user_after_tool:
        messages = list(_answered(messages))
    last = messages[-1] if messages else {}
    continued = last.get("role") == "assistant" and last["content"] and "tool_calls" not in last
    if continued and quirks.prefill in ("prefix", "partial"):
        last[quirks.prefill] = True
    return messages


def _answered(messages: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The messages with a word of the assistant between a tool and the user."""
    before = ""
    for message in messages:
        if before == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": BETWEEN}
        yield message
        before = message["role"]


def _name(turn: Turn, quirks: Quirks, notes: list[str]) -> dict[str, str]:
    if turn.name and not quirks.names:
        add_note(notes, "`name` of a message is left out: this upstream has no such field")
    return {"name": turn.name} if turn.name and quirks.names else {}


def _role(role: str, quirks: Quirks) -> str:
    return "system" if role == "developer" and not quirks.developer else role


def _assistant(turn: Turn, content: Content, demanded: str) -> dict[str, Any]:
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
        message |= replayed(thoughts, content.quirks, content.notes)
    if demanded and calls and content.quirks.replay:
        message.setdefault(content.quirks.replay, demanded)
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
    said: dict[str, Any] = {}
    for tool in conversation.tools:
        match tool:
            case Other() if web_search.is_search(tool) and quirks.search_tool:
                members, searching = web_search.for_chat(tool, quirks, notes, forced=web_search.is_forced(conversation))
                said |= members
                tools += searching
            case Other():
                add_note(notes, web_search.left_out(tool))
            case Tool() if not allowed or tool.name in allowed:
                tools.append(_tool(tool, quirks, notes))
    if not tools:
        return said
    said["tools"] = tools
    if choice and web_search.is_forced(conversation):
        if not any(isinstance(tool, Tool) for tool in conversation.tools):
            said["tool_choice"] = "required"
    elif choice:
        said["tool_choice"] = _choice(choice, {tool.name: tool.kind for tool in conversation.tools if isinstance(tool, Tool)})
    if conversation.parallel is not None and quirks.parallel:
        said["parallel_tool_calls"] = conversation.parallel
    elif conversation.parallel is False:
        add_note(notes, "`parallel_tool_calls` is left out: this upstream has no such field")
    return said


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
        return {"type": "custom", "custom": {**inner, **_form(tool)}}
    schema = fitted(tool.schema, quirks, notes, f"the tool {tool.name}")
    inner["parameters"] = cleaned(schema, quirks.formats, notes)
    if tool.strict and quirks.strict and is_strict(inner["parameters"]):
        inner["strict"] = True
    elif tool.strict:
        add_note(notes, f"`strict` of the tool {tool.name} is left out: this upstream cannot hold the model to its schema")
    said: dict[str, Any] = {"type": "function", "function": inner}
    return {**said, "cache_control": dict(tool.cache)} if tool.cache and quirks.cache_control else said


def _form(tool: Tool) -> dict[str, Any]:
    """What the input of a custom tool must look like; in Responses a grammar stands one level higher."""
    form = dict(tool.format or {})
    if form.get("type") == "grammar" and "grammar" not in form:
        form = {"type": "grammar", "grammar": {key: value for key, value in form.items() if key != "type"}}
    return {"format": form} if form else {}
