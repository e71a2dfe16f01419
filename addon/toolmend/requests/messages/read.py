"""Reads a request of Anthropic Messages into a Conversation.

    {"model": "m", "max_tokens": 1, "system": […], "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
     "tools": [{"name", "description", "input_schema"}], "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}}

A wrong type raises RequestError; unknown members stay in `rest`. Source: the types of the anthropic SDK.
"""

from collections.abc import Mapping
from typing import Any, Literal

from ...core import builtin_tools, json_access, json_text
from ...core.json_access import as_list
from ...core.reasoning_state import ReasoningState, opened
from .. import RequestError, compaction, options
from ..conversation import (
    Cache,
    Conversation,
    Document,
    Format,
    Image,
    Other,
    Part,
    Reasoning,
    TextPart,
    ThinkingPart,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
    Turn,
)
from ..fields import (
    Object,
    add_note,
    an_object,
    flag,
    note_unknown,
    number,
    objects,
    string,
    strings,
    tool_name,
    whole,
    words,
)
from ..server_tools import COMPUTERS, NO_COMPUTER, as_text

API = "messages"

PLACEHOLDER = "DeferredToolPlaceholder"
"""Claude Code's placeholder for tools that it has not loaded. It must never be called, so it is not offered."""

_KNOWN = words(
    "model max_tokens system messages cache_control tools tool_choice stop_sequences temperature top_p top_k thinking "
    "output_config output_format metadata stream service_tier"
)
# the known members of each type of block; `caller` and `toolset_name` are dropped without a note
_BLOCK = words("type cache_control caller toolset_name")
_TEXT = _BLOCK | {"text"}
_TOOL_USE = _BLOCK | {"id", "name", "input"}
_TOOL_RESULT = _BLOCK | {"tool_use_id", "content", "is_error"}
_IMAGE = _BLOCK | {"source"}
_DOCUMENT = _BLOCK | {"source", "title"}
_TOOL = words("type name description input_schema strict cache_control")
_MODES: Mapping[str, Literal["auto", "required", "none", "tool"]] = {
    "auto": "auto", "any": "required", "none": "none", "tool": "tool",
}  # fmt: skip


def read(request: Object, notes: list[str]) -> Conversation:
    """Returns the conversation of a request. Raises RequestError for wrong types."""
    choice = an_object(request.get("tool_choice"), "tool_choice")
    output = an_object(request.get("output_config"), "output_config")
    note_unknown(output, frozenset({"effort", "format"}), "output_config", notes)
    metadata = an_object(request.get("metadata"), "metadata")
    note_unknown(metadata, frozenset({"user_id"}), "metadata", notes)
    return Conversation(
        model=string(request, "model"),
        api=API,
        turns=(*_system(request.get("system"), notes), *_turns(request.get("messages"), notes)),
        tools=tuple(_tool(tool, notes) for tool in _offered(request)),
        tool_choice=_choice(choice),
        parallel=False if flag(choice, "disable_parallel_tool_use") else None,
        max_tokens=whole(request, "max_tokens"),
        stop=strings(request.get("stop_sequences"), "stop_sequences"),
        temperature=number(request, "temperature"),
        top_p=number(request, "top_p"),
        top_k=whole(request, "top_k"),
        reasoning=_reasoning(an_object(request.get("thinking"), "thinking"), string(output, "effort"), notes),
        format=_format(an_object(output.get("format") or request.get("output_format"), "output_config.format")),
        user=string(metadata, "user_id"),
        stream=bool(flag(request, "stream")),
        include_usage=True,
        cache=_cache(request),
        options=options.read({"service_tier": request.get("service_tier")}),
        rest={key: value for key, value in request.items() if key not in _KNOWN and value is not None},
    )


def _offered(request: Object) -> list[Object]:
    """The tools, with the additions and removals in system messages applied."""
    offered = [tool for tool in objects(request.get("tools"), "tools") if tool.get("name") != PLACEHOLDER]
    known = {string(tool, "name"): tool for tool in offered}
    for message in objects(request.get("messages"), "messages"):
        content = message.get("content") if message.get("role") == "system" else None
        for block in as_list(content):
            change = an_object(an_object(block, "content").get("tool"), "tool")
            tool = an_object(change.get("definition"), "definition") or known.get(string(change, "name"))
            if not tool:
                continue
            name = string(tool, "name")
            known[name] = tool
            offered = [other for other in offered if other.get("name") != name]
            offered += [tool] if block.get("type") == "tool_addition" else []
    return offered


