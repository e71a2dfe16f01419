"""Writes the content of an Anthropic Messages message: parts → blocks, in the same order.

    [{"type": "thinking", "thinking": "…", "signature": "…"}, {"type": "text", "text": "Hi"},
     {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.md"}}]

Parts that Messages has no block for are left out with a note.
"""

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from ...apis.shared.arguments import Arguments
from ...core import json_text, schema_values
from ...core.json_access import objects
from ...core.reasoning_state import ReasoningState
from .. import RequestError
from ..conversation import Cache, Document, Image, Other, Part, RefusalPart, TextPart, ThinkingPart, ToolResult, ToolUse, Turn
from ..fields import add_note
from ..reasoning_details import joined_details
from ..request_limits import Quirks
from ..server_tools import as_text
from .read import API

INVALID = "INVALID_JSON"
"""The member for invalid arguments, from Anthropic's documentation of fine-grained tool streaming."""


_OTHER_NAMES = {"image/jpg": "image/jpeg"}
"""Media types that OpenAI accepts and Anthropic refuses → accepted ones."""


_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def short(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """A single plain text block as a string; otherwise the blocks."""
    return str(blocks[0]["text"]) if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


def blocks_of(turn: Turn, quirks: Quirks, notes: list[str]) -> list[dict[str, Any]]:
    """The blocks of a turn."""
    return [block for part in turn.parts for block in _part(part, quirks, notes)]


def _part(part: Part, quirks: Quirks, notes: list[str]) -> Iterable[dict[str, Any]]:
    match part:
        case TextPart():
            return [_cached({"type": "text", "text": part.text}, part.cache, quirks)] if part.text else []
        case RefusalPart():
            return [{"type": "text", "text": part.text}] if part.text else []
        case Image():
            return [_cached(block, part.cache, quirks) for block in _image(part, notes)]
        case Document():
            return [_cached(block, part.cache, quirks) for block in _document(part, notes)]
        case ThinkingPart():
            return _thought(part, quirks, notes)
        case ToolUse():
            block = {"type": "tool_use", "id": part.id, "name": part.name, "input": input_of(part, notes)}
            return [_cached(block, part.cache, quirks)]
        case ToolResult():
            return [_cached(_result(part, quirks, notes), part.cache, quirks)]
        case Other():
            return _other(part, notes)
    assert_never(part)


def _cached(block: dict[str, Any], cache: Cache, quirks: Quirks) -> dict[str, Any]:
    return {**block, "cache_control": dict(cache)} if cache and quirks.cache_control else block


def _other(part: Other, notes: list[str]) -> list[dict[str, Any]]:
    if part.api == API:
        return [dict(part.value)]
    if text := as_text(part.value):
        return [{"type": "text", "text": text}]
    kind = part.value.get("type")
    if kind == "input_audio":
        raise RequestError("`input_audio` cannot be said in Messages: send the text of it")
    add_note(notes, f"A part of the type {kind} is left out: Messages has no such block")
    return []


def _image(image: Image, notes: list[str]) -> list[dict[str, Any]]:
    if image.detail not in ("", "auto"):
        add_note(notes, "`detail` of an image is left out: Messages has no such field")
    if image.data:
        kind = _OTHER_NAMES.get(image.media_type, image.media_type)
        if kind not in _IMAGES:
            note = f"An image of the type {kind} is left out: Messages takes JPEG, PNG, GIF and WebP"
            add_note(notes, note)
            return [{"type": "text", "text": f"[{note}]"}]
        source = {"type": "base64", "media_type": kind, "data": image.data}
    elif image.url:
        source = {"type": "url", "url": image.url}
    else:
        why = "another provider has no such file" if image.file_id else "it is empty"
        add_note(notes, f"An image{" that is a file of the provider's" * bool(image.file_id)} is left out: {why}")
        return []
    return [{"type": "image", "source": source}]


def _document(document: Document, notes: list[str]) -> list[dict[str, Any]]:
    if document.data and document.media_type == "application/pdf":
        source = {"type": "base64", "media_type": document.media_type, "data": document.data}
    elif document.text:
        source = {"type": "text", "media_type": "text/plain", "data": document.text}
    elif document.url:
        source = {"type": "url", "url": document.url}
    else:
        what = f"of the type {document.media_type}" if document.data else "that is a file of the provider's"
        add_note(notes, f"A document {what} is left out: Messages takes PDF and text")
        return []
    return [{"type": "document", "source": source, **({"title": document.title} if document.title else {})}]


def _thought(thinking: ThinkingPart, quirks: Quirks, notes: list[str]) -> list[dict[str, Any]]:
    match thinking.seal:
        case ReasoningState("signature", data):
            return [{"type": "thinking", "thinking": thinking.text, "signature": data}]
        case ReasoningState("redacted", data):
            return [{"type": "redacted_thinking", "data": data}]
        case ReasoningState("details", data):
            blocks = [block for entry in joined_details(_details(data)) for block in _detail(entry)]
            if blocks:
                return blocks
    if quirks.unsigned and thinking.text:
        return [{"type": "thinking", "thinking": thinking.text, "signature": ""}]
    add_note(notes, "Reasoning of earlier turns is left out: this upstream takes only what it has signed itself")
    return []


def _details(data: str) -> list[Mapping[str, Any]]:
    try:
        entries = json_text.loads(data.encode(errors="surrogatepass"))
    except ValueError:
        return []
    return objects(entries)


def _detail(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The blocks for an entry of OpenRouter's `reasoning_details` with Anthropic's signature; none for another."""
    if not str(entry.get("format")).startswith("anthropic"):
        return []
    match entry:
        case {"type": "reasoning.text", "text": str(text), "signature": str(signature)} if signature:
            return [{"type": "thinking", "thinking": text, "signature": signature}]
        case {"type": "reasoning.encrypted", "data": str(data)}:
            return [{"type": "redacted_thinking", "data": data}]
    return []


def input_of(call: ToolUse, notes: list[str]) -> dict[str, Any]:
    """The arguments of an earlier call as an object: mended if possible, otherwise their text as the member INVALID.

    The result of such a call is usually an error, and the text shows the model the cause.
    """
    text = call.arguments.strip()
    for repair in (str, _mended, _of_python):
        try:
            value = json_text.loads(repair(text).encode())
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    add_note(notes, f"The arguments of the call {call.id} of {call.name} are no JSON object, and are sent as text in one")
    return {INVALID: call.arguments}


def _mended(text: str) -> str:
    """JSON with its missing end."""
    arguments = Arguments()
    return (arguments.feed(text)[0] if text else "") + arguments.end(broken=False)


def _of_python(text: str) -> str:
    return schema_values.to_json(text, {"object"})


def _result(result: ToolResult, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    blocks = [block for part in result.parts for block in _part(part, quirks, notes)]
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.id, "content": short(blocks) if blocks else ""}
    if result.is_error:
        block["is_error"] = True
    return block
