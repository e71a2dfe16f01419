"""All of it together, as a team has it: routes, recordings that are joined with Envoy's log, codings, protocols, whole answers.

Rule of this file: TLS to the provider, and what the provider sees is looked at as well as what the client gets.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.envoy.deploy import CHAT, EVENTS, LEAK, Team, ask, deployed, echoes, echoing
from tests.envoy.wire import HEAD, Wire, chunk
from tests.support.judges import chat as chat_judge
from tests.support.judges import messages as messages_judge
from tests.support.paths import ADDON
from tests.support.streams import WEATHER, play
from toolmend.pipeline.pipeline import Pipeline
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.bootstrap import Listener
from toolmend.recordings.playback.server import Coding, Framing, Script, Upstream

MENDED = play(lambda: Pipeline(WEATHER), EVENTS)
WHOLE = Script(tuple((0.0, event) for event in EVENTS))
AGENTS = Origin("https", "agents.invalid", 443)
CLAUDE = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "stream": True,
    "tools": [{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}],
    "messages": [{"role": "user", "content": "Weather?"}],
}
ROUTES = """
[[route]]
from = "https://agents.invalid/v1/messages"
to = "https://localhost:{0}/v1/chat/completions"
use_model = "kimi-k2.5"
key = "file:key"

[[route]]
from = "https://agents.invalid/v1/responses"
to = "https://localhost:{0}/v1/chat/completions"
"""


@pytest.fixture
def routed(binary: Path, tmp_path: Path, certificate: tuple[Path, Path]) -> Iterator[Team]:
    """Its listener stands for a host that does not exist; what the route takes goes to the upstream, by TLS."""
    with Upstream([WHOLE], tls=certificate, alpn=["http/1.1"]) as provider, ExitStack() as stack:
        key, config = tmp_path / "key", tmp_path / "toolmend.toml"
        key.touch(0o600)
        key.write_text("sk-the-teams")
        config.write_text(ROUTES.format(provider.port))
        to = Origin("https", "localhost", provider.port)
        given = {"toolmend_config": str(config)}
        listeners = (Listener("127.0.0.1", 0, AGENTS),)
        made = deployed(
            binary, tmp_path, [], options=given, record=True, listeners=listeners, targets=(to,), ca=str(certificate[0])
        )
        yield replace(stack.enter_context(made), upstream=provider)


def test_a_route_leads_elsewhere(routed: Team) -> None:
    reply = ask(
        routed.envoy,
        json.dumps(CLAUDE).encode(),
        "/v1/messages?beta=true",
        x_api_key="sk-ant-the-clients",
        x_toolmend_upstream="https://evil.invalid",
        x_envoy_retry_on="5xx",
    )
    assert reply.status == 200
    assert messages_judge.read(reply.body).asked == [("get_weather", {"city": "Beijing"})]
    (seen,) = routed.upstream.requests
    assert seen.path == CHAT
    headers = dict(seen.headers)
    assert headers["host"] == f"localhost:{routed.upstream.port}"
    assert headers["authorization"] == "Bearer sk-the-teams"
    assert not [name for name in headers if name.startswith(("x-envoy", "x-toolmend", "x-api", "x-forwarded"))]
    assert "sk-ant" not in str(seen)
    assert json.loads(seen.body)["model"] == "kimi-k2.5"
    assert not any(routed.envoy.stats("rejected_header_mutations", "spurious_msgs_received", "failure_mode_allowed").values())


def test_what_no_route_takes_goes_where_it_went(routed: Team) -> None:
    assert ask(routed.envoy, path="/v1/files").status == 503  # the host does not exist
    assert routed.upstream.requests == []


def test_a_socket_to_a_host_with_routes_is_refused_and_no_other(routed: Team) -> None:
    """The client then comes with HTTP, which is routed; over a socket it would talk to another provider than it is to."""
    with pytest.raises(InvalidStatus) as refused, connect(f"ws://127.0.0.1:{routed.envoy.port()}/v1/responses", proxy=None):
        pass
    assert refused.value.response.status_code == 426
    with pytest.raises(InvalidStatus) as refused, connect(f"ws://127.0.0.1:{routed.envoy.port()}/chat", proxy=None):
        pass
    assert refused.value.response.status_code == 503  # it was let through, to a host that does not exist


def test_a_socket_passes_beside_routes(binary: Path, tmp_path: Path) -> None:
    with echoing() as listener, deployed(binary, tmp_path, [WHOLE], listeners=(listener,), targets=(AGENTS,)) as team:
        assert echoes(team.envoy, "/socket")


def test_recordings_of_two_workers_are_joined_with_envoys_log(binary: Path, tmp_path: Path) -> None:
    with deployed(binary, tmp_path, [WHOLE], workers=2, record=True) as team:
        for number in range(12):
            assert ask(team.envoy, path=f"{CHAT}?number={number}").body == MENDED
        lines = [json.loads(line) for line in team.envoy.wait_for_output(lambda lines: len(lines) == 12)]
        flows = team.flows
    recorded = {
        folder: json.loads((folder / "meta.json").read_text()) for folder in (file.parent for file in flows.rglob("meta.json"))
    }
    assert len(recorded) == 12
    ids = {meta.get("flow_id") or meta.get("id") for meta in recorded.values()}
    assert ids == {line["request_id"] for line in lines}
    for folder, meta in recorded.items():
        assert meta["state"] == "complete"
        assert (folder / "upstream.sse").read_bytes() == LEAK
        assert (folder / "client.sse").read_bytes() == MENDED


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_a_provider_that_talks_on_is_let_go(binary: Path, tmp_path: Path, http2: bool) -> None:
    """With a policy that ends the answer; mitmproxy can do that for clients of HTTP/1.1 alone."""
    given = {"toolmend_hosts": "127.0.0.1", "toolmend_policy": "first"}
    with Wire() as wire, ThreadPoolExecutor(1) as thread:
        listeners = (Listener("127.0.0.1", 0, Origin("http", "127.0.0.1", wire.port)),)
        with (
            deployed(binary, tmp_path, [], options=given, listeners=listeners) as team,
            httpx.Client(http1=not http2, http2=http2, trust_env=False, timeout=30) as client,
        ):
            asked = thread.submit(client.post, f"{team.envoy.url}{CHAT}", json=WEATHER)
            connection = wire.accept()
            connection.say(HEAD + b"".join(map(chunk, (*EVENTS[:-3], EVENTS[1]))))
            answer = asked.result()
            assert chat_judge.read(answer.content).only.finish_reasons == ["tool_calls"]
            assert connection.left()


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_coded_answer(binary: Path, tmp_path: Path, certificate: tuple[Path, Path], coding: Coding) -> None:
    with deployed(binary, tmp_path, [replace(WHOLE, coding=coding)], tls=certificate) as team:
        answer = httpx.post(f"{team.envoy.url}{CHAT}", json=WEATHER, trust_env=False)
        assert answer.content == MENDED


@pytest.mark.parametrize("framing", ["chunked", "content-length", "eof"])
def test_a_framing(binary: Path, tmp_path: Path, framing: Framing) -> None:
    with deployed(binary, tmp_path, [replace(WHOLE, framing=framing)]) as team:
        reply = ask(team.envoy)
        assert reply.whole
        assert reply.body == MENDED


def test_a_client_of_http2(binary: Path, tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    """Many streams on one connection."""
    with (
        deployed(binary, tmp_path, [WHOLE], tls=certificate, workers=2) as team,
        httpx.Client(http1=False, http2=True, trust_env=False) as client,
    ):
        for _ in range(10):
            answer = client.post(f"{team.envoy.url}{CHAT}", json=WEATHER)
            assert (answer.http_version, answer.content) == ("HTTP/2", MENDED)


@pytest.mark.parametrize("framing", ["content-length", "chunked"])
@pytest.mark.parametrize("size", [0, 3_000_000], ids=["small", "large"])
def test_a_whole_answer(binary: Path, tmp_path: Path, size: int, framing: Framing) -> None:
    """Also where it is longer than what Envoy reads at once."""
    call = '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Beijing"}<|tool_call_end|>'
    said = "x" * size
    message = {"role": "assistant", "content": f"{said}<|tool_calls_section_begin|>{call}<|tool_calls_section_end|>"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "kimi-k2.5", "choices": choices}
    headers = (("content-type", "application/json"),)
    script = Script(((0.0, json.dumps(body).encode()),), headers=headers, framing=framing)
    with deployed(binary, tmp_path, [script]) as team:
        reply = ask(team.envoy, json.dumps({**WEATHER, "stream": False}).encode())
        assert reply.whole
        (choice,) = json.loads(reply.body)["choices"]
        assert choice["finish_reason"] == "tool_calls"
        assert (choice["message"]["content"] or "") == said
        assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["get_weather"]


def test_a_chain_of_two(binary: Path, tmp_path: Path) -> None:
    """One Envoy stands before another that streams through workers of its own, as a gateway does: nothing is cut."""
    (tmp_path / "second").mkdir()
    big = Script(((0.0, EVENTS[0]), *(((0.0, EVENTS[1] * 100),) * 100), *((0.0, event) for event in EVENTS[1:])))
    given = {"toolmend_hosts": "localhost, 127.0.0.1"}
    with deployed(binary, tmp_path / "second", lambda asked: big if asked.header("x-big") else WHOLE) as second:
        to = Listener("127.0.0.1", 0, Origin("http", "127.0.0.1", second.envoy.port()))
        with deployed(binary, tmp_path, [], options=given, listeners=(to,)) as first:
            assert [ask(first.envoy).body == MENDED for _ in range(10)] == [True] * 10
            replies = [ask(first.envoy, x_big="yes") for _ in range(4)]
            assert [reply.body for reply in replies] == [MENDED.replace(EVENTS[1], EVENTS[1] * (100 * 100 + 1))] * 4
            for team in (first, second):
                assert not sum(team.envoy.stats("failure_mode_allowed", "streams_failed", "spurious_msgs_received").values())


def test_the_demo(binary: Path) -> None:
    """What scripts/demo-envoy runs."""
    env = {**os.environ, "ENVOY_BINARY": str(binary), "PYTHONPATH": str(ADDON)}
    command = [sys.executable, "-P", str(Path(__file__).with_name("demo.py"))]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 of 40 mended, 0 lost" in done.stdout
    assert "All is as it should be." in done.stdout
