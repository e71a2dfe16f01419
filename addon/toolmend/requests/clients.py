"""Detects the agent that sent a request, where its responses have to differ."""

from collections.abc import Mapping
from typing import Any


def is_codex(request: Mapping[str, Any]) -> bool:
    """Whether Codex sent this Responses request: its `client_metadata` has `x-codex-` names."""
    metadata = request.get("client_metadata")
    return isinstance(metadata, Mapping) and any(str(name).startswith("x-codex-") for name in metadata)


BRIEF = 16
"""Output tokens, at most, of a request whose answer may be empty: Claude Code asks for 1 to test its key."""


def is_brief(request: Mapping[str, Any]) -> bool:
    """Whether a request of any API limits its answer to BRIEF tokens."""
    limits = [request.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    return any(isinstance(limit, int) and not isinstance(limit, bool) and 0 < limit <= BRIEF for limit in limits)
