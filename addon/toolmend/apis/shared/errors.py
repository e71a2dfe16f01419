"""Translates an upstream's error into the client's API: status, headers, body.

    429 {"error":{"message":"slow down","type":"tokens","param":null,"code":"rate_limit_exceeded"}}
    429 {"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"req_018e"}

Clients decide by it whether to retry, wait, compact the conversation, or report a wrong key. Any input gives a legal error: the
upstream's message stays, and the members that a client evaluates are those of its API.
Sources: docs.anthropic.com/en/api/errors and /rate-limits; platform.openai.com/docs/guides/error-codes and /rate-limits.
"""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from ...core import json_text
from ...core.events import StreamError
from ...core.fastclass import value
from ...core.ids import with_prefix
from ...core.sse import BOM, SseDecoder
from ..messages.errors import error_type, overflows, status_of, too_long
from .error_words import choice_error, error_in, message_of_error, status_in, stream_error
from .headers import Headers, translate_headers

MAX_TEXT = 4000
"""Characters passed on of an upstream's message: the rest of an HTML page or a traceback is of no use."""

OPENAI_TYPES: dict[int, tuple[int, str, str | None]] = {
    # HTTP status: (status, type, code) in Chat Completions and Responses
    400: (400, "invalid_request_error", None),
    401: (401, "invalid_request_error", "invalid_api_key"),
    402: (402, "insufficient_quota", "insufficient_quota"),
    403: (403, "invalid_request_error", None),
    404: (404, "invalid_request_error", None),
    408: (408, "server_error", None),
    409: (409, "invalid_request_error", None),
    413: (413, "invalid_request_error", None),
    422: (422, "invalid_request_error", None),
    429: (429, "rate_limit_error", "rate_limit_exceeded"),
    503: (503, "server_error", "server_is_overloaded"),
    504: (504, "server_error", None),
    529: (503, "server_error", "server_is_overloaded"),
}
"""Any other status stays, and is a client error below 500, else a server error."""

GOOGLE_STATUS = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""Gemini's names of statuses; any other is INVALID_ARGUMENT or INTERNAL. Source: ai.google.dev/gemini-api/docs/troubleshooting.
"""

_FIELDS = ("data", "event", "retry")
"""Prefixes of an SSE line, which may be cut within one."""

_OBJECT_START = re.compile(rb"(?:[\r\n]|data: ?)(\{)")
"""Where an object begins after a cut event."""

MAX_STARTS = 8
"""Number of such places that are tried, the last ones."""

_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Control characters that text does not contain. Escape is allowed: terminals' colours need it."""

_OVERLOADED = re.compile(r"overloaded|\bcapacity\b", re.IGNORECASE)


@value
class Fault:
    """An upstream's error. `code` and `param` as in Chat Completions; "" if the upstream sends none."""

    status: int
    message: str
    type: str = ""
    code: str = ""
    param: str | None = None

    @property
    def overflow(self) -> bool:
        """Whether the conversation exceeds the model's context."""
        return overflows(self.status, f"{self.code} {self.type} {self.message}")

    @property
    def overloaded(self) -> bool:
        """Whether the cause is the server's load, not a limit of the account."""
        return self.status >= 500 and bool(_OVERLOADED.search(f"{self.type} {self.message}"))


def translate_error(
    status: int, headers: Iterable[tuple[str, str]], body: bytes, source: str, target: str, *, now: datetime, new_id: str
) -> tuple[int, Headers, bytes]:
    """Translates an error response.

    Args:
        status: The upstream's status.
        headers: The upstream's headers.
        body: The upstream's body.
        source: The upstream's API.
        target: The client's API.
        now: For headers with points in time.
        new_id: The request's id, if the client's API needs one and the upstream sent none.

    Returns:
        Status, headers and body for the client.
    """
    upstream_headers = tuple(headers)
    if source == target and status >= 400 and is_error(body):
        out = body
    else:
        status, out = write_error(read_fault(status, body), target, new_id)
    # the body is JSON now, and an unknown upstream's content type may contain line ends
    translated = translate_headers(upstream_headers, source, target, now=now, new_id=new_id)
    return status, (("content-type", "application/json"), *translated), out


def is_error(body: bytes) -> bool:
    """Whether a JSON body is an error, whatever its status."""
    try:
        value = json_text.loads(body)
    except json_text.NotJSON:
        return False
    if not isinstance(value, dict) or not (_error(value) or value.get("type") == "error"):
        return False
    return not (value.get("choices") or value.get("output") or value.get("content")) or bool(choice_error(value))


