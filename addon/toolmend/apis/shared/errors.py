"""An upstream's error as an error of the client's API: status, headers, body.

    429 {"error":{"message":"slow down","type":"tokens","param":null,"code":"rate_limit_exceeded"}}
    429 {"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"req_018e"}

What clients do depends on it: whether they try again, wait, compact the conversation, or tell the user of a wrong key.
Sources: docs.anthropic.com/en/api/errors and /rate-limits; platform.openai.com/docs/guides/error-codes and /rate-limits.

Rule of this file: whatever comes in, a legal error goes out. What the upstream says in words stays; what a client looks at is
the client's API's.
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
from ...core.sse import BOM, SseDecoder
from ..messages.errors import error_type, overflows, status_of, too_long
from .error_words import error_in, of_choice, status_in, stream_error, words_of
from .headers import Headers, request_id, translate_headers

MAX_TEXT = 4000
"""Characters of an upstream's words that are passed on: a page of HTML or a traceback helps nobody."""

OPENAI_TYPES: dict[int, tuple[int, str, str | None]] = {
    # status: what it is in Chat Completions and Responses, with the code
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
"""One that is not here keeps its status, and is the client's below 500, else the server's."""

GOOGLE_STATUS = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""What Gemini calls a status; of others, INVALID_ARGUMENT or INTERNAL. Source: ai.google.dev/gemini-api/docs/troubleshooting."""

_FIELDS = ("data", "event", "retry")
"""A line of an event begins with one of these, and may have been cut in it."""

_BEHIND = re.compile(rb"(?:[\r\n]|data: ?)(\{)")
"""Where an object begins behind a cut."""

MAX_BEHIND = 8
"""Such places, the last ones, that are looked at."""

_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Controls that no text has: of those, terminals' colours need the escape alone."""

_OVERLOADED = re.compile(r"overloaded|\bcapacity\b", re.IGNORECASE)


@value
class Fault:
    """What an upstream reports. `code` and `param` as in Chat Completions; "" where it says none."""

    status: int
    message: str
    type: str = ""
    code: str = ""
    param: str | None = None

    @property
    def overflow(self) -> bool:
        """Whether the conversation no longer fits into the model's context."""
        return overflows(self.status, f"{self.code} {self.type} {self.message}")

    @property
    def overloaded(self) -> bool:
        """Whether it is a matter of load, and not of limits of one's own."""
        return self.status >= 500 and bool(_OVERLOADED.search(f"{self.type} {self.message}"))


def translate_error(
    status: int, headers: Iterable[tuple[str, str]], body: bytes, source: str, target: str, *, now: datetime, new_id: str
) -> tuple[int, Headers, bytes]:
    """The error for a client of `target`. `new_id`: what the request is called where the client's API names it."""
    given = tuple(headers)
    if source == target and status >= 400 and is_error(body):
        out = body
    else:
        status, out = write_error(fault_of(status, body), target, new_id)
    # whatever the upstream called it: it is JSON, and a content type of a stranger's may hold line ends
    return status, (("content-type", "application/json"), *translate_headers(given, source, target, now=now, new_id=new_id)), out


def is_error(body: bytes) -> bool:
    """Whether a JSON body is an error, whatever status it came with."""
    try:
        value = json_text.loads(body)
    except json_text.NotJSON:
        return False
    if not isinstance(value, dict) or not (_error(value) or value.get("type") == "error"):
        return False
    return not (value.get("choices") or value.get("output") or value.get("content")) or bool(of_choice(value))


def _value(body: bytes) -> Any:
    """The JSON of a body, or of the first event in it that has some: who asks for a stream may get the error as one."""
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


def fault_of(status: int, body: bytes) -> Fault:
    """What an upstream reports, in any of the shapes seen: OpenAI's, Anthropic's, FastAPI's, Google's, OpenRouter's, text."""
    try:
        value = _value(body)
    except json_text.NotJSON:
        words = _plain(body) or f"the upstream answered with status {status} and no explanation"
        return Fault(status if status >= 400 else 502, words)
    if isinstance(value, list) and value:  # Google
        value = value[0]
    error: Any = (_error(value) if isinstance(value, dict) else None) or value
    message = words_of(error)
    of = error if isinstance(error, Mapping) else {}
    code, kind, param = of.get("code"), of.get("type") or of.get("status"), of.get("param")
    type_ = kind if isinstance(kind, str) else ""
    if status < 400:  # it came as if it were an answer
        status = status_in(error, value) or status_of(error_type(0, type_, f"{code} {message}"))
    return Fault(
        status,
        message[:MAX_TEXT],
        type_,
        code if isinstance(code, str) else "",
        param if isinstance(param, str) else None,
    )


def write_error(fault: Fault, target: str, new_id: str) -> tuple[int, bytes]:
    """A fault in the client's API: the status and the body."""
    if target == "messages":
        status, kind, message = _anthropic(fault)
        error: dict[str, Any] = {"type": kind, "message": message}
        return status, _bytes({"type": "error", "error": error, "request_id": request_id(new_id)})
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
    # the status decides: OpenAI calls a wrong key an invalid_request_error
    kind = error_type(fault.status, "", f"{fault.type} {fault.message}")
    return status_of(kind), kind, fault.message


def error_behind(event: bytes) -> bytes | None:
    """The JSON of an error at the end of an event that it cut: who passed that on did not end its line first (sub2api#1471)."""
    for place in deque(_BEHIND.finditer(event, 1), maxlen=MAX_BEHIND):
        data = event[place.start(1) :]
        with suppress(json_text.NotJSON):
            value = json_text.loads(data)
            return data.strip() if isinstance(value, dict) and error_in(value) else None
    return None


def last_words(data: bytes) -> StreamError | None:
    """The error that the last thing was that an upstream said before it broke off, in whatever form; None if it was none."""
    data = data.removeprefix(BOM)
    if data.lstrip().startswith((b"{", b"[")):
        try:
            value = json_text.loads(data)
        except json_text.NotJSON:
            return None
        error = _error(value) if isinstance(value, dict) else None
        return stream_error(error, value) if error else None
    text = _plain(data)
    if not text or any(name.startswith(text) for name in _FIELDS):
        return None
    return StreamError("error", text)


def _plain(data: bytes) -> str:
    """The words that a body or an event is; "" where it is a page, or no text: compressed, and not called so, or in UTF-16."""
    text = data[:MAX_TEXT].decode(errors="replace").strip()
    return "" if text.startswith("<") or _BINARY.search(text) else text


def _error(value: Mapping[str, Any]) -> Any:
    """The part of a body that tells the error; None if there is none."""
    return error_in(value) or (value if isinstance(value.get("message"), str) and not value.get("choices") else None)
