"""Routes through a real mitmdump: what a client of Messages gets from a chat upstream, and what that upstream gets to see."""

import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import httpx
import httpx2
import pytest
from anthropic import Anthropic, APIStatusError
from openai import OpenAI

from tests.e2e.clients import Serve, chunks, context_for, recording
from tests.e2e.routes import ASK, DEAD, LEAK, MESSAGE, OURS, THEIRS, TOOL, Route, chat, check_call, clients, route
from tests.support.judges.chat import read
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import ProxyError
from toolmend.recordings.fixtures.verification import check
from toolmend.recordings.playback.server import Request, Script, Upstream

__all__ = ["clients", "route"]


def seen(request: Request) -> str:
    """All that an upstream got, as one text."""
    return json.dumps([request.path, request.headers, request.body.decode()])


@pytest.mark.parametrize("alpn", [("http/1.1",), ("h2", "http/1.1")], ids=["to HTTP/1.1", "to HTTP/2"])
def test_a_call_is_streamed(
    route: Route, serve: Serve, clients: Callable[..., Anthropic], alpn: tuple[str, ...], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """The host that the client calls does not exist, and the connection strategy it was started with would answer 502."""
    upstream = serve(Script(chunks(LEAK)), alpn=alpn)
    proxy = route(chat(upstream))
    proxy.wait_for("connection_strategy is set to lazy for the routes")
    for http2 in (False, True):
        with subtests.test("HTTP/2" if http2 else "HTTP/1.1"):
            upstream.requests.clear()
            streamed_call(upstream, clients(proxy, http2=http2), tmp_path / "flows", http2=http2)


def streamed_call(upstream: Upstream, client: Anthropic, flows: Path, *, http2: bool) -> None:
    beta = str(http2).lower()
    with client.messages.stream(
        **ASK, extra_headers={"cookie": f"a={THEIRS}", "x-other": THEIRS}, extra_query={"beta": beta, "key": THEIRS}
    ) as events:
        check_call(events.get_final_message())
        assert events.response.headers["content-type"].startswith("text/event-stream")
        assert events.response.headers["request-id"].startswith("req_")
        assert events.response.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
    (request,) = upstream.requests
    assert THEIRS not in seen(request)
    assert request.path == "/v1/chat/completions"
    assert request.header("authorization") == f"Bearer {OURS}"
    assert request.header("host") == f"localhost:{upstream.port}"
    assert request.header("accept-encoding") == "identity"
    assert not [name for name, _ in request.headers if name.startswith(("anthropic-", "x-stainless-"))]
    body = json.loads(request.body)
    assert body["model"] == "kimi-k2.5"
    assert body["tools"][0]["function"]["name"] == "get_weather"
    kept = recording(flows, f"/v1/messages?beta={beta}&key=[REDACTED]")
    folder, meta = kept.folder, kept.meta
    assert (meta["api"], meta["client_api"], meta["state"]) == ("chat", "messages", "complete")
    assert json.loads((folder / "request.json").read_bytes())["model"] == ASK["model"]
    assert json.loads((folder / "upstream_request.json").read_bytes())["model"] == "kimi-k2.5"
    for file in folder.iterdir():
        assert not {THEIRS, OURS} & set(file.read_text().split('"'))
        assert OURS not in file.read_text()


def test_events_that_are_not_called_so(
    route: Route, serve: Serve, clients: Callable[..., Anthropic], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """They are told by how they begin. The client gets what it asked for."""
    kinds = ("application/json", "text/plain", "application/octet-stream", None)
    upstream = serve(*[Script(chunks(LEAK), headers=(("content-type", kind),) if kind else ()) for kind in kinds for _ in range(2)])
    messages = clients(route(chat(upstream))).messages
    for number, (kind, streams) in enumerate(product(kinds, (True, False))):
        with subtests.test(kind=kind, streams=streams):
            if streams:
                with messages.stream(**ASK, extra_query={"n": number}) as events:
                    check_call(events.get_final_message())
                    assert events.response.headers["content-type"].startswith("text/event-stream")
            else:
                answer = messages.with_raw_response.create(**ASK, extra_query={"n": number})
                check_call(answer.parse())
                assert answer.headers["content-type"] == "application/json"
            kept = recording(tmp_path / "flows", f"/v1/messages?n={number}")
            assert (kept.meta["state"], kept.meta["error"]) == ("complete", None)
            assert check(kept.folder, splits=8).passed


def test_events_that_are_not_called_so_in_the_same_api(route: Route, serve: Serve, tmp_path: Path, subtests: pytest.Subtests) -> None:
    kinds = ("application/json", "text/plain")
    upstream = serve(*[Script(chunks(LEAK), headers=(("content-type", kind),)) for kind in kinds])
    proxy = route(chat(upstream), f"{DEAD}/v1/chat/completions")
    with httpx.Client(proxy=proxy.url, verify=context_for(proxy.ca), trust_env=False) as client:
        for kind in kinds:
            with subtests.test(kind):
                path = f"/v1/chat/completions?kind={kind.partition('/')[2]}"
                reply = client.post(f"{DEAD}{path}", json=WEATHER)
                assert reply.headers["content-type"].startswith("text/event-stream")
                assert read(reply.content).only.calls[0].name == "get_weather"
                assert check(recording(tmp_path / "flows", path).folder, splits=8).passed


def test_a_client_of_responses(route: Route, serve: Serve) -> None:
    """And it may try a WebSocket first, as Codex does."""
    upstream = serve(Script(chunks(LEAK)))
    proxy = route(chat(upstream), "llm.invalid")
    tool = {"type": "function", "name": "get_weather", "parameters": TOOL["input_schema"], "strict": False}
    with httpx.Client(proxy=proxy.url, verify=context_for(proxy.ca), trust_env=False) as http:
        upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-key": "x", "sec-websocket-version": "13"}
        assert http.get(f"{DEAD}/v1/responses", headers=upgrade).status_code == 426
        client = OpenAI(base_url=f"{DEAD}/v1", api_key=THEIRS, http_client=http, max_retries=0)
        with client.responses.stream(model="gpt-5", input="The weather in Beijing?", tools=[tool]) as events:
            for _ in events:
                pass
            answer = events.get_final_response()
    said, call = answer.output
    assert said.content[0].text == "I will look."
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "get_weather", {"city": "Beijing"})
    assert THEIRS not in seen(upstream.requests[0])


def test_a_wrong_route_stops_the_start(route: Route, tmp_path: Path) -> None:
    with pytest.raises(ProxyError, match=rf"{re.escape(str(tmp_path))}/toolmend\.toml:4: key: a key is never written here itself"):
        route("https://a.example/v1/messages", key=THEIRS)


def test_a_whole_message(route: Route, serve: Serve, clients: Callable[..., Anthropic]) -> None:
    json_ = (("content-type", "application/json"), ("set-cookie", "a=b"), ("x-request-id", "abc"))
    upstream = serve(Script(((0, MESSAGE),), headers=json_))
    proxy = route(chat(upstream), options={"stream_large_bodies": "100"})
    answer = clients(proxy).messages.with_raw_response.create(**ASK)
    assert answer.parse().content[0].text == "Sunny."
    assert answer.headers["x-upstream-request-id"] == "abc"
    assert "set-cookie" not in answer.headers
    with clients(proxy).messages.stream(**ASK) as events:  # the upstream does not stream
        message = events.get_final_message()
    assert (message.content[0].text, message.stop_reason) == ("Sunny.", "end_turn")


ERRORS = {
    "rate": (
        Script(
            ((0, b'{"error":{"message":"slow down","type":"tokens","code":"rate_limit_exceeded"}}'),),
            429,
            (("content-type", "application/json"), ("retry-after", "7"), ("x-ratelimit-remaining-tokens", "0")),
        ),
        (429, "rate_limit_error", "slow down"),
    ),
    "overflow": (
        Script(
            ((0, b'{"error":{"message":"This model\'s maximum context length is 1000 tokens. You requested 1200 tokens."}}'),),
            400,
            (("content-type", "application/json"),),
        ),
        (400, "invalid_request_error", "prompt is too long: 1200 tokens > 1000 maximum"),
    ),
    "overload": (Script(((0, b"<html>"),), 503, (("content-type", "text/html"),)), (529, "overloaded_error", "503")),
    "key": (
        Script(((0, f'{{"error":{{"message":"Incorrect API key: {OURS}","type":"x"}}}}'.encode()),), 401, ()),
        (401, "authentication_error", "*" * 8),
    ),
    "200": (
        Script(((0, b'{"error":{"message":"busy","code":429}}'),), 200, (("content-type", "application/json"),)),
        (429, "rate_limit_error", "busy"),
    ),
    "empty": (Script((), 200, (("content-type", "application/json"),)), (500, "api_error", "empty")),
    "redirect": (Script((), 307, (("location", "https://elsewhere.invalid/v1"),)), (500, "api_error", "elsewhere.invalid")),
}


def test_errors(route: Route, serve: Serve, clients: Callable[..., Anthropic]) -> None:
    upstream = serve(*[script for script, _ in ERRORS.values() for _ in range(2)])
    client = clients(route(chat(upstream)))
    for (status, kind, words), streamed in product((expected for _, expected in ERRORS.values()), (False, True)):
        with pytest.raises(APIStatusError) as raised:
            client.messages.create(**ASK, stream=streamed)
        error = raised.value
        assert (error.status_code, error.body["error"]["type"]) == (status, kind)
        assert words in error.body["error"]["message"]
        assert error.request_id.startswith("req_")
        assert "location" not in error.response.headers
        if error.response.headers.get("retry-after"):
            assert error.response.headers["anthropic-ratelimit-tokens-remaining"] == "0"
    assert len(upstream.requests) == 2 * len(ERRORS)


def test_what_is_answered_here(route: Route, serve: Serve, clients: Callable[..., Anthropic]) -> None:
    upstream = serve(Script())
    proxy = route(chat(upstream), DEAD)
    client = clients(proxy)
    asked = {key: ASK[key] for key in ("model", "messages", "tools")}
    assert client.messages.count_tokens(**asked).input_tokens > 5
    assert [model.id for model in client.models.list()] == ["kimi-k2.5"]
    assert client._client.head(DEAD).status_code == 200
    assert client._client.post(f"{DEAD}/api/event_logging/batch", json={"events": []}).status_code == 200
    refused = client._client.post(f"{DEAD}/v1/messages", content=b"no json")
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")
    assert upstream.requests == []


def test_reverse_mode(route: Route, serve: Serve) -> None:
    """No CONNECT and no CA: the client calls the proxy itself."""
    upstream = serve(Script(chunks(LEAK)))
    proxy = route(chat(upstream), options={"mode": f"reverse:{DEAD}"})
    with httpx2.Client(trust_env=False) as http:
        client = Anthropic(base_url=proxy.url, api_key=THEIRS, http_client=http, max_retries=0)
        with client.messages.stream(**ASK) as events:
            check_call(events.get_final_message())
    assert THEIRS not in seen(upstream.requests[0])


def test_without_a_key_none_is_sent(route: Route, serve: Serve, clients: Callable[..., Anthropic]) -> None:
    upstream = serve(Script(chunks(LEAK)), tls=False)
    proxy = route(chat(upstream), key="")
    with clients(proxy).messages.stream(**ASK) as events:
        check_call(events.get_final_message())
    assert THEIRS not in seen(upstream.requests[0])
    assert upstream.requests[0].header("authorization") is None


def test_at_the_same_origin_the_clients_own_key_stays(route: Route, serve: Serve, clients: Callable[..., Anthropic]) -> None:
    upstream = serve(Script(chunks(LEAK)))
    proxy = route(chat(upstream), f"{upstream.url}/v1/messages", key="")
    with clients(proxy, upstream.url).messages.stream(**ASK) as events:
        check_call(events.get_final_message())
    assert upstream.requests[0].header("authorization") == f"Bearer {THEIRS}"


def test_another_model_goes_where_it_always_went(route: Route, serve: Serve, clients: Callable[..., Anthropic]) -> None:
    upstream, original = serve(Script()), serve(Script(((0, b'{"type":"message","content":[]}'),), headers=()))
    proxy = route(chat(upstream), f"{original.url}/v1/messages", model="claude-haiku-*")
    clients(proxy, original.url).messages.with_raw_response.create(**ASK)
    assert upstream.requests == []
    assert original.requests[0].header("authorization") == f"Bearer {THEIRS}"


def test_an_upstream_that_is_not_there(route: Route, clients: Callable[..., Anthropic]) -> None:
    proxy = route("http://localhost:1/v1/chat/completions")
    with pytest.raises(APIStatusError) as raised:
        clients(proxy).messages.create(**ASK)
    assert raised.value.status_code == 500
    assert "the upstream cannot be reached" in raised.value.message