def _cache(block: Object) -> Cache:
    given = block.get("cache_control")
    return None if given is None else an_object(given, "cache_control") or None


def _system(system: Any, notes: list[str]) -> list[Turn]:
    parts = tuple(part for part in _parts(system, "system", notes) if isinstance(part, TextPart))
    return [Turn("system", parts)] if parts else []


def _turns(messages: Any, notes: list[str]) -> list[Turn]:
    turns: list[Turn] = []
    for message in compaction.compacted(objects(messages, "messages")):
        role = message.get("role")
        parts = _parts(message.get("content"), "content", notes)
        kinds = set(map(type, parts))
        if ToolUse in kinds and role != "assistant":
            raise RequestError(f"a tool_use block stands in a message of the role {role!r}: it is the assistant's to call")
        results = tuple([part for part in parts if isinstance(part, ToolResult)]) if ToolResult in kinds else ()
        others = tuple([part for part in parts if not isinstance(part, ToolResult)] if results else parts)
        match role:
            case "user":
                turns += [Turn("tool", results)] if results else []
                turns += [Turn("user", others)] if others or not results else []
            case "assistant" | "system":
                turns.append(Turn(role, others))
                turns += [Turn("tool", results)] if results else []
            case _:
                raise RequestError(f"a message has the role {role!r}: write user, assistant or system")
    return turns


def _parts(content: Any, where: str, notes: list[str]) -> list[Part]:
    """The parts of a message, without empty text, which some upstreams refuse."""
    if content is None or isinstance(content, str):
        return [TextPart(content)] if content else []
    blocks = [block for block in objects(content, where) if block.get("type") not in ("tool_addition", "tool_removal")]
    parts = [_part(block, notes) for block in blocks]
    return [part for part in parts if not isinstance(part, TextPart) or part.text]


def _part(block: Object, notes: list[str]) -> Part:
    kind = block.get("type")
    match kind:
        case "text":
            note_unknown(block, _TEXT, "a text block", notes)
            return TextPart(string(block, "text"), _cache(block))
        case "image":
            return _image(block, notes)
        case "document":
            return _document(block, notes)
        case "thinking":
            signature = string(block, "signature")
            seal = opened(signature) or (ReasoningState("signature", signature) if signature else None)
            return ThinkingPart(string(block, "thinking"), seal)
        case "redacted_thinking":
            data = string(block, "data")
            return ThinkingPart("", opened(data) or ReasoningState("redacted", data))
        case "tool_use":
            note_unknown(block, _TOOL_USE, "a tool_use block", notes)
            return ToolUse(string(block, "id"), tool_name(block), _arguments(block.get("input")), cache=_cache(block))
        case "tool_result":
            note_unknown(block, _TOOL_RESULT, "a tool_result block", notes)
            return ToolResult(
                string(block, "tool_use_id"),
                _result(block.get("content"), notes),
                is_error=bool(flag(block, "is_error")),
                cache=_cache(block),
            )
        case "compaction" if item := compaction.sealed_item(block):
            return Other("responses", item)
    return Other(API, block)


def _arguments(value: Any) -> str:
    if value is None or isinstance(value, Mapping):
        return json_text.dumps(value or {})
    if isinstance(value, str):  # some clients keep the JSON text
        try:
            if isinstance(json_text.loads(value.encode()), dict):
                return value
        except ValueError:
            pass
    raise RequestError("`input` of a tool_use block is not an object")


def _result(content: Any, notes: list[str]) -> tuple[TextPart | Image | Document, ...]:
    """The parts of a tool result. Only text, images and documents can be translated; others become text or a note."""
    found: list[TextPart | Image | Document] = []
    for part in _parts(content, "content", notes):
        match part:
            case TextPart() | Image() | Document():
                found.append(part)
            case Other():
                if text := as_text(part.value):
                    found.append(TextPart(text))
                else:
                    add_note(notes, f"A {part.value.get('type')} block in a tool's result is left out")
            case _:
                raise RequestError("a tool_result block holds a block that cannot stand there")
    return tuple(found)


