"""An upstream that says bytes as they are: what `playback.server` has no word for, as trailers; and it sees who leaves.

    with Wire() as upstream:
        upstream.accept().say(HEAD + chunk(b"data"))

Rule of this file: sockets that block, each with a bound.
"""

import socket
from types import TracebackType
from typing import Self

WAIT = 30.0
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Connection:
    """One that Envoy has made; its request is read."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.settimeout(WAIT)
        self.request = b""
        while b"\r\n\r\n" not in self.request:
            self.request += self.sock.recv(65536)

    def say(self, data: bytes) -> None:
        self.sock.sendall(data)

    def left(self) -> bool:
        """Waits until the other side has closed, in whatever way."""
        try:
            while self.sock.recv(65536):
                pass
        except ConnectionResetError:
            return True
        return True


class Wire:
    """A listener on loopback."""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(WAIT)
        self.port: int = self._listener.getsockname()[1]
        self._connections: list[Connection] = []
        return self

    def accept(self) -> Connection:
        """The next that asks."""
        self._connections.append(Connection(self._listener.accept()[0]))
        return self._connections[-1]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.close()
        for connection in self._connections:
            connection.sock.close()
