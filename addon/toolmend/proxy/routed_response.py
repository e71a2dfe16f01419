"""Converts the response of a route's upstream to the client's API: whole bodies, errors, and all headers.

    200 application/json {"choices":[…]}       the client asked for a stream: text/event-stream, message_start …
    429 {"error":{"message":"slow down"}}      429 {"type":"error","error":{"type":"rate_limit_error",…},"request_id":"req_…"}
    307 location: https://elsewhere/           an error: following it would send the key elsewhere

1. A client never gets a body of another API than its own, whatever fails.
2. A client never gets the route's key, even if the upstream repeats it.
3. An error of toolmend names the route by its file and line.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from mitmproxy import http
from mitmproxy.net.http import status_codes

from ..apis.shared.errors import Fault, is_error, read_fault, translate_error, write_error
from ..apis.shared.headers import Headers, translate_headers
from ..core import content_encoding, json_text, sse
from ..pipeline.pipeline import Pipeline
from ..providers.routes import STANDS_AT
from ..requests.refusal_body import STATUSES
from ..secrets.stream_mask import StreamMask, guarded, masked
from . import flow_info, response_headers
from .body_capture import Stream
from .routed_request import Routed

EVENTS = "text/event-stream; charset=utf-8"
LIMIT = 16 * 1024 * 1024
"""Bytes of a whole response that are decoded: it is untrusted, and a bomb of this size costs about 30 MiB and 50 ms."""

CONNECTION_CLOSE = ("connection", "close")
"""Header of a response after which the upstream closes: otherwise the client's next request would get no answer."""

RETRY = "the upstream refused a field of the translated request, which is changed from now on: send it again"
RETRY_AT_ONCE: Headers = (("retry-after-ms", "50"), ("retry-after", "0"), ("x-should-retry", "true"))
"""Headers that make the SDKs of OpenAI and Anthropic retry without a delay."""

_REDIRECTS = (301, 302, 303, 307, 308)
_HOST = re.compile(r"https?://(?:[^/@]*@)?([^/?#]+)")


class NoAnswerError(Exception):
    """What was received is not a response of an LLM API; the message explains why, `body` is what was received."""

    def __init__(self, why: str, body: bytes) -> None:
        super().__init__(why)
        self.body = body


def whole(routed: Routed, pipeline: Pipeline | None, response: http.Response, raw: bytes) -> tuple[bytes, bytes]:
    """Converts a whole response to the client's API.

    Args:
        routed: The request.
        pipeline: The response's pipeline; None if there is none.
        response: The response; it is changed.
        raw: Its encoded body.

    Returns:
        The decoded body that was received, and the one to send.

    Raises:
        NoAnswerError: There is nothing to convert; the response is unchanged then.
    """
    try:
        body = content_encoding.whole(raw, flow_info.encoding(response), LIMIT)
    except content_encoding.CodingError as error:
        raise NoAnswerError(f"the upstream's response cannot be decoded: {error}", b"") from None
    if response.status_code >= 400 or is_error(body):
        return body, _error(routed, response, body)
    if problem := _problem(routed, response, body):
        raise NoAnswerError(problem, body)
    streamed, events = routed.wants_stream, _events(response, body)
    if pipeline is None:
        if routed.client != routed.route.upstream:
            raise NoAnswerError("the upstream's response could not be translated", body)
        out, streamed = body, events
    elif events:
        out = pipeline.feed(body) + pipeline.close() if streamed else pipeline.folded(body)
    elif streamed and routed.client != routed.route.upstream:
        out = pipeline.as_stream(body)
    else:
        out, streamed = pipeline.message(body), False
    relabel(routed, response, streamed=streamed)
    failed = not streamed and is_error(out)
    out = _masked(out, routed.route.key) if failed else masked(out, guarded(routed.route.key))
    if failed:  # the client's API cannot express the response: it is empty, or its arguments are not JSON
        _set_status(response, write_error(read_fault(response.status_code, out), routed.client, routed.id)[0])
    _set_body(response, out)
    return body, out


