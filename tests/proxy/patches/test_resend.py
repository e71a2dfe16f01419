"""A request that is sent again within its flow, and what this takes from mitmproxy."""

from typing import Any

import pytest
from mitmproxy.connection import Server
from mitmproxy.proxy.layers.http import HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import RequestData, RequestEndOfMessage, RequestHeaders
from mitmproxy.proxy.layers.http._http2 import Http2Client
from mitmproxy.proxy.layers.http._http3 import Http3Client
from mitmproxy.test import tflow

from tests.support.http_streams import http_stream
from toolmend.proxy.patches import resend


@pytest.mark.parametrize("name", ["send_response", "make_server_connection", "check_killed", "state_wait_for_response_headers"])
def test_mitmproxy_has_the_attributes(name: str) -> None:
    """If one is missing, a refused request cannot be sent again: see resend.py."""
    assert callable(getattr(HttpStream, name))


@pytest.mark.parametrize("kind", [Http2Client, Http3Client])
def test_upstream_connections_map_stream_ids(kind: type) -> None:
    around, _ = http_stream(tflow.tflow())
    assert isinstance(vars(kind(around.context.fork()))[resend._STREAM_IDS], dict)


def commands_of(should_resend: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[HttpStream, list[Any]]:
    """The stream, and the commands that mitmproxy executes when its response is complete."""
    flow = tflow.tflow(resp=True)
    around, stream = http_stream(flow)
    server = Server(address=("127.0.0.1", 4))
    connection = around.connections[server] = Http2Client(around.context.fork())
    connection.our_stream_id[1] = 5
    monkeypatch.setattr(resend, "layer_of", lambda *_: stream)
    assert resend.attach(flow, lambda: should_resend)
    commands, reply, found = stream.send_response(), None, list[Any]()
    try:
        while True:
            command = commands.send(reply)
            reply = (server, None) if type(command).__name__ == "GetHttpConnection" else None
            found.append(command)
    except StopIteration:
        return stream, found


def test_the_request_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, commands = commands_of(True, monkeypatch)
    sent = [command.event for command in commands if isinstance(command, SendHttp)]
    assert [type(event) for event in sent] == [RequestHeaders, RequestData, RequestEndOfMessage]
    assert stream.flow.response is None
    assert stream.server_state == stream.state_wait_for_response_headers


def test_the_response_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, commands = commands_of(False, monkeypatch)
    assert stream.flow.response
    assert not any(isinstance(command, SendHttp) and isinstance(command.event, RequestHeaders) for command in commands)


def test_a_flow_without_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resend, "layer_of", lambda *_: None)
    assert not resend.attach(tflow.tflow(), lambda: True)
