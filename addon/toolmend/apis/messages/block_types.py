"""What the blocks and deltas of a Messages stream are called, and which fit each other.

Rule of this file: a type that is said counts; only where none is, what there is tells it.
"""

from collections.abc import Mapping
from typing import Any

FITS = {"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}
FITS |= {"input_json_delta": "tool_use"}
"""The block that a delta fits; arguments may be those of a block that is not ours."""

BLOCKS = {"name": "tool_use", "text": "text", "thinking": "thinking"}
DELTAS = {"text": "text_delta", "thinking": "thinking_delta", "partial_json": "input_json_delta", "signature": "signature_delta"}
"""What a block, or a delta, is that has such a member."""


def kind_of(of: Mapping[str, Any], known: Mapping[str, str]) -> str:
    """The type of a block or of a delta; "" where nothing tells it."""
    kind = of.get("type")
    return kind if isinstance(kind, str) and kind else next((known[name] for name in known if name in of), "")


def typed(of: Any, known: Mapping[str, str]) -> Mapping[str, Any]:
    """A block or a delta with its type; an empty one where there is none."""
    if not isinstance(of, dict):
        return {}
    kind = kind_of(of, known)
    return {**of, "type": kind} if kind and kind != of.get("type") else of
