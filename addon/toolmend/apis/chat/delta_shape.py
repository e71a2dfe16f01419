"""Which chunks of Chat Completions hold one piece of text, where it is, and what may vary around it: see delta_template.py."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ...core.events import Event, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from ...core.fastclass import mutable
from ..shared.delta_template import DeltaTemplate
from ..shared.delta_template_learner import TemplateLearner
from ..shared.json_spans import Path

REASONING = ("reasoning_content", "reasoning")
"""Where a delta carries reasoning; if in both, the text is the same."""

_DELTA: Path = ("choices", 0, "delta")
_CONTENT_MEMBERS = frozenset({"choices", "error"})
_CHOICE_MEMBERS = frozenset({"index", "delta", "message", "text", "error", "finish_reason"})


def may_vary(path: Path) -> bool:
    """Whether the value at a path may vary between chunks of one shape: ids, times, token counts, log probabilities."""
    return path[0] not in _CONTENT_MEMBERS or (len(path) > 2 and path[0] == "choices" and path[2] not in _CHOICE_MEMBERS)


@mutable
class ChunkShape:
    """What is known of chunks that match one template.

    Attributes:
        template: Finds the text of such a chunk.
        regular: The chunks are regular; if not, the reason is outside of their text.
        entry: The entry of their tool call, if that is what is irregular.
        more: The chunks contain more than text, so each must be parsed.
        wraps: By the index of a call: what surrounds its arguments when the text becomes arguments.
        nothing: The chunk without its text.
    """

    template: DeltaTemplate
    regular: bool
    entry: Mapping[str, Any] | None
    more: bool
    wraps: dict[int, tuple[str, str]] = field(default_factory=dict)
    nothing: str | None = None


def learn_chunk(
    learning: TemplateLearner, data: bytes, chunk: Mapping[str, Any], events: Sequence[Event], *, regular: bool = True
) -> ChunkShape | None:
    """Learns the shape of a parsed chunk.

    Args:
        learning: Collects samples.
        data: The chunk's JSON text.
        chunk: The same, parsed.
        events: The events decoded from the chunk.
        regular: The chunk is regular.

    Returns:
        The shape; None if the text cannot be located with certainty.
    """
    parts = [event for event in events if not isinstance(event, Usage)]
    template = _template(learning, data, chunk, parts[0]) if len(parts) == 1 else None
    if template is None:
        return None
    delta = chunk["choices"][0]["delta"]
    entry = entry_of(delta) if template.kind is ToolCallDelta and not regular else None
    return ChunkShape(template, regular, entry, len(parts) < len(events) or "reasoning_details" in delta)


def _template(learning: TemplateLearner, data: bytes, chunk: Mapping[str, Any], event: Event) -> DeltaTemplate | None:
    if not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta) or len(chunk["choices"]) != 1:
        return None
    delta = chunk["choices"][0].get("delta")
    if not isinstance(delta, Mapping):
        return None
    if isinstance(event, TextDelta):
        if not isinstance(delta.get("content"), str):
            return None
        return learning.learn(data, event.text, (*_DELTA, "content"), TextDelta, event.choice)
    if isinstance(event, ReasoningDelta):
        paths: list[Path] = [(*_DELTA, name) for name in REASONING if isinstance(text := delta.get(name), str) and text]
        details = delta.get("reasoning_details")
        if isinstance(details, list) and details and isinstance(details[0], dict):
            paths.append((*_DELTA, "reasoning_details", 0, "summary" if details[0].get("summary") else "text"))
        if not paths:
            return None
        again = paths[1] if len(paths) > 1 else None
        return learning.learn(data, event.text, paths[0], ReasoningDelta, event.choice, again=again)
    entry = entry_of(delta)
    if entry is None:
        return None
    listed = isinstance(delta.get("tool_calls"), list)
    place: Path = ("tool_calls", *([0] if listed else []), "function") if delta.get("tool_calls") else ("function_call",)
    key = entry.get("index")
    key = key if type(key) is int else -1
    return learning.learn(data, event.arguments, (*_DELTA, *place, "arguments"), ToolCallDelta, event.choice, key)


def entry_of(delta: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the only call of a delta as an entry of `tool_calls`; None if there is not exactly one."""
    entries, legacy = delta.get("tool_calls"), delta.get("function_call")
    if isinstance(entries, Mapping) and entries:
        return entries
    if entries:
        return entries[0] if isinstance(entries, list) and len(entries) == 1 and isinstance(entries[0], Mapping) else None
    return entry_of_legacy(legacy) if isinstance(legacy, Mapping) else None


def entry_of_legacy(call: Mapping[str, Any]) -> dict[str, Any]:
    """Converts a `function_call` to an entry of `tool_calls`."""
    return {"index": 0, "type": "function", "function": call}


def with_arguments(entry: Mapping[str, Any], arguments: str) -> dict[str, Any]:
    """Returns an entry with its arguments replaced."""
    return {**entry, "function": {**entry["function"], "arguments": arguments}}
