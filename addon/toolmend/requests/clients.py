"""Which agent asks, where an answer has to be another for it."""

from collections.abc import Mapping
from typing import Any


def is_codex(request: Mapping[str, Any]) -> bool:
    """Whether a request of Responses is Codex's: it sends facts of its turn along."""
    told = request.get("client_metadata")
    return isinstance(told, Mapping) and any(str(name).startswith("x-codex-") for name in told)


BRIEF = 16
"""Tokens, at most, of an answer that may be empty: Claude Code asks for one to see whether its key is good."""


def is_brief(request: Mapping[str, Any]) -> bool:
    """Whether a request of any API asks for an answer of a few tokens at most."""
    limits = [request.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    return any(isinstance(most, int) and not isinstance(most, bool) and 0 < most <= BRIEF for most in limits)
