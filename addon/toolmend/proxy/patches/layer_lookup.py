"""Finds the mitmproxy layer that carries a flow.

    layer_of(flow, HttpStream)        the layer that forwards the flow's response, or None
    client_left(flow)                 after an error: whether the client disconnected

Bug: a flow has no reference to its layer, and an addon no other way to see which side broke off.
Version: mitmproxy 12.2 and 12.3 (the attributes of `ConnectionHandler`, `Layer` and subclasses that hold child layers).
Obsolete when: flush_on_disconnect, upstream_failure and resend are.
If mitmproxy differs, `layer_of` returns None.

It only reads, except for a cache attribute on the connection handler.
"""

from collections import deque
from collections.abc import Iterator
from types import MethodType

from mitmproxy import ctx, http
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.server import ConnectionHandler

MAX_LAYERS = 200
"""Bound of the layers searched for each connection: there are a few, and one for each HTTP/2 stream."""

_PARENT = "_toolmend_parent"
"""The attribute of a connection handler that caches the parent of the layer found last: the next one usually has the same parent.

A table in this module would keep these until a garbage collection of the old generation: 10 MiB in a thousand exchanges.
"""

_PLAIN = frozenset({bool, bytes, deque, float, int, str, type(None)})
"""The types of most attributes of a layer: these hold no layers."""


def handler_of(flow: http.HTTPFlow) -> ConnectionHandler | None:
    """Returns the connection handler of the flow's client, or None (a replayed flow)."""
    server = ctx.master.addons.get("proxyserver")  # type: ignore[no-untyped-call]
    return server.connections.get(flow.client_conn.id) if server else None


def layer_of[T: Layer](flow: http.HTTPFlow, kind: type[T]) -> T | None:
    """Returns the layer of this type that carries the flow, or None (a replayed flow)."""
    handler = handler_of(flow)
    if handler is None:
        return None
    for top in (vars(handler).get(_PARENT), handler.layer):
        for parent, layer in _walk(top) if top else ():
            if isinstance(layer, kind) and getattr(layer, "flow", None) is flow:
                vars(handler)[_PARENT] = parent
                return layer
    return None


def layer_with(layer: Layer, name: str) -> Layer | None:
    """Returns the first layer within a layer that has an instance attribute of this name."""
    return next((inner for _, inner in _walk(layer) if name in vars(inner)), None)


def client_left(flow: http.HTTPFlow) -> bool | None:
    """Returns whether the client ended the exchange, while mitmproxy reports an error; None if that cannot be found out."""
    layer = layer_of(flow, HttpStream)
    return None if layer is None else layer.client_state == layer.state_errored


def _walk(top: Layer) -> Iterator[tuple[Layer, Layer]]:
    """Yields (parent, layer) for a layer and all layers within it, breadth first."""
    yield top, top
    found = [top]
    known = {top}
    for parent in found:  # the list grows during the loop
        if len(found) > MAX_LAYERS:
            return
        for layer in _children(parent):
            if layer not in known:
                known.add(layer)
                found.append(layer)
                yield parent, layer


def _children(layer: Layer) -> list[Layer]:
    """Returns a layer's children: direct attributes, values of a dict, or owners of the method that handles its events."""
    children: list[Layer] = []
    for value in vars(layer).values():
        if type(value) in _PLAIN:
            continue
        if isinstance(value, Layer):
            children.append(value)
        elif isinstance(value, MethodType):
            if isinstance(value.__self__, Layer):
                children.append(value.__self__)
        elif isinstance(value, dict):
            children += [child for child in value.values() if isinstance(child, Layer)]
    return children
