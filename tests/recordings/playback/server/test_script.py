"""server/script.py: which script answers which request."""

from pathlib import Path

import pytest

from tests.support.local_upstreams import BODY, CHUNKS, client, tls
from toolmend.core.content_encoding import decoder
from toolmend.recordings.playback.server import Coding, Request, Script, Upstream

__all__ = ["tls"]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("http2", [False, True])
def test_every_chunk_of_a_coding_can_be_read_when_it_arrives(
    tls: tuple[Path, Path], coding: Coding, http2: bool
) -> None:
    script = Script(CHUNKS, coding=coding, end="stall")
    with (
        Upstream([script], tls=tls) as upstream,
        client(tls, http2=http2) as http,
        http.stream("GET", upstream.url) as answer,
    ):
        assert answer.headers["content-encoding"] == coding
        undo = decoder(coding)
        assert undo is not None
        plain = b""
        for data in answer.iter_raw():
            plain += undo.feed(data)
            if plain == BODY:
                upstream.release()
    assert plain == BODY


@pytest.mark.parametrize("http2", [False, True])
def test_what_was_asked_is_kept_and_scripts_come_in_order(tls: tuple[Path, Path], http2: bool) -> None:
    length = Script(CHUNKS, framing="content-length")
    with Upstream([Script(((0, b"first"),)), length], tls=tls) as upstream, client(tls, http2=http2) as http:
        assert http.post(f"{upstream.url}/v1/a?b=c", content=b"x" * 200_000, headers={"X-Key": "k"}).content == b"first"
        for _ in range(2):  # the last one stays
            answer = http.get(upstream.url)
            assert (answer.content, answer.headers["content-length"]) == (BODY, "22")
    version = "HTTP/2" if http2 else "HTTP/1.1"
    assert [(r.method, r.path, r.http_version) for r in upstream.requests] == [
        ("POST", "/v1/a?b=c", version),
        ("GET", "/", version),
        ("GET", "/", version),
    ]
    assert upstream.requests[0].body == b"x" * 200_000
    assert upstream.requests[0].header("x-key") == "k"
    assert upstream.requests[0].header("host") == f"localhost:{upstream.port}"
    assert upstream.requests[0].header("x-none") is None


def test_a_callable_chooses_by_the_request(tls: tuple[Path, Path]) -> None:
    def answer(request: Request) -> Script:
        return Script(((0, request.path.encode()),), status=404 if request.path == "/none" else 200)

    with Upstream(answer, tls=tls) as upstream, client(tls, http2=True) as http:
        assert [(a.status_code, a.text) for a in (http.get(f"{upstream.url}{p}") for p in ("/x", "/none"))] == [
            (200, "/x"),
            (404, "/none"),
        ]
