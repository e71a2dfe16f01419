"""HTTP/2 requests that would be two in HTTP/1: with the addon and without it, the upstream sees the same (R21, R18).

Rule of this file: h2 writes what it is told, without looking at it; the upstream speaks HTTP/1.1 alone.
"""

from pathlib import Path

import h2.config
import h2.connection
import h2.events
import pytest

from tests.e2e.clients import Raw
from tests.e2e.smuggling import ANSWER, BODY, Wire, bare, comparable
from toolmend.cli.launcher.proxy import Mitmdump

pytestmark = pytest.mark.slow

__all__ = ["bare"]

type Fields = list[tuple[str, str]]

LINES = "x\r\nTransfer-Encoding: chunked"
SECOND = "x HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /smuggled"
REQUESTS: dict[str, Fields] = {
    # what is added to a request, or put in the place of what it says
    "plain": [],
    "a length that is too short": [("content-length", "5")],
    "a length that is too long": [("content-length", "500")],
    "two lengths": [("content-length", str(len(BODY))), ("content-length", "0")],
    "TE chunked": [("transfer-encoding", "chunked")],
    "TE chunked, with a length": [("transfer-encoding", "chunked"), ("content-length", "0")],
    "lines in a value": [("x-a", LINES)],
    "LF in a value": [("x-a", LINES.replace("\r", ""))],
    "a CR in a value": [("x-a", LINES.replace("\n", ""))],
    "NUL in a value": [("x-a", "a\0b")],
    "lines in a name": [("x-a\r\ntransfer-encoding", "chunked")],
    "a colon in a name": [("transfer-encoding: chunked\r\nx", "y")],
    "a blank in a name": [("transfer-encoding ", "chunked")],
    "capitals in a name": [("Transfer-Encoding", "chunked")],
    "lines in the path": [(":path", f"/v1/chat/completions?{SECOND}")],
    "a blank in the path": [(":path", "/v1/chat/completions x HTTP/1.1")],
    "lines in the method": [(":method", "POST / HTTP/1.1\r\nX: y\r\n\r\nGET")],
    "lines in the authority": [(":authority", f"localhost\r\n{LINES}")],
    "lines in the scheme": [(":scheme", f"https\r\n{LINES}")],
    "another host": [("host", "other.invalid")],
    "connection": [("connection", "content-length, host")],
    "an upgrade": [("connection", "upgrade"), ("upgrade", "h2c")],
}


def outcome(proxy: Mitmdump, certificate: tuple[Path, Path], fields: Fields) -> tuple[list[str], list[bytes]]:
    """What the client is told of its stream, and what the upstream saw."""
    with Wire(ANSWER, certificate) as wire:
        given = dict(fields)
        pseudo = {":method": "POST", ":scheme": "https", ":authority": wire.host, ":path": "/v1/chat/completions"}
        headers = [(name, given.get(name, value)) for name, value in pseudo.items()]
        headers += [("content-type", "application/json"), *(field for field in fields if field[0] not in pseudo)]
        got = told(proxy, wire, headers)
    return got, comparable(wire)


def told(proxy: Mitmdump, wire: Wire, headers: Fields) -> list[str]:
    config = h2.config.H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False)
    connection = h2.connection.H2Connection(config)
    with Raw(proxy, f"https://{wire.host}", alpn=("h2",)) as raw:
        connection.initiate_connection()
        connection.send_headers(1, headers)
        connection.send_data(1, BODY, end_stream=True)
        raw.send(connection.data_to_send())
        found: list[str] = []
        while data := raw.sock.recv(65536):
            for event in connection.receive_data(data):
                match event:
                    case h2.events.ResponseReceived():
                        found.append(str(dict(event.headers)[b":status"]))
                    case h2.events.StreamEnded() | h2.events.StreamReset() | h2.events.ConnectionTerminated():
                        return [*found, type(event).__name__]
        return found


@pytest.fixture(autouse=True)
def trusted(proxy: Mitmdump, certificate: tuple[Path, Path]) -> None:
    """A client whose every connection ends before a request would be taken for one that refuses the proxy's certificate."""
    outcome(proxy, certificate, [])


@pytest.mark.parametrize("name", REQUESTS)
def test_requests(proxy: Mitmdump, bare: Mitmdump, certificate: tuple[Path, Path], name: str) -> None:
    with_it = outcome(proxy, certificate, REQUESTS[name])
    assert with_it == outcome(bare, certificate, REQUESTS[name])
    assert len(with_it[1]) <= 1
    if name == "plain":
        assert with_it[0] == ["b'200'", "StreamEnded"]
