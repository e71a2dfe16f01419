"""An answer that breaks off: what is held of it goes out first, and the client of another API has the error in its own.

    upstream    data: …    data: <|tool_ca    (gone)        mitmproxy tells the client that there is no more, and the callable of
    client      data: …    data: <|tool_ca    (no end)      the stream nothing: so that is called with b"" in front of it

Rule of this file: it reaches into mitmproxy. Where that is not as it is known, an answer breaks off without what is held.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from mitmproxy import http
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http import HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import RequestProtocolError, ResponseData, ResponseProtocolError

from .layer_lookup import layer_of

type Broken = RequestProtocolError | ResponseProtocolError


def attach(flow: http.HTTPFlow, ours: Callable[[], object]) -> None:
    """To be called before the answer's stream begins; `ours` gives the callable that stands in it for toolmend, if any does.

    That of another addon is not called: mitmproxy tells it of a clean end alone.
    """
    layer = layer_of(flow, HttpStream)
    if layer is None:
        return
    layer.handle_protocol_error = partial(_handled, layer, layer.handle_protocol_error, ours)  # type: ignore[method-assign]


def _handled(
    layer: HttpStream,
    handle: Callable[[Broken], CommandGenerator[None]],
    ours: Callable[[], object],
    event: Broken,
) -> CommandGenerator[None]:
    if held := _held(layer, event, ours):
        yield SendHttp(ResponseData(layer.stream_id, held), layer.context.client)
    yield from handle(event)


def _held(layer: HttpStream, event: Broken, ours: Callable[[], object]) -> bytes:
    """What goes out in front of an error, whatever it is."""
    with suppress(Exception):
        streams = layer.server_state == layer.state_stream_response_body and layer.client_state != layer.state_errored
        stream = layer.flow.response and layer.flow.response.stream
        if isinstance(event, ResponseProtocolError) and streams and callable(stream) and stream is ours():
            out = stream(b"")
            return out if isinstance(out, bytes) else b"".join(out)
    return b""
