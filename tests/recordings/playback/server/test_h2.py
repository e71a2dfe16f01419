"""server/h2.py: HTTP/2 frames on the wire, windows and endings."""

from pathlib import Path

import httpx
import pytest

from tests.support.local_upstreams import BODY, CHUNKS, client, tls
from toolmend.recordings.playback.server import End, Script, Upstream

__all__ = ["tls"]


def test_http2_large_bodies_wait_for_the_window(tls: tuple[Path, Path]) -> None:
    body = bytes(range(256)) * 20_000
    with Upstream([Script(((0, body), (0, body)))], tls=tls) as upstream, client(tls, http2=True) as http:
        answer = http.get(upstream.url)
    assert answer.http_version == "HTTP/2"
    assert answer.content == body * 2


@pytest.mark.parametrize("end", ["drop", "reset"])
def test_http2_broken_ends_come_after_the_data(tls: tuple[Path, Path], end: End) -> None:
    got: list[bytes] = []

    def read(answer: httpx.Response) -> None:
        got.extend(answer.iter_raw())

    script = Script((*CHUNKS, (0.1, b"")), end=end)
    with Upstream([script, Script(CHUNKS)], tls=tls) as upstream, client(tls, http2=True) as http:
        with http.stream("GET", upstream.url) as answer, pytest.raises(httpx.RemoteProtocolError):
            read(answer)
        assert b"".join(got) == BODY
        assert http.get(upstream.url).content == BODY
