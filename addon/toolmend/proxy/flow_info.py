"""What a mitmproxy flow says of itself: where it goes, what it carries, who ended it.

Rule of this file: it reads, and never trusts. Nothing of the flow is changed; what cannot be read is empty or None, and
nothing is decoded without a bound.
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
"""Bytes of a request that are read: the screenshots of a long session make tens of MiB, and it is the user's own."""


MAX_FIELD = 64 * 1024
"""Bytes of a header that are read, its name among them: servers and clients take 8 to 16 KiB, Envoy 60 of all."""

MAX_HEADERS = 1024 * 1024
"""Bytes of all headers of a message that are read, and FIELD for each. mitmproxy takes any number, and passes them on."""

FIELD = 32
"""Bytes that a header counts as beside its own: many short ones take memory, too."""

MAX_REPEATED = 16
"""Headers of one name that are read as one."""

MAX_WORDS = 10_000
"""Characters of mitmproxy's words for an error that are kept: it quotes all that came, headers without end too."""

READ_WORDS = MAX_WORDS + 4 * MAX_SECRET
"""Characters in which a key is looked for: it may go on behind those that are kept, in a form that is longer than itself."""

AWS = "application/vnd.amazon.eventstream"
NDJSON = ("application/x-ndjson", "application/ndjson")

UNKNOWN = (
    "", "text/plain", "text/json", "application/octet-stream", "binary/octet-stream",
    *NDJSON, "application/jsonl", "application/stream+json", "application/event-stream",
)  # fmt: skip
"""What an answer is called by a server that was not told what it is; SDKs that asked for a stream read it all the same."""

EARLY = "the answer ended early"
"""What a flow's error begins with where it is not known who ended it."""

_KEYS = Redactor(())
_MODEL_IN_PATH = re.compile(r"/(?:models?|deployments)/([^/:?]+)")  # Gemini, Bedrock, Azure


def places(flow: http.HTTPFlow) -> tuple[tuple[str, int], ...]:
    """The names under which a request's host is known, with the port; an IPv6 address is in brackets.

    In transparent mode `host` is an address and the header or SNI has the name; in reverse mode the header may name us.
    """
    request = flow.request
    named = (request.is_http2 or request.is_http3) and request.authority
    return _places(named or header(request, b"host"), request.host, request.port, flow.client_conn.sni)


@lru_cache(32)
def _places(told: str, host: str, port: int, sni: str | None) -> tuple[tuple[str, int], ...]:
    named = parse_authority(told, check=False)[0] if told else host
    return tuple((f"[{name}]" if ":" in name else name, port) for name in dict.fromkeys((named, host, sni)) if name)


def is_sse(response: http.Response) -> bool:
    """Whether it is a stream of events, by its content type."""
    return _media(response) == "text/event-stream"


def is_json(response: http.Response) -> bool:
    """Whether it is a JSON text, by its content type."""
    return _media(response) == "application/json" or _media(response).endswith("+json")


def is_answer(response: http.Response) -> bool:
    """Whether it is anything that an LLM API answers with, by its content type; or that type says nothing of it."""
    known = is_sse(response) or is_json(response) or _media(response) in (AWS, *NDJSON)
    return known or (_media(response) in UNKNOWN and _is_good(response))


def is_stream(api: str, path: str, request: Mapping[str, Any] | None, response: http.Response) -> bool:
    """Whether the upstream answers with a stream: told by the content type, or else by what was asked for.

    Gemini streams an array where no `alt=sse` is asked for; of Ollama, some proxies call its lines JSON.
    """
    kind = _media(response)
    if kind == "text/event-stream" or (api == "bedrock" and kind == AWS) or (api == "ollama" and kind in NDJSON):
        return True
    if not _is_good(response) or not (kind in UNKNOWN or (kind == "application/json" and api in ("gemini", "ollama"))):
        return False
    if api == "gemini":
        return path.partition("?")[0].endswith(":streamGenerateContent")
    asked = (request or {}).get("stream")
    return asked is True or (api == "ollama" and request is not None and asked is not False)


def model(request: Mapping[str, Any] | None, path: str) -> str:
    """The model that is asked for: the request says it, or else the path."""
    found = _MODEL_IN_PATH.search(path)
    return str((request or {}).get("model") or (unquote(found[1]) if found else ""))[:200]


def _is_good(response: http.Response) -> bool:
    return 200 <= response.status_code < 300


def _media(response: http.Response) -> str:
    return header(response, b"content-type").replace(",", ";").partition(";")[0].strip().lower()  # a gateway may say it twice


