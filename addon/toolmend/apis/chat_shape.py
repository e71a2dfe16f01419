"""The shape of a chunk of Chat Completions that holds one piece of text: see shape.py.

Rule of this file: where a chunk carries its text; nothing else is to be known of chunks.
"""

from collections.abc import Mapping
from typing import Any

from ..events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from .shape import Shape, learn

REASONING = ("reasoning_content", "reasoning")
"""Where a delta carries reasoning; if in both, they say the same."""


def learn_chunk(data: bytes, chunk: Mapping[str, Any], events: list[Event]) -> Shape | None:
    """The shape of a chunk, if one event is all it says; None where the text cannot be told from the rest."""
    event = events[0] if len(events) == 1 else None
    if not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta) or len(chunk["choices"]) != 1:
        return None
    delta = chunk["choices"][0]["delta"]
    if isinstance(event, TextDelta):
        return learn(data, chunk, event.text, ("choices", 0, "delta", "content"), TextDelta, event.choice)
    if isinstance(event, ReasoningDelta):
        name = next((name for name in REASONING if delta.get(name)), "")
        return learn(data, chunk, event.text, ("choices", 0, "delta", name), ReasoningDelta, event.choice)
    entries = delta.get("tool_calls")
    if not isinstance(entries, list) or len(entries) != 1:
        return None
    path = ("choices", 0, "delta", "tool_calls", 0, "function", "arguments")
    key = entries[0].get("index")
    return learn(data, chunk, event.arguments, path, ToolCallDelta, event.choice, key) if type(key) is int else None
