"""Writes a Conversation as a request of OpenAI Responses. read.py shows the format.

1. Expects turns in order (turn_order.py) and legal names and ids.
2. What Responses cannot express is left out with a note.
3. The provider stores nothing: `store` is false, and reasoning is requested in encrypted form.
"""

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from ...apis.shared.logprobs import INCLUDED
from ...core import json_text
from ...core.fastclass import replace
from ...core.reasoning_state import ReasoningState
from .. import compaction, options, web_search
from ..chat.options import FORMAT_NAME, sampling, strict_of, user_of
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
from ..efforts import effort_of
from ..fields import add_note
from ..request_limits import Quirks
from ..server_tools import as_text
from ..stand_ins import ERROR
from .read import ENCRYPTED
from .tools import API, write_tools

INSTRUCTIONS = "You are a helpful assistant."
"""Instructions for an upstream that requires some, if the client sends none."""

MIN_TOKENS = 16
"""OpenAI refuses a smaller `max_output_tokens`; Claude Code asks for 1 to test its key."""


def write(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """Returns the request."""
    turns = conversation.turns
    if conversation.api != API and any(_is_foreign_file(part) for turn in turns for part in turn.parts):
        turns = tuple(replace(turn, parts=tuple(_without_foreign_files(turn.parts, notes))) for turn in turns)
    if conversation.api == "messages":
        turns = tuple(map(web_search.as_items, turns))
    instructions, turns = _leading(turns)
    request: dict[str, Any] = {"model": conversation.model}
    if instructions:
        request["instructions"] = instructions
    request["input"] = [item for turn in turns for item in (_with_phases if quirks.phases else list)(_items(turn, notes))]
    request |= write_tools(conversation, quirks, notes)
    thinking = _reasoning(conversation.reasoning, quirks, notes)
    effort = thinking.get("reasoning", {}).get("effort", quirks.default_effort)
    request |= _limits(conversation, quirks, notes, effort)
    request |= thinking
    if conversation.api == "messages" and quirks.efforts and web_search.is_offered(conversation, quirks):
        # models without reasoning refuse the field
        request["include"] = [*request.get("include", ()), web_search.SOURCES]
    shared = options.written(conversation, quirks, notes, effort=effort, derived=True)
    if (top := shared.pop("logprobs", None)) is not None:
        request["include"] = [*request.get("include", ()), INCLUDED]
        shared |= {"top_logprobs": top} if top else {}
    verbosity = {"verbosity": shared.pop("verbosity")} if "verbosity" in shared else {}
    if text := {**({"format": _format(conversation.format, notes)} if conversation.format else {}), **verbosity}:
        request["text"] = text
    request |= user_of(conversation, quirks, notes)
    request |= shared
    request["store"] = False
    if conversation.stream or quirks.body == "codex":
        request["stream"] = True
    if quirks.body == "codex":  # "Instructions are required", "System messages are not allowed" (codex#3376, codex#26173)
        request.setdefault("instructions", INSTRUCTIONS)
    if quirks.developer == "only":
        for item in request["input"]:
            if item.get("role") == "system":
                item["role"] = "developer"
    if conversation.cache or any(getattr(part, "cache", None) for turn in conversation.turns for part in turn.parts):
        add_note(notes, "`cache_control` is left out: Responses caches by itself")
    threshold = compaction.threshold_of(conversation) if quirks.compact_threshold and conversation.api != API else None
    if threshold:
        request["context_management"] = [{"type": "compaction", "compact_threshold": threshold}]
    for key in conversation.rest if conversation.api != API else ():
        if threshold and key == "context_management":
            continue
        add_note(notes, options.left_out(key, "Responses"))
    return request


def _is_foreign_file(part: Part) -> bool:
    """Whether a part is or contains a file that another provider stores."""
    if isinstance(part, ToolResult):
        return any(map(_is_foreign_file, part.parts))
    return isinstance(part, Image | Document) and bool(part.file_id)


def _without_foreign_files[P: Part](parts: Iterable[P], notes: list[str]) -> Iterable[P]:
    """The parts without files that another provider stores."""
    for part in parts:
        if isinstance(part, ToolResult):
            yield replace(part, parts=tuple(_without_foreign_files(part.parts, notes)))
        elif _is_foreign_file(part):
            add_note(
                notes, "An image or document that is a file of the provider's is left out: another provider has no such file"
            )
        else:
            yield part


def _leading(turns: tuple[Turn, ...]) -> tuple[str, tuple[Turn, ...]]:
    """The text of the leading system turns, and the remaining turns: OpenAI refuses an empty input (pydantic-ai#3369)."""
    texts: list[str] = []
    for at, turn in enumerate(turns):
        if turn is turns[-1] or turn.role != "system" or not all(isinstance(part, TextPart) for part in turn.parts):
            return "\n\n".join(texts), turns[at:]
        texts += [part.text for part in turn.parts if isinstance(part, TextPart)]
    return "", ()


def _items(turn: Turn, notes: list[str]) -> list[dict[str, Any]]:
    if turn.name:
        add_note(notes, "`name` of a message is left out: Responses has no such field")
    items: list[dict[str, Any]] = []
    for part in turn.parts:
        for entry in _part(part, turn.role, notes):
            if "type" in entry and not _is_content(entry):
                items.append(entry)
            elif items and items[-1].get("role") == turn.role:
                items[-1]["content"].append(entry)
            else:
                items.append({"type": "message", "role": turn.role, "content": [entry]})
    while items and items[-1]["type"] == "reasoning":
        add_note(notes, "Reasoning at the end of a turn is left out: Responses wants what follows from it")
        items.pop()
    if not turn.parts and turn.role == "user":
        items.append({"type": "message", "role": "user", "content": []})
    return items


def _with_phases(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of a turn with `phase` in each assistant message: a message at the end is the final answer.

    Without it, these models stop early (pi#1819, pydantic-ai#5229).
    """
    last = items[-1] if items else {}
    for item in items:
        if item.get("role") == "assistant" and "phase" not in item:
            item["phase"] = "final_answer" if item is last else "commentary"
    return items


def _is_content(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is content of a message, not an item."""
    return str(entry["type"]).startswith(("input_", "output_text", "refusal"))


def _part(part: Part, role: str, notes: list[str]) -> Iterable[dict[str, Any]]:
    """The items or content entries for a part."""
    match part:
        case TextPart():
            return [{"type": "output_text" if role == "assistant" else "input_text", "text": part.text}]
        case RefusalPart():
            return [{"type": "refusal", "refusal": part.text}]
        case Image():
            return [_image(part)]
        case Document():
            return [_document(part)]
        case ThinkingPart():
            return _thought(part, notes)
        case ToolUse(kind="custom"):
            return [{"type": "custom_tool_call", "call_id": part.id, "name": part.name, "input": part.arguments}]
        case ToolUse():
            return [{"type": "function_call", "call_id": part.id, "name": part.name, "arguments": part.arguments or "{}"}]
        case ToolResult():
            kind = "custom_tool_call_output" if part.kind == "custom" else "function_call_output"
            return [{"type": kind, "call_id": part.id, "output": _output(part)}]
        case Other():
            if part.api == API:
                return [dict(part.value)]
            if text := as_text(part.value):
                return _part(TextPart(text), role, notes)
            add_note(notes, f"A part of the type {part.value.get('type')} is left out: Responses has no such part")
            return []
    assert_never(part)


def _image(image: Image) -> dict[str, Any]:
    members = {
        "type": "input_image",
        "image_url": f"data:{image.media_type};base64,{image.data}" if image.data else image.url,
        "file_id": image.file_id,
        "detail": image.detail or "auto",  # required in the SDK's types, and by servers that use them
    }
    return {key: value for key, value in members.items() if value}


def _document(document: Document) -> dict[str, Any]:
    """The content entry for a document; text becomes `input_text`, as not all servers read text files."""
    if document.text:
        return {"type": "input_text", "text": "\n\n".join(filter(None, (document.title, document.text)))}
    data = f"data:{document.media_type};base64,{document.data}" if document.data else ""
    members = {
        "type": "input_file",
        "file_data": data,
        "file_url": document.url,
        "file_id": document.file_id,
        # OpenAI requires a name for data, and infers the type from it
        "filename": document.title or (f"document.{document.media_type.rpartition('/')[2]}" if data else ""),
    }
    return {key: value for key, value in members.items() if value}


def _thought(thinking: ThinkingPart, notes: list[str]) -> list[dict[str, Any]]:
    match _opened(thinking.seal):
        case {"encrypted_content": str(encrypted), **more}:
            summary = [{"type": "summary_text", "text": thinking.text}] if thinking.text else []
            id_ = {"id": more["id"]} if more.get("id") else {}
            return [{"type": "reasoning", **id_, "summary": summary, "encrypted_content": encrypted}]
    add_note(notes, "Reasoning of earlier turns is left out: Responses takes only what it has encrypted itself")
    return []


def _opened(seal: ReasoningState | None) -> Any:
    try:
        return json_text.loads(seal.data.encode(errors="surrogatepass")) if seal and seal.kind == "encrypted" else None
    except json_text.NotJSON:
        return None


def _output(result: ToolResult) -> str | list[dict[str, Any]]:
    """The output of a call: a string if it is only text. An error becomes a prefix of the text: there is no field for it."""
    parts: list[TextPart | Image | Document] = list(result.parts)
    if result.is_error:
        first = parts.pop(0) if parts and isinstance(parts[0], TextPart) else TextPart("")
        assert isinstance(first, TextPart)
        parts.insert(0, TextPart(f"{ERROR}{first.text or 'the tool failed'}"))
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    return [content for part in parts for content in _part(part, "tool", [])]


def _limits(conversation: Conversation, quirks: Quirks, notes: list[str], effort: str) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if (requested := conversation.max_tokens) is not None:
        limit = max(MIN_TOKENS, min(requested, quirks.max_tokens or requested))
        if limit != requested:
            why = "this upstream refuses more, and less than 16"
            add_note(notes, f"`max_output_tokens` is {limit} instead of {requested}: {why}")
        members["max_output_tokens"] = limit
    members |= sampling(conversation, quirks, notes, effort=effort)
    if conversation.stop:
        add_note(notes, "The stop sequences are looked for in the answer: Responses has none")
    return members


def _reasoning(reasoning: Reasoning | None, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    if not quirks.efforts:  # a model without reasoning refuses all of these members
        if reasoning is not None and (reasoning.effort or reasoning.budget):
            add_note(notes, "How much to think is left out: this model does not think")
        return {}
    if reasoning is None:
        return {"include": [ENCRYPTED]} if quirks.thinks else {}
    effort = effort_of(reasoning, quirks, notes)
    summary = reasoning.summary if quirks.summary and effort != "none" else ""
    members = {key: value for key, value in (("effort", effort), ("summary", summary)) if value}
    return ({"reasoning": members} if members else {}) | ({} if effort == "none" else {"include": [ENCRYPTED]})


def _format(format_: Format, notes: list[str]) -> dict[str, Any]:
    if format_.kind == "json_object":
        return {"type": "json_object"}
    schema = dict(format_.schema)
    members: dict[str, Any] = {"type": "json_schema", "name": format_.name or FORMAT_NAME, "schema": schema}
    if format_.description:
        members["description"] = format_.description
    return {**members, "strict": strict_of(format_, schema, notes)}
