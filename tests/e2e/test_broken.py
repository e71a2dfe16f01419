"""Streams that do not end well: an upstream that fails, a client that leaves, a proxy that is stopped.

The client has every byte that had arrived, the recording has them too and says how it ended, the proxy lives.
"""

import json
import os
import re
import signal
import socket
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import PingAckReceived, StreamEnded

from tests.e2e.bare_upstream import BareUpstream
from tests.e2e.broken_streams import H1, H2, READ, arrived, broken_off
from tests.e2e.clients import LEAK, PROSE, Raw, Serve, Start, ask, chunks, eventually, parse, recording, request_bytes
from tests.e2e.mixed import PATHS
from tests.support.judges.chat import read as read_chat
from tests.support.streams import WEATHER, stream
from tests.support.upstream_answers import Text, speak
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.fixtures.verification import check
from toolmend.recordings.playback.server import Script
from toolmend.recordings.read.replay import load, replay

CUTS = {
    "in text": chunks(PROSE)[:4],
    "in held text": (*chunks(PROSE)[:-5], chunks(stream(["And <|tool_calls_sec"]))[1]),
    "in the middle of an event": (*chunks(LEAK)[:8], (0.0, chunks(LEAK)[8][1][:40])),
    "in a call": chunks(LEAK)[:-6],
    "behind the finish": chunks(PROSE)[:-2],
    "behind the finish of a call": chunks(LEAK)[:-2],
}
BREAKS = {
    "HTTP/1 drop": (Script(end="drop"), H1),
    "HTTP/1 reset": (Script(end="reset"), H1),
    "HTTP/1 drop, length": (Script(end="drop", framing="content-length"), H1),
    "HTTP/2 drop": (Script(end="drop"), H2),
    "HTTP/2 reset": (Script(end="reset"), H2),
    "gzip drop": (Script(end="drop", coding="gzip"), H1),
}


