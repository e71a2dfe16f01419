"""What is not toolmend's business: it passes as if the addon were not there, to the byte."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.clients import CHAT, LEAK, PROSE, Raw, Serve, ask, chunks, parse, request_bytes
from tests.support.streams import WEATHER, chunk, event, request, stream
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script

CRLF = stream(["A <|tool", "_call| of two.", "日", "本"], newline="\r\n")
ODD = (
    b"\xef\xbb\xbf: a comment\r\n\r\nretry: 5\rid: 1\r\r"
    + event('{"no": "choices"}')
    + event("no JSON at all")
    + event(chunk({"role": "assistant", "content": "<|", "vendor": {"b": 1, "a": 1.50}}))
    + b"event: ping\ndata: {}\ndata:\n\n"
    + b"data: the last event has no end"
)


@pytest.fixture(scope="module")
def bare(confdir: Path, certificate: tuple[Path, Path]) -> Iterator[Mitmdump]:
    """mitmdump without the addon."""
    options = {"ssl_verify_upstream_trusted_ca": str(certificate[0])}
    with Mitmdump(options, confdir=confdir, scripts=[], ready="proxy listening") as proxy:
        yield proxy


@pytest.fixture(scope="module")
def opening(confdir: Path, options: dict[str, str]) -> Iterator[Mitmdump]:
    """The addon, told to open the TLS of hosts too that are none of its business."""
    with Mitmdump({**options, "toolmend_flows": "off", "toolmend_intercept": "all"}, confdir=confdir) as proxy:
        yield proxy


@pytest.mark.parametrize("body", [PROSE, CRLF, ODD], ids=["prose", "CRLF", "odd"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_stream_with_nothing_to_mend(
    proxy: Mitmdump, serve: Serve, http2: httpx.Client, body: bytes, size: int
) -> None:
    pieces = tuple((0.0, body[at : at + size]) for at in range(0, len(body), size))
    upstream = serve(Script(pieces), Script(pieces))
    reply = ask(proxy, upstream.url)
    assert reply.terminated
    assert reply.body == body
    assert http2.post(f"{upstream.url}{CHAT}", json=WEATHER).content == body


def test_a_request_without_tools(serve: Serve, http2: httpx.Client) -> None:
    upstream = serve(Script(chunks(LEAK)))
    assert http2.post(f"{upstream.url}{CHAT}", json=request(tool_choice="none")).content == LEAK


SSE = Script(chunks(LEAK), headers=(("Content-Type", "text/event-stream"), ("X-Odd", "1"), ("ETag", '"e"')))
JSON = Script(
    ((0, b'{"choices": [{"message": {"content": "<|tool_call_begin|>functions.x:0"}}]}'),),
    headers=(("Content-Type", "application/json"), ("Set-Cookie", "a=b"), ("Set-Cookie", "c=d")),
    framing="content-length",
    coding="gzip",
)
OTHERS = {
    # name: (host, method, path, what comes back)
    "host": ("127.0.0.1", "POST", CHAT, SSE),
    "host, JSON": ("127.0.0.1", "POST", CHAT, JSON),
    "path": ("localhost", "POST", "/v1/embeddings", JSON),
    "method": ("localhost", "PUT", CHAT, SSE),
    "HEAD": ("localhost", "HEAD", CHAT, JSON),
    "content type": ("localhost", "POST", CHAT, Script(chunks(LEAK), headers=(("Content-Type", "text/html"),))),
    "an error page": (
        "localhost",
        "POST",
        CHAT,
        Script(((0, b"<h1>"),), status=502, headers=(("Content-Type", "text/html"),), framing="content-length"),
    ),
    "no content": ("localhost", "POST", CHAT, Script(status=204, headers=())),
}


@pytest.mark.parametrize(("host", "method", "path", "script"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_llm_response(
    opening: Mitmdump, bare: Mitmdump, serve: Serve, host: str, method: str, path: str, script: Script
) -> None:
    """Every byte is what mitmdump without the addon makes of it; the body and headers are the upstream's."""
    upstream = serve(script)
    url = f"https://{host}:{upstream.port}"
    replies = []
    for through in (bare, opening):
        with Raw(through, url) as raw:
            ours = {"Accept_Encoding": "gzip", "X_Mine": "1", "Connection": "close"}
            raw.send(request_bytes(path, host=raw.host, method=method, **ours))
            replies.append(parse(raw.read_to_end()))
    assert replies[0].raw == replies[1].raw
    coded, tail = script.coded()
    assert replies[1].body == (b"" if method == "HEAD" else b"".join(data for _, data in coded) + tail)
    assert set(script.headers) <= set(replies[1].headers)


def test_the_request_of_another_host_is_not_changed(opening: Mitmdump, serve: Serve) -> None:
    upstream = serve(JSON)
    ask(opening, f"https://127.0.0.1:{upstream.port}", Accept_Encoding="gzip, br", X_Mine="1")
    ask(opening, upstream.url, path="/v1/models", Accept_Encoding="gzip, br", X_Mine="1")
    for asked in upstream.requests:
        assert asked.header("accept-encoding") == "gzip, br"
        assert asked.header("x-mine") == "1"
