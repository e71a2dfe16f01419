"""An upstream that is no good and says the key that it was sent: mitmproxy's log quotes what it could not read, and without the key."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.bare_upstream import BareUpstream
from tests.e2e.clients import CHAT, Raw, eventually, request_bytes
from toolmend.cli.launcher.proxy import Mitmdump

THEIRS, OURS = "550e8400-e29b-41d4-a716-446655440000", "c0rrect+h0rse/battery=="
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

ANSWERS: dict[str, tuple[bytes, str]] = {
    # what comes for a key, and what the log says of it
    "no HTTP": (b"SSH-2.0 KEY\r\n\r\n", r"Bad HTTP response line: b'SSH-2.0 \[REDACTED\]'"),
    "a line that is no header": (b"HTTP/1.1 200 OK\r\nKEY\r\n\r\n", r"Invalid header line: b'\[REDACTED\]'"),
    "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: KEY\r\n\r\n", r"invalid content-length header: '\[REDACTED\]'"),
    "a transfer coding": (STREAM + b"Transfer-Encoding: KEY\r\n\r\n", r"unknown transfer-encoding header: '\[REDACTED\]'"),
    "a content coding": (STREAM + b"Content-Encoding: KEY\r\nContent-Length: 2\r\n\r\n{}", r"content-encoding is unknown: '\[REDACTED\]'|502 Bad Gateway"),
    "a chunk": (STREAM + b"Transfer-Encoding: chunked\r\n\r\nKEY\r\n", r"illegal chunk header: bytearray\(b'\[REDACTED\]"),
}


class Repeats(BareUpstream):
    """Says `answer`, with what the request has for a key."""

    answer = b""

    def serve(self, connection: socket.socket) -> None:
        got = b""
        while b"\r\n\r\n" not in got or not got.endswith(b"}"):
            got += connection.recv(65536)
        found = re.search(rb"(?i)\r\nauthorization: Bearer (.*)\r\n", got)
        assert found
        connection.sendall(self.answer.replace(b"KEY", found[1]))


@pytest.fixture(scope="module")
def upstream(certificate: tuple[Path, Path]) -> Iterator[Repeats]:
    with Repeats(certificate) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def own(
    confdir: Path, options: dict[str, str], tmp_path_factory: pytest.TempPathFactory, upstream: Repeats
) -> Iterator[Mitmdump]:
    folder = tmp_path_factory.mktemp("log")
    file = folder / "toolmend.toml"
    file.write_text(f'[[route]]\nfrom = "https://llm.invalid"\nto = "https://{upstream.host}{CHAT}"\nkey = "env:ROUTE_KEY"\n')
    given = {**options, "toolmend_config": str(file), "toolmend_flows": str(folder / "flows"), "flow_detail": "1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROUTE_KEY", OURS)
        with Mitmdump(given, confdir=confdir) as proxy:
            yield proxy


@pytest.mark.parametrize("routed", [False, True], ids=["the client's key", "a route's key"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_no_key_is_in_the_log(own: Mitmdump, upstream: Repeats, answer: str, routed: bool) -> None:
    upstream.answer, words = ANSWERS[answer]
    before = len(own.log)
    with Raw(own, "https://llm.invalid:443" if routed else f"https://{upstream.host}") as raw:
        raw.send(request_bytes(CHAT, host=raw.host, connection="close", authorization=f"Bearer {THEIRS}"))
        raw.read_to_end()
    eventually(lambda: re.search(rf"({words})[\s\S]*client disconnect", own.log[before:]))
    assert not [key for key in (THEIRS, OURS) if key[2:-3] in own.log[before:]]