@pytest.mark.parametrize("sent", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize(("script", "alpn"), BREAKS.values(), ids=BREAKS)
def test_the_upstream_breaks_off(
    proxy: Mitmdump,
    serve: Serve,
    http2: httpx.Client,
    flows: Path,
    path: str,
    script: Script,
    alpn: tuple[str, ...],
    sent: tuple[tuple[float, bytes], ...],
) -> None:
    upstream = serve(replace(script, chunks=sent + READ), alpn=alpn)
    reply = ask(proxy, upstream.url, path=f"/h1{path}")
    assert not reply.terminated
    got: list[bytes] = []

    def read(answer: httpx.Response) -> None:
        got.extend(answer.iter_raw())

    with (
        http2.stream("POST", f"{upstream.url}/h2{path}", json=WEATHER) as answer,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        read(answer)
    for client, body in (("h1", reply.body), ("h2", b"".join(got))):
        assert body == broken_off(sent)
        assert len(read_chat(body).only.finish_reasons) == len(read_chat(arrived(sent)).only.finish_reasons)
        kept = recording(flows, f"/{client}{path}")
        assert kept.meta["state"] == "upstream_error"
        assert kept.read("upstream.sse") == arrived(sent)
        assert kept.read("client.sse") == body
        assert replay(load(kept.folder))[0] == body


class Cancels(BareUpstream):
    """Takes back the one stream of a connection, as Node's servers do: by the code that a client leaves by."""

    def __init__(self, tls: tuple[Path, Path], data: bytes) -> None:
        super().__init__(tls, "h2")
        self.data = data

    def serve(self, connection: socket.socket) -> None:
        http2 = H2Connection(H2Configuration(client_side=False))
        http2.initiate_connection()
        asked = False
        while not asked:
            connection.sendall(http2.data_to_send())
            asked = any(isinstance(event, StreamEnded) for event in http2.receive_data(connection.recv(65536)))
        http2.send_headers(1, [(":status", "200"), ("content-type", "text/event-stream")])
        http2.send_data(1, self.data)
        self.ping(connection, http2)
        http2.reset_stream(1, ErrorCodes.CANCEL)
        self.ping(connection, http2)

    def ping(self, connection: socket.socket, http2: H2Connection) -> None:
        """Sends what there is, and waits until the proxy has read it."""
        http2.ping(bytes(8))
        connection.sendall(http2.data_to_send())
        while not any(isinstance(event, PingAckReceived) for event in http2.receive_data(connection.recv(65536))):
            pass


@pytest.mark.parametrize("sent", CUTS.values(), ids=CUTS)
def test_the_upstream_cancels(
    certificate: tuple[Path, Path], http2: httpx.Client, flows: Path, path: str, sent: tuple[tuple[float, bytes], ...]
) -> None:
    """mitmproxy's words for it are those of a client that leaves."""
    got: list[bytes] = []
    with (
        Cancels(certificate, arrived(sent)) as upstream,
        pytest.raises(httpx.RemoteProtocolError),
        http2.stream("POST", f"https://{upstream.host}{path}", json=WEATHER) as answer,
    ):
        got.extend(answer.iter_raw())
    kept = recording(flows, path)
    assert kept.meta["state"] == "upstream_error"
    assert kept.read("upstream.sse") == arrived(sent)
    assert kept.read("client.sse").startswith(b"".join(got))
    assert kept.read("client.sse") == broken_off(sent)
    assert check(kept.folder).passed


@pytest.mark.parametrize("alpn", [H1, H2], ids=["from HTTP/1", "from HTTP/2"])
@pytest.mark.parametrize("silent", [False, True], ids=["while it is sent", "while nothing is sent"])
@pytest.mark.parametrize("leave", ["HTTP/1 close", "HTTP/2 close", "HTTP/2 cancel"])
def test_the_client_leaves(
    proxy: Mitmdump, serve: Serve, flows: Path, path: str, leave: str, alpn: tuple[str, ...], silent: bool
) -> None:
    upstream = serve(Script(chunks(LEAK)[:4], end="stall") if silent else Script(chunks(LEAK, 0.03)), alpn=alpn)
    if leave == "HTTP/1 close":
        with Raw(proxy, upstream.url) as raw:
            raw.send(request_bytes(path, host=raw.host))
            raw.read_until(b"I will look.")
    else:
        http2 = H2Connection()
        http2.initiate_connection()
        with Raw(proxy, upstream.url, alpn=["h2"]) as raw:
            pseudo = {":method": "POST", ":scheme": "https", ":authority": raw.host, ":path": path}
            http2.send_headers(1, list((pseudo | {"content-type": "application/json"}).items()))
            http2.send_data(1, json.dumps(WEATHER).encode(), end_stream=True)
            raw.send(http2.data_to_send())
            raw.read_until(b"I will look.")
            if leave == "HTTP/2 cancel":
                http2.reset_stream(1, ErrorCodes.CANCEL)
                raw.send(http2.data_to_send())
                recording(flows, path)  # it is over while the connection is open
    kept = recording(flows, path)
    assert kept.meta["state"] == "client_closed"
    assert b"I will look." in kept.read("client.sse")
    assert check(kept.folder).passed  # of what was held, the client has nothing
    assert LEAK.startswith(kept.read("upstream.sse"))
    assert kept.read("upstream.sse") != LEAK


@pytest.mark.parametrize("api", ["chat", "messages", "responses"])
def test_the_client_leaves_behind_the_end_of_the_message(proxy: Mitmdump, serve: Serve, flows: Path, path: str, api: str) -> None:
    """As Codex does: it does not wait for the end of the body."""
    body = speak(api, [Text("I will look.")])
    upstream = serve(Script(chunks(body), end="stall"))
    path = path.removesuffix(PATHS["chat"]) + PATHS[api]
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(path, host=raw.host))
        raw.read_until(chunks(body)[-1][1])
    kept = recording(flows, path)
    assert (kept.meta["state"], kept.meta["error"]) == ("complete", None)
    assert kept.read("client.sse") == kept.read("upstream.sse") == body


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_the_proxy_is_stopped(start: Start, serve: Serve, tmp_path: Path, path: str, how: signal.Signals) -> None:
    call = '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Beijing</parameter>\n</invoke>\n'
    sent = chunks(stream(["I will look.", call]))[:-2]
    proxy, upstream = start(), serve(Script(sent, end="stall"))
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(path, host=raw.host))
        before = raw.read_until(b"Beijing")
        os.kill(proxy.pid, how)
        reply = parse(before + raw.read_to_end())
    assert not reply.terminated
    assert eventually(lambda: proxy.returncode is not None)
    kept = recording(tmp_path / "flows", path)
    assert (kept.meta["state"], kept.meta["error"]) == ("partial", "the proxy was shut down")
    assert kept.meta["rules"]
    assert kept.meta["ids"]
    assert replay(load(kept.folder)) == (reply.body, kept.meta["rules"])
    assert kept.read("upstream.sse") == arrived(sent)
    assert kept.read("client.sse") == reply.body
    assert not re.search('File ".*toolmend/', proxy.log)  # mitmproxy's own handlers may show theirs, on Python 3.12.1
