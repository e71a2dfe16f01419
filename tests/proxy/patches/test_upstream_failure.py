"""An error of toolmend in place of mitmproxy's page, and what this takes from mitmproxy."""

from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.connection import Server
from mitmproxy.proxy.layers.http import HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.test import tflow

from tests.support.http_streams import http_stream
from toolmend.proxy.patches import upstream_failure

REFUSED = ResponseProtocolError(1, "refused", ErrorCode.CONNECT_FAILED)
GONE = ResponseProtocolError(1, "gone", ErrorCode.GENERIC_SERVER_ERROR)
KILLED = ResponseProtocolError(1, "killed", ErrorCode.KILL)


@pytest.mark.parametrize("name", [*upstream_failure._ERROR_METHODS, "_handle_event", "state_consume_response_body"])
def test_mitmproxy_has_the_attributes(name: str) -> None:
    """If one is missing, the client of a route gets mitmproxy's page: see upstream_failure.py."""
    assert callable(getattr(HttpStream, name))


def failed(event: ResponseProtocolError, state: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[Any]]:
    """What the client gets, and the arguments of `make_response`."""
    flow, asked = tflow.tflow(), list[Any]()
    around, stream = http_stream(flow)
    server = Server(address=("127.0.0.1", 4))
    server.error = "refused"
    around.connections[server] = stream
    stream.server_state = getattr(stream, f"state_{state}")
    monkeypatch.setattr(upstream_failure, "layer_of", lambda *_: stream)

    def make_response(message: str, reached: bool) -> http.Response:
        asked.append((message, reached))
        return http.Response.make(502, b"{}")

    upstream_failure.attach(flow, make_response)
    sent = [command.event for command in stream.handle_protocol_error(event) if isinstance(command, SendHttp)]
    assert (server.error is None) == bool(asked)
    return sent, asked


@pytest.mark.parametrize(("event", "reached"), [(REFUSED, False), (GONE, True)])
def test_the_response_replaces_the_page(event: ResponseProtocolError, reached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sent, asked = failed(event, "wait_for_response_headers", monkeypatch)
    assert [type(event) for event in sent] == [ResponseHeaders, ResponseData, ResponseEndOfMessage]
    assert asked == [(event.message, reached)]


@pytest.mark.parametrize(("event", "state"), [(GONE, "stream_response_body"), (KILLED, "wait_for_response_headers")])
def test_what_is_not_replaced(event: ResponseProtocolError, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed(event, state, monkeypatch) == ([event], [])
