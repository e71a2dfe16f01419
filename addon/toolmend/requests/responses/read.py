"""Reads a request of OpenAI Responses into a Conversation.

    {"model": "m", "instructions": "Be short.", "input": [
       {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Read a.py"}]},
       {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "…"}], "encrypted_content": "gAA…"},
       {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"},
       {"type": "function_call_output", "call_id": "call_1", "output": "text, or a list of input_text, input_image …"}],
     "tools": [{"type": "function", "name", "description", "parameters", "strict"}, {"type": "custom", "name", "format"},
               {"type": "namespace", "name": "mcp__files", "tools": [{"type": "function", …}]}],
     "reasoning": {"effort": "high", "summary": "auto"}, "text": {"format": {…}}, "store": false, "include": […]}

1. Consecutive items of the model are one turn.
2. A reference to data that OpenAI stores raises RequestError with what to send instead.
3. Unknown members stay in `rest`.

Source: the types of the openai SDK.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ...apis.shared.logprobs import INCLUDED
from ...core import builtin_tools, json_access, json_text
from ...core.reasoning_state import ReasoningState, opened
from ...core.tools import SEARCH, each_tool, is_search, namespaces
from .. import RequestError, compaction, options, web_search
from ..conversation import (
    Conversation,
    Document,
    Format,
    Image,
    Other,
    Part,
    Reasoning,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolResult,
    ToolUse,
    Turn,
)
from ..fields import Object, add_note, an_object, data_url, flag, number, objects, string, strings, whole
from .tools import API, flat, read_choice, read_tools

ENCRYPTED = "reasoning.encrypted_content"
"""The value of `include` that requests encrypted reasoning."""

_ANSWERED = (ENCRYPTED, web_search.SOURCES)
"""Values of `include` that translated responses always satisfy, so there is no note about them."""

_KEPT = {
    "previous_response_id": "send the whole conversation in `input`, and `store: false`",
    "conversation": "send the whole conversation in `input`, and `store: false`",
    "prompt": "send the text of the prompt in `instructions` or `input`",
}
"""Members that refer to data that only OpenAI stores → what to do instead."""

_HONOURED = {"store": False, "background": False, "truncation": "disabled"}
"""Values that every upstream satisfies, so there is no note about them."""

_KNOWN = _KEPT.keys() | frozenset(options.NAMES) | {
    "model", "instructions", "input", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens", "temperature", "top_p",
    "reasoning", "text", "stream", "include", "top_logprobs",
}  # fmt: skip
UPDATE = "configuration_update"
"""The type of an item that changes members of the request; the last one wins."""

_TEXTS = ("input_text", "output_text", "text")


def read(request: Object, notes: list[str]) -> Conversation:
    """Returns the conversation of a request. Raises RequestError for wrong types and references."""
    for key, instead in _KEPT.items():
        if request.get(key):
            raise RequestError(f"`{key}` refers to what this upstream does not keep: {instead}")
    names = {place: flat for flat, place in namespaces(request).items()}
    user = "user" if request.get("user") else "safety_identifier"
    reasoning, text = (_updated(request, name) for name in ("reasoning", "text"))
    silent = {*_KNOWN, user, *(key for key, value in _HONOURED.items() if request.get(key) == value)}
    rest = {key: value for key, value in request.items() if key not in silent and value is not None}
    rest |= {f"reasoning.{key}": value for key, value in reasoning.items() if value and key not in ("effort", "summary")}
    rest |= {f"text.{key}": value for key, value in text.items() if value and key not in ("format", "verbosity")}
    choice = read_choice(request.get("tool_choice"), names)
    if choice is None and request.get("tool_choice"):
        rest["tool_choice"] = request["tool_choice"]
    if include := [value for value in strings(request.get("include"), "include") if value not in (*_ANSWERED, INCLUDED)]:
        rest["include"] = include
    instructions = string(request, "instructions")
    return Conversation(
        model=string(request, "model"),
        api=API,
        turns=(
            *((Turn("system", (TextPart(instructions),)),) if instructions else ()),
            *_turns(request.get("input"), names, notes),
        ),
        tools=tuple(read_tools(request, names, notes)),
        tool_choice=choice,
        parallel=flag(request, "parallel_tool_calls"),
        max_tokens=whole(request, "max_output_tokens"),
        temperature=number(request, "temperature"),
        top_p=number(request, "top_p"),
        reasoning=_reasoning(reasoning),
        format=_format(an_object(text.get("format"), "text.format")),
        user=string(request, user),
        stream=bool(flag(request, "stream")),
        include_usage=True,
        options=options.read({**request, "verbosity": text.get("verbosity")}),
        rest=rest,
    )


def _updated(request: Object, name: str) -> Object:
    """A member of the request with the UPDATE items of the input applied."""
    items = request.get("input")
    updates = [item for item in json_access.objects(items) if item.get("type") == UPDATE]
    return {key: value for each in (request, *updates) for key, value in an_object(each.get(name), name).items()}


def _turns(given: Any, names: Mapping[tuple[str, str], str], notes: list[str]) -> Iterable[Turn]:
    if isinstance(given, str):
        return [Turn("user", (TextPart(given),))] if given else []
    turns: list[tuple[str, list[Part]]] = []
    items = objects(given, "input")
    calls = {string(item, "id"): _id(item) for item in items if item.get("type") == "local_shell_call"}  # the output has `id`
    for item in items:
        if item.get("type") == "local_shell_call_output" and (call_id := calls.get(string(item, "id"))):
            item = {**item, "call_id": call_id}  # noqa: PLW2901
        role, parts = _item(item, names, notes)
        if turns and turns[-1][0] == role and role in ("assistant", "tool"):
            turns[-1][1].extend(parts)
        elif parts or role == "user":
            turns.append((role, parts))
    return [Turn(role, tuple(parts)) for role, parts in turns]  # type: ignore[arg-type]


def _item(item: Object, names: Mapping[tuple[str, str], str], notes: list[str]) -> tuple[str, list[Part]]:
    """The role and the parts of an item; no parts if it does not belong to the conversation."""
    kind = item.get("type") or ("message" if "role" in item else "item_reference")
    match kind:
        case "message":
            return _message(item)
        case "agent_message":  # from another agent of Codex to this one
            head = f"Message from {string(item, 'author')} to {string(item, 'recipient')}:"
            return "user", [TextPart(head), *_parts(item.get("content"))]
        case "reasoning":
            return "assistant", [_thinking(item)]
        case "function_call":
            return "assistant", [ToolUse(_id(item), flat(item, names), string(item, "arguments") or "{}")]
        case "custom_tool_call":
            return "assistant", [ToolUse(_id(item), flat(item, names), string(item, "input"), "custom")]
        case "function_call_output":
            return "tool", [ToolResult(_id(item), _output(item.get("output"), notes))]
        case "custom_tool_call_output":
            return "tool", [ToolResult(_id(item), _output(item.get("output"), notes), kind="custom")]
        case "item_reference":
            raise RequestError(f"`input` refers to the item {item.get('id')!r}, which this upstream does not keep: send the item")
        case "tool_search_call" if is_search(item):
            return "assistant", [ToolUse(_id(item), SEARCH, _searched(item.get("arguments")))]
        case "tool_search_output" if is_search(item):
            return "tool", [ToolResult(_id(item), (TextPart(_found(item, names)),))]
        case str(kind) if kind in builtin_tools.BY_ITEM:
            form = builtin_tools.BY_ITEM[kind]
            return "assistant", [ToolUse(_id(item), form.kind, json_text.dumps(form.arguments(item)))]
        case str(kind) if kind in builtin_tools.BY_OUTPUT:
            text = builtin_tools.BY_OUTPUT[kind].text(item)
            return "tool", [ToolResult(_id(item), (TextPart(text),) if text else (), is_error=item.get("status") == "failed")]
        case kind if kind in compaction.ITEMS:
            text = compaction.summary_text(item)
            if text == compaction.SEALED:
                add_note(notes, "An earlier part of the conversation is missing: only the provider that compacted it can read it")
            return ("user", [TextPart(text)]) if text else ("", [])
        case compaction.TRIGGER_TYPE:
            return "", []
        case "configuration_update":
            return "", []  # see _updated
        case "additional_tools" | "tool_search_output":
            return "", []  # read_tools reads the tools
    is_models = not str(kind).endswith(("_output", "_response"))
    return "assistant" if is_models else "user", [Other(API, item)]


def _message(item: Object) -> tuple[str, list[Part]]:
    role = item.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        raise RequestError(f"a message has the role {role!r}: write user, assistant, system or developer")
    return role, _parts(item.get("content"))


def _parts(content: Any) -> list[Part]:
    """The parts of a message, without empty text, which some upstreams refuse."""
    if content is None or isinstance(content, str):
        return [TextPart(content)] if content else []
    return [part for block in objects(content, "content") if (part := _part(block)) != TextPart("")]


def _part(block: Object) -> Part:
    match block.get("type"):
        case kind if kind in _TEXTS:
            return TextPart(string(block, "text"))
        case "refusal":
            return RefusalPart(string(block, "refusal"))
        case "input_image":
            url = string(block, "image_url")
            inline = data_url(url)
            media_type, data = inline or ("", "")
            detail = string(block, "detail")
            return Image(data, media_type, "" if inline else url, string(block, "file_id"), "" if detail == "auto" else detail)
        case "input_file":
            return _document(block)
    return Other(API, block)


def _document(block: Object) -> Document:
    file_data = string(block, "file_data")
    inline = data_url(file_data)
    media_type, data = inline or ("", "")
    url = string(block, "file_url") or ("" if inline else file_data)
    title, text = string(block, "filename"), ""
    if media_type.startswith("text/"):
        with suppress(binascii.Error, ValueError):
            text = base64.b64decode(data).decode()
    if text:
        return Document(text=text, title=title)
    return Document(data, media_type, url=url, file_id=string(block, "file_id"), title=title)


def _output(output: Any, notes: list[str]) -> tuple[TextPart | Image | Document, ...]:
    """The parts of a tool result. Only text, images and files can be translated; others become a note."""
    found: list[TextPart | Image | Document] = []
    for part in _parts(output):
        match part:
            case TextPart() | Image() | Document():
                found.append(part)
            case Other():
                add_note(notes, f"A part of the type {part.value.get('type')} in a tool's result is left out")
            case _:
                raise RequestError("a tool's output holds a part that cannot stand there")
    return tuple(found)


def _searched(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json_text.dumps(arguments or {})


def _found(item: Object, names: Mapping[tuple[str, str], str]) -> str:
    """The text for the result of a tool search, with the names under which the tools are offered."""
    tools = [flat({**tool, "namespace": space.get("name")}, names) for space, tool in each_tool({"tools": item.get("tools")})]
    return f"Found the tools: {', '.join(tools)}" if tools else "No tools were found."


def _thinking(item: Object) -> ThinkingPart:
    """The reasoning before the next items: its text if the model shows it, else the summary."""
    content, summary = objects(item.get("content"), "content"), objects(item.get("summary"), "summary")
    text = "\n\n".join(string(part, "text") for part in content or summary)
    encrypted = string(item, "encrypted_content")
    if not encrypted:
        return ThinkingPart(text)
    sealed = json_text.dumps({"id": string(item, "id"), "encrypted_content": encrypted})
    return ThinkingPart(text, opened(encrypted) or ReasoningState("encrypted", sealed))


def _id(item: Object) -> str:
    return string(item, "call_id") or string(item, "id")


def _reasoning(reasoning: Object) -> Reasoning | None:
    effort, summary = string(reasoning, "effort"), string(reasoning, "summary")
    if not effort and not summary:
        return None
    summary = "" if summary == "none" else summary
    return Reasoning(enabled=False, summary=summary) if effort == "none" else Reasoning(None, effort, summary=summary)


def _format(format_: Object) -> Format | None:
    match format_.get("type"):
        case "json_object":
            return Format("json_object")
        case "json_schema":
            schema = an_object(format_.get("schema"), "text.format.schema")
            return Format("json_schema", schema, string(format_, "name"), flag(format_, "strict"), string(format_, "description"))
        case None | "text":
            return None
    raise RequestError(f"`text.format` is of the type {format_.get('type')!r}: write text, json_object or json_schema")
