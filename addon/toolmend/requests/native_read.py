"""Reads Gemini and Ollama requests into a Conversation.

    {"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}],            {"messages": [{"role": "user", "content": "…"}],
     "systemInstruction": {"parts": [ … ]}, "tools": [ … ]}                       "tools": [ … ]}

Views and recordings use it; toolmend does not translate these requests.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core import json_text
from . import RequestError
from .conversation import Conversation, Image, Other, Part, TextPart, ThinkingPart, Tool, ToolResult, ToolUse, Turn


def gemini(request: Mapping[str, Any], _: list[str]) -> Conversation:
    """Reads a Gemini request, or the one inside Code Assist's `request` member. Raises RequestError for wrong types."""
    inner = request.get("request")
    fields = inner if isinstance(inner, dict) else request
    system = fields.get("systemInstruction") or fields.get("system_instruction")
    turns = [Turn("system", tuple(_gemini_parts(system)))] if isinstance(system, dict) else []
    for content in _objects(fields.get("contents"), "contents"):
        parts = list(_gemini_parts(content))
        results = tuple(part for part in parts if isinstance(part, ToolResult))
        rest = tuple(part for part in parts if not isinstance(part, ToolResult))
        turns += [Turn("tool", results)] if results else []
        turns += [Turn("assistant" if content.get("role") == "model" else "user", rest)] if rest else []
    return Conversation(api="gemini", turns=tuple(turns), tools=tuple(_gemini_tools(fields.get("tools"))))


def _gemini_parts(content: Mapping[str, Any]) -> Iterator[Part]:
    for part in _objects(content.get("parts"), "parts"):
        match part:
            case {"text": str(text)}:
                yield ThinkingPart(text) if part.get("thought") is True else TextPart(text)
            case {"functionCall": dict(call)}:
                name = str(call.get("name") or "")
                yield ToolUse(str(call.get("id") or name), name, json_text.dumps(call.get("args") or {}))
            case {"functionResponse": dict(result)}:
                text = json_text.dumps(result.get("response"))
                yield ToolResult(str(result.get("id") or result.get("name") or ""), (TextPart(text),))
            case {"inlineData": dict(data)}:
                yield Image(data=str(data.get("data") or ""), media_type=str(data.get("mimeType") or ""))
            case _:
                yield Other("gemini", part)


def _gemini_tools(tools: Any) -> Iterator[Tool | Other]:
    for tool in _objects(tools, "tools"):
        declared = tool.get("functionDeclarations") or tool.get("function_declarations")
        if not isinstance(declared, list):
            yield Other("gemini", {"type": next(iter(tool), "?"), **tool})
            continue
        for entry in _objects(declared, "functionDeclarations"):
            yield _tool(entry, entry.get("parametersJsonSchema") or entry.get("parameters"))


def ollama(request: Mapping[str, Any], _: list[str]) -> Conversation:
    """Reads a request for `/api/chat`, or the prompt of `/api/generate`. Raises RequestError for wrong types."""
    turns = [Turn("system", (TextPart(text),)) for text in (request.get("system"),) if isinstance(text, str) and text]
    turns += [Turn("user", (TextPart(text),)) for text in (request.get("prompt"),) if isinstance(text, str) and text]
    for message in _objects(request.get("messages"), "messages"):
        parts = tuple(_ollama_parts(message))
        match message.get("role"):
            case "tool":
                texts = tuple(part for part in parts if isinstance(part, TextPart))
                turns.append(Turn("tool", (ToolResult(str(message.get("tool_name") or ""), texts),)))
            case "system" | "assistant" as role:
                turns.append(Turn(role, parts))
            case _:
                turns.append(Turn("user", parts))
    functions = (tool.get("function") for tool in _objects(request.get("tools"), "tools"))
    tools = tuple(_tool(function, function.get("parameters")) for function in functions if isinstance(function, dict))
    return Conversation(api="ollama", turns=tuple(turns), tools=tools)


def _ollama_parts(message: Mapping[str, Any]) -> Iterator[Part]:
    if isinstance(text := message.get("thinking"), str) and text:
        yield ThinkingPart(text)
    if isinstance(text := message.get("content"), str) and text:
        yield TextPart(text)
    images = message.get("images")
    yield from (Image(data=image, media_type="image") for image in images or () if isinstance(image, str))
    for call in _objects(message.get("tool_calls"), "tool_calls"):
        function = call.get("function")
        if isinstance(function, dict):
            name = str(function.get("name") or "")
            yield ToolUse(name, name, json_text.dumps(function.get("arguments")))


def _tool(entry: Mapping[str, Any], schema: Any) -> Tool:
    description = entry.get("description")
    return Tool(
        str(entry.get("name") or "?"),
        description if isinstance(description, str) else None,
        schema if isinstance(schema, dict) else None,
    )


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    """A list of objects; a single object is a list of one."""
    entries = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in entries):
        raise RequestError(f"`{name}` is not a list of objects")
    return entries