def relabel(routed: Routed, response: http.Response, *, streamed: bool) -> None:
    """Replaces the headers by those of the client's API; content encoding and framing are unchanged."""
    _set_status(response, response.status_code)
    kind = EVENTS if streamed else "application/json"
    kept = [(name, value) for name, value in flow_info.headers(response) if name.lower() in response_headers.STALE]
    if response_headers.closes(response):
        kept.append(CONNECTION_CLOSE)
    _set_headers(response, [("content-type", kind), *_client_headers(routed, response), *kept])


def without_key(routed: Routed, stream: Stream) -> Stream:
    """Returns a stream callable that masks the route's key with `*`, as the recording does."""
    secrets = guarded(routed.route.key)
    if not secrets:
        return stream
    mask = StreamMask(secrets)

    def masked_stream(data: bytes) -> bytes | list[bytes]:
        out = stream(data)
        if isinstance(out, bytes):
            return (mask.feed(out) or []) if data else mask.feed(out) + mask.close()
        parts = [*filter(None, map(mask.feed, filter(None, out)))]
        return [*parts, *filter(None, (mask.close(),)), b""] if b"" in out else parts  # mitmproxy ends the body at b""

    return masked_stream


def _masked(text: bytes, key: str) -> bytes:
    """Returns text with the key masked as in a recording, so that a replay has the same bytes."""
    return masked(text, (key,)) if key else text


def _error(routed: Routed, response: http.Response, body: bytes) -> bytes:
    headers, api = _received_headers(routed, response), routed.route.upstream
    body = _masked(body, routed.route.key)  # before the translation, which may join what is in two parts here
    status, headers, out = translate_error(
        response.status_code, headers, body, api, routed.client, now=datetime.now(UTC), new_id=routed.id
    )
    return _replace(routed, response, status, headers, out)


def fail(routed: Routed, response: http.Response, problem: str, extra_headers: Headers = ()) -> tuple[str, bytes]:
    """Makes a response an error of toolmend.

    Args:
        routed: The request.
        response: The response; it is changed.
        problem: What went wrong.
        extra_headers: More headers.

    Returns:
        The error's message, from which a replay writes the same error, and the body.
    """
    message = f"{_without_key(routed, problem)}{STANDS_AT}{routed.route.where}"
    status, out = write_error(Fault(502, message), routed.client, routed.id)
    headers = (("content-type", "application/json"), *_client_headers(routed, response), *extra_headers)
    return message, _replace(routed, response, status, headers, out)


def retry(routed: Routed, response: http.Response) -> tuple[str, bytes]:
    """Makes a refusal an error on which clients retry at once, for a request that cannot be sent again from here."""
    return fail(routed, response, RETRY, RETRY_AT_ONCE)


def unanswered(flow: http.HTTPFlow, routed: Routed, why: str, reached: bool) -> http.Response:
    """Returns the response for a request without one; after a refusal that was to be retried, the refusal.

    Args:
        flow: The flow.
        routed: The request.
        why: mitmproxy's error message.
        reached: Whether the upstream was reached.
    """
    if flow.response and flow.response.raw_content is not None and flow.response.status_code in STATUSES:
        return flow.response
    response = http.Response.make(502)
    fail(routed, response, no_answer(routed, why, reached=reached))
    return response


def _without_key(routed: Routed, text: str) -> str:
    """Masks the route's key in a message: it may quote the upstream, which may quote the request."""
    text = text[: flow_info.SEARCHED_ERROR]
    return _masked(text.encode(errors="surrogateescape"), routed.route.key).decode(errors="surrogateescape")