def encoding(message: http.Message) -> str:
    """The content-encoding, as `codings` takes it; empty if there is none.

    Of an answer, with what the transfer put around it: mitmproxy undoes the chunks alone.
    """
    content = header(message, b"content-encoding")
    transfer = header(message, b"transfer-encoding") if isinstance(message, http.Response) else ""
    if transfer in ("", "chunked"):
        return content
    around = (name for name in transfer.split(",") if name.strip().lower() != "chunked")
    return ",".join(filter(None, (content, *around)))


def header(message: http.Message, name: bytes) -> str:
    """A header, by its name in lower case, as mitmproxy has it, at a tenth of the cost; empty if there is none.

    Of one that is longer than MAX_FIELD, what it begins with.
    """
    size = len(name)
    found = [value for key, value in message.headers.fields if len(key) == size and key.lower() == name]
    if not found:
        return ""
    value = found[0] if len(found) == 1 else b", ".join([one[:MAX_FIELD] for one in found[:MAX_REPEATED]])
    return value[:MAX_FIELD].decode("utf-8", "surrogateescape")


def headers(message: http.Message) -> tuple[tuple[str, str], ...]:
    """The headers in their order, up to MAX_HEADERS; bytes that are no UTF-8 become U+FFFD.

    One that is longer than MAX_FIELD is left out: the half of a key would be one that nobody finds.
    """
    fields = _read(message.headers.fields)
    return tuple([(name.decode(errors="replace"), value.decode(errors="replace")) for name, value in fields])


def left_out(message: http.Message | None, of: str) -> tuple[str, ...]:
    """A note on the headers that `headers` leaves out, if there are any; `of`: "request" or "response"."""
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


def plain(body: bytes | None, encoding: str, why: list[str] | None = None) -> bytes:
    """A request's body without its coding; empty if it was streamed past us, or cannot be undone, and `why` is told that."""
    if body is None and why is not None:
        why.append("the request passes unread: mitmproxy or another addon streams it")
    try:
        return content_encoding.whole(body or b"", encoding, REQUEST_LIMIT)
    except content_encoding.CodingError as error:
        if why is not None:
            why.append(f"the request passes unread: {error}")
        return b""


def json_object(body: bytes, why: list[str] | None = None) -> dict[str, Any] | None:
    """The object that a JSON text is; None if it is something else. `why` is told why a request's body cannot be read."""
    try:
        value = json_text.loads(body)
    except json_text.NotJSON as error:
        if body and why is not None:
            why.append(f"the request passes unread: {error}")
        return None
    return value if isinstance(value, dict) else None


def wait_ms(request: http.Request, response: http.Response) -> float | None:
    """Milliseconds from the request's end to the first byte of the response; none may have come over a network."""
    asked = request.timestamp_end or request.timestamp_start
    answered = response.timestamp_start
    return round(max(0.0, answered - asked) * 1000, 3) if asked and answered else None


def waited_ms(request: http.Request) -> float | None:
    """Milliseconds since the request's end."""
    asked = request.timestamp_end or request.timestamp_start
    return round(max(0.0, time.time() - asked) * 1000, 3) if asked else None


def printable(text: str, length: int = 200) -> str:
    """A name from outside, or a sentence that has one in it, as a log can show it: on one line, without what looks like a key."""
    return "".join(char if char.isprintable() else "?" for char in _KEYS.cut(text, length))


def keyless(flow: http.HTTPFlow, words: str) -> str:
    """MAX_WORDS characters about a flow, without the keys of its request: they may quote what the upstream repeats of it."""
    return Redactor(secrets_in(headers(flow.request), flow.request.path)).text(words[:READ_WORDS])[:MAX_WORDS]


def end_state(flow: http.HTTPFlow, message: str, left: bool | None = None) -> str:
    """The state of a recording whose flow ended in an error: who ended it. `left`: whether it was the client; None if not known.

    Then mitmproxy's `message` is all there is, and for HTTP/2 it is the same for both sides: the connections tell.
    """
    if message == Error.KILLED_MESSAGE or message.startswith(EARLY):
        return "partial"
    if left is not None:
        return "client_closed" if left else "upstream_error"
    if message.startswith("stream reset"):  # "by client", it says in either case
        by_client = flow.client_conn.alpn == b"h2" and (flow.server_conn.alpn != b"h2" or "CANCEL" in message)
    else:
        by_client = "client disconnected" in message.lower() or not flow.client_conn.connected
    return "client_closed" if by_client else "upstream_error"
