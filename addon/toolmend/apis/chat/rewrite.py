"""Rewrites a chunk, or a whole message, of Chat Completions for the events that replaced its own.

1. What is not understood stays: in the upstream's text only the value of `choices` is rewritten (and missing common members are
   added), and in a choice only the fields that events stand for.
2. A choice of a chunk is dropped only if all of its content was taken.
3. Refusals and seals of reasoning stay where they are.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...core import json_text
from ...core.events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from ..shared.numbers import index_of
from .chunk_form import fits, is_text, joined, speaks_as_assistant, usage_of_types
from .content_parts import parts_of
from .delta_shape import REASONING
from .reasoning_details import text_of, with_text

if TYPE_CHECKING:
    from .decode import ChatDecoder

_COMMON = frozenset({"id", "object", "created", "model", "system_fingerprint", "service_tier", "provider", "choices"})
"""Members that every chunk of a stream has. A chunk with nothing else has no content; one without choices is a sign of life."""

_CHOICE = frozenset({"index", "delta", "finish_reason", "logprobs"})


def rewrite(data: bytes, frame: Frame, key: str, decoder: "ChatDecoder", common: Mapping[str, Any]) -> str:
    """Returns the JSON text of a frame; "" if nothing is left of it.

    Args:
        data: The frame's own data; for a frame without an SSE event, that of another chunk of the stream.
        frame: The frame to write.
        key: "delta" or "message".
        decoder: Which choices were decoded, and how. The other choices stay as they are.
        common: Values for missing common members.
    """
    text = data.decode()
    chunk = json_text.loads(data)
    sources: dict[int, Mapping[str, Any]] = {}
    if frame.sse is not None:
        listed = chunk.get("choices")
        for place, choice in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(choice, dict):
                index = index_of(choice.get("index"), 0 if decoder.lone else place)
                sources[index] = joined(sources[index], choice, key) if index in sources else choice
    by_choice: dict[int, list[Event]] = {index: [] for index in sources}
    for event in frame.events:
        if not isinstance(event, Usage | StreamError | MessageEnd):
            by_choice.setdefault(event.choice, []).append(event)
    rest = {name for name, value in chunk.items() if value and name not in _COMMON}
    if frame.sse is None and rest:
        text = json_text.dumps({name: value for name, value in chunk.items() if name in _COMMON})
    choices = []
    for index, events in by_choice.items():
        source = sources.get(index, {})
        if source and index not in decoder.choices:
            choices.append(source)
            continue
        own = source.get(key)
        own = own if isinstance(own, dict) else {}
        delta = _build(own, events, key, decoder.reasoning_field, legacy=decoder.legacy)
        built: dict[str, Any] = {"index": index, **source} | {"index": index, key: delta}
        if key == "delta" and not any(own.values()) and _is_in_delta(source.get("message"), events):
            del built["message"]  # OpenAI's SDK for JavaScript lets it replace what earlier deltas contained
        built["finish_reason"] = next((e.finish_reason for e in events if isinstance(e, Finish)), None)
        if source.get("logprobs") and own.get("content") != built[key].get("content"):
            built["logprobs"] = None  # they belong to the text that was removed
        if key == "message" or (rest and source) or _stays(built, source):
            choices.append(built)
    silent = not (rest or chunk.get("choices") in (None, []))
    if not choices and (frame.sse is None or silent) and key == "delta":
        return ""
    for name, value in common.items():
        if not fits(name, chunk.get(name), common):
            text = json_text.replace_member(text, name, json_text.dumps(value))
    if frame.sse is not None:
        usage = chunk.get("usage")
        if usage is not None and (right := usage_of_types(usage)) is not usage:
            text = json_text.replace_member(text, "usage", json_text.dumps(right))
        if "error" in chunk and not chunk["error"]:
            text = json_text.without_member(text, "error")
    if not choices and not sources and chunk.get("choices") is not None:
        return text
    return json_text.replace_member(text, "choices", json_text.dumps(choices))


def _is_in_delta(message: Any, events: Iterable[Event]) -> bool:
    """Whether the content of a message in the place of a delta is now in the delta."""
    if not isinstance(message, dict):
        return False
    has_content = any(value for name, value in message.items() if name != "role")
    return not has_content or any(not isinstance(event, Finish) for event in events)


def _stays(choice: Mapping[str, Any], source: Mapping[str, Any]) -> bool:
    """Whether a choice of a chunk has content, or never had any: an empty delta is a sign of life."""
    if _has_content(choice) or any(value for name, value in choice.items() if name not in _CHOICE):
        return True
    return bool(source) and not _has_content(source)


def _has_content(choice: Mapping[str, Any]) -> bool:
    delta = choice.get("delta")
    return bool(choice.get("finish_reason")) or (isinstance(delta, dict) and any(delta.values()))


def _build(
    source: Mapping[str, Any], events: Iterable[Event], key: str, reasoning_field: str, *, legacy: bool
) -> dict[str, Any]:
    """Builds a delta (or message) from the upstream's own and the events that replace its content."""
    delta = dict(source)
    if not speaks_as_assistant(delta):
        del delta["role"]
    text: list[str] = []
    reasoning: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    own = delta.pop("tool_calls", None)
    custom = isinstance(own, list) and any(isinstance(entry, dict) and entry.get("custom") for entry in own)
    if delta.get("function_call") and not (legacy or own):
        del delta["function_call"]  # it became an entry of tool_calls
    for event in events:
        match event:
            case MessageStart():
                delta = {**delta, "role": "assistant"} if "role" in delta else {"role": "assistant", **delta}
            case TextDelta():
                text.append(event.text)
            case ReasoningDelta():
                reasoning.append(event.text)
            case ToolCallStart():
                calls[event.index] = _call(event)
            case ToolCallDelta():
                call = calls.get(event.index) or calls.setdefault(event.index, _continued(event.index, custom=custom))
                inner = call.get("custom") or call["function"]
                inner["input" if "custom" in call else "arguments"] += event.arguments
            case _:
                pass
    if not _is_unchanged(delta.get("content"), "".join(text), "".join(reasoning)):
        _set(delta, "content", "".join(text), null=key == "message")
        _set_reasoning(delta, "".join(reasoning), reasoning_field)
    if calls:
        entries = list(calls.values())
        if key == "message":
            for entry in entries:
                del entry["index"]
        delta["tool_calls"] = entries
    return delta


