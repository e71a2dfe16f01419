"""The response object of the Responses API: what it repeats of the request, its end, its usage and its error.

    {"id": "resp_…", "object": "response", "created_at": 1760000000, "status": "in_progress", "model": "gpt-5", "output": [],
     "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "usage": null, "error": null, …}

What the request does not contain is null or the API's default.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core import ids
from ...core.events import StreamError, Usage
from ...core.ids import with_prefix
from ...core.json_access import as_object
from ..codec import Reply
from ..messages.errors import overflows
from ..shared.error_words import stream_error
from ..shared.numbers import number

ECHOED: dict[str, tuple[tuple[type, ...], Any]] = {
    "instructions": ((str, list), None),
    "max_output_tokens": ((int,), None),
    "max_tool_calls": ((int,), None),
    "metadata": ((dict,), {}),
    "model": ((str,), ""),
    "parallel_tool_calls": ((bool,), True),
    "previous_response_id": ((str,), None),
    "prompt_cache_key": ((str,), None),
    "reasoning": ((dict,), {"effort": None, "summary": None}),
    "safety_identifier": ((str,), None),
    "service_tier": ((str,), None),
    "temperature": ((int, float), None),
    "text": ((dict,), {"format": {"type": "text"}}),
    "tool_choice": ((str, dict), "auto"),
    "tools": ((list,), []),
    "top_p": ((int, float), None),
    "truncation": ((str,), "disabled"),
    "user": ((str,), None),
}
"""Members that a response repeats of its request: their types, and the value if the request has none."""

ENDS = {
    "length": ("incomplete", "max_output_tokens"),
    "content_filter": ("incomplete", "content_filter"),
    "error": ("failed", ""),
}
"""Status and reason of being incomplete by finish reason; any other is completed."""

_REASONS = {"content_filter": "content_filter", "steered": "stop", "max_messages": "stop"}
"""Finish reason by the reason of being incomplete; any other is "length"."""

_STATUSES = {
    "bio_policy": 400,
    "context_length_exceeded": 400,
    "cyber_policy": 400,
    "insufficient_quota": 402,
    "invalid_prompt": 400,
    "misalignment_policy_violation": 400,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "server_is_overloaded": 503,
    "slow_down": 503,
    "usage_not_included": 402,
}
"""Error codes that Codex or the SDK know, and their HTTP statuses."""

_CODES = {400: "invalid_prompt", 402: "insufficient_quota", 413: "context_length_exceeded", 422: "invalid_prompt"}
_CODES |= {429: "rate_limit_exceeded", 503: "server_is_overloaded", 529: "server_is_overloaded"}

_TYPES = {
    "billing_error": "insufficient_quota",
    "invalid_request_error": "invalid_prompt",
    "overloaded_error": "server_is_overloaded",
    "rate_limit_error": "rate_limit_exceeded",
}


def new_response(reply: Reply) -> dict[str, Any]:
    """A response at its start."""
    id_ = reply.new_id()
    echoed = {}
    for name, (types, missing) in ECHOED.items():
        value = reply.request.get(name)
        fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        echoed[name] = value if fits else missing
    return {
        "id": with_prefix("resp_", id_),
        "object": "response",
        "created_at": ids.seconds(id_),
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        **echoed,
        "output": [],
        "usage": None,
    }


def finished_response(
    response: Mapping[str, Any], finish_reason: str, output: Sequence[Mapping[str, Any]], usage: Usage
) -> dict[str, Any]:
    """A response that is completed or incomplete.

    Args:
        response: The response at its start.
        finish_reason: A finish reason of Chat Completions.
        output: Its items.
        usage: Its token counts.
    """
    status, reason = ENDS.get(finish_reason, ("completed", ""))
    details = {"reason": reason} if reason else None
    searches = {"tool_usage": {"web_search": {"num_requests": usage.searches}}} if usage.searches else {}
    whole = {"status": status, "incomplete_details": details, "output": output, "usage": write_usage(usage)}
    return {**response, **whole, **searches}


def failed_response(
    response: Mapping[str, Any], error: StreamError, output: Sequence[Mapping[str, Any]], usage: Usage | None
) -> dict[str, Any]:
    """A response that failed."""
    return {
        **response,
        "status": "failed",
        "error": error_object(error),
        "output": output,
        "usage": write_usage(usage) if usage else None,
    }


def error_object(error: StreamError) -> dict[str, Any]:
    """The error member of a response."""
    return {"code": _code(error), "message": error.message or "The upstream reports an error."}


def write_usage(usage: Usage) -> dict[str, Any]:
    """Writes a usage with all five members."""
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def estimate(reply: Reply, size: int) -> Usage:
    """Estimates the usage when the upstream sends none: four of the `size` characters are a token."""
    reply.fired("usage_estimated")
    return Usage(reply.input_tokens, (size + 3) // 4)


def read_usage(usage: Mapping[str, Any], tools: Any = None) -> Usage:
    """Reads a usage object; what is missing counts 0.

    Args:
        usage: With the names of Responses or of Chat Completions.
        tools: The response's `tool_usage`.
    """
    names = ("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")
    others = ("prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details")
    members = (usage.get(name) or usage.get(other) for name, other in zip(names, others, strict=True))
    input_tokens, output_tokens, input_details, output_details = members
    return Usage(
        number(input_tokens),
        number(output_tokens),
        number(as_object(input_details).get("cached_tokens")),
        number(as_object(input_details).get("cache_write_tokens")),
        number(as_object(output_details).get("reasoning_tokens")),
        number(as_object(as_object(tools).get("web_search")).get("num_requests")),
    )


_TOTALS = ("input_tokens", "output_tokens", "total_tokens")
_DETAILS = (("input_tokens_details", "cached_tokens"), ("output_tokens_details", "reasoning_tokens"))


def miscounted(usage: Any) -> bool:
    """Whether a usage lacks a count, or has one that is not a number: Codex takes such an answer for broken off."""
    if usage is None:
        return False
    counts = as_object(usage)
    details = [as_object(counts.get(name)).get(member) for name, member in _DETAILS]
    return any(type(value) is not int for value in (*(counts.get(name) for name in _TOTALS), *details))


def counted(usage: Any) -> dict[str, Any] | None:
    """Returns a usage with all counts, 0 for the missing ones; None if there is no usage."""
    if not isinstance(usage, dict):
        return None
    counts = write_usage(read_usage(usage))
    for name, member in _DETAILS:
        own = as_object(usage.get(name))
        counts[name] = {**counts[name], **own, member: counts[name][member]}
    total = number(usage.get("total_tokens")) or counts["total_tokens"]
    return {**usage, **counts, "total_tokens": total}


def response_in(data: Mapping[str, Any]) -> Any:
    """The response in an event's data, or the data itself if it has a response's members."""
    response = data.get("response")
    return data if response is None and data.get("object") == "response" else response


_FIELDS: dict[str, Callable[[Any], object]] = {
    "id": lambda value: isinstance(value, str) and value,
    "object": lambda value: isinstance(value, str),
    "created_at": lambda value: type(value) in (int, float),
    "model": lambda value: isinstance(value, str),
    "output": lambda value: isinstance(value, list),
}
"""Members of a response that SDKs read without a check."""


def is_incomplete(response: Any, id_: Any) -> bool:
    """Whether a response lacks such a member, or has another id than `id_`, its id so far."""
    own = as_object(response)
    return not all(fits(own.get(name)) for name, fits in _FIELDS.items()) or bool(id_ and own["id"] != id_)


def fill_response(response: Any, before: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a response with the missing members: as sent before, or as in `first`, a new response."""
    own, known = as_object(response), {**first, **before}
    whole = {name: own[name] if fits(own.get(name)) else known[name] for name, fits in _FIELDS.items()}
    return {**own, **whole, "id": before.get("id") or whole["id"]}


