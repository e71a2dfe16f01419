"""Stop reasons and token counts of Anthropic Messages: reading and writing them. See docs/dev/wire-apis.md.

Anthropic's `input_tokens` exclude what was read from and written to the cache; those of core.events.Usage include it. No count
is negative.
"""

from collections.abc import Mapping
from typing import Any

from ...core.events import Finish, Usage
from ..shared.numbers import count, number
from ..shared.reasons import standard_reason

CUT_OFF = ("length", "content_filter")
"""Finish reasons before which a call may be broken off, so that one without arguments is incomplete."""

_REASONS = frozenset(
    {"end_turn", "max_tokens", "model_context_window_exceeded", "pause_turn", "refusal", "stop_sequence", "tool_use"}
)
"""Anthropic's own stop reasons."""

_STOP = {"length": "max_tokens", "content_filter": "refusal"}
"""Finish reason → stop reason, where calls do not decide."""


def finish_of(members: Mapping[str, Any]) -> Finish | None:
    """Reads the stop reason of a message or of a `message_delta`; None if there is none yet."""
    reason, sequence = members.get("stop_reason"), members.get("stop_sequence")
    if not isinstance(reason, str) or not reason:
        return None
    details = members.get("stop_details")
    explanation, category = (
        (details.get(name) for name in ("explanation", "category")) if isinstance(details, dict) else ("", "")
    )
    return Finish(
        # an unknown reason is an end, too
        standard_reason(reason) or "stop",
        stop_sequence=sequence if isinstance(sequence, str) else None,
        explanation=explanation if isinstance(explanation, str) else "",
        category=category if isinstance(category, str) else "",
    )


def is_foreign(members: Mapping[str, Any]) -> bool:
    """Whether the stop reason is another API's word for one of Anthropic's: agents cannot act on `tool_calls`."""
    reason = members.get("stop_reason")
    return isinstance(reason, str) and reason not in _REASONS and standard_reason(reason) not in (None, "error")


def stop_of(finish: Finish | None, *, called: bool, refused: bool = False, refusal: str = "") -> dict[str, Any]:
    """The members with the stop reason.

    Args:
        finish: The finish reason and stop sequence; None if unknown.
        called: The message has a tool_use block.
        refused: Its text is a refusal.
        refusal: The text of the refusal.
    """
    reason = _STOP.get(finish.finish_reason if finish else "")
    sequence = finish.stop_sequence if finish else None
    if reason is None:
        reason = "tool_use" if called else "refusal" if refused else "end_turn" if sequence is None else "stop_sequence"
    members: dict[str, Any] = {"stop_reason": reason, "stop_sequence": sequence if reason == "stop_sequence" else None}
    if reason == "refusal" and refusal:
        members["stop_details"] = {"type": "refusal", "category": None, "explanation": refusal}
    return members


def same_stop(members: Mapping[str, Any], finish: Finish | None, *, called: bool) -> dict[str, Any]:
    """As `stop_of`, but the upstream's own reason stays if it means the same: a finish reason cannot express `pause_turn`."""
    own = finish_of(members)
    if own and not is_foreign(members) and (finish is None or own.finish_reason == finish.finish_reason):
        return {"stop_reason": members["stop_reason"], "stop_sequence": members.get("stop_sequence")}
    return stop_of(finish, called=called)


_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def miscounted(usage: Any, needed: str) -> bool:
    """Whether a `usage` lacks the needed count, or has one that is not a number. A count of the cache may be null."""
    if not isinstance(usage, dict):
        return True
    counts = [usage[name] for name in _COUNTS if name in usage and (usage[name] is not None or not name.startswith("cache"))]
    return needed not in usage or any(type(count) not in (int, float) for count in counts)


def uncounted(usage: Any) -> bool:
    """Whether the `usage` of a whole message lacks counts."""
    return miscounted(usage, "input_tokens") or miscounted(usage, "output_tokens")


def counted(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a `usage` whose counts are numbers; null counts are dropped."""
    numbers = {name: number(usage[name]) for name in _COUNTS if isinstance(usage.get(name), str)}
    return {name: numbers.get(name, value) for name, value in usage.items() if value is not None or name not in _COUNTS}


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Reads Anthropic's `usage`."""
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


def write_usage(usage: Usage) -> dict[str, Any]:
    """Writes Anthropic's `usage`."""
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
