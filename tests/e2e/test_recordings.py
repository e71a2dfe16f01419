"""What lies on disk after a stream: the bytes of both ends, and nothing that is secret."""

import json
from pathlib import Path

import pytest

from tests.e2e.clients import LEAK, PROSE, Serve, ask, chunks, recording
from tests.support.streams import WEATHER, chunk, event
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Coding, Script

TEXT = b"".join(data for _, data in chunks(PROSE)[:-3])
"""Prose that is not over: its finish, usage and end are left out."""
SECRET = "sk-canary-0123456789abcdefghijkl"


@pytest.mark.parametrize("coding", ["identity", "br"])
@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_a_complete_stream(proxy: Mitmdump, serve: Serve, flows: Path, path: str, alpn: str, coding: Coding) -> None:
    """Its chunks come at once, and each is told of."""
    upstream = serve(Script(chunks(LEAK), coding=coding), alpn=(alpn,))
    body = ask(proxy, upstream.url, path=path).body
    kept = recording(flows, path)
    assert kept.meta["state"] == "complete"
    assert kept.meta["rules"] == ["kimi_k2", "finish_reason"]
    assert kept.meta["error"] is None
    assert kept.read("upstream.sse") == LEAK
    assert kept.read("client.sse") == body
    assert json.loads(kept.read("request.json")) == WEATHER
    lines = [json.loads(line) for line in kept.read("upstream.idx").splitlines()]
    assert [LEAK[line["off"] :][: line["len"]] for line in lines] == [data for _, data in chunks(LEAK)]
    modes = {file.stat().st_mode & 0o777 for file in kept.folder.iterdir()}
    assert modes == {0o600}
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    proxy.wait_for(f"mended kimi_k2.*{kept.folder}")


def test_no_secret_is_kept(proxy: Mitmdump, serve: Serve, flows: Path, path: str) -> None:
    """Not from the headers, and not where the model says it in pieces."""
    echo = b"".join(event(chunk({"content": SECRET[at : at + 3]})) for at in range(0, len(SECRET), 3))
    upstream = serve(Script(chunks(TEXT + echo + event(chunk({"content": f" {SECRET}."})))))
    reply = ask(proxy, upstream.url, path=path, Authorization=f"Bearer {SECRET}", Cookie=f"session={SECRET}")
    assert upstream.requests[0].header("authorization") == f"Bearer {SECRET}"
    assert reply.body.endswith(event(chunk({"content": f" {SECRET}."})))
    kept = recording(flows, path)
    for file in kept.folder.iterdir():
        assert SECRET not in file.read_text()
    data = [line.removeprefix("data: ") for line in kept.read("client.sse").decode().splitlines() if line]
    deltas = [json.loads(text)["choices"] for text in data if text != "[DONE]"]
    said = "".join(choice["delta"].get("content", "") for choices in deltas for choice in choices)
    assert "nothing" in said
    assert SECRET not in said
    assert SECRET not in proxy.log