def _value(body: bytes) -> Any:
    """Parses a body, or the first event in it that has JSON: a request for a stream may get its error as one."""
    try:
        return json_text.loads(body)
    except json_text.NotJSON:
        with suppress(json_text.NotJSON):
            return json_text.loads(json_text.readable(body))
        decoder = SseDecoder()
        for event in (*decoder.feed(body), *decoder.close()):
            with suppress(json_text.NotJSON):
                return json_text.loads(event.data or b"")
        raise


def read_fault(status: int, body: bytes) -> Fault:
    """Reads an error in any known form: OpenAI's, Anthropic's, FastAPI's, Google's, OpenRouter's, plain text."""
    try:
        value = _value(body)
    except json_text.NotJSON:
        words = _plain_text(body) or f"the upstream answered with status {status} and no explanation"
        return Fault(status if status >= 400 else 502, words)
    if isinstance(value, list) and value:  # Google
        value = value[0]
    error: Any = (_error(value) if isinstance(value, dict) else None) or value
    message = message_of_error(error)
    of = error if isinstance(error, Mapping) else {}
    code, kind, param = of.get("code"), of.get("type") or of.get("status"), of.get("param")
    type_ = kind if isinstance(kind, str) else ""
    if status < 400:  # sent as if it were an answer
        status = status_in(error, value) or status_of(error_type(0, type_, f"{code} {message}"))
    return Fault(
        status,
        message[:MAX_TEXT],
        type_,
        code if isinstance(code, str) else "",
        param if isinstance(param, str) else None,
    )


def write_error(fault: Fault, target: str, new_id: str) -> tuple[int, bytes]:
    """Returns status and body of a fault in the client's API."""
    if target == "messages":
        status, kind, message = _anthropic(fault)
        error: dict[str, Any] = {"type": kind, "message": message}
        return status, _bytes({"type": "error", "error": error, "request_id": with_prefix("req_", new_id)})
    if target == "ollama":
        return fault.status, _bytes({"error": fault.message})
    if target == "gemini":
        named = GOOGLE_STATUS.get(fault.status, "INVALID_ARGUMENT" if fault.status < 500 else "INTERNAL")
        return fault.status, _bytes({"error": {"code": fault.status, "message": fault.message, "status": named}})
    status, kind, code = _openai(fault)
    error = {"message": fault.message, "type": kind, "param": fault.param, "code": code}
    return status, _bytes({"error": error})


def _bytes(value: Any) -> bytes:
    return json_text.dumps(value).encode()


def _openai(fault: Fault) -> tuple[int, str, str | None]:
    if fault.overflow:
        return 400, "invalid_request_error", "context_length_exceeded"
    if fault.overloaded:
        return OPENAI_TYPES[529]
    other = "invalid_request_error" if fault.status < 500 else "server_error"
    status, kind, code = OPENAI_TYPES.get(fault.status, (fault.status, other, None))
    return status, kind if status_of(fault.type) else fault.type or kind, fault.code or code


def _anthropic(fault: Fault) -> tuple[int, str, str]:
    if fault.overflow:
        return 400, "invalid_request_error", too_long(fault.message)
    # the status decides: for OpenAI, a wrong key is an invalid_request_error
    kind = error_type(fault.status, "", f"{fault.type} {fault.message}")
    return status_of(kind), kind, fault.message


def trailing_error(event: bytes) -> bytes | None:
    """Returns the JSON of an error at the end of an event that it cut, because a gateway did not end the line (sub2api#1471)."""
    for place in deque(_OBJECT_START.finditer(event, 1), maxlen=MAX_STARTS):
        data = event[place.start(1) :]
        with suppress(json_text.NotJSON):
            value = json_text.loads(data)
            return data.strip() if isinstance(value, dict) and error_in(value) else None
    return None


def final_error(data: bytes) -> StreamError | None:
    """Returns the error that an upstream sent last before it broke off, in any form; None if it was not an error."""
    data = data.removeprefix(BOM)
    if data.lstrip().startswith((b"{", b"[")):
        try:
            value = json_text.loads(data)
        except json_text.NotJSON:
            return None
        error = _error(value) if isinstance(value, dict) else None
        return stream_error(error, value) if error else None
    text = _plain_text(data)
    if not text or any(name.startswith(text) for name in _FIELDS):
        return None
    return StreamError("error", text)


def _plain_text(data: bytes) -> str:
    """The text of a body or an event; "" for HTML and for binary data (compressed without a header, UTF-16)."""
    text = data[:MAX_TEXT].decode(errors="replace").strip()
    return "" if text.startswith("<") or _BINARY.search(text) else text


def _error(value: Mapping[str, Any]) -> Any:
    """The error of a body; None if there is none."""
    return error_in(value) or (value if isinstance(value.get("message"), str) and not value.get("choices") else None)