def shows_error(data: Mapping[str, Any]) -> bool:
    """Whether an `error` event has the message where OpenAI's SDKs read it."""
    places = (data, as_object(data.get("error")))
    return data.get("type") == "error" and any(isinstance(each.get("message"), str) for each in places)


def fails_irregularly(response: Mapping[str, Any]) -> bool:
    """Whether a failed response lacks the members of an error, or its output."""
    error = as_object(response.get("error"))
    complete = all(isinstance(error.get(name), str) for name in ("code", "message"))
    return not (complete and isinstance(response.get("output"), list))


def finish_reason(status: str, response: Mapping[str, Any], *, called: bool) -> str:
    """The finish reason of a response that is completed or incomplete. `called`: it has calls."""
    if status == "incomplete":
        reason = as_object(response.get("incomplete_details")).get("reason")
        return _REASONS.get(reason, "length") if isinstance(reason, str) else "length"
    return "tool_calls" if called else "stop"


def read_error(error: Any, around: Mapping[str, Any] | None = None) -> StreamError:
    """Reads the error of a response, an `error` event or a body. `around`: the object that contains it."""
    read = stream_error(error, around)
    code = error.get("code") if isinstance(error, dict) else None
    type_ = code if isinstance(code, str) and code else read.type
    return StreamError(type_, read.message, read.status or _STATUSES.get(type_, 0))


def _code(error: StreamError) -> str:
    """The error code, by which Codex compacts, waits or gives up; at any other code it retries."""
    if error.type in _STATUSES:
        return error.type
    if overflows(error.status, f"{error.type} {error.message}"):
        return "context_length_exceeded"
    return _TYPES.get(error.type) or _CODES.get(error.status, "server_error")
