"""What plays the clients: raw sockets, through a proxy or straight, that read bytes and little more.

    with Client(port, proxy) as client:  client.ask(path, request); client.rest()

Rule of this file: it reads as fast as bytes come, and looks at them afterwards.
"""

import json
import re
import secrets
import socket
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from toolmend.cli.launcher.proxy import Mitmdump

from . import bodies
from .load import END, directive

CHAT = "/v1/chat/completions"
MESSAGES = "/routed/v1/messages"
"""What the proxies with toolmend have a route for, to chat: see proxies.py."""

KEY = f"sk-proj-{secrets.token_urlsafe(60)}"
"""As long as providers' keys are: a recording looks for it in all that passes."""

STAMP = re.compile(rb"@(\d+)@")


class Stamp(NamedTuple):
    """Of an event of a paced stream: when it left, and how long it was under way; nanoseconds."""

    left: int
    late: int


FAILED = 60.0
"""Seconds without a byte."""


@dataclass(frozen=True)
class Asking:
    """A path and the body of a request for it."""

    path: str
    body: bytes


def asking(api: str, play: str, *, padding: int = 0) -> Asking:
    """A client's request for a stream that is played so; `padding` bytes of conversation are before it."""
    request: dict[str, Any] = bodies.request(api)
    turns = [{"role": role, "content": bodies.filler(2000)} for _ in range(padding // 4000) for role in ("user", "assistant")]
    request["messages"] = [*turns, {"role": "user", "content": directive(play)}]
    return Asking({"chat": CHAT, "messages": MESSAGES}[api], json.dumps(request).encode())


class Client:
    """One connection to `localhost:port`, by TLS; through the proxy, where there is one. `ca`: what is trusted."""

    def __init__(self, port: int, proxy: Mitmdump | None, ca: Path) -> None:
        self._host = f"localhost:{port}"
        plain = socket.create_connection(("127.0.0.1", proxy.port if proxy else port), FAILED)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if proxy:
            plain.sendall(f"CONNECT {self._host} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
            answer = b""
            while b"\r\n\r\n" not in answer:
                more = plain.recv(4096)
                assert more, answer
                answer += more
            assert b" 200 " in answer, answer
        context = ssl.create_default_context(cafile=str(proxy.ca if proxy else ca))
        self._tls = context.wrap_socket(plain, server_hostname="localhost")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._tls.close()

    def ask(self, what: Asking) -> None:
        """Sends the request, and reads nothing."""
        head = (
            f"POST {what.path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {KEY}\r\nContent-Length: {len(what.body)}\r\n\r\n"
        )
        self._tls.sendall(head.encode() + what.body)

    def read(self) -> bytes:
        """What is there; at least a byte."""
        data = self._tls.recv(1 << 18)
        assert data, "the connection is closed"
        return data

    def rest(self) -> tuple[int, bytes]:
        """Reads to the end of the response; how many bytes it had, and the last of them."""
        count, last = 0, b""
        while not last.endswith(b"\r\n" + END):
            data = self.read()
            count += len(data)
            last = (last + data)[-4000:]
        return count, last

    def stamped(self) -> list[Stamp]:
        """Reads to the end of a paced stream."""
        found: list[Stamp] = []
        last = b""
        while not last.endswith(b"\r\n" + END):
            data = self.read()
            now = time.monotonic_ns()
            last += data
            stamps = list(STAMP.finditer(last))
            found += [Stamp(left := int(stamp[1]), now - left) for stamp in stamps]
            last = last[stamps[-1].end() :] if stamps else last
        return found
