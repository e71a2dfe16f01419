"""What comes back from the upstream of a route, as the client's API has it: whole bodies, errors, and headers of all.

    200 application/json {"choices":[…]}       the client asked for a stream: text/event-stream, message_start …
    429 {"error":{"message":"slow down"}}      429 {"type":"error","error":{"type":"rate_limit_error",…},"request_id":"req_…"}
    307 location: https://elsewhere/           an error: what is sent there would have a key

Rule of this file: a client never gets a body of another API than its own, whatever came and whatever fails, nor the route's key,
whatever repeats it. An error of ours names the route, by the file and line it stands at.
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
"""Bytes of a whole response that are read: it is a stranger's, and a bomb of this size costs some 30 MiB and 50 ms."""

CLOSE = ("connection", "close")
"""Of an answer behind which the upstream closes: else the next request would go where nobody listens."""

RETRY = "the upstream refused a field of the translated request, which is changed from now on: ask again"
AT_ONCE: Headers = (("retry-after-ms", "50"), ("retry-after", "0"), ("x-should-retry", "true"))
"""Headers on which the SDKs of OpenAI and Anthropic ask again without waiting."""

_REDIRECTS = (301, 302, 303, 307, 308)
_HOST = re.compile(r"https?://(?:[^/@]*@)?([^/?#]+)")


class NoAnswerError(Exception):
    """What came is no answer, and why; `body` is what was received."""

    def __init__(self, why: str, body: bytes) -> None:
        super().__init__(why)
        self.body = body


def whole(routed: Routed, pipeline: Pipeline | None, response: http.Response, raw: bytes) -> tuple[bytes, bytes]:
    """Makes a response that came whole the client's; returns the body that was received and the one to be sent.

    Raises NoAnswerError, and then nothing is changed.
    """
    try:
        body = content_encoding.whole(raw, flow_info.encoding(response), LIMIT)
    except content_encoding.CodingError as error:
        raise NoAnswerError(f"the upstream's answer cannot be read: {error}", b"") from None
    if response.status_code >= 400 or is_error(body):
        return body, _error(routed, response, body)
    if wrong := _wrong(routed, response, body):
        raise NoAnswerError(wrong, body)
    streamed, events = routed.wants_stream, _events(response, body)
    if pipeline is None:
        if routed.client != routed.route.upstream:
            raise NoAnswerError("the upstream's answer could not be translated", body)
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
    if failed:  # the client's API cannot say the answer: it is empty, or arguments are no JSON
        _set_status(response, write_error(read_fault(response.status_code, out), routed.client, routed.id)[0])
    _set_body(response, out)
    return body, out


def relabel(routed: Routed, response: http.Response, *, streamed: bool) -> None:
    """Makes the headers those of an answer to the client; what they say of coding and framing stays as it is."""
    _set_status(response, response.status_code)
    kind = EVENTS if streamed else "application/json"
    kept = [(name, value) for name, value in flow_info.headers(response) if name.lower() in response_headers.STALE]
    if response_headers.closes(response):
        kept.append(CLOSE)
    _set_headers(response, [("content-type", kind), *_passed(routed, response), *kept])


def without_key(routed: Routed, stream: Stream) -> Stream:
    """A stream's callable that masks the route's key with `*`, as the recording does."""
    secrets = guarded(routed.route.key)
    if not secrets:
        return stream
    mask = StreamMask(secrets)

    def call(data: bytes) -> bytes | list[bytes]:
        out = stream(data)
        if isinstance(out, bytes):
            return (mask.feed(out) or []) if data else mask.feed(out) + mask.close()
        parts = [*filter(None, map(mask.feed, filter(None, out)))]
        return [*parts, *filter(None, (mask.close(),)), b""] if b"" in out else parts  # for mitmproxy, a b"" ends the body

    return call


def _masked(said: bytes, key: str) -> bytes:
    """As it lies in a recording, so that this can be played."""
    return masked(said, (key,)) if key else said


def _error(routed: Routed, response: http.Response, body: bytes) -> bytes:
    headers, api = _given(routed, response), routed.route.upstream
    body = _masked(body, routed.route.key)  # what is cut in two may be joined in the client's API
    status, headers, out = translate_error(
        response.status_code, headers, body, api, routed.client, now=datetime.now(UTC), new_id=routed.id
    )
    return _set(routed, response, status, headers, out)


def fail(routed: Routed, response: http.Response, wrong: str, more: Headers = ()) -> tuple[str, bytes]:
    """Makes a response an error of ours; returns all of its words, by which a replay writes it again, and the body."""
    words = f"{_without_key(routed, wrong)}{STANDS_AT}{routed.route.where}"
    status, out = write_error(Fault(502, words), routed.client, routed.id)
    headers = (("content-type", "application/json"), *_passed(routed, response), *more)
    return words, _set(routed, response, status, headers, out)


