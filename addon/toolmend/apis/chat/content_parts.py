"""Content in parts, as Mistral and Databricks send it for reasoning models. Source: their documentation of reasoning.

"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Hi"}]
"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}, {"type": "text", "text": "Hi"}]
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ...core.events import ReasoningDelta, RefusalDelta, TextDelta

_TEXTS = ("text", "thinking", "summary", "refusal")
"""Members of a part that hold a text, or a list of parts with text."""

_THOUGHTS = ("thinking", "reasoning", "reasoning_text")
"""Types of parts whose text is reasoning."""


def parts_of(content: Any, choice: int) -> Iterator[TextDelta | ReasoningDelta | RefusalDelta]:
    """Yields the text of each part as an event. A part outside of a list is accepted."""
    for part in _listed(content):
        if not isinstance(part, dict):
            yield from (TextDelta(text, choice) for text in _texts(part))
            continue
        yield from (
            RefusalDelta(text, choice)
            if member == "refusal"
            else TextDelta(text, choice)
            if member == "text" and part.get("type") not in _THOUGHTS
            else ReasoningDelta(text, choice)
            for member in _TEXTS
            for text in _texts(part.get(member))
        )


def _texts(value: Any) -> Iterator[str]:
    for each in _listed(value):
        text = each.get("text") if isinstance(each, dict) else each
        if isinstance(text, str) and text:
            yield text


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else (value,)
