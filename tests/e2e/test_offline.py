"""Offline, through a real mitmdump: what the SDKs get when recordings answer, and that nothing goes out.

What is played was recorded through a proxy before. The host that is called then is one that does not exist, or an upstream that
must stay without a request.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from anthropic import Anthropic, APIStatusError
from openai import APIConnectionError, BadRequestError, OpenAI, RateLimitError
from openai.types.chat import ChatCompletion

from tests.e2e.clients import CHAT, LEAK, Kept, Serve, Start, chunks, context_for, eventually, http2_options, recording
from tests.support.streams import WEATHER, stream
from toolmend.cli.launcher.proxy import Mitmdump, ProxyError
from toolmend.recordings.playback.server import Script, Upstream
from toolmend.recordings.read.library import entries

DEAD = "https://llm.invalid"
"""A host that no name server knows: RFC 6761."""
TOOL = {"name": "get_weather", "description": "", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
MESSAGES: dict[str, Any] = {
    "model": "claude-sonnet-5",
    "max_tokens": 500,
    "tools": [TOOL],
    "messages": [{"role": "user", "content": "How is the weather in Beijing?"}],
}
JSON = (("content-type", "application/json"), ("retry-after", "7"))
BUSY = Script(((0, b'{"error":{"message":"slow down","type":"tokens","code":"rate_limit_exceeded"}}'),), 429, JSON, "content-length")
type Clients = Callable[..., Any]


@pytest.fixture
def clients() -> Iterator[Clients]:
    """An SDK behind a proxy, over HTTP/1.1 or HTTP/2."""
    with ExitStack() as stack:

        def client(kind: type[OpenAI | Anthropic], proxy: Mitmdump, base: str = DEAD, *, http2: bool = False) -> Any:
            plain: dict[str, Any] = {"proxy": proxy.url, "verify": context_for(proxy.ca), "trust_env": False}
            options = http2_options(proxy) if http2 else plain
            module = httpx2 if kind is Anthropic else httpx
            http = stack.enter_context(module.Client(**options))
            path = "" if kind is Anthropic else "/v1"
            return kind(base_url=base + path, api_key="none", http_client=http, max_retries=0)

        yield client


@pytest.fixture
def replaying(start: Start, flows: Path, tmp_path: Path) -> Callable[..., Mitmdump]:
    """Starts a proxy that answers from the recordings of an upstream, and itself records elsewhere."""
    before = set(flows.glob("*/*/meta.json"))

    def replaying(upstream: Upstream, **options: str) -> Mitmdump:
        asked = len(upstream.requests)

        def finished() -> list[Path] | None:
            metas = {file.parent: json.loads(file.read_bytes()) for file in set(flows.glob("*/*/meta.json")) - before}
            own = [folder for folder, meta in metas.items() if meta["host"] == f"localhost:{upstream.port}" and meta["sha256"]]
            return own if len(own) == asked else None

        if not (tmp_path / "flows").exists():
            for folder in eventually(finished):
                shutil.copytree(folder, tmp_path / "flows" / folder.relative_to(flows))
        given = {
            "toolmend_hosts": "localhost, llm.invalid",
            "toolmend_replay": str(tmp_path / "flows"),
            "toolmend_flows": str(tmp_path / "again"),
            "connection_strategy": "eager",
        }
        return start(**(given | options))

    return replaying


def halves(body: bytes) -> tuple[tuple[float, bytes], ...]:
    """A body in two chunks."""
    middle = body.index(b"\n\n", len(body) // 3) + 2
    return ((0, body[:middle]), (0.1, body[middle:]))


def ask(client: OpenAI, **more: Any) -> ChatCompletion:
    with client.chat.completions.stream(**{key: WEATHER[key] for key in ("model", "messages", "tools")} | more) as events:
        for _ in events:
            pass
        return events.get_final_completion()


def check_call(answer: ChatCompletion) -> None:
    (call,) = answer.choices[0].message.tool_calls or ()
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Beijing"})
    assert answer.choices[0].message.content == "I will look."


def again(tmp_path: Path) -> Kept:
    return recording(tmp_path / "again", CHAT)


def test_openai(proxy: Mitmdump, serve: Serve, replaying: Callable[..., Mitmdump], clients: Clients, tmp_path: Path) -> None:
    """A host that does not exist answers as another one did, in its chunks, and is mended as if it were live."""
    upstream = serve(Script(halves(LEAK)))
    check_call(ask(clients(OpenAI, proxy, upstream.url)))
    player = replaying(upstream)
    player.wait_for("connection_strategy is set to lazy")
    for http2 in (False, True):
        check_call(ask(clients(OpenAI, player, http2=http2)))
    player.wait_for("played from")
    assert len(upstream.requests) == 1
    kept = again(tmp_path)
    (first,) = entries(tmp_path / "flows")
    assert kept.meta["settings"]["replayed_from"] == first.name
    assert kept.meta["host"] == "llm.invalid"
    assert "x-toolmend-take" not in dict(kept.meta["request_headers"])
    assert kept.read("upstream.sse") == LEAK
    sizes = [[json.loads(line)["len"] for line in (folder / "upstream.idx").read_bytes().splitlines()] for folder in (first.folder, kept.folder)]
    assert sizes[0] == sizes[1] == [len(half) for _, half in halves(LEAK)]


def test_anthropic(start: Start, serve: Serve, replaying: Callable[..., Mitmdump], clients: Clients, tmp_path: Path) -> None:
    """Recorded through a route: without it the client gets its own bytes, with it the upstream's are translated anew."""
    upstream = serve(Script(chunks(LEAK)))
    route = tmp_path / "toolmend.toml"
    route.write_text(f'[[route]]\nfrom = "{DEAD}/v1/messages"\nto = "{upstream.url}{CHAT}"\nuse_model = "kimi-k2.5"\n')
    config = {"toolmend_config": str(route), "connection_strategy": "eager"}

    def check(proxy: Mitmdump) -> None:
        with clients(Anthropic, proxy).messages.stream(**MESSAGES) as events:
            text, call = events.get_final_message().content
        assert (text.text, call.name, call.input) == ("I will look.", "get_weather", {"city": "Beijing"})

    check(first := start(**config))
    first.stop()  # and so finish its recordings
    check(replaying(upstream))
    unrouted = recording(tmp_path / "again", "/v1/messages").meta
    assert (unrouted["api"], unrouted.get("client_api")) == ("messages", None)
    check(replaying(upstream, toolmend_flows=str(tmp_path / "routed"), toolmend_config=str(route)))
    routed = recording(tmp_path / "routed", "/v1/messages")
    assert (routed.meta["api"], routed.meta["client_api"]) == ("chat", "messages")
    assert routed.read("upstream.sse") == LEAK
    assert len(upstream.requests) == 1


