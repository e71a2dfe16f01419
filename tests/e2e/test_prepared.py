"""What an answer needs is made while the upstream thinks: once its request has left, and not before."""

import re
import socket
from pathlib import Path

from tests.e2e.bare_upstream import BareUpstream
from tests.e2e.clients import CHAT, PROSE, Raw, Start, request_bytes
from toolmend.cli.launcher.proxy import addon_path

SECONDS = 10.0
"""That the request may take to reach an upstream on this machine."""

WAITS = f'''
"""Has what is made for an answer wait until the upstream has the request."""
import pathlib, time
from toolmend.proxy.addon import Toolmend

here, real = pathlib.Path(__file__).parent, Toolmend._prepare

def prepare(*given):
    until = time.monotonic() + {SECONDS}
    while not (here / "asked").exists() and time.monotonic() < until:
        time.sleep(0.01)
    (here / "prepared").write_text("behind" if (here / "asked").exists() else "in front")
    real(*given)

Toolmend._prepare = prepare
'''


class Asked(BareUpstream):
    """Tells when it has a request, and answers it."""

    def __init__(self, certificate: tuple[Path, Path], asked: Path) -> None:
        super().__init__(certificate)
        self.asked = asked

    def serve(self, connection: socket.socket) -> None:
        got = b""
        while more := connection.recv(65536):
            got += more
            head, end, body = got.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            if end and length and len(body) >= int(length[1]):
                self.asked.touch()
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(PROSE))
                connection.sendall(PROSE)
                got = b""


def test_the_request_leaves_first(start: Start, certificate: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    proxy = start([addon_path(), tmp_path / "waits.py"])
    with Asked(certificate, tmp_path / "asked") as upstream, Raw(proxy, f"https://{upstream.host}") as client:
        upstream.asked.touch()  # the first request waits for its connection, and is not waited for
        for _ in range(2):
            client.send(request_bytes(CHAT, host=upstream.host))
            client.read_until(b"[DONE]")
            upstream.asked.unlink()
    assert (tmp_path / "prepared").read_text() == "behind"
