"""A request that a route took, and no answer to it: the client has an error in its own API in place of mitmproxy's page.

    upstream    (refused, another certificate, closed before the head or in the middle of a body that has to come whole)
    mitmproxy   502 text/html <h1>502 Bad Gateway…      client    500 {"type":"error","error":{"type":"api_error",…

Rule of this file: it reaches into mitmproxy. Where that is not as it is known, the client has the page.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from mitmproxy import http
from mitmproxy.connection import Server
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http import HttpLayer, HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)

from .layer_lookup import handler_of, layer_of

type Instead = Callable[[str, bool], http.Response]
"""Makes the answer, of what mitmproxy says of the fault, and whether the upstream was reached."""

type Tells = Callable[..., CommandGenerator[Any]]

_TELLS = ("check_body_size", "check_invalid", "handle_protocol_error")
"""What tells the client of a fault, each in its own way."""


def attach(flow: http.HTTPFlow, instead: Instead) -> None:
    """To be called when it is known where the request goes, and it is not yet there."""
    layer = layer_of(flow, HttpStream)
    if layer is None:
        return
    for name in _TELLS:
        if tell := getattr(layer, name, None):
            setattr(layer, name, partial(_replaced, layer, tell, instead))


def leave(flow: http.HTTPFlow) -> None:
    """Has the connection to the upstream closed: what may still be said there, or has been, is an answer to nobody."""
    if layer := layer_of(flow, HttpStream):
        layer._handle_event = _nothing  # noqa: SLF001  as mitmproxy does where a protocol changes
    handler = handler_of(flow)
    if handler and flow.server_conn in handler.transports:
        handler.close_connection(flow.server_conn)


def _replaced(layer: HttpStream, tell: Tells, instead: Instead, *args: Any) -> CommandGenerator[Any]:
    commands = tell(*args)
    reply = None
    while True:
        try:
            command = commands.send(reply)
        except StopIteration as end:
            return end.value
        reply = None
        if given := _given(layer, command, instead):
            yield from given
        else:
            reply = yield command


def _given(layer: HttpStream, command: object, instead: Instead) -> Sequence[SendHttp]:
    """What takes the place of a command: of one that tells a client of a fault, which has nothing yet."""
    with suppress(Exception):
        fault = command.event if isinstance(command, SendHttp) else None
        nothing = layer.server_state in (layer.state_wait_for_response_headers, layer.state_consume_response_body)
        if isinstance(fault, ResponseProtocolError) and nothing and fault.code is not ErrorCode.KILL:
            response = instead(fault.message, fault.code is not ErrorCode.CONNECT_FAILED)
            _forget(layer)
            _is_over(layer)
            id_, body = layer.stream_id, response.raw_content or b""
            events = (ResponseHeaders(id_, response), ResponseData(id_, body), ResponseEndOfMessage(id_))
            return [SendHttp(event, layer.context.client) for event in events]
    return ()


def _is_over(layer: HttpStream) -> None:
    """The client has its answer, and may have asked again. That the upstream closes as well is told to nobody."""
    layer.handle_protocol_error = _nothing  # type: ignore[method-assign]


def _nothing(event: object) -> CommandGenerator[None]:  # noqa: ARG001
    yield from ()


def _forget(layer: HttpStream) -> None:
    """Has the client's next request try anew: mitmproxy tells it of the connection that failed, as long as the client stays."""
    layers = layer.context.layers
    around = layers[layers.index(layer) - 1]
    assert isinstance(around, HttpLayer)
    for connection in around.connections:
        if isinstance(connection, Server):
            connection.error = None
