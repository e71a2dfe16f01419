"""The local upstream: what it is told to say is what real clients read off the wire, framing and endings included."""

import socket
import threading
from pathlib import Path

import pytest

from tests.support.local_upstreams import BODY, CHUNKS, client, tls
from toolmend.core.content_encoding import decoder
from toolmend.recordings.playback.server import Coding, Script, Upstream

__all__ = ["tls"]


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("http2", [False, True])
def test_the_rest_waits(tls: tuple[Path, Path], coding: Coding, http2: bool) -> None:
    script = Script(CHUNKS[:1], rest=CHUNKS[1:], coding=coding, framing="content-length")
    first = CHUNKS[0][1]
    with (
        Upstream([script], tls=tls) as upstream,
        client(tls, http2=http2) as http,
        http.stream("GET", upstream.url) as answer,
    ):
        undo = decoder(coding)
        assert undo is not None
        plain = b""
        for data in answer.iter_raw():
            plain += undo.feed(data)
            if plain == first:
                upstream.release()
        assert plain == BODY


def test_it_stops_in_the_middle_of_a_stream_and_when_the_client_has_left(tls: tuple[Path, Path]) -> None:
    before = {*threading.enumerate()}
    for http2 in (False, True):
        stalling = Upstream([Script(CHUNKS, end="stall")], tls=tls)
        with stalling as upstream, client(tls, http2=http2) as http:
            with http.stream("GET", upstream.url) as left:
                assert next(left.iter_raw())
            held = http.send(http.build_request("GET", upstream.url), stream=True)
            assert next(held.iter_raw())
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", upstream.port))
    assert {*threading.enumerate()} <= before
