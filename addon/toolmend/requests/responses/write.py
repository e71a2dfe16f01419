"""A conversation → a request of OpenAI Responses. See responses_read.py for what one looks like.

Rule of this file: the turns are in order (turn_order.py), the names and ids legal. What Responses cannot say is told in the
notes. Nothing is left with the provider: `store` is false, and reasoning comes back sealed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from ...core import json_text
from ...core.fastclass import replace
from ...core.reasoning_state import ReasoningState
from .. import options, web_search
from ..chat.content import ERROR
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
from .read import ENCRYPTED
from .tools import API, write_tools

INSTRUCTIONS = "You are a helpful assistant."
"""Where an upstream demands some, and the client has none."""

LEAST_TOKENS = 16
"""OpenAI refuses a smaller `max_output_tokens`; Claude Code asks for 1 to see whether its key is good."""


def write(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """The request."""
    given = conversation.turns
    if conversation.api != API and any(_is_elsewhere(part) for turn in given for part in turn.parts):
        given = tuple(replace(turn, parts=tuple(_at_hand(turn.parts, notes))) for turn in given)
    if conversation.api == "messages":
        given = tuple(map(web_search.as_items, given))
    instructions, turns = _leading(given)
    request: dict[str, Any] = {"model": conversation.model}
    if instructions:
        request["instructions"] = instructions
    request["input"] = [item for turn in turns for item in (_in_phases if quirks.phases else list)(_items(turn, notes))]
    request |= write_tools(conversation, quirks, notes)
    thinking = _reasoning(conversation.reasoning, quirks, notes)
    effort = thinking.get("reasoning", {}).get("effort", quirks.default_effort)
    request |= _limits(conversation, quirks, notes, effort)
    request |= thinking
    if conversation.api == "messages" and quirks.efforts and web_search.is_offered(conversation, quirks):
        # models that do not think refuse the field
        request["include"] = [*request.get("include", ()), web_search.SOURCES]
    shared = options.written(conversation, quirks, notes, derived=True)
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
    for key in conversation.rest if conversation.api != API else ():
        add_note(notes, options.left_out(key, "Responses"))
    return request


def _is_elsewhere(part: Part) -> bool:
    """Whether it is, or holds, a file of another provider's."""
    if isinstance(part, ToolResult):
        return any(map(_is_elsewhere, part.parts))
    return isinstance(part, Image | Document) and bool(part.file_id)


def _at_hand[P: Part](parts: Iterable[P], notes: list[str]) -> Iterable[P]:
    """The parts without those that are files of another provider's."""
    for part in parts:
        if isinstance(part, ToolResult):
            yield replace(part, parts=tuple(_at_hand(part.parts, notes)))
        elif _is_elsewhere(part):
            add_note(
                notes, "An image or document that is a file of the provider's is left out: another provider has no such file"
            )
        else:
            yield part


def _leading(turns: tuple[Turn, ...]) -> tuple[str, tuple[Turn, ...]]:
    """What the system says before anybody else, as one text, and the rest: without any, OpenAI refuses it (pydantic-ai#3369)."""
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
        for said in _part(part, turn.role, notes):
            if "type" in said and not _is_content(said):
                items.append(said)
            elif items and items[-1].get("role") == turn.role:
                items[-1]["content"].append(said)
            else:
                items.append({"type": "message", "role": turn.role, "content": [said]})
    while items and items[-1]["type"] == "reasoning":
        add_note(notes, "Reasoning at the end of a turn is left out: Responses wants what follows from it")
        items.pop()
    if not turn.parts and turn.role == "user":
        items.append({"type": "message", "role": "user", "content": []})
    return items


def _in_phases(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of a turn, with what each message of the assistant is for: the last is the answer, if nothing follows it.

    These models stop early where it is not told (pi#1819, pydantic-ai#5229).
    """
    last = items[-1] if items else {}
    for item in items:
        if item.get("role") == "assistant" and "phase" not in item:
            item["phase"] = "final_answer" if item is last else "commentary"
    return items


def _is_content(said: Mapping[str, Any]) -> bool:
    """Whether it stands in a message, and is no item of its own."""
    return str(said["type"]).startswith(("input_", "output_text", "refusal"))


def _part(part: Part, role: str, notes: list[str]) -> Iterable[dict[str, Any]]:
    """The items, or the content of a message, that a part is."""
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
    said = {
        "type": "input_image",
        "image_url": f"data:{image.media_type};base64,{image.data}" if image.data else image.url,
        "file_id": image.file_id,
        "detail": image.detail or "auto",  # the SDK's types, and servers made of them, demand it
    }
    return {key: value for key, value in said.items() if value}


def _document(document: Document) -> dict[str, Any]:
    """A file; text stands in the message, as not all that speak Responses read files of text."""
    if document.text:
        return {"type": "input_text", "text": "\n\n".join(filter(None, (document.title, document.text)))}
    data = f"data:{document.media_type};base64,{document.data}" if document.data else ""
    said = {
        "type": "input_file",
        "file_data": data,
        "file_url": document.url,
        "file_id": document.file_id,
        # OpenAI demands a name for data, and tells by it what they are
        "filename": document.title or (f"document.{document.media_type.rpartition('/')[2]}" if data else ""),
    }
    return {key: value for key, value in said.items() if value}


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
    """A text alone is a string. An error is told in the text: there is no field for it."""
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
    said: dict[str, Any] = {}
    if (most := conversation.max_tokens) is not None:
        taken = max(LEAST_TOKENS, min(most, quirks.max_tokens or most))
        if taken != most:
            add_note(notes, f"`max_output_tokens` is {taken} instead of {most}: this upstream refuses more, and less than 16")
        said["max_output_tokens"] = taken
    said |= sampling(conversation, quirks, notes, effort=effort)
    if conversation.stop:
        add_note(notes, "The stop sequences are looked for in the answer: Responses has none")
    return said


def _reasoning(reasoning: Reasoning | None, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    if not quirks.efforts:  # of a model that does not think, each of these would be refused
        if reasoning is not None and (reasoning.effort or reasoning.budget):
            add_note(notes, "How much to think is left out: this model does not think")
        return {}
    if reasoning is None:
        return {"include": [ENCRYPTED]} if quirks.thinks else {}
    effort = effort_of(reasoning, quirks, notes)
    summary = reasoning.summary if quirks.summary and effort != "none" else ""
    said = {key: value for key, value in (("effort", effort), ("summary", summary)) if value}
    return ({"reasoning": said} if said else {}) | ({} if effort == "none" else {"include": [ENCRYPTED]})


def _format(form: Format, notes: list[str]) -> dict[str, Any]:
    if form.kind == "json_object":
        return {"type": "json_object"}
    schema = dict(form.schema)
    said: dict[str, Any] = {"type": "json_schema", "name": form.name or FORMAT_NAME, "schema": schema}
    if form.description:
        said["description"] = form.description
    return {**said, "strict": strict_of(form, schema, notes)}
