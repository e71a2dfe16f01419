"""A request that is sent once more within its flow: the client sees one request and one answer, and other addons one flow.

    upstream    400 {"error": …}  ─►  changed(): True  ─►  the flow's request, as it is by then  ─►  200 data: …
    client                                                                                           200 data: …

Rule of this file: it reaches into mitmproxy. Where that is not as it is known, nothing is sent again.
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

from .layer_lookup import below, layer_of

_IDS = "our_stream_id"
"""Of a connection to a server: which of its streams a stream of the client's is."""

type Changed = Callable[[], bool]
"""Called when a response is whole and no addon has seen its end; whether the flow's request was changed, and is to be sent."""


@dataclass
class Pause(StartHook):  # type: ignore[no-untyped-call]
    """A hook that no addon has: it lets the connection end the exchange that is over before it gets the next one."""

    name: ClassVar[str] = ""
    flow: http.HTTPFlow
    __hash__ = object.__hash__


def attach(flow: http.HTTPFlow, changed: Changed) -> bool:
    """To be called before the request is sent. Returns whether it can be sent once more."""
    layer = layer_of(flow, HttpStream)
    if layer is None or not hasattr(layer, "send_response"):
        return False
    layer.send_response = partial(_answered, layer, layer.send_response, changed)  # type: ignore[method-assign]
    return True


def _answered(
    layer: HttpStream, send: Callable[[bool], CommandGenerator[None]], changed: Changed, already_streamed: bool = False
) -> CommandGenerator[None]:
    if already_streamed or not changed():
        yield from send(already_streamed)
        return
    layer.flow.response = None
    layer.server_state = layer.state_wait_for_response_headers
    yield Pause(layer.flow)
    if (yield from layer.check_killed(True)):
        return
    if (yield from layer.make_server_connection()):
        yield from _sent(layer)


def _sent(layer: HttpStream) -> Iterator[Any]:
    request, server, id_ = layer.flow.request, layer.context.server, layer.stream_id
    _forget(layer)
    content = request.raw_content or b""
    for event in (RequestHeaders(id_, request, not content), RequestData(id_, content), RequestEndOfMessage(id_)):
        if not isinstance(event, RequestData) or content:
            yield SendHttp(event, server)


def _forget(layer: HttpStream) -> None:
    """Has an HTTP/2 or HTTP/3 connection open a new stream: to it, this one is the one that has ended."""
    layers = layer.context.layers
    around = layers[layers.index(layer) - 1]
    assert isinstance(around, HttpLayer)
    connection: Any = below(around.connections[layer.context.server], _IDS)
    if connection is not None:
        getattr(connection, _IDS).pop(layer.stream_id, None)
