"""Own frames among an upstream's, and what this takes from mitmproxy."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, get_type_hints

import pytest
from mitmproxy.proxy.layers.websocket import WebsocketConnection, WebsocketLayer
from mitmproxy.test import tflow
from wsproto.events import BytesMessage, CloseConnection, TextMessage

from toolmend.proxy.patches import socket_relay
from toolmend.proxy.websocket.socket_frames import Binary


def test_mitmproxy_has_the_attributes() -> None:
    """If one is missing, nothing on a WebSocket is mended: see socket_relay.py."""
    assert get_type_hints(WebsocketLayer)["server_ws"] is WebsocketConnection
    assert callable(WebsocketConnection.events)


def relayed(events: list[Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, bool]]:
    """Every event that mitmproxy gets, and whether the relay marks it as its own; each text is answered with a binary frame."""
    layer = SimpleNamespace(server_ws=SimpleNamespace(events=lambda: iter(events)))
    monkeypatch.setattr(socket_relay, "layer_of", lambda *_: layer)
    relay = socket_relay.Relay(lambda: [b"last"])
    assert relay.attach(tflow.tflow())
    for event in layer.server_ws.events():
        if isinstance(event, TextMessage) and not relay.is_own:
            relay.send([Binary(b"\0")])
        yield getattr(event, "data", None), relay.is_own


def test_own_frames_follow_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [TextMessage(data="a"), BytesMessage(data=b"b"), CloseConnection(code=1000)]
    assert [*relayed(events, monkeypatch)] == [("a", False), (b"\0", True), (b"b", False), ("last", True), (None, False)]


def test_a_layer_that_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_relay, "layer_of", lambda *_: None)
    assert not socket_relay.Relay(list).attach(tflow.tflow())
