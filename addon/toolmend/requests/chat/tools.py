"""Reads tools, tool choice, reasoning and response format of a Chat Completions request.

    "tools": [{"type": "function", "function": {"name", "description", "parameters", "strict"}},
              {"type": "custom", "custom": {"name", "format"}}],
    "tool_choice": "auto", "required", "none", {"type": "function", "function": {"name"}}, {"type": "allowed_tools", …}

The variants of OpenRouter, DeepSeek and DashScope are read as well.
"""

from collections.abc import Mapping
from typing import Any, Literal

from .. import RequestError
from ..conversation import Cache, Format, Other, Reasoning, Tool, ToolChoice
from ..fields import Object, an_object, flag, note_unknown, objects, string, tool_name, whole, words

API = "chat"


def cache_of(fields: Object) -> Cache:
    """The cache breakpoint of a part, a tool or a request."""
    return an_object(fields.get("cache_control"), "cache_control") or None


def tools_of(request: Object, notes: list[str]) -> list[Tool | Other]:
    """The tools, including the older `functions`."""
    found: list[Tool | Other] = []
    for tool in objects(request.get("tools"), "tools"):
        match tool.get("type") or "function":
            case "function":
                note_unknown(tool, words("type function cache_control"), "a tool", notes)
                found.append(_function(an_object(tool.get("function"), "function"), cache_of(tool), notes))
            case "custom":
                custom = an_object(tool.get("custom"), "custom")
                format_ = an_object(custom.get("format"), "format") or None
                description = string(custom, "description") or None
                found.append(Tool(tool_name(custom), description, kind="custom", format=format_))
            case _:
                found.append(Other(API, tool))
    return [*found, *(_function(tool, None, notes) for tool in objects(request.get("functions"), "functions"))]


def _function(function: Object, cache: Cache, notes: list[str]) -> Tool:
    note_unknown(function, words("name description parameters strict cache_control"), "a tool", notes)
    parameters = function.get("parameters")
    return Tool(
        tool_name(function),
        description=string(function, "description") or None,
        schema=None if parameters is None else an_object(parameters, "parameters"),
        strict=flag(function, "strict"),
        cache=cache or cache_of(function),
    )


def choice_of(choice: Any) -> ToolChoice | None:
    """The tool choice, from `tool_choice` or the older `function_call`."""
    match choice:
        case None:
            return None
        case "auto" | "required" | "none":
            return ToolChoice(choice)
        case {"type": "allowed_tools"}:
            allowed = an_object(choice.get("allowed_tools", choice), "allowed_tools")
            mode: Literal["auto", "required"] = "required" if allowed.get("mode") == "required" else "auto"
            return ToolChoice(mode, tuple(_chosen(tool) for tool in objects(allowed.get("tools"), "tools")))
        case Mapping():
            return ToolChoice("tool", (_chosen(choice),))
    raise RequestError("`tool_choice` is neither auto, required, none, nor an object that names a tool")


def _chosen(tool: Object) -> str:
    """The name in `{"type": "function", "function": {"name"}}`, and in the older `{"name"}`."""
    return tool_name(an_object(tool.get("function", tool.get("custom", tool)), "function"))


def reasoning_of(request: Object, notes: list[str]) -> Reasoning | None:
    """The reasoning options: `reasoning_effort`, or the fields of OpenRouter, DeepSeek and DashScope."""
    router = an_object(request.get("reasoning"), "reasoning")
    note_unknown(router, words("effort max_tokens enabled"), "reasoning", notes)
    thinking = an_object(request.get("thinking"), "thinking")
    note_unknown(thinking, words("type budget_tokens"), "thinking", notes)
    effort = string(request, "reasoning_effort") or string(router, "effort")
    budgets = (whole(router, "max_tokens"), whole(thinking, "budget_tokens"), whole(request, "thinking_budget"))
    budget = next((value for value in budgets if value is not None), None)
    enabled = flag(router, "enabled")
    if enabled is None:
        enabled = flag(request, "enable_thinking")
    if enabled is None and thinking:
        enabled = thinking.get("type") != "disabled"
    if effort == "none":
        return Reasoning(enabled=False)
    if enabled is None and budget is not None:
        enabled = True
    return Reasoning(enabled, effort, budget) if effort or enabled is not None else None


def format_of(response_format: Object) -> Format | None:
    """The response format; None for text."""
    match response_format.get("type"):
        case None | "text":
            return None
        case "json_object":
            return Format("json_object")
        case "json_schema":
            inner = an_object(response_format.get("json_schema"), "json_schema")
            return Format(
                "json_schema",
                an_object(inner.get("schema"), "schema"),
                string(inner, "name"),
                flag(inner, "strict"),
                string(inner, "description"),
            )
    kind = response_format.get("type")
    raise RequestError(f"`response_format` is of the type {kind!r}: write text, json_object or json_schema")
