"""Reads a request of OpenAI Chat Completions into a Conversation.

    {"model": "m", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": […]},
     {"role": "tool", "tool_call_id": "c1", "content": "…"}], "tools": [{"type": "function", "function": {…}}]}

A wrong type raises RequestError; unknown members stay in `rest`. Older names are read as the newer ones: `functions`,
`function_call`, the role `function`, `max_tokens`. Source: the types of the openai SDK, and the additions of OpenRouter,
DeepSeek and DashScope.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Literal

from ...apis.chat.reasoning_details import text_of
from ...core import json_text
from ...core.reasoning_state import ReasoningState, opened
from .. import RequestError, options, web_search
from ..conversation import (
    Cache,
    Conversation,
    Document,
    Image,
    Other,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolResult,
    ToolUse,
    Turn,
)
from ..fields import (
    Object,
    add_note,
    an_object,
    data_url,
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
from ..reasoning_details import joined_details
from .tools import API, cache_of, choice_of, format_of, reasoning_of, tools_of

_KNOWN = words(
    "model messages tools functions tool_choice function_call parallel_tool_calls max_completion_tokens max_tokens stop "
    "temperature top_p top_k response_format reasoning_effort reasoning thinking enable_thinking thinking_budget user "
    "stream stream_options cache_control web_search_options enable_search search_options"
) | frozenset(options.NAMES)
_MESSAGE = words(
    "role content name tool_calls function_call tool_call_id refusal reasoning_content reasoning reasoning_details"
)


def read(request: Object, notes: list[str]) -> Conversation:
    """Returns the conversation of a request. Raises RequestError for wrong types."""
    limit = whole(request, "max_completion_tokens")
    limit = whole(request, "max_tokens") if limit is None else limit
    response_format = an_object(request.get("response_format"), "response_format")
    stream_options = an_object(request.get("stream_options"), "stream_options")
    known = {*_KNOWN, "top_logprobs"} if request.get("logprobs") is True else _KNOWN
    return Conversation(
        model=string(request, "model"),
        api=API,
        turns=tuple(_turns(objects(request.get("messages"), "messages"), notes)),
        tools=(*tools_of(request, notes), *web_search.plugins(request)),
        tool_choice=choice_of(request.get("tool_choice") or request.get("function_call")),
        parallel=flag(request, "parallel_tool_calls"),
        max_tokens=None if limit is None or limit < 0 else limit,
        stop=strings(request.get("stop"), "stop"),
        temperature=number(request, "temperature"),
        top_p=number(request, "top_p"),
        top_k=whole(request, "top_k"),
        reasoning=reasoning_of(request, notes),
        format=format_of(response_format),
        user=string(request, "user") or string(request, "safety_identifier"),
        stream=bool(flag(request, "stream")),
        include_usage=bool(flag(stream_options, "include_usage")),
        cache=cache_of(request),
        options=options.read(request),
        rest={
            key: value
            for key, value in request.items()
            if not (key in known or value is None or (key, value) == ("n", 1) or web_search.is_plugin(key, value))
        },
    )


def _turns(messages: list[Object], notes: list[str]) -> list[Turn]:
    turns: list[Turn] = []
    results: list[ToolResult] = []  # of consecutive tool messages
    legacy: dict[str, list[str]] = {}  # name → generated ids of `function_call`s, which have no id
    kinds: dict[str, Literal["function", "custom"]] = {}
    calls = 0
    for message in messages:
        note_unknown(message, _MESSAGE, "a message", notes)
        role, name = message.get("role"), string(message, "name")
        if results and role not in ("tool", "function"):
            turns.append(Turn("tool", tuple(results)))
            results = []
        content = _parts(message.get("content"))
        match role:
            case "system" | "developer" | "user":
                turns.append(Turn(role, tuple(content), name))
            case "assistant":
                uses = [_call(call) for call in objects(message.get("tool_calls"), "tool_calls")]
                if called := an_object(message.get("function_call"), "function_call"):
                    uses.append(_function_use(called, f"call_{calls + len(uses)}"))
                    legacy.setdefault(uses[-1].name, []).append(uses[-1].id)
                kinds |= {use.id: use.kind for use in uses}
                calls += len(uses)
                refusal = string(message, "refusal")
                content += [RefusalPart(refusal)] if refusal else []
                turns.append(Turn("assistant", (*_thoughts(message), *content, *uses), name))
            case "tool" | "function":
                waiting = legacy.get(name)
                id_ = string(message, "tool_call_id") if role == "tool" else waiting.pop(0) if waiting else name
                results.append(ToolResult(id_, tuple(_result(content, notes)), kind=kinds.get(id_, "function")))
            case _:
                raise RequestError(f"a message has the role {role!r}: write system, developer, user, assistant or tool")
    return [*turns, Turn("tool", tuple(results))] if results else turns


def _result(parts: list[Part], notes: list[str]) -> list[TextPart | Image | Document]:
    for part in parts:
        if not isinstance(part, TextPart | Image | Document):
            add_note(notes, "A part of a tool's result that is neither text nor image nor file is left out")
    return [part for part in parts if isinstance(part, TextPart | Image | Document)]


def _parts(content: Any) -> list[Part]:
    if content is None or isinstance(content, str):
        return [TextPart(content)] if content else []
    return [part for entry in objects(content, "content") if (part := _part(entry))]


def _part(entry: Object) -> Part | None:
    match entry.get("type"):
        case "text":
            text = string(entry, "text")
            return TextPart(text, cache_of(entry)) if text else None
        case "refusal":
            return RefusalPart(string(entry, "refusal"))
        case "image_url":
            inner = entry.get("image_url")
            fields = {"url": inner} if isinstance(inner, str) else an_object(inner, "image_url")
            url, detail = string(fields, "url"), string(fields, "detail")
            media_type, data = data_url(url) or ("", "")
            if data:
                return Image(data=data, media_type=media_type, detail=detail, cache=cache_of(entry))
            return Image(url=url, detail=detail, cache=cache_of(entry))
        case "file":
            return _file(an_object(entry.get("file"), "file"), cache_of(entry))
    return Other(API, entry)


def _file(file: Object, cache: Cache) -> Document:
    data, title = string(file, "file_data"), string(file, "filename")
    media_type, encoded = data_url(data) or ("", "")
    if media_type.startswith("text/"):
        try:
            return Document(text=base64.b64decode(encoded).decode(), title=title, cache=cache)
        except (binascii.Error, ValueError):
            pass
    if encoded:
        return Document(data=encoded, media_type=media_type, title=title, cache=cache)
    return Document(url=data, file_id=string(file, "file_id"), title=title, cache=cache)


def _thoughts(message: Object) -> list[ThinkingPart]:
    """The reasoning of an earlier turn; `reasoning_details` may contain envelopes from toolmend's writer."""
    text = string(message, "reasoning_content") or string(message, "reasoning")
    details = objects(message.get("reasoning_details"), "reasoning_details")
    entries = joined_details(details)  # some clients send back the deltas of the stream
    if any(map(_sealed, entries)):
        return [_sealed(entry) or ThinkingPart(string(entry, "text")) for entry in entries]
    if details:
        return [ThinkingPart(text or text_of(details), ReasoningState("details", json_text.dumps(details)))]
    return [ThinkingPart(text)] if text else []


def _sealed(entry: Object) -> ThinkingPart | None:
    for key in ("signature", "data"):
        if isinstance(value := entry.get(key), str) and (seal := opened(value)):
            return ThinkingPart(string(entry, "text"), seal)
    return None


def _call(call: Object) -> ToolUse:
    if call.get("type") == "custom":
        custom = an_object(call.get("custom"), "custom")
        return ToolUse(string(call, "id"), tool_name(custom), string(custom, "input"), "custom")
    return _function_use(an_object(call.get("function"), "function"), string(call, "id"))


def _function_use(function: Object, id_: str) -> ToolUse:
    arguments = function.get("arguments")
    text = json_text.dumps(arguments) if isinstance(arguments, Mapping) else string(function, "arguments")
    return ToolUse(id_, tool_name(function), text)
