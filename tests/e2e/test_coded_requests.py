"""Requests with a content coding: Codex sends zstd where it is logged in. They are read, and go on as they came."""

import gzip
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import httpx
import pytest

from tests.e2e.clients import CALL, CHAT, LEAK, Serve, Start, chunks, context_for, recording
from tests.support.judges.chat_strict import read as read_chat
from tests.support.judges.responses import read as read_responses
from tests.support.streams import WEATHER
from tests.support.upstream_answers import WEATHER as TOOLS
from tests.support.upstream_answers import asked
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.core.content_encoding import zstandard, zstd
from toolmend.recordings.playback.server import Script

CODERS: dict[str, Callable[[bytes], bytes]] = {"zstd": (zstd or zstandard).compress, "gzip": gzip.compress}


def post(proxy: Mitmdump, url: str, path: str, body: bytes, coding: str) -> bytes:
    """The body of the answer to a coded one."""
    headers = {"content-type": "application/json", "content-encoding": coding}
    with httpx.Client(proxy=proxy.url, verify=context_for(proxy.ca), trust_env=False, timeout=20) as client:
        return client.post(f"{url}{path}", content=body, headers=headers).content


@pytest.mark.parametrize("coding", CODERS)
def test_it_is_read_and_goes_on_as_it_came(proxy: Mitmdump, serve: Serve, flows: Path, path: str, coding: str) -> None:
    upstream = serve(Script(chunks(LEAK)))
    body = CODERS[coding](json.dumps(WEATHER).encode())
    answer = read_chat(post(proxy, upstream.url, path, body, coding))
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == [CALL]
    request = upstream.requests[0]
    assert (request.header("content-encoding"), request.body) == (coding, body)
    kept = recording(flows, path)
    assert json.loads(kept.read("request.json")) == WEATHER
    assert "upstream_request.json" not in kept.meta["sha256"]


def test_with_a_route(start: Start, serve: Serve, tmp_path: Path, subtests: pytest.Subtests) -> None:
    upstream = serve(Script(chunks(LEAK)))
    config = tmp_path / "toolmend.toml"
    config.write_text(f'[[route]]\nfrom = "https://gone.invalid"\nto = "{upstream.url}{CHAT}"\n')
    proxy = start(toolmend_config=str(config), toolmend_flows="off")
    for coding, api in product(CODERS, ("chat", "responses")):
        with subtests.test(coding=coding, api=api):
            body = CODERS[coding](json.dumps(asked(api, *TOOLS)).encode())
            path = {"chat": CHAT, "responses": "/v1/responses"}[api]
            out = post(proxy, "https://gone.invalid", path, body, coding)
            answer = read_chat(out) if api == "chat" else read_responses(out)
            assert answer.asked == [("get_weather", {"city": "Beijing"})]
            request = upstream.requests[-1]
            assert request.header("content-encoding") is None
            assert json.loads(request.body)["tools"]
