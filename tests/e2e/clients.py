"""Clients that hide nothing: raw sockets through the proxy, and a reader of HTTP/1 framing that forgives nothing."""

import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.support.streams import WEATHER, stream
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Upstream

type Serve = Callable[..., Upstream]  # the fixtures: serve(*scripts, tls=.., alpn=..)
type Start = Callable[..., Mitmdump]  # start(scripts, **options)
type Share = Callable[..., Mitmdump]  # share(**options)

CHAT = "/v1/chat/completions"
LEAK = stream(
    [
        "I will look.",
        *("<|tool_calls_section_begin|>", "<|tool_call_begin|>", " functions", ".get_weather", ":", "0"),
        *("<|tool_call_argument_begin|>", ' {"', "city", '": "', "Beijing", '"}'),
        *("<|tool_call_end|>", "<|tool_calls_section_end|>"),
    ]
)
"""A leaked Kimi K2 stream: "I will look." and one call."""

CALL = ("functions.get_weather:0", "get_weather", '{"city": "Beijing"}')
"""Its id, name and arguments."""

PROSE = stream(
    ["A marker, <|tool_call_begin|> say,", " is <b>", "日本", " and <|tool_calls_sec", "tion", " is nothing."]
)
"""A stream in which nothing is to be mended, although it looks like it here and there."""


def chunks(body: bytes, delay: float = 0.0) -> tuple[tuple[float, bytes], ...]:
    """A chunk per event, as providers send them."""
    return tuple((delay, event + b"\n\n") for event in body.split(b"\n\n") if event)


def request_bytes(path: str, *, host: str, method: str = "POST", version: str = "1.1", **headers: str) -> bytes:
    """A request for the weather as HTTP/1 writes it."""
    body = json.dumps(WEATHER).encode()
    lines = [
        f"{method} {path} HTTP/{version}",
        f"Host: {host}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Reply:
    """One HTTP/1 response, apart. `terminated`: its framing says that it is whole; `rest`: what came behind it."""

    status: str
    headers: list[tuple[str, str]]
    raw: bytes
    body: bytes = b""
    chunks: list[bytes] = field(default_factory=list)
    terminated: bool = False
    rest: bytes = b""

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key.lower() == name]
        assert len(values) < 2
        return values[0] if values else None


def parse(raw: bytes) -> Reply:
    """All bytes of a connection up to its end, as one response."""
    head, _, rest = raw.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    reply = Reply(status, headers, raw)
    if reply.header("transfer-encoding") == "chunked":
        assert reply.header("content-length") is None
        while line := re.match(rb"([0-9a-f]+)\r\n", rest):
            size = int(line[1], 16)
            data = rest[line.end() : line.end() + size]
            end = rest[line.end() + size : line.end() + size + 2]
            reply.body += data
            if end != b"\r\n":  # broken off in the middle of a chunk
                assert len(data) < size or len(end) < 2
                return reply
            rest = rest[line.end() + size + 2 :]
            if size == 0:
                reply.terminated, reply.rest = True, rest
                return reply
            reply.chunks.append(data)
        assert not rest, rest
    elif (length := reply.header("content-length")) is not None:
        reply.body, reply.rest = rest[: int(length)], rest[int(length) :]
        reply.terminated = len(reply.body) == int(length)
    else:
        reply.body, reply.terminated = rest, True
    return reply


class Raw:
    """A connection to the host of a URL: by CONNECT through the proxy and with TLS inside, or just to the proxy."""

    def __init__(
        self, proxy: Mitmdump, url: str, *, connect: bool = True, alpn: Sequence[str] = ("http/1.1", "h2")
    ) -> None:
        self.host = urlsplit(url).netloc
        self.sock = socket.create_connection(("127.0.0.1", proxy.port), timeout=20)
        if connect:
            self.sock.sendall(f"CONNECT {self.host} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += self.sock.recv(1)
            assert answer.startswith(b"HTTP/1.1 200"), answer
            context = context_for(proxy.ca)
            # the proxy takes the client's first choice, and offers all to the server, which may choose HTTP/2
            context.set_alpn_protocols(list(alpn))
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host.partition(":")[0])

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def read_until(self, needle: bytes) -> bytes:
        """What comes until it ends with something that holds `needle`."""
        got = b""
        while needle not in got:
            data = self.sock.recv(65536)
            assert data, got
            got += data
        return got

    def read_to_end(self) -> bytes:
        """All that comes until the other side closes, in whatever way."""
        got = bytearray()
        try:
            while data := self.sock.recv(65536):
                got += data
        except (ConnectionResetError, ssl.SSLEOFError):
            pass
        return bytes(got)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sock.close()


def context_for(ca: Path) -> ssl.SSLContext:
    """TLS that trusts this CA and no other."""
    return ssl.create_default_context(cafile=ca)


class PrefersHTTP2(ssl.SSLContext):
    """The proxy takes the first protocol that a client offers; httpx offers HTTP/1.1 first, Go's client HTTP/2."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        super().set_alpn_protocols(sorted(alpn_protocols, key=lambda name: name != "h2"))


def http2_options(proxy: Mitmdump) -> dict[str, Any]:
    """For httpx.Client or AsyncClient: through the proxy, over HTTP/2."""
    context = PrefersHTTP2(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(proxy.ca)
    return {"proxy": proxy.url, "verify": context, "http2": True, "trust_env": False, "timeout": 20}


def ask(proxy: Mitmdump, url: str, *, path: str = CHAT, **more: str) -> Reply:
    """One request on a connection of its own, that asks for its end; all of the answer."""
    with Raw(proxy, url) as raw:
        raw.send(request_bytes(path, host=raw.host, Connection="close", **more))
        return parse(raw.read_to_end())


def eventually[T](look: Callable[[], T | None], seconds: float = 10.0) -> T:
    """The first thing that `look` sees."""
    until = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)
    return seen


@dataclass
class Kept:
    """A recording that is finished."""

    folder: Path
    meta: dict[str, Any]

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()


def recording(flows: Path, path: str, seconds: float = 10.0) -> Kept:
    """The recording of the one request to `path`, when it is finished: only then are there checksums."""

    def look() -> Kept | None:
        for file in flows.glob("*/*/meta.json"):
            meta = json.loads(file.read_bytes())
            if meta["path"] == path and meta["sha256"]:
                return Kept(file.parent, meta)
        return None

    return eventually(look, seconds)


def post(path: str, body: dict[str, Any], host: str, **headers: str) -> bytes:
    content = json.dumps(body).encode()
    fields = {"Host": host, "Content-Type": "application/json", "Content-Length": str(len(content)), **headers}
    return (
        "\r\n".join([f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]).encode() + content
    )
