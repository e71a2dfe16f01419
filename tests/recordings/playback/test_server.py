"""The local upstream: what it is told to say is what real clients read off the wire, framing and endings included."""

import socket
import ssl
import threading
from pathlib import Path

import httpx
import pytest

from toolmend.core.content_encoding import decoder
from toolmend.recordings.playback.server import Coding, End, Request, Script, Upstream, make_certificate

CHUNKS = ((0.0, b"data: one\n\n"), (0.0, b"data: two\n\n"))
BODY = b"".join(data for _, data in CHUNKS)
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


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def read_all(sock: socket.socket) -> tuple[bytes, bool]:
    """Everything up to the end of the connection, and whether that was a RST."""
    got = b""
    try:
        while data := sock.recv(65536):
            got += data
    except ConnectionResetError:
        return got, True
    return got, False


def client(tls: tuple[Path, Path], *, http2: bool) -> httpx.Client:
    return httpx.Client(verify=ssl.create_default_context(cafile=tls[0]), http2=http2, trust_env=False)


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


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("http2", [False, True])
def test_every_chunk_of_a_coding_can_be_read_when_it_arrives(
    tls: tuple[Path, Path], coding: Coding, http2: bool
) -> None:
    script = Script(CHUNKS, coding=coding, end="stall")
    with (
        Upstream([script], tls=tls) as upstream,
        client(tls, http2=http2) as http,
        http.stream("GET", upstream.url) as answer,
    ):
        assert answer.headers["content-encoding"] == coding
        undo = decoder(coding)
        assert undo is not None
        plain = b""
        for data in answer.iter_raw():
            plain += undo.feed(data)
            if plain == BODY:
                upstream.release()
    assert plain == BODY


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("http2", [False, True])
def test_the_rest_waits(tls: tuple[Path, Path], coding: Coding, http2: bool) -> None:
    script = Script(CHUNKS[:1], rest=CHUNKS[1:], coding=coding, framing="content-length")
    first = CHUNKS[0][1]
    with (
        Upstream([script], tls=tls) as upstream,
        client(tls, http2=http2) as http,
        http.stream("GET", upstream.url) as answer,
    ):
        undo = decoder(coding)
        assert undo is not None
        plain = b""
        for data in answer.iter_raw():
            plain += undo.feed(data)
            if plain == first:
                upstream.release()
        assert plain == BODY


@pytest.mark.parametrize("http2", [False, True])
def test_what_was_asked_is_kept_and_scripts_come_in_order(tls: tuple[Path, Path], http2: bool) -> None:
    length = Script(CHUNKS, framing="content-length")
    with Upstream([Script(((0, b"first"),)), length], tls=tls) as upstream, client(tls, http2=http2) as http:
        assert http.post(f"{upstream.url}/v1/a?b=c", content=b"x" * 200_000, headers={"X-Key": "k"}).content == b"first"
        for _ in range(2):  # the last one stays
            answer = http.get(upstream.url)
            assert (answer.content, answer.headers["content-length"]) == (BODY, "22")
    version = "HTTP/2" if http2 else "HTTP/1.1"
    assert [(r.method, r.path, r.http_version) for r in upstream.requests] == [
        ("POST", "/v1/a?b=c", version),
        ("GET", "/", version),
        ("GET", "/", version),
    ]
    assert upstream.requests[0].body == b"x" * 200_000
    assert upstream.requests[0].header("x-key") == "k"
    assert upstream.requests[0].header("host") == f"localhost:{upstream.port}"
    assert upstream.requests[0].header("x-none") is None


def test_a_callable_chooses_by_the_request(tls: tuple[Path, Path]) -> None:
    def answer(request: Request) -> Script:
        return Script(((0, request.path.encode()),), status=404 if request.path == "/none" else 200)

    with Upstream(answer, tls=tls) as upstream, client(tls, http2=True) as http:
        assert [(a.status_code, a.text) for a in (http.get(f"{upstream.url}{p}") for p in ("/x", "/none"))] == [
            (200, "/x"),
            (404, "/none"),
        ]


def test_http2_large_bodies_wait_for_the_window(tls: tuple[Path, Path]) -> None:
    body = bytes(range(256)) * 20_000
    with Upstream([Script(((0, body), (0, body)))], tls=tls) as upstream, client(tls, http2=True) as http:
        answer = http.get(upstream.url)
    assert answer.http_version == "HTTP/2"
    assert answer.content == body * 2


@pytest.mark.parametrize("end", ["drop", "reset"])
def test_http2_broken_ends_come_after_the_data(tls: tuple[Path, Path], end: End) -> None:
    got: list[bytes] = []

    def read(answer: httpx.Response) -> None:
        got.extend(answer.iter_raw())

    script = Script((*CHUNKS, (0.1, b"")), end=end)
    with Upstream([script, Script(CHUNKS)], tls=tls) as upstream, client(tls, http2=True) as http:
        with http.stream("GET", upstream.url) as answer, pytest.raises(httpx.RemoteProtocolError):
            read(answer)
        assert b"".join(got) == BODY
        assert http.get(upstream.url).content == BODY


def test_it_stops_in_the_middle_of_a_stream_and_when_the_client_has_left(tls: tuple[Path, Path]) -> None:
    before = {*threading.enumerate()}
    for http2 in (False, True):
        stalling = Upstream([Script(CHUNKS, end="stall")], tls=tls)
        with stalling as upstream, client(tls, http2=http2) as http:
            with http.stream("GET", upstream.url) as left:
                assert next(left.iter_raw())
            held = http.send(http.build_request("GET", upstream.url), stream=True)
            assert next(held.iter_raw())
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", upstream.port))
    assert {*threading.enumerate()} <= before


def test_a_certificate_that_cannot_be_had_is_raised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), Upstream([], tls=(tmp_path / "none", tmp_path / "none")):
        pass