def _image(block: Object, notes: list[str]) -> Part:
    note_unknown(block, _IMAGE, "an image block", notes)
    source = an_object(block.get("source"), "source")
    match source.get("type"):
        case "base64":
            return Image(data=string(source, "data"), media_type=string(source, "media_type"), cache=_cache(block))
        case "url":
            return Image(url=string(source, "url"), cache=_cache(block))
        case "file":
            return Image(file_id=string(source, "file_id"), cache=_cache(block))
    return Other(API, block)


def _document(block: Object, notes: list[str]) -> Part:
    note_unknown(block, _DOCUMENT, "a document block", notes)
    source = an_object(block.get("source"), "source")
    title, cache = string(block, "title"), _cache(block)
    match source.get("type"):
        case "base64":
            data, media_type = string(source, "data"), string(source, "media_type")
            return Document(data=data, media_type=media_type, title=title, cache=cache)
        case "text":
            return Document(text=string(source, "data"), title=title, cache=cache)
        case "content":
            inner = _parts(source.get("content"), "content", notes)
            if any(not isinstance(part, TextPart) for part in inner):
                add_note(notes, "An image inside a document block is left out")
            text = "\n\n".join(part.text for part in inner if isinstance(part, TextPart))
            return Document(text=text, title=title, cache=cache)
        case "url":
            return Document(url=string(source, "url"), title=title, cache=cache)
        case "file":
            return Document(file_id=string(source, "file_id"), title=title, cache=cache)
    return Other(API, block)


def _tool(tool: Object, notes: list[str]) -> Tool | Other:
    if known := builtin_tools.of_messages(tool):
        return Tool(tool_name(tool), *known, cache=_cache(tool))
    if str(tool.get("type")).startswith(COMPUTERS):
        raise RequestError(NO_COMPUTER.format(tool["type"]))
    if tool.get("type") not in (None, "custom"):
        return Other(API, tool)
    description = _described(tool)
    known_members = _TOOL if description == string(tool, "description") else _TOOL | {"input_examples"}
    note_unknown(tool, known_members, "a tool", notes)
    schema = tool.get("input_schema")
    return Tool(
        tool_name(tool),
        description=description or None,
        schema=None if schema is None else an_object(schema, "input_schema"),
        strict=flag(tool, "strict"),
        cache=_cache(tool),
    )


def _described(tool: Object) -> str:
    """The description with the input examples, a field that only Messages has."""
    examples = tool.get("input_examples")
    lines = [json_text.dumps(example) for example in json_access.objects(examples) if example]
    text = "\n".join(("Examples of arguments:", *lines)) if lines else ""
    return "\n\n".join(filter(None, (string(tool, "description"), text)))


def _choice(choice: Object) -> ToolChoice | None:
    if not choice:
        return None
    mode = _MODES.get(string(choice, "type"))
    if mode is None:
        raise RequestError(f"`tool_choice` is of the type {choice.get('type')!r}: write auto, any, tool or none")
    return ToolChoice(mode, (tool_name(choice),) if mode == "tool" else ())


def _reasoning(thinking: Object, effort: str, notes: list[str]) -> Reasoning | None:
    if not thinking and not effort:
        return None
    note_unknown(thinking, frozenset({"type", "budget_tokens", "display"}), "thinking", notes)
    kind = thinking.get("type")
    if kind not in (None, "enabled", "disabled", "adaptive"):
        add_note(notes, f"`thinking` of the type {kind} is taken for adaptive")
    enabled = None if kind is None else kind != "disabled"
    summary = "auto" if enabled and thinking.get("display") != "omitted" else ""
    return Reasoning(enabled, effort, whole(thinking, "budget_tokens") if enabled else None, summary)


def _format(format_: Object) -> Format | None:
    if not format_:
        return None
    if format_.get("type") != "json_schema":
        raise RequestError(f"`output_config.format` is of the type {format_.get('type')!r}: write json_schema")
    return Format("json_schema", an_object(format_.get("schema"), "schema"))
