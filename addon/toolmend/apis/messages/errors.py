"""Error types of Anthropic Messages. See docs/dev/wire-apis.md.

    {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}

A client decides by the type whether to retry, so every error gets a type of the API. The status decides before the words,
except for overload, which gateways report under any status.
"""

import re

from ...core import json_text

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
    500: "api_error",
}
_STATUSES = {type_: status for status, type_ in _TYPES.items()} | {"timeout_error": 504, "overloaded_error": 529}

_LOAD = ("overloaded", "capacity")
_WORDS = (
    ("rate_limit", "rate_limit_error"),
    ("rate limit", "rate_limit_error"),
    ("too many requests", "rate_limit_error"),
    ("insufficient_quota", "billing_error"),
    ("authentication", "authentication_error"),
    ("invalid_api_key", "authentication_error"),
    ("permission", "permission_error"),
    ("not_found", "not_found_error"),
    ("timeout", "timeout_error"),
    ("timed out", "timeout_error"),
    ("context_length", "invalid_request_error"),
    ("invalid_request", "invalid_request_error"),
)
"""Words in the type or message of an error without a status; the first match decides."""

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|model_max_prompt_tokens_exceeded"  # codes: OpenAI, llama.cpp, Copilot
    r"|maximum context length|maximum prompt length|maximum model length|context (?:size|length|window)"
    r"|exceeded model token limit|token count .{0,100}exceeds|exceeds max(?:imum)? length|range of input length"
    r"|prompt is too long|tokens \+ \S{0,20} must be <=|too many (?:input )?tokens|input (?:is )?too long|exceed context limit"
    r"|max_tokens must be at least 1, got -|current length is \d+ while limit is|input tokens exceed|maximum input length"
    r"|input length .{0,40}exceeds|^1261\b",  # Z.ai's code
    re.IGNORECASE,
)
"""How upstreams report that the conversation exceeds the context."""

_RATE = re.compile(r"rate.?limit|per (?:minute|min|day)\b", re.IGNORECASE)
"""But a rate limit may count tokens, too."""

_SUM = re.compile(r"\d \+ \d{1,12} > (\d{3,12})")
"""Anthropic's message when the input and `max_tokens` together exceed this."""

_MAXIMUM = re.compile(
    r"(?<!\d)(\d{3,12})(?: tokens)? maximum"  # Anthropic, Mistral
    r"|(?:maximum|limit|allowed|context size|context length|<=|\[1)[^\d.]{0,40}(\d{3,12})",
    re.IGNORECASE,
)


def error_type(status: int, type: str, message: str) -> str:  # noqa: A002  the field's own name
    """Returns the `error.type` for an upstream's error.

    Args:
        status: The HTTP status; 0 if there is none.
        type: The upstream's own type.
        message: The upstream's own message.
    """
    if type in _STATUSES:
        return type
    words = f"{type} {message}".lower()
    if overflows(status, words):
        return "invalid_request_error"
    if (status >= 500 or not status) and any(word in words for word in _LOAD):
        return "overloaded_error"
    if status in _TYPES:
        return _TYPES[status]
    if status >= 400:
        return "api_error" if status >= 500 else "invalid_request_error"
    return next((named for word, named in _WORDS if word in words), "api_error")


def overflows(status: int, words: str) -> bool:
    """Whether an error reports that the conversation exceeds the model's context."""
    return status in (0, 400, 413, 422, 500) and bool(_OVERFLOW.search(words)) and not _RATE.search(words)


def too_long(message: str) -> str:
    """Returns `prompt is too long: N tokens > M maximum`, by which clients decide to compact, and by how much."""
    if "prompt is too long" in message.lower():
        return message
    bound = _SUM.search(message.replace(",", "")) or _MAXIMUM.search(message.replace(",", ""))
    if bound is None:
        return f"prompt is too long: {message}"
    maximum = int(next(filter(None, bound.groups())))
    counts = [int(digits) for digits in re.findall(r"(?<!\d)\d{3,12}(?!\d)", message.replace(",", ""))]
    # without a count from the upstream: the least that exceeds the maximum
    tokens = next((count for count in counts if count > maximum), maximum + 1)
    return f"prompt is too long: {tokens} tokens > {maximum} maximum ({message})"


def status_of(name: str) -> int:
    """The HTTP status of an Anthropic `error.type`; 0 for an unknown type."""
    return _STATUSES.get(name, 0)


def error_body(name: str, message: str) -> str:
    """The JSON text of an error: a response of its own, or the last event of a stream. `name` is Anthropic's `error.type`."""
    if name == "invalid_request_error" and overflows(0, message):
        message = too_long(message)
    return json_text.dumps({"type": "error", "error": {"type": name, "message": message or name}})
