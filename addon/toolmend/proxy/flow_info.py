"""Reads facts off a mitmproxy flow: where it goes, what it carries, which side ended it.

1. Nothing of the flow is changed.
2. Nothing is trusted: what cannot be read is empty or None, and every decoding has a bound.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from mitmproxy import http
from mitmproxy.flow import Error
from mitmproxy.net.http.url import parse_authority

from ..core import content_encoding, json_text
from ..secrets.redactor import Redactor
from ..secrets.request_secrets import MAX_SECRET, secrets_in

REQUEST_LIMIT = 64 * 1024 * 1024
"""Bytes of a request that are read: the screenshots of a long session take tens of MiB, and the request is the user's own."""


MAX_FIELD = 64 * 1024
"""Bytes of a header that are read, with its name: servers and clients accept 8 to 16 KiB, Envoy 60 for all."""

MAX_HEADERS = 1024 * 1024
"""Bytes of all headers of a message that are read, each with FIELD extra. mitmproxy accepts and forwards any number."""

FIELD = 32
"""Bytes that each header adds to its own: many short ones take memory, too."""

MAX_REPEATED = 16
"""Headers of the same name that are joined."""

MAX_ERROR = 10_000
"""Characters of mitmproxy's error message that are kept: it quotes everything it received, headers of any length too."""

SEARCHED_ERROR = MAX_ERROR + 4 * MAX_SECRET
"""Characters that are searched for keys: a key may extend past those that are kept, in an encoding longer than itself."""

AWS = "application/vnd.amazon.eventstream"
NDJSON = ("application/x-ndjson", "application/ndjson")

GENERIC_TYPES = (
    "", "text/plain", "text/json", "application/octet-stream", "binary/octet-stream",
    *NDJSON, "application/jsonl", "application/stream+json", "application/event-stream",
)  # fmt: skip
"""Content types of servers that mislabel streams; SDKs that requested a stream parse such a response anyway."""

EARLY_END = "the answer ended early"
"""How the error of a flow begins if it is not known which side ended it."""

_KEYS = Redactor(())
_MODEL_IN_PATH = re.compile(r"/(?:models?|deployments)/([^/:?]+)")  # Gemini, Bedrock, Azure


def host_candidates(flow: http.HTTPFlow) -> tuple[tuple[str, int], ...]:
    """Returns the (name, port) pairs that a request's host may have; an IPv6 address is in brackets.

    In transparent mode `host` is an address, and the header or SNI has the name; in reverse mode the header may name this proxy.
    """
    request = flow.request
    named = (request.is_http2 or request.is_http3) and request.authority
    return _host_candidates(named or header(request, b"host"), request.host, request.port, flow.client_conn.sni)


@lru_cache(32)
def _host_candidates(host_header: str, host: str, port: int, sni: str | None) -> tuple[tuple[str, int], ...]:
    named = parse_authority(host_header, check=False)[0] if host_header else host
    return tuple((f"[{name}]" if ":" in name else name, port) for name in dict.fromkeys((named, host, sni)) if name)


def is_sse(response: http.Response) -> bool:
    """Returns whether the content type is that of an SSE stream."""
    return _media_type(response) == "text/event-stream"


def is_json(response: http.Response) -> bool:
    """Returns whether the content type is JSON."""
    return _media_type(response) == "application/json" or _media_type(response).endswith("+json")


def is_llm_response(response: http.Response) -> bool:
    """Returns whether an LLM API may have sent this, by its content type; True if the type is missing or generic."""
    known = is_sse(response) or is_json(response) or _media_type(response) in (AWS, *NDJSON)
    return known or (_media_type(response) in GENERIC_TYPES and _is_success(response))


def is_stream(api: str, path: str, request: Mapping[str, Any] | None, response: http.Response) -> bool:
    """Returns whether the upstream answers with a stream, by the content type or else by the request.

    Gemini streams an array unless `alt=sse` is asked for; some proxies label Ollama's lines as JSON.
    """
    kind = _media_type(response)
    if kind == "text/event-stream" or (api == "bedrock" and kind == AWS) or (api == "ollama" and kind in NDJSON):
        return True
    if not _is_success(response) or not (kind in GENERIC_TYPES or (kind == "application/json" and api in ("gemini", "ollama"))):
        return False
    if api == "gemini":
        return path.partition("?")[0].endswith(":streamGenerateContent")
    stream_field = (request or {}).get("stream")
    return stream_field is True or (api == "ollama" and request is not None and stream_field is not False)


def requested_model(request: Mapping[str, Any] | None, path: str) -> str:
    """Returns the requested model, from the request or else from the path; at most 200 characters."""
    found = _MODEL_IN_PATH.search(path)
    return str((request or {}).get("model") or (unquote(found[1]) if found else ""))[:200]


def _is_success(response: http.Response) -> bool:
    return 200 <= response.status_code < 300


def _media_type(response: http.Response) -> str:
    # a gateway may repeat the header
    return header(response, b"content-type").replace(",", ";").partition(";")[0].strip().lower()


