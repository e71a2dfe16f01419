"""Builds a worker's replies to Envoy, each as a ProcessingResponse.

There is one reply for each step, and it is never empty: Envoy takes an empty one for a fault and silently passes the whole
response unmended.
"""

from collections.abc import Iterable
from typing import Any

from envoy.extensions.filters.http.ext_proc.v3.processing_mode_pb2 import ProcessingMode  # type: ignore[import-untyped]
from envoy.service.ext_proc.v3.external_processor_pb2 import (  # type: ignore[import-untyped]
    CommonResponse,
    HeaderMutation,
    ProcessingResponse,
)
from mitmproxy import http

from .bootstrap import UPSTREAM_HEADER
from .header_maps import changes, lower

SKIP, SEND = ProcessingMode.SKIP, ProcessingMode.SEND


def _mode(**fields: int) -> ProcessingMode:
    """Returns a mode override, which sets all fields; FULL_DUPLEX_STREAMED is refused without trailers."""
    given = {"response_header_mode": SEND, "response_trailer_mode": SKIP, **fields}
    return ProcessingMode(request_header_mode=SEND, request_trailer_mode=SKIP, **given)


LEFT = _mode(response_header_mode=SKIP)
"""Envoy sends nothing more of the exchange."""

ASKED = _mode()
"""Envoy sends the response's headers."""

ASK = _mode(request_body_mode=ProcessingMode.BUFFERED)
ASK_PARTLY = _mode(request_body_mode=ProcessingMode.BUFFERED_PARTIAL)
"""Envoy sends the request's body, then the response's headers. PARTLY: the length is unknown, and if it exceeds Envoy's buffer, a
part is sent and the rest passes. (With BUFFERED Envoy would answer 413; but only with BUFFERED can a body get a length.)"""

ANSWER = _mode(response_body_mode=ProcessingMode.BUFFERED)
ANSWER_PARTLY = _mode(response_body_mode=ProcessingMode.BUFFERED_PARTIAL)
"""Envoy sends the response's body, in the same two ways."""

STREAM = _mode(response_body_mode=ProcessingMode.FULL_DUPLEX_STREAMED, response_trailer_mode=SEND)
"""Envoy sends the response's body in pieces, on arrival."""


def request_headers(mode: ProcessingMode, mutation: HeaderMutation | None = None, *, moved: bool = False) -> ProcessingResponse:
    """Replies to request headers. `moved`: the request goes elsewhere, so Envoy has to choose a route again."""
    reply = ProcessingResponse(mode_override=mode)
    _common(reply.request_headers.response, mutation, moved=moved)
    return reply


def request_body(mutation: HeaderMutation | None = None, body: bytes | None = None, *, moved: bool = False) -> ProcessingResponse:
    """Replies to a request body. `body` None: unchanged."""
    reply = ProcessingResponse()
    _common(reply.request_body.response, mutation, body, moved=moved)
    return reply


def response_headers(
    mode: ProcessingMode | None, mutation: HeaderMutation | None = None, body: bytes | None = None
) -> ProcessingResponse:
    """Replies to response headers. `mode` None: the body is not needed. `body`: for a response without one."""
    reply = ProcessingResponse(mode_override=mode)
    common = reply.response_headers.response
    _common(common, mutation, body)
    if body is not None:
        common.status = CommonResponse.CONTINUE_AND_REPLACE
    return reply


def response_body(mutation: HeaderMutation | None = None, body: bytes | None = None) -> ProcessingResponse:
    """Replies to a whole response body. `body` None: unchanged."""
    reply = ProcessingResponse()
    _common(reply.response_body.response, mutation, body)
    return reply


def piece(body: bytes, *, last: bool = False) -> ProcessingResponse:
    """Replies with a piece of a streamed body."""
    reply = ProcessingResponse()
    given = reply.response_body.response.body_mutation.streamed_response
    given.body = body
    given.end_of_stream = last
    return reply


def response_trailers(names_to_drop: Iterable[str] = ()) -> ProcessingResponse:
    """Replies to trailers: unchanged, but without these names."""
    reply = ProcessingResponse()
    reply.response_trailers.SetInParent()
    if names := [*names_to_drop]:
        reply.response_trailers.header_mutation.remove_headers.extend(names)
    return reply


def immediate(response: http.Response) -> ProcessingResponse:
    """Replies with a response of toolmend's: the request is not forwarded, or the upstream's response is replaced."""
    reply = ProcessingResponse()
    given = reply.immediate_response
    given.status.code = response.status_code
    fields = tuple(field for field in lower(response.headers.fields) if field[0] != b"content-length")
    if mutation := changes((), fields, {}):
        given.headers.CopyFrom(mutation)
    given.body = response.raw_content or b""
    given.details = "toolmend"
    return reply


def unchanged(kind: str | None, given: Any, *, streams: bool) -> list[ProcessingResponse]:
    """Returns the replies that change nothing. `streams`: Envoy sends the response in pieces and waits for their end."""
    match kind:
        case "request_headers":
            return [request_headers(LEFT, HeaderMutation(remove_headers=[UPSTREAM_HEADER]))]
        case "request_body":
            return [request_body()]
        case "request_trailers":
            return [_request_trailers()]
        case "response_headers":
            return [response_headers(None)]
        case "response_body" if streams:
            return [piece(given.body, last=given.end_of_stream)]
        case "response_body":
            return [response_body()]
        case "response_trailers":
            return [response_trailers()]
        case _:
            return []


def _request_trailers() -> ProcessingResponse:
    reply = ProcessingResponse()
    reply.request_trailers.SetInParent()
    return reply


def _common(common: CommonResponse, mutation: HeaderMutation | None, body: bytes | None = None, *, moved: bool = False) -> None:
    common.SetInParent()
    if mutation:
        common.header_mutation.CopyFrom(mutation)
    if body is not None:
        common.body_mutation.body = body
    common.clear_route_cache = moved
