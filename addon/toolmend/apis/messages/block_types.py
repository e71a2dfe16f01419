"""Types of blocks and deltas of a Messages stream, and which fit each other. A missing type is inferred from the members."""

from collections.abc import Mapping
from typing import Any

FITS = {"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}
FITS |= {"input_json_delta": "tool_use"}
"""The block type that a delta fits. Arguments may also belong to a block of a server tool."""

BLOCKS = {"name": "tool_use", "text": "text", "thinking": "thinking"}
DELTAS = {"text": "text_delta", "thinking": "thinking_delta", "partial_json": "input_json_delta", "signature": "signature_delta"}
"""The type of an untyped block or delta, by a member that it has."""


def kind_of(of: Mapping[str, Any], known: Mapping[str, str]) -> str:
    """The type of a block or a delta; "" if it cannot be inferred.

    Args:
        of: The block or delta.
        known: BLOCKS or DELTAS.
    """
    kind = of.get("type")
    return kind if isinstance(kind, str) and kind else next((known[name] for name in known if name in of), "")


def typed(of: Any, known: Mapping[str, str]) -> Mapping[str, Any]:
    """Returns a block or a delta with its type added; {} if the value is not an object."""
    if not isinstance(of, dict):
        return {}
    kind = kind_of(of, known)
    return {**of, "type": kind} if kind and kind != of.get("type") else of