def test_a_session(proxy: Mitmdump, serve: Serve, replaying: Callable[..., Mitmdump], clients: Clients) -> None:
    """An error, a retry, and a second question with the result; then all of it once more."""
    upstream = serve(BUSY, Script(chunks(LEAK)), Script(chunks(stream(["Sunny."]))))
    result = [{"role": "assistant", "content": "I will look."}, {"role": "tool", "tool_call_id": "x", "content": "25 degrees"}]
    messages = [*WEATHER["messages"], *result]

    def run(client: OpenAI) -> None:
        with pytest.raises(RateLimitError) as raised:
            ask(client)
        assert raised.value.response.headers["retry-after"] == "7"
        check_call(ask(client))
        assert ask(client, messages=messages).choices[0].message.content == "Sunny."

    run(clients(OpenAI, proxy, upstream.url))
    client = clients(OpenAI, replaying(upstream), upstream.url)
    run(client)
    run(client)
    assert len(upstream.requests) == 3


def test_a_miss(proxy: Mitmdump, serve: Serve, replaying: Callable[..., Mitmdump], clients: Clients, tmp_path: Path) -> None:
    """A legal error in the client's API that names the nearest; and nothing else of an LLM's host goes out."""
    upstream = serve(Script(chunks(LEAK)))
    ask(clients(OpenAI, proxy, upstream.url))
    player = replaying(upstream)
    (one,) = entries(tmp_path / "flows")
    client = clients(OpenAI, player)
    with pytest.raises(BadRequestError, match=f"the nearest is {one.name}, but new message 1 of 1 differs from character 26 on"):
        ask(client, messages=[{"role": "user", "content": "What is the weather in Berlin?"}])
    player.wait_for("asked: .*Berlin.*; recorded: .*Beijing")
    with pytest.raises(APIStatusError, match=f"the nearest is {one.name}, but it is of the API chat, not messages") as raised:
        clients(Anthropic, player).messages.create(**MESSAGES)
    assert raised.value.status_code == 400
    assert [model.id for model in client.models.list()] == [WEATHER["model"]]
    assert client._client.get(f"{DEAD}/v1/files").status_code == 404
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-key": "x", "sec-websocket-version": "13"}
    assert client._client.get(f"{DEAD}/v1/responses", headers=upgrade).status_code == 426
    assert not list((tmp_path / "again").glob("*/*"))
    assert len(upstream.requests) == 1


