"""What the chunks of a stream have in common: most differ from the one before in one text, and need not be parsed.

    head  data: {"id":"c1", … "choices":[{"index":0,"delta":{"content":"
    text  Hi
    tail  "},"finish_reason":null}]}

Rule of this file: a shape changes no result. Head and tail are compared byte for byte, so all but the text is as it was
when the chunk was parsed that it was learnt from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import json_text
from ..events import Event, ReasoningDelta, TextDelta, ToolCallDelta

REASONING = ("reasoning_content", "reasoning")
"""Where a delta carries reasoning; if in both, they say the same."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`kind` is the event that the text is of; `key` the index of the upstream's call, for arguments."""

    head: bytes
    tail: bytes
    kind: type[TextDelta | ReasoningDelta | ToolCallDelta]
    choice: int
    key: int = 0

    def text(self, data: bytes) -> str | None:
        """The text of a chunk of this shape, never empty; None for any other."""
        if not (data.startswith(self.head) and data.endswith(self.tail)):
            return None
        text = data[len(self.head) : -len(self.tail)]
        if not text:
            return None
        try:
            if b'"' not in text and b"\\" not in text:
                decoded = text.decode()
                return decoded if decoded.isprintable() else None
            value = json_text.loads(b'"' + text + b'"')
        except ValueError:
            return None
        return value if isinstance(value, str) else None


def learn(data: bytes, chunk: Mapping[str, Any], events: list[Event]) -> Shape | None:
    """The shape of a chunk, if one event is all it says; None where the text cannot be told from the rest."""
    event = events[0] if len(events) == 1 else None
    if not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta):
        return None
    text = event.arguments if isinstance(event, ToolCallDelta) else event.text
    quoted = json_text.quote(text).encode()
    head, found, tail = data.partition(quoted)
    if not found or b"\\" in quoted or quoted in tail:
        return None
    try:
        key = chunk["choices"][0]["delta"]["tool_calls"][0]["index"] if isinstance(event, ToolCallDelta) else 0
        shape = Shape(head + b'"', b'"' + tail, type(event), event.choice, key)
        # that it is the text which stands there is seen by putting another in its place
        probe = json_text.loads(shape.head + b"?" + shape.tail)
        place, name = _place(probe, shape.kind)
        if place[name] != "?":
            return None
        place[name] = text
    except (json_text.NotJSON, LookupError, TypeError, ValueError):
        return None
    return shape if probe == chunk else None


def _place(chunk: Mapping[str, Any], kind: type[Event]) -> tuple[dict[str, Any], str]:
    """Where the text stands. Raises one of several errors if the chunk has another structure."""
    (choice,) = chunk["choices"]
    delta = choice["delta"]
    if kind is ToolCallDelta:
        (entry,) = delta["tool_calls"]
        return entry["function"], "arguments"
    if kind is TextDelta:
        return delta, "content"
    return delta, next(name for name in (*REASONING, "") if delta.get(name) or not name)

