"""What an upstream reads of a request, byte for byte, through a proxy with and without toolmend."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.bare_upstream import BareUpstream
from tests.e2e.clients import PROSE
from toolmend.cli.launcher.proxy import Mitmdump

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + PROSE
BODY = b'{"model":"kimi-k2","stream":true,"messages":[]}'


class Wire(BareUpstream):
    """An upstream that notes the bytes of each connection, answers as soon as a head is there, and reads on to the end."""

    def __init__(self, answer: bytes, tls: tuple[Path, Path] | None = None) -> None:
        super().__init__(tls)
        self.answer = answer
        self.seen: list[bytes] = []

    def serve(self, connection: socket.socket) -> None:
        got = b""
        connection.settimeout(20)
        while b"\r\n\r\n" not in got and (data := connection.recv(65536)):
            got += data
        connection.sendall(self.answer)
        socket.socket.shutdown(connection, socket.SHUT_WR)  # TLS goes on reading
        try:
            while data := connection.recv(65536):
                got += data
        except OSError:  # reset, or TLS that ends without a word
            pass
        self.seen.append(got)


def comparable(wire: Wire) -> list[bytes]:
    """What it saw, but for what may differ."""
    return [re.sub(rb"(?im)^accept-encoding:.*\r\n", b"", each).replace(wire.host.encode(), b"{host}") for each in wire.seen]


STREAMED = """
class Streamed:
    def responseheaders(self, flow):
        if 200 <= flow.response.status_code < 300:
            flow.response.stream = True
addons = [Streamed()]
"""
"""What stands beside the addon: a proxy that streams, as it does, and has no other thing of it."""


@pytest.fixture(scope="module")
def bare(confdir: Path, certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mitmdump]:
    script = tmp_path_factory.mktemp("bare") / "streamed.py"
    script.write_text(STREAMED)
    with Mitmdump(
        {"ssl_verify_upstream_trusted_ca": str(certificate[0])}, confdir=confdir, scripts=[script], ready=r"proxy listening at"
    ) as proxy:
        yield proxy
