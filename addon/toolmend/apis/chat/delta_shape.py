"""The shape of a chunk of Chat Completions that holds one piece of text: see delta_template.py.

Rule of this file: where a chunk carries its text, and what of it says nothing; nothing else is to be known of chunks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ...core.events import Event, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from ...core.fastclass import mutable
from ..shared.delta_template import DeltaTemplate
from ..shared.delta_template_learner import Learning
from ..shared.json_spans import Path

REASONING = ("reasoning_content", "reasoning")
"""Where a delta carries reasoning; if in both, they say the same."""

_DELTA: Path = ("choices", 0, "delta")
_SAY = frozenset({"choices", "error"})
_CHOICE_SAYS = frozenset({"index", "delta", "message", "text", "error", "finish_reason"})


def may_vary(path: Path) -> bool:
    """Whether what stands at a path of a chunk may vary in chunks of one shape: ids, times, token counts, log probabilities."""
    return path[0] not in _SAY or (len(path) > 2 and path[0] == "choices" and path[2] not in _CHOICE_SAYS)


@mutable
class Learnt:
    """What is known of chunks of a shape. `regular`: they are; if not, it is not for their text.

    `entry`: of their call, where that is what is not. `more`: they say more than their text, so each is to be read. `wraps`:
    of those that become arguments, by the index of the call; `nothing`: of those whose text is taken out.
    """

    shape: DeltaTemplate
    regular: bool
    entry: Mapping[str, Any] | None
    more: bool
    wraps: dict[int, tuple[str, str]] = field(default_factory=dict)
    nothing: str | None = None


def learn_chunk(
    learning: Learning, data: bytes, chunk: Mapping[str, Any], events: Sequence[Event], *, regular: bool = True
) -> Learnt | None:
    """What is known of chunks like one that was parsed; None where the text cannot be told from the rest."""
    said = [event for event in events if not isinstance(event, Usage)]
    shape = _shape(learning, data, chunk, said[0]) if len(said) == 1 else None
    if shape is None:
        return None
    delta = chunk["choices"][0]["delta"]
    entry = entry_of(delta) if shape.kind is ToolCallDelta and not regular else None
    return Learnt(shape, regular, entry, len(said) < len(events) or "reasoning_details" in delta)


def _shape(learning: Learning, data: bytes, chunk: Mapping[str, Any], event: Event) -> DeltaTemplate | None:
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
        told: list[Path] = [(*_DELTA, name) for name in REASONING if isinstance(said := delta.get(name), str) and said]
        details = delta.get("reasoning_details")
        if isinstance(details, list) and details and isinstance(details[0], dict):
            told.append((*_DELTA, "reasoning_details", 0, "summary" if details[0].get("summary") else "text"))
        if not told:
            return None
        again = told[1] if len(told) > 1 else None
        return learning.learn(data, event.text, told[0], ReasoningDelta, event.choice, again=again)
    entry = entry_of(delta)
    if entry is None:
        return None
    listed = isinstance(delta.get("tool_calls"), list)
    place: Path = ("tool_calls", *([0] if listed else []), "function") if delta.get("tool_calls") else ("function_call",)
    key = entry.get("index")
    key = key if type(key) is int else -1
    return learning.learn(data, event.arguments, (*_DELTA, *place, "arguments"), ToolCallDelta, event.choice, key)


def entry_of(delta: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a delta says of a call, if it is one call, in an entry of `tool_calls`."""
    entries, legacy = delta.get("tool_calls"), delta.get("function_call")
    if isinstance(entries, Mapping) and entries:
        return entries
    if entries:
        return entries[0] if isinstance(entries, list) and len(entries) == 1 and isinstance(entries[0], Mapping) else None
    return entry_of_legacy(legacy) if isinstance(legacy, Mapping) else None


def entry_of_legacy(call: Mapping[str, Any]) -> dict[str, Any]:
    """A `function_call` as an entry of `tool_calls`."""
    return {"index": 0, "type": "function", "function": call}


def with_arguments(entry: Mapping[str, Any], arguments: str) -> dict[str, Any]:
    """An entry with other arguments."""
    return {**entry, "function": {**entry["function"], "arguments": arguments}}
