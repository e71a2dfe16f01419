"""A request, folded for display: its turns, its tools, and its other fields.

    {"turns": [{"role": "user", "name": "", "parts": [{"kind": "text", "text": "Weather in Oslo?"}]}],
     "tools": [{"name": "weather", "kind": "function", "description": "…", "schema": {…}}],
     "fields": {"model": "kimi-k2", "stream": true}, "notes": []}

A part with images has their keys (images.py): {"kind": "file", "text": "[image, image/png, 512 bytes]", "images": ["9f1c…"]}.
Texts that are too long to read are cut, and end with the number of missing characters.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ...requests import RequestError, native_read
from ...requests.conversation import (
    Conversation,
    Document,
    Image,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    Tool,
    ToolResult,
    ToolUse,
    Turn,
)
from ...requests.translate import APIS
from .images import image_key

MAX_TEXT = 100_000
"""Characters shown of one part: a file of 2,000 lines."""

MAX_FIELD = 4_000
"""Characters shown of the JSON of a field or schema: two screens."""

CONVERSATION_FIELDS = {
    "chat": ("messages", "tools", "functions"),
    "messages": ("system", "messages", "tools"),
    "responses": ("instructions", "input", "tools"),
    "gemini": ("systemInstruction", "system_instruction", "contents", "tools", "request"),
    "ollama": ("system", "prompt", "messages", "tools"),
}
"""The fields of a request that are shown as turns and tools."""


READERS = {api: read for api, (read, _) in APIS.items()} | {"gemini": native_read.gemini, "ollama": native_read.ollama}


def folded(request: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Returns a request for display; of an unknown API only its fields."""
    notes: list[str] = []
    left_out: list[str] = []  # only meaningful for a translation
    shown_fields = CONVERSATION_FIELDS.get(api, ())
    try:
        read = READERS[api](request, left_out) if api in READERS else Conversation()
    except (RequestError, RecursionError) as error:  # its fields show what is wrong
        why = str(error) if isinstance(error, RequestError) else "it is nested too deeply"
        read, notes, shown_fields = Conversation(), [f"The request cannot be read: {why}."], ()
    names = {part.id: part.name for turn in read.turns for part in turn.parts if isinstance(part, ToolUse)}
    fields = {key: value for key, value in request.items() if key not in shown_fields}
    if api == "gemini" and "request" in shown_fields and isinstance(inner := request.get("request"), dict):
        fields |= {key: value for key, value in inner.items() if key not in shown_fields}
    return {
        "turns": [_turn(turn, names) for turn in read.turns],
        "tools": [_tool(tool) for tool in read.tools],
        "fields": {key: _json(value, MAX_FIELD) for key, value in fields.items()},
        "notes": notes,
    }


def cut(text: str, limit: int = MAX_TEXT) -> str:
    """Returns the beginning of a text, and how much is missing."""
    return text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit:,} characters more"


def _turn(turn: Turn, names: Mapping[str, str]) -> dict[str, Any]:
    return {"role": turn.role, "name": turn.name, "parts": [_part(part, names) for part in turn.parts]}


def _part(part: Part, names: Mapping[str, str]) -> dict[str, Any]:
    match part:
        case TextPart() | RefusalPart():
            return {"kind": "refusal" if isinstance(part, RefusalPart) else "text", "text": cut(part.text)}
        case ThinkingPart():
            seal = " (sealed)" * (part.seal is not None and not part.text)
            return {"kind": "thinking", "text": cut(part.text) + seal}
        case ToolUse():
            return {"kind": "call", "id": part.id, "name": part.name, "text": cut(part.arguments)}
        case ToolResult():
            texts = [str(_part(piece, names)["text"]) for piece in part.parts]
            name = names.get(part.id, "")
            result = {"kind": "result", "id": part.id, "name": name, "error": part.is_error, "text": cut("\n".join(texts))}
            return result | _images(part.parts)
        case Image() | Document():
            return {"kind": "file", "text": _file(part)} | _images((part,))
        case _:
            return {"kind": "other", "text": _json(part.value, MAX_TEXT)}


def _images(parts: Iterable[Part]) -> dict[str, list[str]]:
    keys = [key for part in parts if isinstance(part, Image) and (key := image_key(part.data))]
    return {"images": keys} if keys else {}


def _file(part: Image | Document) -> str:
    kind = "image" if isinstance(part, Image) else "document"
    if isinstance(part, Document) and part.text:
        return cut(f"[{kind} {part.title}]\n{part.text}")
    size = f"{len(part.data) * 3 // 4:,} bytes" if part.data else ""
    place = cut(part.url, 200) or part.file_id
    return "[" + ", ".join(filter(None, (kind, getattr(part, "title", ""), part.media_type, size, place))) + "]"


def _tool(tool: Any) -> dict[str, Any]:
    if isinstance(tool, Tool):
        schema = tool.schema if tool.kind == "function" else tool.format
        shown = _json(schema, MAX_FIELD) if schema is not None else ""
        return {"name": tool.name, "kind": tool.kind, "description": cut(tool.description or "", MAX_FIELD), "schema": shown}
    name = str(tool.value.get("name") or tool.value.get("type") or "?")
    return {"name": name, "kind": "other", "description": "", "schema": _json(tool.value, MAX_FIELD)}


def _json(value: Any, limit: int) -> str:
    try:
        return cut(json.dumps(value, ensure_ascii=False, indent=2), limit)
    except RecursionError:
        return "…"
