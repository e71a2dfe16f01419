"""mitmproxy's layers of one HTTP exchange, without a proxy around them."""

from mitmproxy import http
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Client, Server
from mitmproxy.options import Options
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode, HttpStream
from mitmproxy.test import taddons


def proxy_options() -> Options:
    """mitmproxy's options with those of its proxy."""
    with taddons.context(Proxyserver()) as context:
        return context.options


def http_stream(flow: http.HTTPFlow) -> tuple[HttpLayer, HttpStream]:
    """The layer of a client's connection, and the stream in it that carries the flow, waiting for its response."""
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0.0)
    around = HttpLayer(Context(client, proxy_options()), HTTPMode.regular)
    around.context.server = Server(address=("127.0.0.1", 3))
    stream = HttpStream(around.context.fork(), 1)
    stream.flow, stream.mode = flow, around.mode
    stream.client_state, stream.server_state = stream.state_done, stream.state_wait_for_response_headers
    return around, stream
