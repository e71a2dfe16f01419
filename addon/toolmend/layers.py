"""The layer of mitmproxy's that a flow comes by, which mitmproxy does not tell.

    layer_of(flow, HttpStream)        what hands its answer on, or None
    client_left(flow)                 when its answer has ended in an error: whether that was the client

Rule of this file: it reads alone. What is done with a layer, and what becomes of a flow without one, is its caller's to say.
"""

from collections import deque
from types import MethodType

from mitmproxy import ctx, http
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.server import ConnectionHandler

MAX_LAYERS = 200
"""Layers of a connection that are looked through: a handful, and one for each HTTP/2 stream."""

_PLAIN = frozenset({bool, bytes, deque, float, int, str, type(None)})
"""What most members of a layer are, and hold none."""


def handler_of(flow: http.HTTPFlow) -> ConnectionHandler | None:
    """What has all connections of the flow's client, and their layers; None where there is none."""
    server = ctx.master.addons.get("proxyserver")  # type: ignore[no-untyped-call]
    return server.connections.get(flow.client_conn.id) if server else None


def layer_of[T: Layer](flow: http.HTTPFlow, kind: type[T]) -> T | None:
    """The layer of this kind that has the flow; None where there is none, as for a flow that is replayed."""
    handler = handler_of(flow)
    found: list[Layer] = [handler.layer] if handler else []
    known = set(found)
    for layer in found:  # it grows meanwhile
        if isinstance(layer, kind) and getattr(layer, "flow", None) is flow:
            return layer
        if len(found) > MAX_LAYERS:
            break
        for part in _parts(layer):
            if part not in known:
                known.add(part)
                found.append(part)
    return None


def client_left(flow: http.HTTPFlow) -> bool | None:
    """Whether it is the client that ended it, as mitmproxy has it while it tells of an error; None where that is not known."""
    layer = layer_of(flow, HttpStream)
    return None if layer is None else layer.client_state == layer.state_errored


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
