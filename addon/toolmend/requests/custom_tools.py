"""Converts freeform (custom) tools to functions, for upstreams that only accept functions.

    {"name": "apply_patch", kind custom, a grammar}    →    a function {"input": string}
    a call's bare input `*** Begin Patch`              →    {"input":"*** Begin Patch"}

The description of the function contains the grammar of the input.
"""

from collections.abc import Mapping
from typing import Any

from ..core import json_text
from ..core.fastclass import replace
from .conversation import Conversation, Part, Tool, ToolResult, ToolUse

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The whole input, as it is"}},
    "required": ["input"],
    "additionalProperties": False,
}


def as_functions(conversation: Conversation) -> tuple[Conversation, frozenset[str]]:
    """Returns the conversation with functions in place of custom tools, and the names of those tools."""
    names = frozenset(tool.name for tool in conversation.tools if isinstance(tool, Tool) and tool.kind == "custom")
    if not names and not any(getattr(part, "kind", "") == "custom" for turn in conversation.turns for part in turn.parts):
        return conversation, names
    tools = tuple(_function(tool) if isinstance(tool, Tool) and tool.kind == "custom" else tool for tool in conversation.tools)
    turns = tuple(replace(turn, parts=tuple(map(_part, turn.parts))) for turn in conversation.turns)
    return replace(conversation, tools=tools, turns=turns), names


def _part(part: Part) -> Part:
    match part:
        case ToolUse(kind="custom"):
            return replace(part, kind="function", arguments=json_text.dumps({"input": part.arguments}))
        case ToolResult(kind="custom"):
            return replace(part, kind="function")
    return part


def _function(tool: Tool) -> Tool:
    description = "\n\n".join(filter(None, (tool.description, _grammar(tool))))
    return replace(tool, kind="function", format=None, schema=SCHEMA, description=description)


def _grammar(tool: Tool) -> str:
    """The grammar of a tool's input as a sentence for the model; empty if there is no grammar."""
    format_ = tool.format or {}
    inner = format_.get("grammar")  # Chat Completions nests the grammar one level deeper than Responses
    grammar = inner if isinstance(inner, Mapping) else format_
    definition = grammar.get("definition")
    if not isinstance(definition, str):
        return ""
    return f"`input` is text of this grammar ({grammar.get('syntax')}):\n{definition}"
