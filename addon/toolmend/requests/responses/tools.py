"""Reads and writes the tools of a request of OpenAI Responses.

    {"type": "function", "name": "read", "description", "parameters", "strict"}        {"type": "custom", "name", "format"}
    {"type": "namespace", "name": "mcp__files", "description", "tools": [{"type": "function", …}]}      → mcp__files__read

1. A tool of a namespace has a flat name (core/tools.py).
2. The client's tool search is a function.
3. Tools that only OpenAI runs are kept as `Other`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ...core import builtin_tools
from ...core.tools import SEARCH, builtin, each_tool, is_search, joined, searches
from .. import RequestError, web_search
from ..conversation import Conversation, Other, Tool, ToolChoice
from ..fields import Object, add_note, an_object, flag, note_unknown, objects, string, tool_name
from ..request_limits import Quirks
from ..schemas import adapted, is_strict, of_object
from ..server_tools import COMPUTERS, NO_COMPUTER

API = "responses"
_FUNCTION = frozenset({"type", "name", "description", "parameters", "strict"})
_CUSTOM = frozenset({"type", "name", "description", "format"})
_NAMESPACE = frozenset({"type", "name", "description", "tools"})


def flat(fields: Object, names: Mapping[tuple[str, str], str]) -> str:
    """The flat name of a tool or of a call; `names`: (namespace, name) → flat name."""
    namespace, name = string(fields, "namespace"), tool_name(fields)
    return names.get((namespace, name)) or joined(namespace, name)


def read_tools(request: Object, names: Mapping[tuple[str, str], str], notes: list[str]) -> Iterable[Tool | Other]:
    """Yields every tool once, from all places that offer tools.

    Args:
        request: The request.
        names: (namespace, name) → flat name.
        notes: Collects what was left out.
    """
    objects(request.get("tools"), "tools")
    described: Object = {}  # the namespace whose description is already part of a tool's
    seen: set[str] = set()
    searched, builtins = searches(request), builtin(request)
    for space, given in each_tool(request):
        tool = _function(given) if searched and is_search(given) else given
        note_unknown(space, _NAMESPACE, "a namespace", notes)
        kind = tool.get("type")
        if (known := builtin_tools.of_responses(tool)) and str(kind) in builtins:
            yield Tool(str(kind), *known)
            continue
        if str(kind).startswith(COMPUTERS):
            raise RequestError(NO_COMPUTER.format(kind))
        if kind not in ("function", "custom"):
            yield Other(API, tool)
            continue
        name = flat({**tool, "namespace": space.get("name")}, names)
        if name in seen:
            continue
        seen.add(name)
        description = string(tool, "description") or None
        if space and space is not described and string(space, "description"):
            # the first tool of a namespace has its description
            description = "\n\n".join(filter(None, (f"{space.get('name')}: {space['description']}", description)))
        described = space
        if kind == "custom":
            note_unknown(tool, _CUSTOM, "a tool", notes)
            yield Tool(name, description, kind="custom", format=an_object(tool.get("format"), "format") or None)
        else:
            note_unknown(tool, _FUNCTION, "a tool", notes)
            schema = tool.get("parameters")
            yield Tool(name, description, None if schema is None else an_object(schema, "parameters"), flag(tool, "strict"))


def _function(search: Object) -> Object:
    return {"type": "function", "name": SEARCH, **{name: search.get(name) for name in ("description", "parameters")}}


def read_choice(choice: Any, names: Mapping[tuple[str, str], str]) -> ToolChoice | None:
    """The tool choice; None if there is none, or if it names a tool that only OpenAI has."""
    match choice:
        case "auto" | "required" | "none":
            return ToolChoice(choice)
        case {"type": "function" | "custom"}:
            return ToolChoice("tool", (flat(choice, names),))
        case {"type": str(kind)} if kind in builtin_tools.OF_RESPONSES:
            return ToolChoice("tool", (kind,))
        case {"type": str(kind)} if kind.startswith(web_search.NAME):
            return ToolChoice("tool", (web_search.NAME,))
        case {"type": "allowed_tools"}:
            tools = objects(choice.get("tools"), "tool_choice.tools")
            allowed = tuple(flat(tool, names) for tool in tools if tool.get("type") in ("function", "custom"))
            if not allowed:
                return ToolChoice("none")
            return ToolChoice("required" if choice.get("mode") == "required" else "auto", allowed)
    return None


def write_tools(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """Returns `tools`, `tool_choice` and the other members about tools."""
    tools: list[dict[str, Any]] = []
    for tool in conversation.tools:
        if isinstance(tool, Tool):
            tools.append(_tool(tool, quirks, notes, own=conversation.api == API))
        elif tool.api == API:
            tools.append(dict(tool.value))
        elif web_search.is_search(tool) and quirks.search_tool:
            tools.append(web_search.for_responses(tool, quirks, notes))
        else:
            add_note(notes, web_search.left_out(tool))
    if not tools:
        return {}
    members: dict[str, Any] = {"tools": tools} | (web_search.max_calls(conversation) if conversation.api != API else {})
    if choice := conversation.tool_choice:
        members["tool_choice"] = _choice(choice, {tool["name"]: tool["type"] for tool in tools if "name" in tool})
    if conversation.parallel is not None and quirks.parallel:
        members["parallel_tool_calls"] = conversation.parallel
    return members


def _tool(tool: Tool, quirks: Quirks, notes: list[str], *, own: bool) -> dict[str, Any]:
    members: dict[str, Any] = {"type": tool.kind, "name": tool.name}
    if tool.description:
        members["description"] = tool.description
    if tool.kind == "custom":
        format_ = tool.format or {}
        inner = format_.get("grammar")
        if isinstance(inner, Mapping):  # Chat Completions nests the grammar one level deeper
            format_ = {"type": "grammar", **inner}
        return {**members, "format": dict(format_)} if format_ else members
    schema = None if tool.schema is None else of_object(adapted(tool.schema, quirks, notes, f"the tool {tool.name}"))
    # without `strict`, Responses tries strict mode, which requires all properties
    strict = bool(tool.strict) and (own or is_strict(schema))
    if tool.strict and not (strict and quirks.strict):
        add_note(notes, f"`strict` of the tool {tool.name} is left out: this upstream cannot hold the model to its schema")
    return {**members, "parameters": schema, **({"strict": strict} if quirks.strict else {})}


def _choice(choice: ToolChoice, kinds: Mapping[str, str]) -> str | dict[str, Any]:
    if choice.mode == "tool" and choice.names[0] not in kinds:
        return {"type": web_search.NAME}
    named = [{"type": kinds.get(name, "function"), "name": name} for name in choice.names]
    if choice.mode == "tool":
        return named[0]
    return {"type": "allowed_tools", "mode": choice.mode, "tools": named} if named else choice.mode
