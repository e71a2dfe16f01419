"""The layer of mitmproxy's that a flow comes by, which mitmproxy does not tell.

    layer_of(flow, HttpStream)        what hands its answer on, or None
    client_left(flow)                 when its answer has ended in an error: whether that was the client

Rule of this file: it reads alone, but for a note of where to look next. What is done with a layer, and what becomes of a flow
without one, is its caller's to say.
"""

from collections import deque
from collections.abc import Iterator
from types import MethodType

from mitmproxy import ctx, http
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.server import ConnectionHandler

MAX_LAYERS = 200
"""Layers of a connection that are looked through: a handful, and one for each HTTP/2 stream."""

_AROUND = "_toolmend_around"
"""The attribute of a connection's handler for what held the layer that was found last: the next one is there as well, as a rule.

In a table of ours it would outlive its connection by a garbage collection, and be old by then: 10 MiB in a thousand exchanges.
"""

_PLAIN = frozenset({bool, bytes, deque, float, int, str, type(None)})
"""What most members of a layer are, and hold none."""


def handler_of(flow: http.HTTPFlow) -> ConnectionHandler | None:
    """What has all connections of the flow's client, and their layers; None where there is none."""
    server = ctx.master.addons.get("proxyserver")  # type: ignore[no-untyped-call]
    return server.connections.get(flow.client_conn.id) if server else None


def layer_of[T: Layer](flow: http.HTTPFlow, kind: type[T]) -> T | None:
    """The layer of this kind that has the flow; None where there is none, as for a flow that is replayed."""
    handler = handler_of(flow)
    if handler is None:
        return None
    for top in (vars(handler).get(_AROUND), handler.layer):
        for around, layer in _within(top) if top else ():
            if isinstance(layer, kind) and getattr(layer, "flow", None) is flow:
                vars(handler)[_AROUND] = around
                return layer
    return None


def below(layer: Layer, name: str) -> Layer | None:
    """The first layer within one that has an attribute of this name."""
    return next((one for _, one in _within(layer) if name in vars(one)), None)


def client_left(flow: http.HTTPFlow) -> bool | None:
    """Whether it is the client that ended it, as mitmproxy has it while it tells of an error; None where that is not known."""
    layer = layer_of(flow, HttpStream)
    return None if layer is None else layer.client_state == layer.state_errored


def _within(top: Layer) -> Iterator[tuple[Layer, Layer]]:
    """Every layer within one, and it itself, each behind the one that holds it."""
    yield top, top
    found = [top]
    known = {top}
    for around in found:  # it grows meanwhile
        if len(found) > MAX_LAYERS:
            return
        for layer in _parts(around):
            if layer not in known:
                known.add(layer)
                found.append(layer)
                yield around, layer


def _parts(layer: Layer) -> list[Layer]:
    """The layers that a layer holds: one as a member, many in a dict, or by the method that gets its events."""
    held: list[Layer] = []
    for value in vars(layer).values():
        if type(value) in _PLAIN:
            continue
        if isinstance(value, Layer):
            held.append(value)
        elif isinstance(value, MethodType):
            if isinstance(value.__self__, Layer):
                held.append(value.__self__)
        elif isinstance(value, dict):
            held += [part for part in value.values() if isinstance(part, Layer)]
    return held
