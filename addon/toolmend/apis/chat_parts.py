"""Content that comes in parts, as Mistral and Databricks send it of models that reason.

    "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Hi"}]
    "content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}, {"type": "text", "text": "Hi"}]

Rule of this file: of a part nothing is read but its text. Source: their documentation of reasoning.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ..events import ReasoningDelta, TextDelta


def parts_of(content: Sequence[Any], choice: int) -> Iterator[TextDelta | ReasoningDelta]:
    """What the parts of a content say."""
    for part in content:
        if not isinstance(part, dict):
            continue
        text, thought = part.get("text"), part.get("thinking") or part.get("summary")
        if isinstance(text, str) and text:
            yield TextDelta(text, choice)
        for inner in thought if isinstance(thought, list) else ():
            if isinstance(inner, dict) and isinstance(inner.get("text"), str) and inner["text"]:
                yield ReasoningDelta(inner["text"], choice)
