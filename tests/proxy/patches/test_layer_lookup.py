"""The layer that a flow comes by: found among mitmproxy's own, and first where the connection's last one was."""

from typing import get_type_hints

import pytest
from mitmproxy import http, options
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Client
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer, NextLayer
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode, HttpStream
from mitmproxy.proxy.server import ConnectionHandler
from mitmproxy.test import taddons, tflow

from toolmend.proxy.patches import layer_lookup


class Handler:
    """All that is asked of mitmproxy's."""

    layer: Layer


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Handler:
    found = Handler()
    monkeypatch.setattr(layer_lookup, "handler_of", lambda _: found)
    return found


def context() -> Context:
    return Context(Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0.0), options.Options())


def speaks() -> HttpLayer:
    return HttpLayer(context(), HTTPMode.regular)


def within(layer: Layer) -> Layer:
    """A layer around it."""
    found = NextLayer(context())
    found.layer = layer
    return found


def streams(around: HttpLayer, id_: int, flow: http.HTTPFlow) -> HttpStream:
    around.streams[id_] = HttpStream(context(), id_)
    around.streams[id_].flow = flow
    return around.streams[id_]


def test_it_is_found_wherever_it_is(handler: Handler) -> None:
    around = speaks()
    handler.layer = within(within(around))
    flows = [tflow.tflow() for _ in range(3)]
    made = [streams(around, id_, flow) for id_, flow in enumerate(flows)]
    assert [layer_lookup.layer_of(flow, HttpStream) for flow in flows] == made
    assert layer_lookup.layer_of(tflow.tflow(), HttpStream) is None
    assert layer_lookup.layer_of(flows[0], HttpLayer) is None


def test_the_next_one_is_looked_for_where_the_last_one_was(handler: Handler, monkeypatch: pytest.MonkeyPatch) -> None:
    around = speaks()
    handler.layer = within(around)
    first, second = tflow.tflow(), tflow.tflow()
    streams(around, 1, first)
    layer_lookup.layer_of(first, HttpStream)
    made = streams(around, 3, second)
    looked_at: list[Layer] = []
    parts = layer_lookup._children
    monkeypatch.setattr(layer_lookup, "_children", lambda layer: looked_at.append(layer) or parts(layer))  # type: ignore[func-returns-value]
    assert layer_lookup.layer_of(second, HttpStream) is made
    assert looked_at == [around]


def test_and_then_everywhere(handler: Handler) -> None:
    """As where a tunnel within the connection has begun."""
    around, inner = speaks(), speaks()
    handler.layer = within(around)
    first, second = tflow.tflow(), tflow.tflow()
    streams(around, 1, first)
    layer_lookup.layer_of(first, HttpStream)
    del around.streams[1]
    made = streams(inner, 1, second)
    handler.layer = within(inner)
    assert layer_lookup.layer_of(second, HttpStream) is made


def test_mitmproxy_has_the_attributes() -> None:
    """If one is missing, no layer is found: see layer_lookup.py."""
    with taddons.context(Proxyserver()) as context:
        assert "get" in dir(context.master.addons.get("proxyserver").connections)
    assert "layer" in get_type_hints(ConnectionHandler)
    assert callable(HttpStream.state_errored)


def test_a_flow_without_a_connection_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_lookup, "handler_of", lambda _: None)
    assert layer_lookup.layer_of(tflow.tflow(), HttpStream) is None