def _is_unchanged(content: Any, text: str, reasoning: str) -> bool:
    """Whether content in parts that are not all text still has this text: its citations and images stay then."""
    if not isinstance(content, list) or is_text(content):
        return False
    parts = [*parts_of(content, 0)]
    now = ("".join(event.text for event in parts if isinstance(event, kind)) for kind in (TextDelta, ReasoningDelta))
    return tuple(now) == (text, reasoning)


def _set_reasoning(delta: dict[str, Any], text: str, reasoning_field: str) -> None:
    fields = [name for name in REASONING if delta.get(name)]
    details = delta.get("reasoning_details")
    detailed = text_of(details)
    # the details repeat the field's text, or are the only place of it
    if detailed and detailed != text and (not fields or detailed == delta[fields[0]]):
        details = with_text(details, text)
        if details:
            delta["reasoning_details"] = details
        else:
            del delta["reasoning_details"]
    for name in fields or ([reasoning_field] if text and not detailed else []):
        _set(delta, name, text, null=False)


def _set(delta: dict[str, Any], name: str, text: str, *, null: bool) -> None:
    """Puts text in its field. A field that lost its text is removed, or set to null if `null`; an empty one stays as it is."""
    if text:
        delta[name] = text
    elif delta.get(name) not in (None, "", []):
        if null:
            delta[name] = None
        else:
            del delta[name]


def _call(event: ToolCallStart) -> dict[str, Any]:
    inner = {"name": event.name, "input" if event.kind == "custom" else "arguments": ""}
    return {"index": event.index, "id": event.id, "type": event.kind, event.kind: inner, **(event.extra or {})}


def _continued(index: int, *, custom: bool) -> dict[str, Any]:
    return {"index": index, "custom": {"input": ""}} if custom else {"index": index, "function": {"arguments": ""}}
