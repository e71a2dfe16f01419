"""The host that a client called, and what this takes from mitmproxy."""

from collections.abc import Iterator

import pytest
from mitmproxy import http
from mitmproxy.connection import Client
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode
from mitmproxy.proxy.layers.http._events import RequestHeaders
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

from tests.support.http_streams import proxy_options
from toolmend.proxy.patches import called_host
from toolmend.proxy.patches.called_host import HostRecordingStream, is_direct


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    called_host.install()
    yield
    called_host.restore()


def received(mode: str, request: http.Request) -> http.HTTPFlow:
    """The flow of a request that mitmproxy received in a mode."""
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0.0, proxy_mode=ProxyMode.parse(mode))
    layer = HttpLayer(Context(client, proxy_options()), HTTPMode.transparent if mode.startswith("reverse") else HTTPMode.regular)
    layer.context.server.address = ("127.0.0.1", 3)
    list(layer.make_stream(1))
    stream = layer.streams[1]
    assert isinstance(stream, HostRecordingStream)
    next(stream.state_wait_for_request_headers(RequestHeaders(1, request, end_stream=True)))
    return stream.flow


def test_mitmproxy_has_the_attributes() -> None:
    """If one is missing, see called_host.py for what is lost."""
    assert callable(HostRecordingStream.__base__.state_wait_for_request_headers)  # type: ignore[union-attr]
    called_host.restore()
    layer = HttpLayer(Context(tflow.tclient_conn(), proxy_options()), HTTPMode.regular)
    list(layer.make_stream(1))
    assert not isinstance(layer.streams[1], HostRecordingStream)


@pytest.mark.parametrize(("mode", "direct"), [("reverse:http://127.0.0.1:3", True), ("regular", False)])
def test_the_host_header_as_sent(mode: str, direct: bool) -> None:
    request = http.Request.make("GET", "http://127.0.0.1:3/")
    request.headers["host"] = "evil.com:8080"
    flow = received(mode, request)
    assert (called_host.called_host(flow), is_direct(flow)) == ("evil.com:8080", direct)


def test_a_flow_without_a_connection() -> None:
    flow = tflow.tflow()
    assert (called_host.called_host(flow), is_direct(flow)) == (flow.request.host_header or "", False)
