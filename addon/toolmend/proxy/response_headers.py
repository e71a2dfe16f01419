"""What is changed of a response's headers when its body is another one than the upstream sent.

Rule of this file: the length, the coding and the framing of a body are told by what the client gets, and by how it is connected;
what is no longer true of it goes.
"""

from collections.abc import Container

from mitmproxy import http

from . import flow_info

STALE = frozenset({
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "content-digest",
    "content-md5",
    "digest",
    "etag",
    "repr-digest",
})  # fmt: skip
"""What is no longer true of a body that was undone or mended."""

_STALE = frozenset(name.encode() for name in STALE)

LONGEST = max(map(len, STALE))
"""Characters of a name; to compare a longer one would copy it."""


def comes(flow: http.HTTPFlow, response: http.Response) -> bool:
    """Whether the body is still to come."""
    return response.raw_content is None and flow.is_replay != "response"


def is_http11(flow: http.HTTPFlow) -> bool:
    """Whether the client gets a chunked body."""
    return flow.request.http_version == "HTTP/1.1" and flow.client_conn.alpn not in (b"h2", b"h3")


def closes(response: http.Response) -> bool:
    """Whether the upstream says that it closes its connection behind the answer. mitmproxy asks that when the answer is over."""
    tokens = [token.strip() for token in flow_info.header(response, b"connection").lower().split(",")]
    return "close" in tokens or (response.http_version == "HTTP/1.0" and "keep-alive" not in tokens)


def drop_stale(response: http.Response) -> None:
    """For a body that mitmproxy has whole: it tells the length itself."""
    _drop(response, _STALE)


def reframe(flow: http.HTTPFlow, response: http.Response, *, last: bool) -> None:
    """For a body that comes in pieces, none of which is the upstream's. `last`: the client is to leave at the end of it."""
    drop_stale(response)
    if is_http11(flow):
        response.headers.fields += ((b"transfer-encoding", b"chunked"),)
        if response.http_version == "HTTP/1.0":  # it has no chunks (RFC 9112, section 6.1), and clients refuse them
            last = last or closes(response)
            response.http_version = "HTTP/1.1"
    if last:
        _drop(response, (b"connection",))
        response.headers.fields += ((b"connection", b"close"),)


def _drop(response: http.Response, names: Container[bytes]) -> None:
    fields = response.headers.fields
    response.headers.fields = tuple(field for field in fields if len(field[0]) > LONGEST or field[0].lower() not in names)
