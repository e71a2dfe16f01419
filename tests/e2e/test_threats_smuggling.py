"""Requests and answers that two readers frame differently: with the addon and without it, the same comes out at both ends (R21).

CVE-2022-24766 is the model: a proxy that passes on what it reads otherwise than the server lets a second request through.

Rule of this file: nothing but sockets, and no parser of ours on either side. The one thing that may differ is `accept-encoding`.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.e2e.clients import PROSE, parse
from tests.e2e.smuggling import ANSWER, BODY, Wire, bare, comparable
from toolmend.cli.launcher.proxy import Mitmdump

__all__ = ["bare"]

pytestmark = pytest.mark.slow

SECOND = b"POST /smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)


@dataclass
class Outcome:
    """What the client got, and what the upstream saw, connection by connection."""

    status: str
    body: bytes
    terminated: bool
    rest: bytes
    seen: list[bytes] = field(default_factory=list)


def outcome(proxy: Mitmdump, request: bytes, answer: bytes = ANSWER, *, waits: bool = False) -> Outcome:
    """One connection of a client; `waits`: the proxy waits for more than is sent, so the client leaves."""
    with Wire(answer) as wire:
        host = wire.host.encode()
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=8) as client:
            client.sendall(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (host, host))
            told = b""
            while not told.endswith(b"\r\n\r\n"):
                told += client.recv(1)
            client.sendall(request.replace(b"{host}", host))
            if waits:
                client.shutdown(socket.SHUT_WR)
            got = b""
            try:
                while data := client.recv(65536):
                    got += data
            except ConnectionResetError:
                pass
    reply = parse(got.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n"))
    return Outcome(reply.status, reply.body.replace(host, b"{host}"), reply.terminated, reply.rest, comparable(wire))


def ask(*headers: bytes, body: bytes = BODY, line: bytes = b"POST /v1/chat/completions HTTP/1.1", end: bytes = b"\r\n") -> bytes:
    return end.join([line, b"Host: {host}", b"Content-Type: application/json", *headers, b"", b""]) + body


LENGTH = b"Content-Length: %d" % len(BODY)
TE = b"Transfer-Encoding: chunked"
REQUESTS: dict[str, bytes] = {
    "plain": ask(LENGTH),
    "chunked": ask(TE, body=CHUNKED),
    "two requests": ask(LENGTH) + SECOND,
    "CL.TE": ask(b"Content-Length: %d" % len(CHUNKED), TE, body=CHUNKED + SECOND),
    "TE.CL": ask(TE, b"Content-Length: 4", body=CHUNKED + SECOND),
    "CL.0": ask(b"Content-Length: 0", body=SECOND),
    "two lengths": ask(LENGTH, b"Content-Length: 0", body=BODY + SECOND),
    "two lengths that agree": ask(LENGTH, LENGTH),
    "a list of lengths": ask(b"Content-Length: %d, %d" % (len(BODY), len(BODY))),
    "a length with a sign": ask(b"Content-Length: +%d" % len(BODY)),
    "a negative length": ask(b"Content-Length: -1"),
    "a length in hex": ask(b"Content-Length: 0x2f"),
    "a length in other digits": ask("Content-Length: ４７".encode()),
    "a length with an underscore": ask(b"Content-Length: 4_7"),
    "a length of many digits": ask(b"Content-Length: " + b"9" * 5000),
    "no length": ask(body=SECOND),
    "TE.TE": ask(TE, b"Transfer-Encoding: identity", LENGTH, body=CHUNKED),
    "TE x": ask(b"Transfer-Encoding: xchunked", LENGTH),
    "TE with a tab": ask(b"Transfer-Encoding:\tchunked", LENGTH, body=CHUNKED),
    "TE with a vertical tab": ask(b"Transfer-Encoding:\x0bchunked", LENGTH, body=CHUNKED),
    "TE with a space before the colon": ask(b"Transfer-Encoding : chunked", LENGTH, body=CHUNKED),
    "TE with a space before": ask(b" Transfer-Encoding: chunked", LENGTH, body=CHUNKED),
    "TE with a line before": ask(b"X: y\nTransfer-Encoding: chunked", LENGTH, body=CHUNKED),
    "TE in capitals": ask(b"TRANSFER-ENCODING: CHUNKED", body=CHUNKED),
    "TE quoted": ask(b'Transfer-Encoding: "chunked"', LENGTH, body=CHUNKED),
    "TE twice in one": ask(b"Transfer-Encoding: chunked, chunked", LENGTH, body=CHUNKED),
    "TE gzip": ask(b"Transfer-Encoding: gzip, chunked", LENGTH, body=CHUNKED),
    "TE empty": ask(b"Transfer-Encoding:", LENGTH),
    "TE with NUL": ask(b"Transfer-Encoding: chunked\0", LENGTH, body=CHUNKED),
    "an underscore for the dash": ask(b"Content_Length: 0", b"Transfer_Encoding: chunked", LENGTH),
    "obs-fold": ask(b"Transfer-Encoding:\r\n chunked", LENGTH, body=CHUNKED),
    "a name that folds": ask(LENGTH, b"X-Fold: a\r\n\tb"),
    "lines end with LF": ask(LENGTH, end=b"\n"),
    "a bare CR": ask(LENGTH, b"X: a\rTransfer-Encoding: chunked"),
    "a header without a colon": ask(LENGTH, b"Transfer-Encoding chunked"),
    "a header without a name": ask(LENGTH, b": chunked"),
    "a NUL in a value": ask(LENGTH, b"X: a\0b"),
    "two hosts": ask(LENGTH, b"Host: other.invalid"),
    "no version": ask(LENGTH, line=b"POST /v1/chat/completions"),
    "another version": ask(LENGTH, line=b"POST /v1/chat/completions HTTP/1.9"),
    "HTTP/1.0 chunked": ask(TE, line=b"POST /v1/chat/completions HTTP/1.0", body=CHUNKED),
    "a blank in the path": ask(LENGTH, line=b"POST /v1/chat/completions /x HTTP/1.1"),
    "blank lines before": b"\r\n\r\n" + ask(LENGTH),
    "chunk extensions": ask(TE, body=b'%x;a=b;c="d"\r\n%b\r\n0;x\r\n\r\n' % (len(BODY), BODY)),
    "a chunk extension with LF": ask(TE, body=b"%x;a\nb\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)),
    "a chunk's size with 0x": ask(TE, body=b"0x%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)),
    "a chunk's size with a sign": ask(TE, body=b"+%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)),
    "a chunk's size below zero": ask(TE, body=b"-1\r\n%b\r\n0\r\n\r\n" % BODY),
    "a chunk's size beyond 64 bits": ask(TE, body=b"1%x\r\n%b\r\n0\r\n\r\n" % (len(BODY) + (1 << 64), BODY)),
    "a chunk that is longer than said": ask(TE, body=b"5\r\n%b\r\n0\r\n\r\n" % BODY),
    "chunks with LF": ask(TE, body=CHUNKED.replace(b"\r\n", b"\n") + SECOND),
    "Expect": ask(LENGTH, b"Expect: 100-continue"),
    "an upgrade": ask(LENGTH, b"Connection: upgrade, http2-settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"),
    "hop by hop": ask(LENGTH, b"Connection: close, content-length, host"),
}
WAITS = frozenset(("a length of many digits", "a chunk's size beyond 64 bits"))
"""Of these the proxy waits for the rest. Not here are trailers of a request, which mitmproxy itself cannot read."""


def respond(*headers: bytes, body: bytes = PROSE, status: bytes = b"HTTP/1.1 200 OK", end: bytes = b"\r\n") -> bytes:
    return end.join([status, b"Content-Type: text/event-stream", *headers, b"", b""]) + body


PARTED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(PROSE), PROSE)
HIDDEN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\nhidden"
ANSWERS: dict[str, bytes] = {
    "plain": respond(b"Content-Length: %d" % len(PROSE)),
    "chunked": respond(TE, body=PARTED),
    "two answers": respond(b"Content-Length: %d" % len(PROSE), body=PROSE + HIDDEN),
    "CL.TE": respond(b"Content-Length: %d" % len(PARTED), TE, body=PARTED + HIDDEN),
    "TE.CL": respond(TE, b"Content-Length: 5", body=PARTED + HIDDEN),
    "two lengths": respond(b"Content-Length: %d" % len(PROSE), b"Content-Length: 5", body=PROSE),
    "two lengths that agree": respond(b"Content-Length: %d" % len(PROSE), b"Content-Length: %d" % len(PROSE)),
    "a length with a sign": respond(b"Content-Length: +%d" % len(PROSE)),
    "TE.TE": respond(TE, b"Transfer-Encoding: identity", body=PARTED),
    "TE with a space before the colon": respond(b"Transfer-Encoding : chunked", body=PARTED),
    "obs-fold": respond(b"Transfer-Encoding:\r\n chunked", body=PARTED),
    "lines end with LF": respond(b"Content-Length: %d" % len(PROSE), end=b"\n"),
    "a line in a value": respond(b"Content-Length: %d" % len(PROSE), b"X: a\nTransfer-Encoding: chunked"),
    "a NUL in a value": respond(b"Content-Length: %d" % len(PROSE), b"X: a\0b"),
    "chunk extensions": respond(TE, body=b"%x;a=b\r\n%b\r\n0;x\r\n\r\n" % (len(PROSE), PROSE)),
    "behind the last chunk": respond(TE, body=PARTED + HIDDEN),
    "204 with a body": respond(status=b"HTTP/1.1 204 No Content", body=HIDDEN),
    "304 with a body": respond(b"Content-Length: 9", status=b"HTTP/1.1 304 Not Modified", body=HIDDEN),
    "100 first": b"HTTP/1.1 100 Continue\r\n\r\n" + respond(b"Content-Length: %d" % len(PROSE)),
    "a status of four digits": respond(status=b"HTTP/1.1 2000 OK"),
    "a status that is no number": respond(status=b"HTTP/1.1 OK"),
    "no HTTP": PROSE + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests(proxy: Mitmdump, bare: Mitmdump, name: str) -> None:
    same(lambda through: outcome(through, REQUESTS[name], waits=name in WAITS), proxy, bare)


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(proxy: Mitmdump, bare: Mitmdump, name: str) -> None:
    same(lambda through: outcome(through, ask(LENGTH, b"Connection: close"), ANSWERS[name]), proxy, bare)


@pytest.mark.parametrize("name", ["plain", "chunked", "two requests", "CL.0"])
def test_the_corpus_is_asked(proxy: Mitmdump, name: str) -> None:
    """What is legal arrives, so that the comparison is one."""
    got = outcome(proxy, REQUESTS[name])
    assert got.status == "HTTP/1.1 200 OK"
    assert (got.body, got.terminated, got.rest) == (PROSE, True, b"")
    assert len(got.seen) == 1


def same(run: Callable[[Mitmdump], Outcome], proxy: Mitmdump, bare: Mitmdump) -> None:
    with_it, without = run(proxy), run(bare)
    assert with_it == without
    assert b"hidden" not in with_it.body + with_it.rest
