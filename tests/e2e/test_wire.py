"""The mended stream as bytes: framing, codings, protocols. What clients forgive is looked at here."""

import json
import socket
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.e2e.bare_upstream import BareUpstream
from tests.e2e.clients import CALL, CHAT, LEAK, Raw, Serve, ask, chunks, parse, recording, request_bytes
from tests.e2e.mended import MENDED, check
from tests.support.judges.chat import events, read
from tests.support.streams import WEATHER, stream
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Coding, Script

H1, H2 = ("http/1.1",), ("h2", "http/1.1")
UPSTREAMS = {
    # name: (what it says, in which protocols); none of its HTTP/1 framings but the length shows in HTTP/2
    "chunked": (Script(chunks(LEAK)), H1),
    "content-length": (Script(chunks(LEAK), framing="content-length"), H1),
    "eof": (Script(chunks(LEAK), framing="eof"), H1),
    "HTTP/1.0": (Script(chunks(LEAK), framing="eof", http_version="HTTP/1.0"), H1),
    "HTTP/2": (Script(chunks(LEAK)), H2),
    "HTTP/2, content-length": (Script(chunks(LEAK), framing="content-length"), H2),
}


def test_framing_of_a_chunked_response(proxy: Mitmdump, serve: Serve) -> None:
    """The zero chunk, which ends the body, comes once and last, although the mending holds back whole chunks."""
    reply = ask(proxy, serve(Script(chunks(LEAK))).url)
    assert reply.status == "HTTP/1.1 200 OK"
    assert reply.header("transfer-encoding") == "chunked"
    assert reply.terminated
    assert reply.rest == b""
    assert reply.raw.count(b"\r\n0\r\n\r\n") == 1
    assert all(reply.chunks)
    assert reply.body == MENDED
    check(reply.body)


def test_the_connection_is_kept_for_the_next_request(proxy: Mitmdump, serve: Serve) -> None:
    url = serve(Script(chunks(LEAK))).url
    with Raw(proxy, url) as raw:
        for _ in range(3):
            raw.send(request_bytes(CHAT, host=raw.host))
            reply = parse(raw.read_until(b"\r\n0\r\n\r\n"))
            assert reply.terminated
            assert (reply.body, reply.rest) == (MENDED, b"")


@pytest.mark.parametrize("whole", [False, True])
def test_an_upstream_that_ends_its_answers_by_leaving(proxy: Mitmdump, serve: Serve, whole: bool) -> None:
    """mitmproxy has five connections to a host at a time: each is closed, though the answer's headers say otherwise by then."""
    head = (("Content-Type", "application/json" if whole else "text/event-stream"),)
    body = json.dumps({"choices": [{"message": {"content": "", "function_call": {"name": "get_weather"}}}], "z": 1}).encode()
    leak = ((0.0, body[:9]), (0.05, body[9:]))
    url = serve(*[Script(leak if whole else chunks(LEAK), headers=head, framing="eof")] * 8).url
    with Raw(proxy, url) as raw:
        for _ in range(8):
            raw.send(request_bytes(CHAT, host=raw.host))
            reply = parse(raw.read_until(b'"z": 1' if whole else b"\r\n0\r\n\r\n"))
            assert reply.status == "HTTP/1.1 200 OK"


class Pieces(BareUpstream):
    """Tells in how many records of TLS each request came."""

    def serve(self, connection: socket.socket) -> None:
        self.pieces: list[int] = []
        request = b""
        while data := connection.recv(65536):
            self.pieces += [] if request else [0]
            self.pieces[-1] += 1
            request += data
            if request.endswith(b"}"):
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
                request = b""


def test_a_request_leaves_in_one_piece_but_for_the_first_of_a_connection(
    proxy: Mitmdump, certificate: tuple[Path, Path]
) -> None:
    """That one's second piece acknowledges the upstream's TLS tickets: it may say nothing before they are."""
    with Pieces(certificate) as upstream:
        with Raw(proxy, f"https://{upstream.host}/v1/chat/completions") as raw:
            for _ in range(3):
                raw.send(request_bytes(CHAT, host=raw.host))
                assert raw.read_until(b"{}").startswith(b"HTTP/1.1 200 OK")
        assert upstream.pieces == [2, 1, 1]


