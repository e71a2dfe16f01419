"""What an Anthropic message reports beside its content: why it stopped, and the token counts. See wire-apis.md.

Rule of this file: Anthropic's `input_tokens` leave out what was read from and written to the cache, ours include it; no count
is ever negative.
"""

from collections.abc import Mapping
from typing import Any

from ...core.events import Finish, Usage
from ..shared.counts import count, number
from ..shared.reasons import meant

BROKEN_OFF = ("length", "content_filter")
"""Finish reasons in front of which a call may be broken off, and one without arguments is not one that needs none."""

_REASONS = frozenset(
    {"end_turn", "max_tokens", "model_context_window_exceeded", "pause_turn", "refusal", "stop_sequence", "tool_use"}
)
"""Anthropic's own words."""

_STOP = {"length": "max_tokens", "content_filter": "refusal"}
"""Finish reason → stop reason, where it says more than that there was a call, or none."""


def finish_of(said: Mapping[str, Any]) -> Finish | None:
    """Why a message stopped, from the members of it or of a `message_delta`; None while it has not."""
    reason, sequence = said.get("stop_reason"), said.get("stop_sequence")
    if not isinstance(reason, str) or not reason:
        return None
    # it has stopped, for whatever reason
    told = said.get("stop_details")
    explanation, category = ((told.get(name) for name in ("explanation", "category")) if isinstance(told, dict) else ("", ""))
    return Finish(
        meant(reason) or "stop",
        stop_sequence=sequence if isinstance(sequence, str) else None,
        explanation=explanation if isinstance(explanation, str) else "",
        category=category if isinstance(category, str) else "",
    )


def is_foreign(said: Mapping[str, Any]) -> bool:
    """Whether the reason is a word of another API for what has one here: of `tool_calls` agents do not know what to do."""
    reason = said.get("stop_reason")
    return isinstance(reason, str) and reason not in _REASONS and meant(reason) not in (None, "error")


def stop_of(finish: Finish | None, *, called: bool, refused: bool = False, refusal: str = "") -> dict[str, Any]:
    """The members that say why a message stopped. `called`: it has a tool_use block; `refused`: its text is a refusal.

    `refusal`: what it says.
    """
    reason = _STOP.get(finish.finish_reason if finish else "")
    sequence = finish.stop_sequence if finish else None
    if reason is None:
        reason = "tool_use" if called else "refusal" if refused else "end_turn" if sequence is None else "stop_sequence"
    said: dict[str, Any] = {"stop_reason": reason, "stop_sequence": sequence if reason == "stop_sequence" else None}
    if reason == "refusal" and refusal:
        said["stop_details"] = {"type": "refusal", "category": None, "explanation": refusal}
    return said


def same_stop(said: Mapping[str, Any], finish: Finish | None, *, called: bool) -> dict[str, Any]:
    """As `stop_of`, in the upstream's own words where they say the same: `pause_turn` is lost in a finish reason."""
    own = finish_of(said)
    if own and not is_foreign(said) and (finish is None or own.finish_reason == finish.finish_reason):
        return {"stop_reason": said["stop_reason"], "stop_sequence": said.get("stop_sequence")}
    return stop_of(finish, called=called)


_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def miscounted(usage: Any, needed: str) -> bool:
    """Whether a `usage` lacks the count that is needed, or has one that is no number; null says nothing of a cache."""
    if not isinstance(usage, dict):
        return True
    told = [usage[name] for name in _COUNTS if name in usage and (usage[name] is not None or not name.startswith("cache"))]
    return needed not in usage or any(type(count) not in (int, float) for count in told)


def uncounted(usage: Any) -> bool:
    """Whether the `usage` of a whole message is no such thing."""
    return miscounted(usage, "input_tokens") or miscounted(usage, "output_tokens")


def counted(usage: Mapping[str, Any]) -> dict[str, Any]:
    """A `usage` whose counts are numbers, without those that are null."""
    numbers = {name: number(usage[name]) for name in _COUNTS if isinstance(usage.get(name), str)}
    return {name: numbers.get(name, value) for name, value in usage.items() if value is not None or name not in _COUNTS}


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """The token counts of Anthropic's `usage`."""
    read, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    details, server = usage.get("output_tokens_details"), usage.get("server_tool_use")
    return Usage(
        count(usage.get("input_tokens")) + read + written,
        count(usage.get("output_tokens")),
        read,
        written,
        count(details.get("thinking_tokens")) if isinstance(details, dict) else 0,
        count(server.get("web_search_requests")) if isinstance(server, dict) else 0,
    )


def usage_to(usage: Usage) -> dict[str, Any]:
    """Anthropic's `usage` of token counts."""
    uncached = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
    counts: dict[str, Any] = {
        "input_tokens": max(0, uncached),
        "cache_creation_input_tokens": max(0, usage.cache_write_tokens),
        "cache_read_input_tokens": max(0, usage.cached_tokens),
        "output_tokens": max(0, usage.output_tokens),
    }
    if usage.reasoning_tokens > 0:
        counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    if usage.searches > 0:
        counts["server_tool_use"] = {"web_search_requests": usage.searches}
    return counts
