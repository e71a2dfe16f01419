"""Envoy's messages as mitmproxy's flows: what the addon looks at.

    :method :scheme :authority :path, headers   ─►   flow.request; its host, port and scheme are the provider's
    :status, headers                            ─►   flow.response

Rule of this file: where a request goes is told by the listener's metadata, which no client can send; by the client itself only
where there is none.
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
"""What Envoy's filters see is neither version; of a 1.1, an answer may be ended early."""

NOWHERE = ("127.0.0.1", 0)
"""The client's address: it is Envoy's to know."""

OURS = UPSTREAM_HEADER.encode()
"""Where a request goes, if elsewhere; a client's own is none."""

_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")
KEPT = {b"x-request-id": _ID, b"x-forwarded-proto": re.compile(rb"https?")}
"""Envoy's own, which stay with a request that goes elsewhere: its access log is joined with a recording by the one, and it finds
no route without the other. What they may be: nothing of a client's goes along with them."""

_ORIGIN = re.compile(r"(https?)://([^/?#@\s]+)/?")


def origin(text: str) -> Origin | None:
    """What `https://api.moonshot.ai`, or the same with a port, says; None if it is none."""
    found = _ORIGIN.fullmatch(text.strip().lower())
    return _origin(found[1], found[2]) if found else None


def _origin(scheme: str, netloc: str) -> Origin | None:
    name, port = split_port(netloc)
    if not name or (port and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536)):
        return None
    return Origin(scheme, name, int(port) if port else PORTS[scheme])


def asked(pseudo: Mapping[str, bytes], fields: Fields, upstream: Origin | None) -> http.HTTPFlow:
    """The flow of a request whose headers are in. `upstream`: what the listener stands for."""
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
        http.Headers([(b"host", host), *(field for field in fields if field[0] != OURS)]),
        None,
        None,
        now,
        None,
    )
    given = next((value for name, value in fields if name == b"x-request-id"), b"")
    if _ID.fullmatch(given):  # what else a client may have sent, a recording is not to be called by
        flow.id = given.decode()
    return flow


def answered(flow: http.HTTPFlow, pseudo: Mapping[str, bytes], fields: Fields) -> http.Response:
    """Puts the response whose headers are in into the flow."""
    status = int(pseudo.get("status", b"0"))
    reason = status_codes.RESPONSES.get(status, "").encode()
    flow.request.timestamp_end = flow.request.timestamp_end or time.time()
    flow.response = http.Response(VERSION, status, reason, http.Headers(fields), None, None, time.time(), None)
    return flow.response


def headers_of(request: http.Request, called: Origin, path: str, was: Fields) -> tuple[Fields, dict[str, bytes]]:
    """The headers that a request has now, as Envoy is to have them, and the pseudo-headers that are others than before.

    `called` and `path`: where the client sent it; `was`: its headers, as Envoy has them.
    """
    fields = [field for field in lower(request.headers.fields) if field[0] != b"host"]
    fields += [field for field in was if field not in fields and (own := KEPT.get(field[0])) and own.fullmatch(field[1])]
    to, pseudo = origin_of(request), {}
    if to != called:
        fields.append((OURS, origin_name(to).encode()))
        pseudo = {"authority": request.headers.get("host", to.netloc).encode(), "scheme": to.scheme.encode()}
    if request.path != path:
        pseudo["path"] = request.path.encode()
    return tuple(fields), pseudo


def origin_of(request: http.Request) -> Origin:
    """Where a request goes."""
    return Origin(request.scheme, request.host, request.port)


def _client() -> connection.Client:
    client = connection.Client(peername=NOWHERE, sockname=NOWHERE)
    client.state = connection.ConnectionState.OPEN
    return client
