"""end_of_stream.py: told by what mitmproxy is at when it calls."""

import pytest
from mitmproxy.connection import Server
from mitmproxy.proxy.events import DataReceived
from mitmproxy.proxy.layers.http._events import ErrorCode, ResponseData, ResponseEndOfMessage, ResponseProtocolError
from mitmproxy.test import tflow

from tests.support.http_streams import http_stream
from toolmend.proxy.patches.end_of_stream import is_body_chunk, is_upstream_reset


def test_mitmproxy_has_the_event_in_a_variable() -> None:
    """If it has not, b"" is always the end: see end_of_stream.py."""
    flow, seen = tflow.tflow(resp=True), list[bool]()
    assert flow.response
    flow.response.stream = lambda data: seen.append(is_body_chunk()) or data  # type: ignore[func-returns-value]
    _, stream = http_stream(flow)
    for event in (ResponseData(1, b""), ResponseEndOfMessage(1)):
        next(stream.state_stream_response_body(event), None)
    assert seen == [True, False]


def mitmproxy_at(event: object) -> bool:
    assert event
    return through_another()


def through_another() -> bool:
    return is_body_chunk()


@pytest.mark.parametrize(
    ("event", "expected"), [(ResponseData(1, b""), True), (ResponseEndOfMessage(1), False), ("something else", False)]
)
def test_an_empty_piece_and_the_end(event: object, expected: bool) -> None:
    assert mitmproxy_at(event) is expected


@pytest.mark.parametrize(
    ("event", "expected"), [(ResponseProtocolError(1, "gone", ErrorCode.GENERIC_SERVER_ERROR), True), (ResponseEndOfMessage(1), False)]
)
def test_an_answer_that_breaks_off(event: object, expected: bool) -> None:
    assert event
    assert is_upstream_reset() is expected


def test_nobody_tells() -> None:
    assert not is_body_chunk()
    assert not is_upstream_reset()


@pytest.mark.parametrize("nearest", [ResponseEndOfMessage(1), DataReceived(Server(address=None), b"")])
def test_the_nearest_tells(nearest: object) -> None:
    """A proxy may be in front of another one, in the same process; and what a socket carries is data in data."""

    def outer(event: object) -> bool:
        assert event
        return mitmproxy_at(nearest)

    assert not outer(ResponseData(1, b""))