@pytest.mark.parametrize("keeps", [False, True])
def test_an_upstream_of_http_1_0(proxy: Mitmdump, serve: Serve, keeps: bool) -> None:
    """Whether it closes its connection is told by what it does not say; the client's goes with it, and is told so."""
    script = Script(chunks(LEAK), framing="content-length", http_version="HTTP/1.0")
    headers = (*script.headers, ("connection", "keep-alive"))
    upstream = serve(replace(script, headers=headers) if keeps else script)
    with Raw(proxy, upstream.url) as raw:
        for _ in range(2 if keeps else 1):
            raw.send(request_bytes(CHAT, host=raw.host))
            reply = parse(raw.read_until(b"\r\n0\r\n\r\n"))
            assert (reply.status, reply.header("connection")) == ("HTTP/1.1 200 OK", "keep-alive" if keeps else "close")
            assert (reply.terminated, reply.body) == (True, MENDED)
        assert keeps or raw.read_to_end() == b""


def test_arguments_arrive_while_the_call_is_open(proxy: Mitmdump, serve: Serve) -> None:
    """The upstream says nothing more after half of the arguments, and the client has that half."""
    upto = LEAK.index(b"Beijing")
    whole = LEAK[: LEAK.index(b"\n\n", upto) + 2]
    upstream = serve(Script(chunks(whole), end="stall"))
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(CHAT, host=raw.host, Connection="close"))
        before = raw.read_until(b"Beijing")
        assert b"get_weather" in before
        upstream.release()
        reply = parse(before + raw.read_to_end())
    assert reply.terminated
    assert read(reply.body).only.calls[0].arguments.startswith('{"city": "Beijing')


@pytest.mark.parametrize("at", range(1, len(chunks(LEAK)) + 1))
@pytest.mark.parametrize("client", ["1.1", "2"])
def test_an_empty_frame(proxy: Mitmdump, serve: Serve, http2: httpx.Client, client: str, at: int) -> None:
    """HTTP/2 has frames of no data that end nothing. mitmproxy hands one on as it does the end of a message."""
    upstream = serve(Script(chunks(LEAK), empty_frame=at), alpn=H2)
    if client == "2":
        body = http2.post(f"{upstream.url}{CHAT}", json=WEATHER).content
    else:
        reply = ask(proxy, upstream.url)
        assert reply.terminated
        body = reply.body
    assert upstream.requests[0].http_version == "HTTP/2"
    check(body)


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("client", ["1.1", "2"])
@pytest.mark.parametrize("alpn", [H1, H2], ids=["from HTTP/1", "from HTTP/2"])
def test_trailers(
    proxy: Mitmdump, serve: Serve, http2: httpx.Client, flows: Path, alpn: tuple[str, ...], client: str, kind: str
) -> None:
    """mitmproxy can neither read nor write them in HTTP/1, and would leave the client waiting for an end."""
    body = LEAK if kind == "text/event-stream" else b"{}"
    upstream = serve(Script(chunks(body), headers=(("content-type", kind),), trailers=(("x-took", "1"),)), alpn=alpn)
    if client == "2":
        answer = http2.post(f"{upstream.url}{CHAT}", json=WEATHER)
        assert answer.headers["content-type"] == kind
        got = answer.content
    else:
        reply = ask(proxy, upstream.url)
        assert reply.terminated
        got = reply.body
    assert events(got) == events(MENDED) if body == LEAK else got == chunks(body)[0][1]
    assert recording(flows, CHAT).meta["state"] == "complete"


@pytest.mark.parametrize(("kind", "status"), [("application/json", 200), ("text/event-stream", 503)], ids=["whole", "a stream"])
def test_trailers_behind_less_than_was_promised(proxy: Mitmdump, serve: Serve, kind: str, status: int) -> None:
    """HTTP/2 counts no bytes where trailers are the end. What is missing is not taken from the next answer."""
    promise = (("content-type", kind), ("content-length", "9"))
    short = Script(((0.0, b"{}"),), status=status, headers=promise, trailers=(("x-took", "1"),))
    upstream = serve(short, Script(chunks(LEAK)), alpn=H2)
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(CHAT, host=raw.host) + request_bytes(CHAT, host=raw.host, Connection="close"))
        reply = parse(raw.read_to_end())
    assert (reply.body, reply.terminated) == (b"{}", status == 200)
    assert not reply.rest or parse(reply.rest).body == MENDED


