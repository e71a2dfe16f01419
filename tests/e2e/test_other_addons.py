"""Addons beside ours that take a stream in hand: whichever is loaded first, the client can read what it gets."""

from pathlib import Path

import httpx
import pytest

from tests.e2e.clients import CHAT, LEAK, Serve, Start, ask, chunks, context_for, recording
from tests.e2e.mended import check
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import addon_path
from toolmend.proxy.addon import NOT_BUFFERED
from toolmend.recordings.playback.server import Coding, Script

HOLDS = "def responseheaders(flow):\n    flow.response.stream = False\n"
"""Wants to have the body whole, as `modify_body` needs it."""

ENDS = "def responseheaders(flow):\n    flow.response.stream = lambda data: data or b': the end\\n\\n'\n"
"""Has something to say behind the end."""

STREAMS = "def responseheaders(flow):\n    flow.response.stream = True\n"

ROUTED = "https://a.invalid/v1/messages?routed"

TAKES = "def responseheaders(flow):\n    flow.response.stream = lambda data: data\n"


CODINGS: tuple[Coding, ...] = ("identity", "gzip")
"""The upstream's, which heeds no `accept-encoding`."""


@pytest.mark.parametrize("first", [True, False], ids=["loaded first", "loaded last"])
def test_one_that_wants_it_whole(start: Start, serve: Serve, tmp_path: Path, path: str, *, first: bool) -> None:
    script = tmp_path / "holds.py"
    script.write_text(HOLDS)
    proxy = start([script, addon_path()] if first else [addon_path(), script])
    for coding in CODINGS:
        reply = ask(proxy, serve(Script(chunks(LEAK), coding=coding)).url, path=f"{path}?{coding}")
        assert reply.terminated
        assert reply.header("content-encoding") is None
        check(reply.body)
        kept = recording(tmp_path / "flows", f"{path}?{coding}")
        assert (kept.meta["state"], kept.meta["error"]) == ("complete", None)
        assert (kept.read("upstream.sse"), kept.read("client.sse")) == (LEAK, reply.body)
    assert "Traceback" not in proxy.log


def test_one_that_takes_it_over(start: Start, serve: Serve, tmp_path: Path, path: str) -> None:
    script = tmp_path / "takes.py"
    script.write_text(TAKES)
    proxy = start([addon_path(), script])
    assert ask(proxy, serve(Script(chunks(LEAK))).url, path=path).body == LEAK
    kept = recording(tmp_path / "flows", path)
    assert kept.meta["state"] == "partial"
    assert "load it before toolmend" in kept.meta["error"]
    assert "load it before toolmend" in proxy.log


@pytest.mark.parametrize("first", [True, False], ids=["loaded first", "loaded last"])
def test_one_that_speaks_behind_the_end(start: Start, serve: Serve, tmp_path: Path, path: str, *, first: bool) -> None:
    """Where an answer breaks off there is none, as mitmproxy has it."""
    script = tmp_path / "end_of_stream.py"
    script.write_text(ENDS)
    proxy = start([script, addon_path()] if first else [addon_path(), script])
    upstream = serve(Script(chunks(LEAK)), Script((*chunks(LEAK)[:6], (0.1, b"")), end="drop"))
    whole, broken = ask(proxy, upstream.url, path=path), ask(proxy, upstream.url, path=path)
    assert (whole.terminated, broken.terminated) == (True, False)
    assert whole.body.endswith(b": the end\n\n")
    assert b"I will look." in broken.body
    assert b": the end" not in broken.body


@pytest.mark.parametrize("sent", [b'{"id":"c1"}', LEAK], ids=["a whole answer", "a stream"])
def test_one_that_streams_what_has_to_come_whole(start: Start, serve: Serve, tmp_path: Path, path: str, sent: bytes) -> None:
    """It goes by, to a client of a route too, whose API it may not be; that is said."""
    script, file = tmp_path / "streams.py", tmp_path / "toolmend.toml"
    script.write_text(STREAMS)
    upstream = serve(Script(((0.0, sent),), headers=(("content-type", "application/json"),)))
    file.write_text(f'[[route]]\nfrom = "https://a.invalid/v1/messages"\nto = "{upstream.url}{CHAT}"\n')
    proxy = start([addon_path(), script], toolmend_config=str(file))
    asked = {"max_tokens": 9, "model": "a", "messages": [{"role": "user", "content": "Hello"}]}
    with httpx.Client(proxy=proxy.url, verify=context_for(proxy.ca), trust_env=False) as client:
        for url, body in ((f"https://localhost:{upstream.port}{path}", WEATHER | {"stream": False}), (ROUTED, asked)):
            before = len(proxy.log)
            assert client.post(url, json=body).content == sent
            kept = recording(tmp_path / "flows", url.removeprefix(f"https://{httpx.URL(url).netloc.decode()}"))
            assert (kept.meta["state"], kept.meta["error"]) == ("partial", NOT_BUFFERED)
            assert proxy.log[before:].count("load it before toolmend") == 1


def test_a_request_that_is_streamed(start: Start, serve: Serve, tmp_path: Path, path: str) -> None:
    """mitmproxy passes on what is longer than that, and nobody knows what was asked for."""
    proxy, upstream = start(stream_large_bodies="100"), serve(Script(chunks(LEAK)))
    assert ask(proxy, upstream.url, path=path).body == LEAK
    assert "the request passes unread: " in recording(tmp_path / "flows", path).meta["error"]
    assert "the request passes unread: " in proxy.log
