"""Sends what the pipeline holds before mitmproxy reports a broken response to the client.

    upstream    data: …    data: <|tool_ca    (reset)       mitmproxy calls no stream callable here: this patch calls it with
    client      data: …    data: <|tool_ca    (no end)      b"" first, so held text, or an error event of a translation, goes out

Bug: when an upstream disconnects, mitmproxy runs only the `error` hook, in which nothing can be sent any more.
Version: mitmproxy 12.2 and 12.3 (`HttpStream.handle_protocol_error`).
Obsolete when: mitmproxy calls the stream callable when a response fails.
If mitmproxy differs, a broken response ends without the held bytes.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from mitmproxy import http
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http import HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import RequestProtocolError, ResponseData, ResponseProtocolError

from .layer_lookup import layer_of

type ProtocolFailure = RequestProtocolError | ResponseProtocolError


def attach(flow: http.HTTPFlow, own_stream: Callable[[], object]) -> None:
    """Installs the flush on one flow. Must be called before the response starts to stream.

    Args:
        flow: The flow whose response is_streaming.
        own_stream: Returns toolmend's stream callable of the flow, or None. A callable of another addon is not called: mitmproxy
            calls it at a clean end only.
    """
    layer = layer_of(flow, HttpStream)
    if layer is None:
        return
    layer.handle_protocol_error = partial(_flush_then_handle, layer, layer.handle_protocol_error, own_stream)  # type: ignore[method-assign]


def _flush_then_handle(
    layer: HttpStream,
    handle: Callable[[ProtocolFailure], CommandGenerator[None]],
    own_stream: Callable[[], object],
    event: ProtocolFailure,
) -> CommandGenerator[None]:
    if held := _flush(layer, event, own_stream):
        yield SendHttp(ResponseData(layer.stream_id, held), layer.context.client)
    yield from handle(event)


def _flush(layer: HttpStream, event: ProtocolFailure, own_stream: Callable[[], object]) -> bytes:
    """Returns the bytes to send before the error; b"" if there are none or anything fails."""
    with suppress(Exception):
        is_streaming = layer.server_state == layer.state_stream_response_body and layer.client_state != layer.state_errored
        stream = layer.flow.response and layer.flow.response.stream
        if isinstance(event, ResponseProtocolError) and is_streaming and callable(stream) and stream is own_stream():
            out = stream(b"")
            return out if isinstance(out, bytes) else b"".join(out)
    return b""
