"""Converts Envoy's messages to mitmproxy's flows.

    :method :scheme :authority :path, headers   ─►   flow.request; its host, port and scheme are the provider's
    :status, headers                            ─►   flow.response

The listener's metadata, which no client can send, names the destination; without metadata the client's request does.
"""

import re
import time
from collections.abc import Mapping

from mitmproxy import connection, http
from mitmproxy.net.http import status_codes

from ...providers.hosts import split_port
from ...providers.routes import PORTS, Origin
from .bootstrap import UPSTREAM_HEADER
from .bootstrap_clusters import origin_name
from .header_maps import Fields, lower

VERSION = b"HTTP/1.1"
"""Envoy's filters see neither version; a response of HTTP/1.1 may be ended early."""

NOWHERE = ("127.0.0.1", 0)
"""The client's address: only Envoy knows it."""

UPSTREAM_HEADER_NAME = UPSTREAM_HEADER.encode()
"""The header that names another upstream; dropped if a client sends it."""

_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")
ENVOY_HEADERS = {b"x-request-id": _ID, b"x-forwarded-proto": re.compile(rb"https?")}
"""Envoy's own headers, which stay on a rerouted request: the id joins its access log with a recording, and it finds no route
without x-forwarded-proto. The patterns keep a client's own values out."""

_ORIGIN = re.compile(r"(https?)://([^/?#@\s]+)/?")


def origin(text: str) -> Origin | None:
    """Returns the origin that a text like `https://api.moonshot.ai` or `https://host:port` names, or None."""
    found = _ORIGIN.fullmatch(text.strip().lower())
    return _origin(found[1], found[2]) if found else None


def _origin(scheme: str, netloc: str) -> Origin | None:
    name, port = split_port(netloc)
    if not name or (port and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536)):
        return None
    return Origin(scheme, name, int(port) if port else PORTS[scheme])


def request_flow(pseudo: Mapping[str, bytes], fields: Fields, upstream: Origin | None) -> http.HTTPFlow:
    """Returns the flow of a request whose headers are in. `upstream`: the listener's provider."""
    scheme = pseudo.get("scheme", b"http").decode("latin-1").lower()
    authority = pseudo.get("authority", b"")
    to = upstream or _origin(scheme if scheme in PORTS else "http", authority.decode("latin-1"))
    host = to.netloc.encode() if upstream and to else authority
    now = time.time()
    flow = http.HTTPFlow(_client(), connection.Server(address=(to.host, to.port) if to else None), live=True)
    flow.request = http.Request(
        to.host if to else "",
        to.port if to else 0,
        pseudo.get("method", b""),
        (to.scheme if to else scheme).encode(),
        b"",
        pseudo.get("path", b""),
        VERSION,
        http.Headers([(b"host", host), *(field for field in fields if field[0] != UPSTREAM_HEADER_NAME)]),
        None,
        None,
        now,
        None,
    )
    given = next((value for name, value in fields if name == b"x-request-id"), b"")
    if _ID.fullmatch(given):  # a client's value must not name a recording
        flow.id = given.decode()
    return flow


def set_response(flow: http.HTTPFlow, pseudo: Mapping[str, bytes], fields: Fields) -> http.Response:
    """Puts the response, whose headers are in, into the flow."""
    status = int(pseudo.get("status", b"0"))
    reason = status_codes.RESPONSES.get(status, "").encode()
    flow.request.timestamp_end = flow.request.timestamp_end or time.time()
    flow.response = http.Response(VERSION, status, reason, http.Headers(fields), None, None, time.time(), None)
    return flow.response


def headers_for_envoy(request: http.Request, called: Origin, path: str, before: Fields) -> tuple[Fields, dict[str, bytes]]:
    """Returns the request's current headers for Envoy, and the pseudo-headers that changed.

    Args:
        request: The request.
        called: The origin that the client called.
        path: The path that the client called.
        before: The headers as Envoy has them.
    """
    fields = [field for field in lower(request.headers.fields) if field[0] != b"host"]
    fields += [
        field
        for field in before
        if field not in fields and (pattern := ENVOY_HEADERS.get(field[0])) and pattern.fullmatch(field[1])
    ]
    to, pseudo = origin_of(request), {}
    if to != called:
        fields.append((UPSTREAM_HEADER_NAME, origin_name(to).encode()))
        pseudo = {"authority": request.headers.get("host", to.netloc).encode(), "scheme": to.scheme.encode()}
    if request.path != path:
        pseudo["path"] = request.path.encode()
    return tuple(fields), pseudo


def origin_of(request: http.Request) -> Origin:
    """Returns the origin that a request goes to."""
    return Origin(request.scheme, request.host, request.port)


def _client() -> connection.Client:
    client = connection.Client(peername=NOWHERE, sockname=NOWHERE)
    client.state = connection.ConnectionState.OPEN
    return client
