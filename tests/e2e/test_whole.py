"""Responses that arrive whole: JSON, and a stream that --server-replay plays back from a file."""

import json
from pathlib import Path

import httpx
import pytest
from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from tests.e2e.clients import CALL, CHAT, LEAK, PROSE, Serve, Start, ask, recording
from tests.e2e.mended import MENDED, check
from tests.e2e.whole_message import message
from tests.patterns.kimi import ONE
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Coding, Framing, Script

H1, H2 = ("http/1.1",), ("h2", "http/1.1")
JSON = (("content-type", "application/json; charset=utf-8"), ("x-request-id", "r1"))


@pytest.mark.parametrize("alpn", [H1, H2], ids=["HTTP/1", "HTTP/2"])
@pytest.mark.parametrize(("framing", "coding"), [("content-length", "identity"), ("chunked", "gzip"), ("eof", "zstd")])
def test_a_leaked_call_in_json(
    proxy: Mitmdump,
    serve: Serve,
    http2: httpx.Client,
    flows: Path,
    path: str,
    alpn: tuple[str, ...],
    framing: Framing,
    coding: Coding,
) -> None:
    leaked = message(f"I will look.{ONE}")
    upstream = serve(Script(((0, leaked),), headers=JSON, framing=framing, coding=coding), alpn=alpn)
    reply = ask(proxy, upstream.url, path=f"/h1{path}")
    assert reply.terminated
    assert reply.rest == b""
    assert reply.header("content-encoding") is None
    assert reply.header("content-length") in (str(len(reply.body)), None)
    assert reply.header("x-request-id") == "r1"
    answer = http2.post(f"{upstream.url}/h2{path}", json=WEATHER | {"stream": False})
    assert answer.http_version == "HTTP/2"
    assert answer.headers.get("content-length", str(len(answer.content))) == str(len(answer.content))
    assert answer.content == reply.body
    (choice,) = answer.json()["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (call["id"], call["function"]["name"], call["function"]["arguments"]) == CALL
    assert choice["message"]["content"] == "I will look."
    assert choice["finish_reason"] == "tool_calls"
    assert answer.json()["vendor"] == {"b": 1.0}
    kept = recording(flows, f"/h1{path}")
    assert kept.meta["state"] == "complete"
    assert kept.read("upstream.json") == leaked
    assert kept.read("client.json") == reply.body


@pytest.mark.parametrize("body", [message("Nothing <| here"), b'{"error": {"message": "no"}}', b"", b"no JSON"])
def test_json_without_a_call_is_the_same_bytes(proxy: Mitmdump, serve: Serve, body: bytes) -> None:
    reply = ask(proxy, serve(Script(((0, body),), headers=JSON, framing="content-length")).url)
    assert reply.body == body
    assert reply.header("content-length") == str(len(body))


def test_a_stream_from_a_file(start: Start, tmp_path: Path) -> None:
    """mitmproxy serves it whole and calls no stream callable; the upstream need not be there."""
    url = "https://localhost:9"
    saved = tmp_path / "saved.flows"
    with saved.open("wb") as file:
        for path, body in (("/leak", LEAK), ("/prose", PROSE)):
            request = http.Request.make("POST", f"{url}{path}{CHAT}", json.dumps(WEATHER))
            response = http.Response.make(200, body, {"content-type": "text/event-stream"})
            FlowWriter(file).add(tflow.tflow(req=request, resp=response))
    proxy = start(server_replay=str(saved), server_replay_reuse="true")
    for _ in range(2):
        leak = ask(proxy, url, path=f"/leak{CHAT}")
        assert leak.terminated
        assert leak.body == MENDED
        check(leak.body)
        assert ask(proxy, url, path=f"/prose{CHAT}").body == PROSE
    kept = recording(tmp_path / "flows", f"/prose{CHAT}")
    assert kept.read("upstream.sse") == kept.read("client.sse") == PROSE
