"""The shape of a chunk of Chat Completions that holds one piece of text: see shape.py.

Rule of this file: where a chunk carries its text; nothing else is to be known of chunks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from .shape import Shape, learn

REASONING = ("reasoning_content", "reasoning")
"""Where a delta carries reasoning; if in both, they say the same."""

VARIES = ("id", "created")
"""Members that some upstreams make anew for each chunk."""

type _Path = tuple[str | int, ...]

_DELTA: _Path = ("choices", 0, "delta")


def learn_chunk(data: bytes, chunk: Mapping[str, Any], events: list[Event], varying: Sequence[str] = ()) -> Shape | None:
    """The shape of a chunk, if one event is all it says; None where the text cannot be told from the rest."""
    event = events[0] if len(events) == 1 else None
    if not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta) or len(chunk["choices"]) != 1:
        return None
    delta = chunk["choices"][0].get("delta")
    if not isinstance(delta, Mapping):
        return None
    if isinstance(event, TextDelta):
        return learn(data, chunk, event.text, (*_DELTA, "content"), TextDelta, event.choice, varying=varying)
    if isinstance(event, ReasoningDelta):
        told: list[_Path] = [(*_DELTA, name) for name in REASONING if delta.get(name)]
        details = delta.get("reasoning_details")
        if isinstance(details, list) and details and isinstance(details[0], dict):
            told.append((*_DELTA, "reasoning_details", 0, "summary" if details[0].get("summary") else "text"))
        if not told:
            return None
        again = told[1] if len(told) > 1 else None
        return learn(data, chunk, event.text, told[0], ReasoningDelta, event.choice, varying=varying, again=again)
    entry = entry_of(delta)
    if entry is None:
        return None
    place: _Path = ("tool_calls", 0, "function") if delta.get("tool_calls") else ("function_call",)
    key = entry.get("index")
    key = key if type(key) is int else -1
    return learn(data, chunk, event.arguments, (*_DELTA, *place, "arguments"), ToolCallDelta, event.choice, key, varying=varying)


def entry_of(delta: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a delta says of a call, if it is one call, in an entry of `tool_calls`."""
    entries, legacy = delta.get("tool_calls"), delta.get("function_call")
    if entries:
        return entries[0] if isinstance(entries, list) and len(entries) == 1 and isinstance(entries[0], Mapping) else None
    return entry_of_legacy(legacy) if isinstance(legacy, Mapping) else None


def entry_of_legacy(call: Mapping[str, Any]) -> dict[str, Any]:
    """A `function_call` as an entry of `tool_calls`."""
    return {"index": 0, "type": "function", "function": call}


def with_arguments(entry: Mapping[str, Any], arguments: str) -> dict[str, Any]:
    """An entry with other arguments."""
    return {**entry, "function": {**entry["function"], "arguments": arguments}}