def test_a_miss_that_is_forwarded(proxy: Mitmdump, serve: Serve, replaying: Callable[..., Mitmdump], clients: Clients) -> None:
    upstream = serve(Script(chunks(LEAK)), Script(chunks(stream(["Sunny."]))))
    ask(clients(OpenAI, proxy, upstream.url))
    client = clients(OpenAI, replaying(upstream, toolmend_replay_miss="forward"), upstream.url)
    check_call(ask(client))
    other = ask(client, messages=[{"role": "user", "content": "And in Berlin?"}])
    assert other.choices[0].message.content == "Sunny."
    assert len(upstream.requests) == 2


def test_a_stream_that_broke_off_breaks_off(
    proxy: Mitmdump, serve: Serve, replaying: Callable[..., Mitmdump], clients: Clients
) -> None:
    upstream = serve(Script(chunks(LEAK)[:6], end="drop"))
    with pytest.raises(APIConnectionError):
        ask(clients(OpenAI, proxy, upstream.url))
    with pytest.raises(APIConnectionError):
        ask(clients(OpenAI, replaying(upstream)))


def test_other_modes(proxy: Mitmdump, serve: Serve, replaying: Callable[..., Mitmdump], clients: Clients) -> None:
    """A proxy behind ours, which does not answer; and no proxy for the client at all."""
    upstream = serve(Script(chunks(LEAK)))
    ask(clients(OpenAI, proxy, upstream.url))
    check_call(ask(clients(OpenAI, replaying(upstream, mode="upstream:http://localhost:1"))))
    player = replaying(upstream, mode=f"reverse:{DEAD}")
    with httpx.Client(trust_env=False) as http:
        check_call(ask(OpenAI(base_url=f"{player.url}/v1", api_key="none", http_client=http, max_retries=0)))
    assert len(upstream.requests) == 1


def test_another_host_is_left_alone(proxy: Mitmdump, serve: Serve, replaying: Callable[..., Mitmdump], clients: Clients) -> None:
    upstream = serve(Script(chunks(LEAK)))
    ask(clients(OpenAI, proxy, upstream.url))
    client = clients(OpenAI, replaying(upstream, toolmend_intercept="all"))._client
    assert client.get(f"https://127.0.0.1:{upstream.port}/index").status_code == 200
    assert len(upstream.requests) == 2


def test_a_folder_without_recordings_stops_the_start(start: Start, tmp_path: Path) -> None:
    with pytest.raises(ProxyError, match=r"toolmend_replay: no such folder: '.*nowhere', write the name of a folder"):
        start(toolmend_replay=str(tmp_path / "nowhere"))
    with pytest.raises(ProxyError, match="toolmend_replay: no playable recording"):
        start(toolmend_replay=str(tmp_path))
