"""server/h1.py: HTTP/1.1 on the wire, endings included."""

import socket
from pathlib import Path

import pytest

from tests.support.local_upstreams import BODY, CHUNKS, client, tls
from toolmend.recordings.playback.server import Script, Upstream

__all__ = ["tls"]


TYPE = b"content-type: text/event-stream\r\n"
CHUNKED = b"b\r\ndata: one\n\n\r\nb\r\ndata: two\n\n\r\n"

WIRE = {
    # name: (script, the request's HTTP version, all that comes back on a connection that the client lets go on)
    "chunked": (
        Script(CHUNKS),
        "1.1",
        b"HTTP/1.1 200 OK\r\n%btransfer-encoding: chunked\r\n\r\n%b0\r\n\r\n" % (TYPE, CHUNKED),
    ),
    "length": (
        Script(CHUNKS, framing="content-length"),
        "1.1",
        b"HTTP/1.1 200 OK\r\n%bcontent-length: 22\r\n\r\n%b" % (TYPE, BODY),
    ),
    "eof": (Script(CHUNKS, framing="eof"), "1.1", b"HTTP/1.1 200 OK\r\n%b\r\n%b" % (TYPE, BODY)),
    "a client of 1.0": (Script(CHUNKS), "1.0", b"HTTP/1.1 200 OK\r\n%b\r\n%b" % (TYPE, BODY)),
    "a server of 1.0": (Script(CHUNKS, http_version="HTTP/1.0"), "1.1", b"HTTP/1.0 200 OK\r\n%b\r\n%b" % (TYPE, BODY)),
    "drop": (
        Script(CHUNKS, end="drop"),
        "1.1",
        b"HTTP/1.1 200 OK\r\n%btransfer-encoding: chunked\r\n\r\n%b" % (TYPE, CHUNKED),
    ),
    "drop, length": (
        Script(CHUNKS, framing="content-length", end="drop"),
        "1.1",
        b"HTTP/1.1 200 OK\r\n%bcontent-length: 23\r\n\r\n%b" % (TYPE, BODY),
    ),
    "no body": (Script(status=204, headers=()), "1.1", b"HTTP/1.1 204 No Content\r\n\r\n"),
    "a status without a name": (
        Script(status=529, headers=(("X-Odd", "ä"),), framing="content-length"),
        "1.1",
        b"HTTP/1.1 529 \r\nX-Odd: \xe4\r\ncontent-length: 0\r\n\r\n",
    ),
}


def read_all(sock: socket.socket) -> tuple[bytes, bool]:
    """Everything up to the end of the connection, and whether that was a RST."""
    got = b""
    try:
        while data := sock.recv(65536):
            got += data
    except ConnectionResetError:
        return got, True
    return got, False


@pytest.mark.parametrize(("script", "version", "expected"), WIRE.values(), ids=WIRE)
def test_bytes_on_the_wire(script: Script, version: str, expected: bytes) -> None:
    with Upstream([script]) as upstream, socket.create_connection(("127.0.0.1", upstream.port)) as sock:
        sock.sendall(f"GET /v1 HTTP/{version}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert read_all(sock) == (expected, False)


def test_reset_is_a_tcp_reset_and_comes_after_the_data() -> None:
    script = Script((*CHUNKS, (0.1, b"")), end="reset")
    with Upstream([script]) as upstream, socket.create_connection(("127.0.0.1", upstream.port)) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got, reset = read_all(sock)
    assert reset
    assert got.endswith(CHUNKED)


def test_head_has_no_body_and_the_connection_goes_on(tls: tuple[Path, Path]) -> None:
    with Upstream([Script(CHUNKS)], tls=tls, alpn=["http/1.1"]) as upstream, client(tls, http2=False) as http:
        assert http.head(upstream.url).content == b""
        assert http.get(upstream.url).content == BODY