def encoding(message: http.Message) -> str:
    """Returns the content-encoding in the form that `content_encoding` takes; empty if there is none.

    For a response this includes other transfer-encodings: mitmproxy undoes only the chunks.
    """
    content = header(message, b"content-encoding")
    transfer = header(message, b"transfer-encoding") if isinstance(message, http.Response) else ""
    if transfer in ("", "chunked"):
        return content
    transfer_codings = (name for name in transfer.split(",") if name.strip().lower() != "chunked")
    return ",".join(filter(None, (content, *transfer_codings)))


def header(message: http.Message, name: bytes) -> str:
    """Returns a header by its lower-case name, at a tenth of the cost of mitmproxy's lookup; empty if there is none.

    The result is cut at MAX_FIELD bytes.
    """
    size = len(name)
    found = [value for key, value in message.headers.fields if len(key) == size and key.lower() == name]
    if not found:
        return ""
    value = found[0] if len(found) == 1 else b", ".join([one[:MAX_FIELD] for one in found[:MAX_REPEATED]])
    return value[:MAX_FIELD].decode("utf-8", "surrogateescape")


def headers(message: http.Message) -> tuple[tuple[str, str], ...]:
    """Returns the headers in order, up to MAX_HEADERS; bytes that are not UTF-8 become U+FFFD.

    A header longer than MAX_FIELD is left out: half of a key would not be recognised and masked.
    """
    fields = _read(message.headers.fields)
    return tuple([(name.decode(errors="replace"), value.decode(errors="replace")) for name, value in fields])


def omitted_headers(message: http.Message | None, of: str) -> tuple[str, ...]:
    """Returns a note on the headers that `headers` leaves out, if there are any; `of` is "request" or "response"."""
    if message is None:
        return ()
    fields = message.headers.fields
    count = len(fields) - sum(1 for _ in _read(fields))
    return (f"{count} headers of the {of} are too long to be kept",) if count else ()


def _read(fields: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    left = MAX_HEADERS
    for field in fields:
        size = len(field[0]) + len(field[1])
        if size <= MAX_FIELD:
            left -= size + FIELD
            if left < 0:
                return
            yield field


def decode_body(body: bytes | None, encoding: str, errors: list[str] | None = None) -> bytes:
    """Returns the decoded body; b"" if it was streamed or cannot be decoded, which is appended to `why`."""
    if body is None and errors is not None:
        errors.append("the request passes unread: mitmproxy or another addon streams it")
    try:
        return content_encoding.whole(body or b"", encoding, REQUEST_LIMIT)
    except content_encoding.CodingError as error:
        if errors is not None:
            errors.append(f"the request passes unread: {error}")
        return b""


def json_object(body: bytes, errors: list[str] | None = None) -> dict[str, Any] | None:
    """Returns the object in a JSON text, or None if it is anything else. Parse errors are appended to `why`."""
    try:
        value = json_text.loads(body)
    except json_text.NotJSON as error:
        if body and errors is not None:
            errors.append(f"the request passes unread: {error}")
        return None
    return value if isinstance(value, dict) else None


def wait_ms(request: http.Request, response: http.Response) -> float | None:
    """Returns the milliseconds from the request's end to the response's first byte; None if it did not come from a network."""
    sent_at = request.timestamp_end or request.timestamp_start
    answered = response.timestamp_start
    return round(max(0.0, answered - sent_at) * 1000, 3) if sent_at and answered else None


def waited_ms(request: http.Request) -> float | None:
    """Returns the milliseconds since the request's end."""
    sent_at = request.timestamp_end or request.timestamp_start
    return round(max(0.0, time.time() - sent_at) * 1000, 3) if sent_at else None


def printable(text: str, length: int = 200) -> str:
    """Returns text from outside in a form that is safe to log: one line, `length` characters, without anything like a key."""
    return "".join(char if char.isprintable() else "?" for char in _KEYS.cut(text, length))


def mask_keys(flow: http.HTTPFlow, text: str) -> str:
    """Returns up to MAX_WORDS characters about a flow with the keys of its request masked: they may quote the upstream."""
    return Redactor(secrets_in(headers(flow.request), flow.request.path)).text(text[:SEARCHED_ERROR])[:MAX_ERROR]


def end_state(flow: http.HTTPFlow, message: str, client_left: bool | None = None) -> str:
    """Returns the state of a recording whose flow ended in an error.

    Args:
        flow: The flow.
        message: mitmproxy's error message. Over HTTP/2 it is the same for both sides.
        client_left: Whether the client disconnected; None: decided by the message and the connections.
    """
    if message == Error.KILLED_MESSAGE or message.startswith(EARLY_END):
        return "partial"
    if client_left is not None:
        return "client_closed" if client_left else "upstream_error"
    if message.startswith("stream reset"):  # always continues "by client"
        by_client = flow.client_conn.alpn == b"h2" and (flow.server_conn.alpn != b"h2" or "CANCEL" in message)
    else:
        by_client = "client disconnected" in message.lower() or not flow.client_conn.connected
    return "client_closed" if by_client else "upstream_error"