def no_answer(routed: Routed, why: str, *, reached: bool) -> str:
    """Returns why there is no response, and what to do about it."""
    cause = flow_info.printable(_without_key(routed, why))  # masked before it is cut, so that no part of a key remains
    if reached:
        return f"the upstream's response is incomplete ({cause}): try again, or look at the upstream's log"
    if "certificate" in why.lower():
        todo = "mitmproxy has to trust its CA, by --set ssl_verify_upstream_trusted_ca=FILE"
        return f"the upstream is not trusted ({cause}): {todo}"
    return f"the upstream cannot be reached ({cause}): check that it runs, and that the route's `to` is right"


def _client_headers(routed: Routed, response: http.Response) -> Headers:
    now = datetime.now(UTC)
    return translate_headers(_received_headers(routed, response), routed.route.upstream, routed.client, now=now, new_id=routed.id)


def _received_headers(routed: Routed, response: http.Response) -> Headers:
    """Returns the received headers without those that repeat the route's key."""
    fields = flow_info.headers(response)
    lines = [f"{name}: {value}".encode() for name, value in fields]
    text = b"\n".join((*lines, b""))
    if (kept := _masked(text, routed.route.key)) == text:
        return fields
    return tuple(field for field, line, same in zip(fields, lines, kept.split(b"\n"), strict=False) if line == same)


def _replace(routed: Routed, response: http.Response, status: int, headers: Headers, body: bytes) -> bytes:
    body = _masked(body, routed.route.key)  # "Incorrect API key provided: …"
    last = (CONNECTION_CLOSE,) if response_headers.closes(response) else ()
    _set_status(response, status)
    _set_headers(response, (*headers, *last))
    _set_body(response, body)
    return body


def _set_status(response: http.Response, status: int) -> None:
    response.status_code, response.reason = status, status_codes.RESPONSES.get(status, "")


def _set_body(response: http.Response, body: bytes) -> None:
    response_headers.drop_stale(response)
    response.trailers = None
    response.content = body


def _set_headers(response: http.Response, headers: Iterable[tuple[str, str]]) -> None:
    response.headers = http.Headers([(name.encode(), value.encode()) for name, value in headers])


def _problem(routed: Routed, response: http.Response, body: bytes) -> str:
    """Returns why a response is neither an error nor an answer; empty if it is one."""
    status = response.status_code
    if 300 <= status < 400 and (status in _REDIRECTS or "location" in response.headers):
        host = _HOST.match(flow_info.header(response, b"location"))
        elsewhere = f"to {flow_info.printable(host[1])}" if host else "to another path"
        return f"the upstream redirects {elsewhere}, which is not followed: set the route's `to` to the new place"
    if 100 <= status < 200 and status != 101:
        return f"the upstream sends an interim status {status}, after which mitmproxy does not wait: switch that off there"
    if not 200 <= status < 300:
        return f"the upstream answers with status {status}, which is not an API's: check the route's `to`"
    if not body.strip():
        return f"the upstream's answer is empty (status {status})"
    if _events(response, body):
        cause = routed.wants_stream or routed.client != routed.route.upstream
        return "" if cause else "the upstream answers with a stream, but none was requested"
    return _unreadable(routed, response, body)


def _unreadable(routed: Routed, response: http.Response, body: bytes) -> str:
    """Returns why a body is not a JSON object; empty if it is, or is too large to parse and goes to a client of the same API."""
    if flow_info.json_object(body) is not None:
        return ""
    kind = flow_info.printable(flow_info.header(response, b"content-type")) or "nothing"
    problem = f"the upstream's response is not a JSON object, its content type is {kind}"
    try:
        value = json_text.loads(json_text.readable(body))
    except json_text.CrowdedError as error:
        return "" if routed.client == routed.route.upstream else f"the upstream's response cannot be translated: {error}"
    except json_text.NotJSON:
        return problem
    return "" if isinstance(value, dict) else problem


def _events(response: http.Response, body: bytes) -> bool:
    """Returns whether a body is an SSE stream: some upstreams label it as JSON or text."""
    return flow_info.is_sse(response) or sse.begins(body)
