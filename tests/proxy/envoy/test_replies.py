"""replies.py: one reply for each step, never empty, with what changes and nothing else."""

from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy import http

pytest.importorskip("envoy.service.ext_proc.v3.external_processor_pb2")

from envoy.service.ext_proc.v3.external_processor_pb2 import CommonResponse, HeaderMutation

from toolmend.proxy.envoy import replies
from toolmend.proxy.envoy.bootstrap import UPSTREAM_HEADER

MUTATION = HeaderMutation(remove_headers=["x-gone"])
KINDS = ["request_headers", "request_body", "request_trailers", "response_headers", "response_body", "response_trailers"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("streams", [False, True])
def test_unchanged_is_a_reply_of_its_step(kind: str, streams: bool) -> None:
    (reply,) = replies.unchanged(kind, SimpleNamespace(body=b"x", end_of_stream=True), streams=streams)
    assert reply.WhichOneof("response") == kind
    assert reply.ByteSize() > 0


def test_what_is_no_step_has_none() -> None:
    assert replies.unchanged(None, None, streams=False) == []
    assert replies.unchanged("other", None, streams=True) == []


def test_a_piece_is_passed_where_envoy_streams() -> None:
    (reply,) = replies.unchanged("response_body", SimpleNamespace(body=b"x", end_of_stream=True), streams=True)
    given = reply.response_body.response.body_mutation.streamed_response
    assert (given.body, given.end_of_stream) == (b"x", True)


def test_an_exchange_that_is_left_loses_the_header_of_its_upstream() -> None:
    (reply,) = replies.unchanged("request_headers", None, streams=False)
    assert list(reply.request_headers.response.header_mutation.remove_headers) == [UPSTREAM_HEADER]
    assert reply.mode_override == replies.LEFT


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        (replies.request_headers(replies.ASK, MUTATION, moved=True), "request_headers"),
        (replies.request_body(MUTATION, b"new", moved=True), "request_body"),
        (replies.response_headers(None, MUTATION), "response_headers"),
        (replies.response_body(MUTATION, b"new"), "response_body"),
    ],
)
def test_changes(reply: Any, step: str) -> None:
    common = getattr(reply, step).response
    assert list(common.header_mutation.remove_headers) == ["x-gone"]
    assert common.clear_route_cache == step.startswith("request")
    assert common.body_mutation.body == (b"new" if step.endswith("body") else b"")


@pytest.mark.parametrize("body", [None, b"", b"x"])
def test_a_body_replaces_that_of_a_response_without_one(body: bytes | None) -> None:
    common = replies.response_headers(None, None, body).response_headers.response
    assert (common.status == CommonResponse.CONTINUE_AND_REPLACE) == (body is not None)
    assert common.HasField("body_mutation") == (body is not None)


def test_trailers() -> None:
    assert list(replies.response_trailers(["a"]).response_trailers.header_mutation.remove_headers) == ["a"]
    assert not replies.response_trailers().response_trailers.HasField("header_mutation")


def test_a_response_of_its_own() -> None:
    given = replies.immediate(http.Response.make(429, b"slow", {"Retry-After": "3", "Content-Length": "4"})).immediate_response
    assert (given.status.code, given.body, given.details) == (429, b"slow", "toolmend")
    assert [(each.header.key, each.header.raw_value) for each in given.headers.set_headers] == [("retry-after", b"3")]
