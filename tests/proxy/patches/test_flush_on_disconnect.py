"""What goes out in front of an error: mitmproxy's own layer of a flow, asked alone. What a client makes of it is e2e's business."""

from collections.abc import Iterable
from typing import Any

import pytest
from mitmproxy import options
from mitmproxy.connection import Client
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode, HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import ErrorCode, RequestProtocolError, ResponseData, ResponseProtocolError
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook
from mitmproxy.test import tflow

from toolmend.proxy.patches import flush_on_disconnect


@pytest.mark.parametrize("name", ["handle_protocol_error", "state_stream_response_body", "state_errored"])
def test_mitmproxy_has_the_attributes(name: str) -> None:
    """If one is missing, a broken response ends without the held bytes: see flush_on_disconnect.py."""
    assert callable(getattr(HttpStream, name))


def fails(_: bytes) -> bytes:
    raise MemoryError


GONE = ResponseProtocolError(1, "gone", ErrorCode.GENERIC_SERVER_ERROR)
LEFT = RequestProtocolError(1, "left", ErrorCode.CLIENT_DISCONNECTED)
ROWS = {
    # name: (the event, the server's state, the client's, the stream, what goes out)
    "held": (GONE, "stream_response_body", "done", lambda data: data + b"held", [b"held"]),
    "held in pieces": (GONE, "stream_response_body", "done", lambda _: [b"he", b"ld"], [b"held"]),
    "nothing held": (GONE, "stream_response_body", "done", lambda data: data, []),
    "it fails": (GONE, "stream_response_body", "done", fails, []),
    "no callable": (GONE, "stream_response_body", "done", True, []),
    "the client left": (LEFT, "stream_response_body", "done", lambda _: b"held", []),
    "the client had left": (GONE, "stream_response_body", "errored", lambda _: b"held", []),
    "before the headers": (GONE, "wait_for_response_headers", "done", lambda _: b"held", []),
    "over": (GONE, "done", "done", lambda _: b"held", []),
}


def opened(monkeypatch: pytest.MonkeyPatch, server: str, client: str, stream: Any, *, ours: bool = True) -> HttpStream:
    flow = tflow.tflow(resp=True)
    assert flow.response
    flow.response.stream = stream
    peer = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0.0)
    layer = HttpStream(Context(peer, options.Options()), 1)
    layer.flow, layer.mode = flow, HTTPMode.regular
    layer.server_state, layer.client_state = (getattr(layer, f"state_{name}") for name in (server, client))
    monkeypatch.setattr(flush_on_disconnect, "layer_of", lambda *_: layer)
    flush_on_disconnect.attach(flow, lambda: stream if ours else None)
    return layer


def data(commands: Iterable[Any]) -> list[bytes]:
    return [each.event.data for each in commands if isinstance(each, SendHttp) and isinstance(each.event, ResponseData)]


@pytest.mark.parametrize(("event", "server", "client", "stream", "out"), ROWS.values(), ids=ROWS)
def test_what_goes_out(
    monkeypatch: pytest.MonkeyPatch, event: Any, server: str, client: str, stream: Any, out: list[bytes]
) -> None:
    """And behind it all that mitmproxy would do."""
    commands = list(opened(monkeypatch, server, client, stream).handle_protocol_error(event))
    assert data(commands) == out
    assert not any(isinstance(each, HttpErrorHook) for each in commands[: len(out)])
    ends = [each for each in commands if isinstance(each, SendHttp) and each.event is event]
    assert len(ends) == (event is LEFT or client != "errored")


def test_the_callable_of_another_addon_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = opened(monkeypatch, "stream_response_body", "done", lambda _: b"held", ours=False)
    assert data(layer.handle_protocol_error(GONE)) == []


def test_a_flow_whose_layer_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush_on_disconnect, "layer_of", lambda *_: None)
    flush_on_disconnect.attach(tflow.tflow(resp=True), lambda: None)
