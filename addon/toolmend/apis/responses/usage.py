"""The response object of the Responses API: what it echoes of the request, how it ends, its usage and its error.

    {"id": "resp_…", "object": "response", "created_at": 1760000000, "status": "in_progress", "model": "gpt-5", "output": [],
     "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "usage": null, "error": null, …}

Rule of this file: values only, nothing is remembered. What the request does not say is null or the API's default.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core import ids
from ...core.events import StreamError, Usage
from ..codec import Reply
from ..messages.errors import overflows
from ..shared.counts import number
from ..shared.error_words import stream_error

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
"""What a response repeats of its request: the types it may be of, and what stands there if the request has none."""

ENDS = {
    "length": ("incomplete", "max_output_tokens"),
    "content_filter": ("incomplete", "content_filter"),
    "error": ("failed", ""),
}
"""The status by finish reason, and why it is incomplete; any other is completed."""

_REASONS = {"content_filter": "content_filter", "steered": "stop", "max_messages": "stop"}
"""The finish reasons that a response is incomplete for; else it is too long."""

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
"""Error codes that Codex or the SDK know, and the HTTP statuses they stand for."""

_CODES = {400: "invalid_prompt", 402: "insufficient_quota", 413: "context_length_exceeded", 422: "invalid_prompt"}
_CODES |= {429: "rate_limit_exceeded", 503: "server_is_overloaded", 529: "server_is_overloaded"}

_TYPES = {
    "billing_error": "insufficient_quota",
    "invalid_request_error": "invalid_prompt",
    "overloaded_error": "server_is_overloaded",
    "rate_limit_error": "rate_limit_exceeded",
}


def begun(reply: Reply) -> dict[str, Any]:
    """The response as it begins."""
    id_ = reply.new_id()
    echoed = {}
    for name, (types, missing) in ECHOED.items():
        value = reply.request.get(name)
        fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        echoed[name] = value if fits else missing
    return {
        "id": "resp_" + id_.removeprefix("call_"),
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


def ended(
    response: Mapping[str, Any], finish_reason: str, output: Sequence[Mapping[str, Any]], usage: Usage
) -> dict[str, Any]:
    """The response as it ends well, or too early."""
    status, reason = ENDS.get(finish_reason, ("completed", ""))
    details = {"reason": reason} if reason else None
    searches = {"tool_usage": {"web_search": {"num_requests": usage.searches}}} if usage.searches else {}
    whole = {"status": status, "incomplete_details": details, "output": output, "usage": usage_object(usage)}
    return {**response, **whole, **searches}


def failed(
    response: Mapping[str, Any], error: StreamError, output: Sequence[Mapping[str, Any]], usage: Usage | None
) -> dict[str, Any]:
    """The response as it fails."""
    return {
        **response,
        "status": "failed",
        "error": error_object(error),
        "output": output,
        "usage": usage_object(usage) if usage else None,
    }


def error_object(error: StreamError) -> dict[str, Any]:
    """The two members."""
    return {"code": _code(error), "message": error.message or "The upstream reports an error."}


def usage_object(usage: Usage) -> dict[str, Any]:
    """All five members."""
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def estimate(reply: Reply, size: int) -> Usage:
    """What an upstream that tells no usage may have used, for so many characters: four make a token."""
    reply.fired("usage_estimated")
    return Usage(reply.input_tokens, (size + 3) // 4)


def usage_of(usage: Mapping[str, Any], tools: Any = None) -> Usage:
    """The counts of a usage object; what is missing counts 0. Some have them as Chat Completions does.

    `tools`: the response's `tool_usage`.
    """
    names = ("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")
    others = ("prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details")
    given, made, read, written = (usage.get(name) or usage.get(other) for name, other in zip(names, others, strict=True))
    return Usage(
        number(given),
        number(made),
        number(_object(read).get("cached_tokens")),
        number(_object(read).get("cache_write_tokens")),
        number(_object(written).get("reasoning_tokens")),
        number(_object(_object(tools).get("web_search")).get("num_requests")),
    )


_TOTALS = ("input_tokens", "output_tokens", "total_tokens")
_DETAILS = (("input_tokens_details", "cached_tokens"), ("output_tokens_details", "reasoning_tokens"))


def miscounted(usage: Any) -> bool:
    """Whether a usage lacks a count, or has one that is no number: Codex takes an answer with such a one for broken off."""
    if usage is None:
        return False
    told = _object(usage)
    details = [_object(told.get(name)).get(member) for name, member in _DETAILS]
    return any(type(value) is not int for value in (*(told.get(name) for name in _TOTALS), *details))


def counted(usage: Any) -> dict[str, Any] | None:
    """A usage with all counts; 0 where the upstream says nothing of one. None where it is none at all."""
    if not isinstance(usage, dict):
        return None
    counts = usage_object(usage_of(usage))
    for name, member in _DETAILS:
        told = _object(usage.get(name))
        counts[name] = {**counts[name], **told, member: counts[name][member]}
    total = number(usage.get("total_tokens")) or counts["total_tokens"]
    return {**usage, **counts, "total_tokens": total}


def response_in(data: Mapping[str, Any]) -> Any:
    """The response that an event tells of; some have its members in the event itself."""
    response = data.get("response")
    return data if response is None and data.get("object") == "response" else response


_FIELDS: dict[str, Callable[[Any], object]] = {
    "id": lambda value: isinstance(value, str) and value,
    "object": lambda value: isinstance(value, str),
    "created_at": lambda value: type(value) in (int, float),
    "model": lambda value: isinstance(value, str),
    "output": lambda value: isinstance(value, list),
}
"""What SDKs look into without asking, of a response that is not over."""


def lacks(response: Any, id_: Any) -> bool:
    """Whether a response lacks any of it. `id_`: that it has had, if any."""
    given = _object(response)
    return not all(fits(given.get(name)) for name, fits in _FIELDS.items()) or bool(id_ and given["id"] != id_)


def filled(response: Any, before: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """A response with what it lacks: as it was told before, or else as it is in the `first` event of one."""
    given, known = _object(response), {**first, **before}
    whole = {name: given[name] if fits(given.get(name)) else known[name] for name, fits in _FIELDS.items()}
    return {**given, **whole, "id": before.get("id") or whole["id"]}


def tells_error(data: Mapping[str, Any]) -> bool:
    """Whether an `error` event tells it as OpenAI does, or as its SDKs read it, too: in a member."""
    told = (data, _object(data.get("error")))
    return data.get("type") == "error" and any(isinstance(each.get("message"), str) for each in told)


def fails_badly(response: Mapping[str, Any]) -> bool:
    """Whether a response that failed does not tell why as others do, or lacks its output."""
    error = _object(response.get("error"))
    tells = all(isinstance(error.get(name), str) for name in ("code", "message"))
    return not (tells and isinstance(response.get("output"), list))


def finish_reason(status: str, response: Mapping[str, Any], *, called: bool) -> str:
    """The finish reason of a response that is completed or incomplete."""
    if status == "incomplete":
        reason = _object(response.get("incomplete_details")).get("reason")
        return _REASONS.get(reason, "length") if isinstance(reason, str) else "length"
    return "tool_calls" if called else "stop"


def error_of(error: Any, around: Mapping[str, Any] | None = None) -> StreamError:
    """The error of a response, of an `error` event, or of a body; `around`: what it stands in."""
    told = stream_error(error, around)
    code = error.get("code") if isinstance(error, dict) else None
    type_ = code if isinstance(code, str) and code else told.type
    return StreamError(type_, told.message, told.status or _STATUSES.get(type_, 0))


def _code(error: StreamError) -> str:
    """Codex compacts, waits or gives up by it, and otherwise sends the request again."""
    if error.type in _STATUSES:
        return error.type
    if overflows(error.status, f"{error.type} {error.message}"):
        return "context_length_exceeded"
    return _TYPES.get(error.type) or _CODES.get(error.status, "server_error")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