@pytest.mark.parametrize("body", [LEAK, b"data: .\n\n"], ids=["a leak", "nothing to mend"])
def test_trailers_that_come_with_all_the_rest(proxy: Mitmdump, serve: Serve, body: bytes) -> None:
    """mitmproxy reads on to the end before the response's headers are told of."""
    data = b"".join(data for _, data in chunks(body))
    head = (("content-type", "text/event-stream"), ("transfer-encoding", "chunked"))
    upstream = serve(Script(((0.0, b"%x\r\n%b\r\n0\r\nX-Took: 1\r\n\r\n" % (len(data), data)),), headers=head, framing="eof"))
    reply = ask(proxy, upstream.url)
    assert reply.terminated
    assert reply.body == (MENDED if body == LEAK else body)


def test_a_thousand_chunks_at_once(proxy: Mitmdump, serve: Serve, flows: Path) -> None:
    """They leave in fewer: to mitmproxy each costs as much as a large one."""
    body = stream([f"{number} " for number in range(1000)])
    data = b"".join(b"%x\r\n%b\r\n" % (len(data), data) for _, data in chunks(body))
    head = (("content-type", "text/event-stream"), ("transfer-encoding", "chunked"))
    reply = ask(proxy, serve(Script(((0.0, data + b"0\r\n\r\n"),), headers=head, framing="eof")).url)
    assert reply.terminated
    assert reply.body == body
    assert len(reply.chunks) < 1000
    assert recording(flows, CHAT).meta["state"] == "complete"


@pytest.mark.parametrize("client", ["1.1", "2"])
@pytest.mark.parametrize("alpn", [H1, H2], ids=["from HTTP/1", "from HTTP/2"])
def test_a_flood_with_a_call_at_its_end(
    proxy: Mitmdump, serve: Serve, http2: httpx.Client, alpn: tuple[str, ...], client: str
) -> None:
    said = [f"{number} " for number in range(3000)]
    leak = ["<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>", '{"city": "Beijing"}']
    upstream = serve(Script(chunks(stream([*said, *leak, "<|tool_call_end|><|tool_calls_section_end|>"]))), alpn=alpn)
    if client == "2":
        answer = read(http2.post(f"{upstream.url}{CHAT}", json=WEATHER).content)
    else:
        answer = read(ask(proxy, upstream.url).body)
    assert answer.only.content == "".join(said)
    assert [(call.id, call.name, call.arguments) for call in answer.only.calls] == [CALL]
    assert not answer.all_faults


@pytest.mark.parametrize("coding", ["identity", "gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize(("script", "alpn"), UPSTREAMS.values(), ids=UPSTREAMS)
@pytest.mark.parametrize("client", ["1.0", "1.1", "2"])
def test_codings_and_protocols(
    proxy: Mitmdump,
    serve: Serve,
    http2: httpx.Client,
    client: str,
    script: Script,
    alpn: tuple[str, ...],
    coding: Coding,
) -> None:
    upstream = serve(replace(script, coding=coding), alpn=alpn)
    if client == "2":
        answer = http2.post(f"{upstream.url}{CHAT}", json=WEATHER)
        assert answer.http_version == "HTTP/2"
        assert not {"content-encoding", "content-length", "transfer-encoding"} & set(answer.headers)
        body = answer.content
    else:
        reply = ask(proxy, upstream.url, version=client)
        assert reply.terminated
        assert reply.rest == b""
        if client == "1.1":
            assert reply.status == "HTTP/1.1 200 OK"  # HTTP/1.0 has no chunks
        assert reply.header("transfer-encoding") == ("chunked" if client == "1.1" else None)
        assert reply.header("content-encoding") is None
        assert reply.header("content-length") is None
        body = reply.body
    asked = upstream.requests[0]
    assert (asked.http_version == "HTTP/2") == (alpn == H2)
    assert json.loads(asked.body) == WEATHER
    assert events(body) == events(MENDED)
    check(body)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_plain_http(proxy: Mitmdump, serve: Serve, version: str) -> None:
    """A model server of one's own speaks no TLS."""
    url = serve(Script(chunks(LEAK)), tls=False).url
    with Raw(proxy, url, connect=False) as raw:
        raw.send(request_bytes(f"{url}{CHAT}", host=raw.host, version=version, Connection="close"))
        reply = parse(raw.read_to_end())
    assert reply.terminated
    assert reply.body == MENDED
