"""The layer of mitmproxy's that a flow comes by, which mitmproxy does not tell.

    layer_of(flow, HttpStream)        what hands its answer on, or None

Rule of this file: it reads alone. What is done with a layer, and what becomes of a flow without one, is its caller's to say.
"""

from collections.abc import Iterator
from types import MethodType

from mitmproxy import ctx, http
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.server import ConnectionHandler

MAX_LAYERS = 200
"""Layers of a connection that are looked through: a handful, and one for each HTTP/2 stream."""


def handler_of(flow: http.HTTPFlow) -> ConnectionHandler | None:
    """What has all connections of the flow's client, and their layers; None where there is none."""
    server = ctx.master.addons.get("proxyserver")  # type: ignore[no-untyped-call]
    return server.connections.get(flow.client_conn.id) if server else None


def layer_of[T: Layer](flow: http.HTTPFlow, kind: type[T]) -> T | None:
    """The layer of this kind that has the flow; None where there is none, as for a flow that is replayed."""
    handler = handler_of(flow)
    found: list[Layer] = [handler.layer] if handler else []
    known = set(map(id, found))
    for at in range(MAX_LAYERS):
        if at == len(found):
            return None
        layer = found[at]
        if isinstance(layer, kind) and getattr(layer, "flow", None) is flow:
            return layer
        new = {id(part): part for part in _parts(layer) if id(part) not in known}
        known |= new.keys()
        found += new.values()
    return None


def _parts(layer: Layer) -> Iterator[Layer]:
    """The layers that a layer holds: one as a member, many in a dict, or by the method that gets its events."""
    for value in vars(layer).values():
        if isinstance(value, Layer):
            yield value
        elif isinstance(value, MethodType):
            if isinstance(value.__self__, Layer):
                yield value.__self__
        elif isinstance(value, dict):
            yield from (part for part in value.values() if isinstance(part, Layer))
