"""An upstream that sends as fast as it can."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.bare_upstream import BareUpstream
from tests.e2e.clients import LEAK
from tests.support.streams import chunk, event

ROLE = LEAK.index(b"\n\n") + 2
TEXT = event(chunk({"content": "a word and another one " * 50})) * 50
"""One chunk of the stream: 50 events."""


def pieces(size: int) -> Iterator[bytes]:
    """LEAK, with so many bytes of text in front of the call."""
    yield LEAK[:ROLE]
    for _ in range(size // len(TEXT)):
        yield TEXT
    yield LEAK[ROLE:]


class Flood(BareUpstream):
    """An upstream that sends `pieces` as fast as they are taken. `stuck`: the bytes that it had sent when it stood still."""

    def __init__(self, size: int, tls: tuple[Path, Path]) -> None:
        super().__init__(tls)
        self.size, self.sent, self.stuck = size, 0, 0
        self.url = f"https://{self.host}"

    def serve(self, connection: socket.socket) -> None:
        got = b""
        while not got.endswith(b"}"):  # the request's body
            got += connection.recv(65536)
        try:
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            self.sent = 0
            for piece in pieces(self.size):
                connection.sendall(piece)
                self.sent += len(piece)
        except OSError:  # the client has left
            return

    def stands_still(self) -> None:
        """Waits until it has sent nothing for a while: nobody says that it is stuck."""
        times = 0
        while times < 20:
            time.sleep(0.02)
            self.stuck, times = self.sent, times + 1 if self.sent == self.stuck else 0
