"""A deployment as a team has it, on loopback: upstream, workers, Envoy; and clients that hide nothing.

    with deployed(binary, folder, workers=2) as team:  team.envoy, team.workers, team.upstream

Rule of this file: what it starts is real, and is ended by its id.
"""

import json
import re
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

from tests.support.streams import WEATHER, stream
from toolmend.cli.launcher.envoy import Envoy, EnvoyWorker
from toolmend.cli.launcher.process import free_port
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.bootstrap import Listener, Plan
from toolmend.recordings.playback.server import Answer, Script, Upstream

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
EVENTS = tuple(event + b"\n\n" for event in LEAK.split(b"\n\n") if event)

WAIT = 30.0
"""Seconds without a byte: then a test has failed."""


@dataclass
class Team:
    """What runs."""

    upstream: Upstream
    workers: list[EnvoyWorker]
    envoy: Envoy
    flows: Path


@contextmanager
def echoing() -> Iterator[Listener]:
    """A listener that stands for a server of WebSocket, which sends back what it gets."""

    def echo(connection: ServerConnection) -> None:
        for message in connection:
            connection.send(message)

    with serve(echo, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Listener("127.0.0.1", 0, Origin("http", "127.0.0.1", server.socket.getsockname()[1]))
        server.shutdown()


def echoes(envoy: Envoy, path: str) -> bool:
    """Whether what a client says in a socket comes back, text and bytes."""
    messages = ["text", b"\x00\xff" * 100_000]
    with connect(f"ws://127.0.0.1:{envoy.port()}{path}", proxy=None) as client:
        for message in messages:
            client.send(message)
        return [client.recv(timeout=20) for _ in messages] == messages


def origin(upstream: Upstream) -> Origin:
    """As a listener stands for it."""
    return Origin("https" if upstream.tls else "http", "localhost", upstream.port)


@contextmanager
def deployed(
    binary: Path,
    folder: Path,
    scripts: Answer | Sequence[Script],
    *,
    workers: int = 1,
    options: Mapping[str, str] = {},
    tls: tuple[Path, Path] | None = None,
    record: bool = False,
    files: tuple[Path, Path] | None = None,
    **plan: Any,
) -> Iterator[Team]:
    """`workers`: 0 is one that is not there. `options`: their settings. `tls`: the upstream's certificate; `files`: Envoy's. `plan`: fields of the Plan that are another way."""
    flows = folder / "flows"
    given = {"toolmend_hosts": "localhost", "toolmend_flows": str(flows) if record else "off", **options}
    with ExitStack() as stack:
        upstream = stack.enter_context(Upstream(scripts, tls=tls, alpn=["http/1.1"]))
        started = [stack.enter_context(EnvoyWorker(given)) for _ in range(workers)]
        made = Plan(
            tuple(worker.at for worker in started) or (("127.0.0.1", free_port()),),
            (Listener("127.0.0.1", 0, origin(upstream)),),
            admin=("127.0.0.1", 0),
            tls=files,
            ca=str(tls[0]) if tls else "/etc/ssl/certs/ca-certificates.crt",
        )
        envoy = Envoy(binary, replace(made, **plan), folder)
        try:
            yield Team(upstream, started, stack.enter_context(envoy), flows)
        except BaseException as error:
            for worker in started:
                error.add_note(f"the worker at {worker.at}, last words:\n{worker.log[-3000:]}")
            raise


# clients


def request(body: bytes | None = None, path: str = CHAT, **headers: str) -> bytes:
    """A request of HTTP/1.1, by default for the weather; `x_y` is the header x-y."""
    body = json.dumps(WEATHER).encode() if body is None else body
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Reply:
    """One response. `whole`: its framing says so; `trailers`: behind its last chunk."""

    status: int
    headers: dict[str, str]
    body: bytes = b""
    whole: bool = False
    trailers: dict[str, str] = field(default_factory=dict)


def parse(raw: bytes) -> Reply:
    """The first response among the bytes of a connection."""
    head, _, rest = raw.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    reply = Reply(int([*status.split(), "0", "0"][1]), _fields(lines))
    if reply.headers.get("transfer-encoding") == "chunked":
        while line := re.match(rb"([0-9a-f]+)\r\n", rest):
            size = int(line[1], 16)
            if not size:
                trailers = rest[line.end() :].partition(b"\r\n\r\n" if rest[line.end() :][:2] != b"\r\n" else b"\r\n")
                reply.trailers = _fields(trailers[0].decode("latin-1").split("\r\n")) if trailers[0] else {}
                reply.whole = bool(trailers[1])
                return reply
            reply.body += rest[line.end() : line.end() + size]
            rest = rest[line.end() + size + 2 :]
    elif length := reply.headers.get("content-length"):
        reply.body = rest[: int(length)]
        reply.whole = len(reply.body) == int(length)
    return reply


def _fields(lines: Sequence[str]) -> dict[str, str]:
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


class Raw:
    """A connection to Envoy, in plain HTTP/1.1."""

    def __init__(self, envoy: Envoy, listener: int = 0) -> None:
        self.sock = socket.create_connection(("127.0.0.1", envoy.port(listener)), timeout=WAIT)
        self.got = b""

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def until(self, needle: bytes) -> bytes:
        """All so far, when it has `needle` in it."""
        while needle not in self.got:
            data = self.sock.recv(65536)
            assert data, self.got
            self.got += data
        return self.got

    def end(self) -> Reply:
        """The response, when it is whole or the other side has closed, in whatever way."""
        try:
            while not parse(self.got).whole and (data := self.sock.recv(1 << 20)):
                self.got += data
        except ConnectionResetError:
            pass
        return parse(self.got)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.sock.close()


def ask(envoy: Envoy, body: bytes | None = None, path: str = CHAT, listener: int = 0, **headers: str) -> Reply:
    """One request on a connection of its own."""
    with Raw(envoy, listener) as raw:
        raw.send(request(body, path, **headers))
        return raw.end()
