"""Replaces mitmproxy's HTML error page on a routed request with an error in the client's own API.

    upstream    (refused, wrong certificate, closed before the head or within a body that is buffered whole)
    mitmproxy   502 text/html <h1>502 Bad Gateway…      client    500 {"type":"error","error":{"type":"api_error",…

Bug: when an upstream fails, mitmproxy answers with its own page, which no hook can change; agents cannot parse it.
Version: mitmproxy 12.2 and 12.3 (`HttpStream.check_body_size`, `check_invalid`, `handle_protocol_error`, `_handle_event`).
Obsolete when: an addon can set the response of a failed request.
If mitmproxy differs, the client gets mitmproxy's page.
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

type MakeResponse = Callable[[str, bool], http.Response]
"""Makes the response from mitmproxy's error message and whether the upstream was reached."""

type ReportError = Callable[..., CommandGenerator[Any]]

_ERROR_METHODS = ("check_body_size", "check_invalid", "handle_protocol_error")
"""The methods of HttpStream that report an error to the client."""


def attach(flow: http.HTTPFlow, make_response: MakeResponse) -> None:
    """Installs the replacement on one flow. Must be called when its upstream is chosen and before it is connected."""
    layer = layer_of(flow, HttpStream)
    if layer is None:
        return
    for name in _ERROR_METHODS:
        if report := getattr(layer, name, None):
            setattr(layer, name, partial(_replace_error, layer, report, make_response))


def disconnect_upstream(flow: http.HTTPFlow) -> None:
    """Closes the connection to the upstream, and drops what it may still send."""
    if layer := layer_of(flow, HttpStream):
        layer._handle_event = _no_commands  # noqa: SLF001  as mitmproxy does where a protocol changes
    handler = handler_of(flow)
    if handler and flow.server_conn in handler.transports:
        handler.close_connection(flow.server_conn)


def _replace_error(layer: HttpStream, report: ReportError, make_response: MakeResponse, *args: Any) -> CommandGenerator[Any]:
    commands = report(*args)
    reply = None
    while True:
        try:
            command = commands.send(reply)
        except StopIteration as end:
            return end.value
        reply = None
        if replacement := _own_response(layer, command, make_response):
            yield from replacement
        else:
            reply = yield command


def _own_response(layer: HttpStream, command: object, make_response: MakeResponse) -> Sequence[SendHttp]:
    """Returns the commands that replace `command`, if it reports an error to a client that has received nothing yet."""
    with suppress(Exception):
        error = command.event if isinstance(command, SendHttp) else None
        unanswered = layer.server_state in (layer.state_wait_for_response_headers, layer.state_consume_response_body)
        if isinstance(error, ResponseProtocolError) and unanswered and error.code is not ErrorCode.KILL:
            response = make_response(error.message, error.code is not ErrorCode.CONNECT_FAILED)
            _clear_connection_errors(layer)
            _ignore_later_errors(layer)
            id_, body = layer.stream_id, response.raw_content or b""
            events = (ResponseHeaders(id_, response), ResponseData(id_, body), ResponseEndOfMessage(id_))
            return [SendHttp(event, layer.context.client) for event in events]
    return ()


def _ignore_later_errors(layer: HttpStream) -> None:
    """Drops later errors of the flow: the client has its response, and may have sent the next request."""
    layer.handle_protocol_error = _no_commands  # type: ignore[method-assign]


def _no_commands(event: object) -> CommandGenerator[None]:  # noqa: ARG001
    yield from ()


def _clear_connection_errors(layer: HttpStream) -> None:
    """Lets the client's next request connect again: mitmproxy would repeat the stored error until the client disconnects."""
    layers = layer.context.layers
    parent = layers[layers.index(layer) - 1]
    assert isinstance(parent, HttpLayer)
    for connection in parent.connections:
        if isinstance(connection, Server):
            connection.error = None
