"""Sends a request again within its flow: the client and other addons see one request and one response.

    upstream    400 {"error": …}  ─►  should_resend(): True  ─►  the flow's request, as changed by then  ─►  200 data: …
    client                                                                                                   200 data: …

Bug: mitmproxy has no way to retry a request after its response has arrived, except a replay in a new flow.
Version: mitmproxy 12.2 and 12.3 (`HttpStream.send_response`, `make_server_connection`, `check_killed`, and `our_stream_id` of the
HTTP/2 and HTTP/3 connections).
Obsolete when: an addon can have a flow's request sent again.
If mitmproxy differs, nothing is sent again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from mitmproxy import http
from mitmproxy.proxy.commands import StartHook
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http import HttpLayer, HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import RequestData, RequestEndOfMessage, RequestHeaders

from .layer_lookup import layer_of, layer_with

_STREAM_IDS = "our_stream_id"
"""The attribute of an upstream connection that maps the client's stream ids to the upstream's."""

type ShouldResend = Callable[[], bool]
"""Called when a response is complete and no addon has seen its end. Returns whether to send the flow's changed request again."""


@dataclass
class Pause(StartHook):  # type: ignore[no-untyped-call]
    """A hook without handlers: yielding it lets the connection finish the first exchange before the next one starts."""

    name: ClassVar[str] = ""
    flow: http.HTTPFlow
    __hash__ = object.__hash__


def attach(flow: http.HTTPFlow, should_resend: ShouldResend) -> bool:
    """Installs the resend on one flow, before its request is sent. Returns whether the request can be sent again."""
    layer = layer_of(flow, HttpStream)
    if layer is None or not hasattr(layer, "send_response"):
        return False
    layer.send_response = partial(_respond_or_resend, layer, layer.send_response, should_resend)  # type: ignore[method-assign]
    return True


def _respond_or_resend(
    layer: HttpStream, send: Callable[[bool], CommandGenerator[None]], should_resend: ShouldResend, already_streamed: bool = False
) -> CommandGenerator[None]:
    if already_streamed or not should_resend():
        yield from send(already_streamed)
        return
    layer.flow.response = None
    layer.server_state = layer.state_wait_for_response_headers
    yield Pause(layer.flow)
    if (yield from layer.check_killed(True)):
        return
    if (yield from layer.make_server_connection()):
        yield from _resend(layer)


def _resend(layer: HttpStream) -> Iterator[Any]:
    request, server, id_ = layer.flow.request, layer.context.server, layer.stream_id
    _drop_stream_id(layer)
    content = request.raw_content or b""
    for event in (RequestHeaders(id_, request, not content), RequestData(id_, content), RequestEndOfMessage(id_)):
        if not isinstance(event, RequestData) or content:
            yield SendHttp(event, server)


def _drop_stream_id(layer: HttpStream) -> None:
    """Makes an HTTP/2 or HTTP/3 connection open a new upstream stream: the one of this id has ended."""
    layers = layer.context.layers
    parent = layers[layers.index(layer) - 1]
    assert isinstance(parent, HttpLayer)
    connection: Any = layer_with(parent.connections[layer.context.server], _STREAM_IDS)
    if connection is not None:
        getattr(connection, _STREAM_IDS).pop(layer.stream_id, None)
