"""What a worker answers to Envoy, each as a ProcessingResponse.

Rule of this file: one reply for one step, and never an empty one: Envoy takes that for a fault, and lets the whole answer pass
unmended without a word to anybody.
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
    """An override stands for all fields; FULL_DUPLEX_STREAMED is refused without trailers."""
    given = {"response_header_mode": SEND, "response_trailer_mode": SKIP, **fields}
    return ProcessingMode(request_header_mode=SEND, request_trailer_mode=SKIP, **given)


LEFT = _mode(response_header_mode=SKIP)
"""Nothing more of an exchange is wanted."""

ASKED = _mode()
"""Its answer is."""

ASK = _mode(request_body_mode=ProcessingMode.BUFFERED)
ASK_PARTLY = _mode(request_body_mode=ProcessingMode.BUFFERED_PARTIAL)
"""The request's body is, and then the answer. PARTLY: its length is not known, and it may be longer than Envoy's buffer; then a
part of it comes, and the rest goes by. (BUFFERED would be a 413 of Envoy's; but only there a body may be given a length.)"""

ANSWER = _mode(response_body_mode=ProcessingMode.BUFFERED)
ANSWER_PARTLY = _mode(response_body_mode=ProcessingMode.BUFFERED_PARTIAL)
"""The answer's body is, in the same ways."""

STREAM = _mode(response_body_mode=ProcessingMode.FULL_DUPLEX_STREAMED, response_trailer_mode=SEND)
"""The answer's body is, as it comes."""


def request_headers(mode: ProcessingMode, mutation: HeaderMutation | None = None, *, moved: bool = False) -> ProcessingResponse:
    """`moved`: the request goes elsewhere, so Envoy is to look for a route once more."""
    reply = ProcessingResponse(mode_override=mode)
    _common(reply.request_headers.response, mutation, moved=moved)
    return reply


def request_body(
    mutation: HeaderMutation | None = None, body: bytes | None = None, *, moved: bool = False
) -> ProcessingResponse:
    """`body` None: as it came."""
    reply = ProcessingResponse()
    _common(reply.request_body.response, mutation, body, moved=moved)
    return reply


def response_headers(
    mode: ProcessingMode | None, mutation: HeaderMutation | None = None, body: bytes | None = None
) -> ProcessingResponse:
    """`mode` None: its body is not wanted. `body`: of an answer that has none."""
    reply = ProcessingResponse(mode_override=mode)
    common = reply.response_headers.response
    _common(common, mutation, body)
    if body is not None:
        common.status = CommonResponse.CONTINUE_AND_REPLACE
    return reply


def response_body(mutation: HeaderMutation | None = None, body: bytes | None = None) -> ProcessingResponse:
    """Of one that came whole. `body` None: as it came."""
    reply = ProcessingResponse()
    _common(reply.response_body.response, mutation, body)
    return reply


def piece(body: bytes, *, last: bool = False) -> ProcessingResponse:
    """Of a body that is streamed."""
    reply = ProcessingResponse()
    given = reply.response_body.response.body_mutation.streamed_response
    given.body = body
    given.end_of_stream = last
    return reply


def response_trailers(left_out: Iterable[str] = ()) -> ProcessingResponse:
    """As they came, without those of these names."""
    reply = ProcessingResponse()
    reply.response_trailers.SetInParent()
    if names := [*left_out]:
        reply.response_trailers.header_mutation.remove_headers.extend(names)
    return reply


def immediate(response: http.Response) -> ProcessingResponse:
    """An answer of our own: the request goes no further, or the upstream's answer not on."""
    reply = ProcessingResponse()
    given = reply.immediate_response
    given.status.code = response.status_code
    fields = tuple(field for field in lower(response.headers.fields) if field[0] != b"content-length")
    if mutation := changes((), fields, {}):
        given.headers.CopyFrom(mutation)
    given.body = response.raw_content or b""
    given.details = "toolmend"
    return reply


def as_it_came(kind: str | None, given: Any, *, streams: bool) -> list[ProcessingResponse]:
    """To a message with which nothing is done. `streams`: Envoy sends pieces of the answer, and waits for their end."""
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


def _common(
    common: CommonResponse, mutation: HeaderMutation | None, body: bytes | None = None, *, moved: bool = False
) -> None:
    common.SetInParent()
    if mutation:
        common.header_mutation.CopyFrom(mutation)
    if body is not None:
        common.body_mutation.body = body
    common.clear_route_cache = moved