def retry(routed: Routed, response: http.Response) -> tuple[str, bytes]:
    """Makes a refusal an error on which clients ask again at once, as `fail` does: the request cannot be sent again from here."""
    return fail(routed, response, RETRY, AT_ONCE)


def unanswered(flow: http.HTTPFlow, routed: Routed, why: str, reached: bool) -> http.Response:
    """What a client gets where there is no answer; `why` is mitmproxy's own words. After a refusal it is that one."""
    if flow.response and flow.response.raw_content is not None and flow.response.status_code in STATUSES:
        return flow.response
    response = http.Response.make(502)
    fail(routed, response, no_answer(routed, why, reached=reached))
    return response


def _without_key(routed: Routed, said: str) -> str:
    """What is said may quote the upstream, which may quote the request."""
    said = said[: flow_info.SEARCHED_ERROR]
    return _masked(said.encode(errors="surrogateescape"), routed.route.key).decode(errors="surrogateescape")


def no_answer(routed: Routed, why: str, *, reached: bool) -> str:
    """What is wrong where there is none."""
    told = flow_info.printable(_without_key(routed, why))  # a key is gone before it may be cut
    if reached:
        return f"the upstream gave no whole answer ({told}): try again, or see its log"
    if "certificate" in why.lower():
        todo = "mitmproxy has to trust its CA, by --set ssl_verify_upstream_trusted_ca=FILE"
        return f"the upstream cannot be trusted ({told}): {todo}"
    return f"the upstream cannot be reached ({told}): see that it runs, and that the route's `to` is right"


def _passed(routed: Routed, response: http.Response) -> Headers:
    now = datetime.now(UTC)
    return translate_headers(_given(routed, response), routed.route.upstream, routed.client, now=now, new_id=routed.id)


def _given(routed: Routed, response: http.Response) -> Headers:
    """The headers that came, without those that repeat the route's key."""
    fields = flow_info.headers(response)
    lines = [f"{name}: {value}".encode() for name, value in fields]
    said = b"\n".join((*lines, b""))
    if (kept := _masked(said, routed.route.key)) == said:
        return fields
    return tuple(field for field, line, same in zip(fields, lines, kept.split(b"\n"), strict=False) if line == same)


def _set(routed: Routed, response: http.Response, status: int, headers: Headers, body: bytes) -> bytes:
    body = _masked(body, routed.route.key)  # "Incorrect API key provided: …"
    last = (CLOSE,) if response_headers.closes(response) else ()
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


def _wrong(routed: Routed, response: http.Response, body: bytes) -> str:
    """What is wrong with a response that is neither an error nor an answer."""
    status = response.status_code
    if 300 <= status < 400 and (status in _REDIRECTS or "location" in response.headers):
        host = _HOST.match(flow_info.header(response, b"location"))
        elsewhere = f"to {flow_info.printable(host[1])}" if host else "to another path"
        return f"the upstream redirects {elsewhere}, which is not followed: write where it is into the route's `to`"
    if 100 <= status < 200 and status != 101:
        return f"the upstream announces its answer by a status {status}, and mitmproxy does not wait for it: have that left out"
    if not 200 <= status < 300:
        return f"the upstream answers with status {status}, which is no answer: see that the route's `to` is that of an API"
    if not body.strip():
        return f"the upstream's answer is empty (status {status})"
    if _events(response, body):
        told = routed.wants_stream or routed.client != routed.route.upstream
        return "" if told else "the upstream answers with a stream where none was asked for"
    return _unread(routed, response, body)


def _unread(routed: Routed, response: http.Response, body: bytes) -> str:
    """Why a body is none that can be read; what is too much to be read passes to a client of its own API."""
    if flow_info.json_object(body) is not None:
        return ""
    kind = flow_info.printable(flow_info.header(response, b"content-type")) or "nothing"
    wrong = f"the upstream's answer is no JSON object, it calls itself {kind}"
    try:
        value = json_text.loads(json_text.readable(body))
    except json_text.CrowdedError as error:
        return "" if routed.client == routed.route.upstream else f"the upstream's answer cannot be translated: {error}"
    except json_text.NotJSON:
        return wrong
    return "" if isinstance(value, dict) else wrong


def _events(response: http.Response, body: bytes) -> bool:
    """Whether it is a stream of events: some upstreams call them JSON, or text."""
    return flow_info.is_sse(response) or sse.begins(body)
