"""Corrects the headers of a response whose body is not the upstream's.

Length, content encoding and framing follow from the body that the client gets and from its connection; headers that describe the
upstream's body are dropped.
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
"""Headers that are wrong for a body that was decoded or mended."""

_STALE = frozenset(name.encode() for name in STALE)

LONGEST = max(map(len, STALE))
"""Length of the longest name in STALE: longer names are not compared, as lower() would copy them."""


def comes(flow: http.HTTPFlow, response: http.Response) -> bool:
    """Returns whether the body has not been received yet."""
    return response.raw_content is None and flow.is_replay != "response"


def is_http11(flow: http.HTTPFlow) -> bool:
    """Returns whether the client gets a chunked body."""
    return flow.request.http_version == "HTTP/1.1" and flow.client_conn.alpn not in (b"h2", b"h3")


def closes(response: http.Response) -> bool:
    """Returns whether the upstream announces that it closes its connection after the response, as mitmproxy decides it."""
    tokens = [token.strip() for token in flow_info.header(response, b"connection").lower().split(",")]
    return "close" in tokens or (response.http_version == "HTTP/1.0" and "keep-alive" not in tokens)


def drop_stale(response: http.Response) -> None:
    """Drops stale headers of a body that mitmproxy has whole: mitmproxy sets the length."""
    _drop(response, _STALE)


def reframe(flow: http.HTTPFlow, response: http.Response, *, last: bool) -> None:
    """Sets the headers of a body that streams. `last`: the client must close its connection at the end."""
    drop_stale(response)
    if is_http11(flow):
        response.headers.fields += ((b"transfer-encoding", b"chunked"),)
        if response.http_version == "HTTP/1.0":  # without chunks (RFC 9112, section 6.1): clients refuse the combination
            last = last or closes(response)
            response.http_version = "HTTP/1.1"
    if last:
        _drop(response, (b"connection",))
        response.headers.fields += ((b"connection", b"close"),)


def _drop(response: http.Response, names: Container[bytes]) -> None:
    fields = response.headers.fields
    response.headers.fields = tuple(field for field in fields if len(field[0]) > LONGEST or field[0].lower() not in names)
