"""Routed flows, hook by hook: what an upstream gets to see, and what a client gets whatever goes wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.addon import Log, Proxy, answered, asked, log, proxy
from tests.support.content_encodings import CODERS
from tests.support.judges.chat import read
from tests.support.routed_flows import ANSWER, ASK, BODY, HELLO, PAIRS, THEIRS, UPSTREAMS, Routes, error_of, post, routed
from tests.support.routes import CHAT, MESSAGES, SECRET, table
from tests.support.streams import stream, tool
from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.dialects.engine.opener_index import indices
from toolmend.recordings.read import replay

__all__ = ["log", "proxy", "routed"]


# what goes out

LEAKY = {
    name: f"{prefix}{THEIRS}"
    for name, prefix in {
        "authorization": "Bearer ",
        "x-api-key": "",
        "api-key": "",
        "x-goog-api-key": "",
        "cookie": "session=",
        "proxy-authorization": "Basic ",
        "x-corp-token": "",
        "cf-access-client-secret": "",
        "anthropic-beta": "",
        "x-stainless-lang": "",
        "openai-organization": "",
        "openai-project": "",
        "referer": "https://a.example/?key=",
        "forwarded": "for=",
    }.items()
}


@pytest.mark.parametrize("http_version", ["HTTP/1.1", "HTTP/2.0"])
@pytest.mark.parametrize("key", ["env:ROUTE_KEY", ""])
@pytest.mark.parametrize("upstream", ["chat", "responses"])
def test_nothing_of_the_clients_goes_to_another_host(routed: Routes, upstream: str, key: str, http_version: str) -> None:
    to, credentials = UPSTREAMS[upstream]
    flow = post(path=f"/v1/messages?key={THEIRS}", http_version=http_version, **LEAKY)
    routed(to=to, key=key).ask(flow)
    request = flow.request
    assert THEIRS not in repr(request.get_state())
    assert request.url == to
    given = dict(request.headers)
    assert given.pop("host") == request.host
    assert given.pop("content-length") == str(len(request.raw_content or b""))
    assert given == {"accept-encoding": "identity", "content-type": "application/json"} | (credentials if key else {})
    body = json.loads(request.content or b"")
    assert (body["model"], body["stream"]) == ("kimi-k2.5", True)


def test_an_upstream_of_messages_gets_its_key_in_its_form(routed: Routes) -> None:
    to, credentials = UPSTREAMS["messages"]
    headers = LEAKY | {"anthropic-beta": "context-1m", "anthropic-version": "2023-06-01", "user-agent": "claude-cli/2"}
    flow = post(path="/v1/messages?beta=true", **headers)
    routed(to=to, use_model="").ask(flow)
    assert flow.request.url == to
    assert flow.request.raw_content == BODY
    given = dict(flow.request.headers)
    kept = {"anthropic-beta": "context-1m", "user-agent": "claude-cli/2", "host": "llm.example.com"}
    more = {"accept-encoding": "identity", "content-type": "application/json", "content-length": str(len(BODY))}
    assert given == kept | more | credentials


@pytest.mark.parametrize("form", [{"authorization": f"Bearer {THEIRS}"}, {"x-api-key": THEIRS, "authorization": ""}])
@pytest.mark.parametrize(("scheme", "port", "stays"), [("https", 443, True), ("http", 443, False), ("https", 8443, False)])
def test_the_clients_key_stays_at_its_own_origin(
    routed: Routes, form: dict[str, str], scheme: str, port: int, stays: bool
) -> None:
    flow = post(**form, cookie="a=b")
    routed(to=f"{scheme}://api.anthropic.com:{port}/v1/chat/completions", key="").ask(flow)
    assert flow.request.headers.get("authorization") == (f"Bearer {THEIRS}" if stays else None)
    assert flow.request.headers.get("cookie") == ("a=b" if stays else None)


@pytest.mark.parametrize(
    "hostile",
    [
        {"host": "openrouter.ai"},
        {"host": "api.anthropic.com", "x-forwarded-host": "evil.example"},
        {"host": "api.anthropic.com\r\nx: y"},
        {"user-agent": "a\r\nx-evil: b"},
        {"user-agent": "a\x00b"},
        {"user-agent": "a\u00a0b"},
        {"user-agent": "a" * 65537},
        {"accept": "a\nb"},
    ],
)
def test_hostile_headers(routed: Routes, hostile: dict[str, str]) -> None:
    """A Host header says neither where a key of the client's may go, nor where a request goes."""
    flow = post()
    for name, value in hostile.items():
        flow.request.headers[name] = value.encode()
    routed(key="").ask(flow)
    assert flow.request.url == CHAT
    assert flow.request.headers["host"] == "openrouter.ai"
    assert "authorization" not in flow.request.headers
    for name, value in flow.request.headers.items():
        assert value.isprintable() and len(value) < 100, name


@pytest.mark.parametrize("text", ["evil.example", "https://evil.example/v1", "a\r\nHost: evil.example", "a\x00", "\u00a0", "x" * 65537])
@pytest.mark.parametrize("field", ["api_base", "base_url", "user", "model", "metadata"])
def test_hostile_bodies(routed: Routes, field: str, text: str) -> None:
    value = {"user_id": text} if field == "metadata" else text
    flow = post(json.dumps(ASK | {field: value, "tools": [{"name": "t", "input_schema": {}, "base_url": text}]}).encode())
    routed().ask(flow)
    assert flow.request.url == CHAT
    assert [value for _, value in flow.request.headers.items() if value.startswith("Bearer")] == [f"Bearer {SECRET}"]
    assert sum(len(value) for _, value in flow.request.headers.items()) < 200


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_coded_request_is_read(routed: Routes, coding: str) -> None:
    flow = post(CODERS[coding](BODY), **{"content-encoding": coding})
    routed().ask(flow)
    assert "content-encoding" not in flow.request.headers
    assert json.loads(flow.request.raw_content or b"")["model"] == "kimi-k2.5"


@pytest.mark.parametrize("model", ["gpt-5", ""])
def test_a_request_that_no_route_takes_is_not_touched(routed: Routes, model: str) -> None:
    flow = post(json.dumps(ASK | {"model": model}).encode())
    headers = flow.request.headers.copy()
    routed(model="claude-*").ask(flow)
    assert (flow.request.url, flow.response) == (MESSAGES, None)
    assert flow.request.headers.pop("accept-encoding") == "identity"
    del headers["accept-encoding"]
    assert flow.request.headers == headers


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("seal", ["plain", "signature"])
def test_reasoning_of_a_routed_model_goes_to_no_other(proxy: Proxy, seal: str, coding: str) -> None:
    """The user turns from a routed model to one that is not: its upstream would refuse the envelope."""
    signature = envelope(ReasoningState("plain")) if seal == "plain" else "ErcBCkgI"
    said = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": signature}, {"type": "text", "text": "a"}]}
    request = {**ASK, "messages": [*ASK["messages"], said, *ASK["messages"]]}
    body = CODERS[coding](json.dumps(request).encode())
    flow = post(body, **({} if coding == "identity" else {"content-encoding": coding}))
    proxy.ask(flow)
    asked_ = json.loads(flow.request.content or b"")
    kept = [block["type"] for block in asked_["messages"][1]["content"]]
    assert kept == (["text"] if seal == "plain" else ["thinking", "text"])
    if seal == "signature":
        assert flow.request.raw_content == body


@pytest.mark.parametrize("stream_", [True, False])
def test_a_request_is_not_streamed_past_us(routed: Routes, stream_: bool) -> None:
    flow = post()
    flow.request.stream = stream_
    routed().ask(flow)
    assert flow.request.url == CHAT


def test_a_model_that_has_ended_is_told_at_the_start(routed: Routes, log: Log) -> None:
    routed(to="https://api.deepseek.com/v1/chat/completions", use_model="deepseek-chat").addon.running()
    assert [level for level, message in log() if "deepseek-chat ended on 2026-07-24" in message] == ["WARNING"]


def test_facts_of_the_user_count(routed: Routes, tmp_path: Path) -> None:
    proxy = routed()
    file = tmp_path / "toolmend.toml"
    tables = '\n[[provider]]\nname = "fix"\ntakes = { max_tokens = 50, refuses = ["stream_options", "messages[].name"] }\nhosts = ["openrouter.ai"]\n'
    file.write_text(file.read_text() + tables)
    proxy.set(config="")
    proxy.set(config=str(file))
    flow = post()
    proxy.ask(flow)
    body = json.loads(flow.request.content or b"")
    assert body["max_tokens"] == 50 and "stream_options" not in body
    assert body["messages"] == ASK["messages"]  # no table takes the words
    routed_ = proxy.addon.exchanges[flow].routed
    assert json.loads(routed_.settings["facts"])["max_tokens"] == 50


def test_what_routes_need_is_set_and_told_once(routed: Routes, log: Log) -> None:
    routed()
    proxy = routed()
    assert proxy.context.options.connection_strategy == "lazy"
    assert proxy.context.options.stream_large_bodies is None
    proxy.addon.running()
    told = [message for _, message in log()]
    assert told[:2] == [
        "toolmend: connection_strategy is set to lazy for the routes: the host that a client calls may not exist",
        "toolmend: stream_large_bodies is set to off for the routes: what is to be translated must be whole",
    ]
    assert told[2] == f"toolmend: {MESSAGES} (*) is served by {CHAT}"
    assert SECRET not in repr(told)


# what is answered here


@pytest.mark.parametrize(("body", "words"), [(b"no json", "JSON object"), (b"[1]", "JSON object")])
def test_a_request_that_cannot_be_read_is_refused(routed: Routes, log: Log, body: bytes, words: str) -> None:
    flow = post(body)
    proxy = routed()
    proxy.ask(flow)
    proxy.addon.responseheaders(flow)
    proxy.addon.response(flow)
    status, kind, message = error_of(flow.response)
    assert (status, kind) == (400, "invalid_request_error")
    assert words in message
    assert flow.request.url == MESSAGES
    assert [level for level, _ in log()][-1] == "WARNING"
    assert proxy.recordings() == []


def test_a_translation_that_fails_goes_nowhere(routed: Routes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError(SECRET)

    monkeypatch.setattr("toolmend.proxy.routed_request.outgoing", fail)
    flow = post()
    routed().ask(flow)
    status, kind, message = error_of(flow.response)
    assert (status, kind) == (500, "api_error")
    assert SECRET not in message


def test_models_are_told(routed: Routes) -> None:
    flow = asked(host="api.anthropic.com", path="/v1/models", method="GET", body=b"")
    proxy = routed()
    proxy.ask(flow)
    proxy.addon.responseheaders(flow)
    proxy.addon.response(flow)
    assert flow.response
    assert json.loads(flow.response.content or b"")["data"][0]["id"] == "kimi-k2.5"
    assert proxy.recordings() == []


# what comes back


@pytest.mark.parametrize(("status", "body"), [(429, b'{"error":{"message":"slow"}}'), (200, b"<html>"), (200, ANSWER)], ids=["error", "page", "answer"])
def test_an_upstream_that_closes_is_asked_no_more(routed: Routes, status: int, body: bytes) -> None:
    """mitmproxy goes by the headers that the client gets."""
    flow = post(json.dumps(ASK | {"stream": False}).encode())
    proxy = routed()
    response = proxy.open(flow, None, status, content_type="application/json", connection="close")
    response.raw_content = body
    proxy.addon.response(flow)
    assert response.headers["connection"] == "close"


@pytest.mark.parametrize(("said", "closes"), [("close", True), ("TE, Close", True), ("close, TE", True), ("keep-alive", False), ("closed", False)])
def test_a_client_that_closes(routed: Routes, said: str, closes: bool) -> None:
    flow = post(connection=said)
    routed().ask(flow)
    assert flow.request.headers.get("connection") == ("close" if closes else None)


def test_an_answer_with_too_many_values_passes_to_a_client_of_its_api(routed: Routes) -> None:
    """As one with log probabilities has; a client of another API is told why it gets none."""
    crowded = ANSWER.replace(b'"id"', b'"x":[' + b"1," * 200_000 + b'1],"id"')
    flow = post(json.dumps(ASK | {"stream": False}).encode())
    proxy = routed()
    response = proxy.open(flow, content_type="application/json")
    response.raw_content = crowded
    proxy.addon.response(flow)
    assert "values" in error_of(response)[2]
    flow = post(json.dumps(ASK | {"stream": False}).encode(), path="/v1/messages")
    proxy = routed(to="https://llm.example.com/v1/messages")
    response = proxy.open(flow, content_type="application/json")
    response.raw_content = crowded
    proxy.addon.response(flow)
    assert response.raw_content == crowded


def test_a_recorded_error_can_be_replayed(routed: Routes) -> None:
    flow = post()
    proxy = routed()
    response = proxy.open(flow, None, 429, content_type="application/json")
    response.raw_content = b'{"error":{"message":"slow"}}'
    proxy.addon.response(flow)
    proxy.addon.done()
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == response.content


@pytest.mark.parametrize("streamed", [True, False])
def test_a_pipeline_that_cannot_be_made_is_an_error(routed: Routes, monkeypatch: pytest.MonkeyPatch, streamed: bool) -> None:
    flow = post()
    proxy = routed()
    proxy.ask(flow)

    def fail(*_: object, **__: object) -> None:
        raise MemoryError("injected")

    monkeypatch.setattr("toolmend.proxy.lifecycle.Pipeline", fail)
    response = answered(flow, **({} if streamed else {"content_type": "application/json"}))
    proxy.addon.responseheaders(flow)
    assert response.stream is False
    response.raw_content = HELLO if streamed else ANSWER
    proxy.addon.response(flow)
    assert error_of(response)[:2] == (500, "api_error")


def test_the_same_api_at_another_host_is_mended_as_ever(routed: Routes) -> None:
    body = json.dumps({"model": "a", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}).encode()
    flow = asked(host="llm.invalid", body=body)
    out = routed(**{"from": "llm.invalid"}).run(flow, [HELLO[:99], HELLO[99:]], set_cookie="a=b")
    assert out == HELLO
    assert flow.request.url == CHAT
    assert json.loads(flow.request.content or b"") == json.loads(body) | {"model": "kimi-k2.5"}
    assert flow.response
    assert "set-cookie" not in flow.response.headers


@pytest.mark.parametrize("stays", [True, False])
def test_credentials_in_the_body_stay_at_their_own_origin(routed: Routes, stays: bool) -> None:
    body: dict[str, Any] = {"model": "a", "messages": [], "metadata": {"user_id": "u"}, "prompt_cache_key": "c", "max_tokens": 9}
    body["tools"] = [{"type": "mcp", "headers": {"Authorization": "for the tool"}}]
    credentials = {"api_key": THEIRS, "extra_headers": {"X-Session": THEIRS}, "client-secret": THEIRS, "auth_token": THEIRS}
    host = "llm.example.com" if stays else "llm.invalid"
    flow = asked(host=host, body=json.dumps(body | credentials).encode())
    routed(**{"from": host}, to="https://llm.example.com/v1/chat/completions", use_model="").ask(flow)
    assert flow.request.host == "llm.example.com"
    assert json.loads(flow.request.content or b"") == body | (credentials if stays else {})


@pytest.mark.parametrize("to", ["https://api.anthropic.com/v1/messages", "https://llm.invalid/anthropic/v1/messages"])
def test_what_claude_code_is_billed_by_goes_to_anthropic_alone(routed: Routes, to: str) -> None:
    """Where it comes to others, the beginning of the prompt is another one each time."""
    be = {"type": "text", "text": "Be"}
    system = [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.177; cc_entrypoint=cli; cch=36ee5;"}, be]
    body = json.loads(BODY) | {"system": system}
    flow = post(json.dumps(body).encode())
    routed(to=to).ask(flow)
    assert flow.request.url == to
    assert json.loads(flow.request.content or b"")["system"] == (system if "anthropic.com" in to else [be])


def test_a_first_stream_waits_for_little(routed: Routes) -> None:
    """The patterns of the models that routes ask for are there when the addon is running; only those of the tools' names are not."""
    indices.clear()
    proxy = routed()
    proxy.addon.running()
    before = list(indices)
    assert len(before) == 4  # of kimi-k2.5, and of a model that nobody knows; each also for what follows the beginning of a message
    tools = [{"name": "t", "input_schema": {}}]
    flow = post(json.dumps(ASK | {"tools": tools}).encode())
    assert b"message_stop" in proxy.run(flow, [HELLO])
    assert len(indices) == len(before) + 2
    assert b"message_stop" in proxy.run(post(json.dumps(ASK | {"tools": tools}).encode()), [HELLO])
    assert len(indices) == len(before) + 2


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_tools_in_the_prompt(routed: Routes, size: int) -> None:
    """The upstream sees no tools, and the client gets a call; so it is when the recording is played again."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    flow = post(json.dumps(ASK | {"tools": [{"name": "get_weather", "input_schema": schema}]}).encode())
    proxy = routed(tools="prompt")
    body = stream(["I look. ", '[{"name": "get_', 'weather", "arguments": {"city": "Beijing"}}]'])
    out = proxy.run(flow, [body[at : at + size] for at in range(0, len(body), size)])
    sent_on = json.loads(flow.request.content or b"")
    assert not {"tools", "tool_choice"} & set(sent_on)
    assert "get_weather" in sent_on["messages"][0]["content"]
    assert b'"type":"tool_use"' in out
    assert b'"stop_reason":"tool_use"' in out
    proxy.addon.done()
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == out


@pytest.mark.parametrize("system_role", [True, False])
@pytest.mark.parametrize("route", [True, False])
def test_tools_in_the_prompt_by_profile(routed: Routes, tmp_path: Path, route: bool, system_role: bool) -> None:
    """A model that has no tool calls needs no route: its requests are changed where they go."""
    profile = f'[[provider]]\nname = "mine"\nmodels = ["mine-*"]\ntools = "prompt"\nsystem_role = {str(system_role).lower()}\n'
    more = table(**{"from": "https://openrouter.ai/api/v1/chat/completions"}) if route else ""
    proxy = routed()
    (tmp_path / "own.toml").write_text(profile + more)
    proxy.set(config=str(tmp_path / "own.toml"))
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "The weather?"}]
    request = {"model": "mine-7b", "stream": True, "messages": messages, "tools": [tool("get_weather", city={"type": "string"})]}
    flow = asked(host="openrouter.ai", path="/api/v1/chat/completions", body=json.dumps(request).encode())
    out = proxy.run(flow, [stream(["I look. ", '[{"name": "get_', 'weather", "arguments": {"city": "Beijing"}}]'])])
    sent_on = json.loads(flow.request.content or b"")
    assert not {"tools", "tool_choice"} & set(sent_on)
    assert [message["role"] for message in sent_on["messages"]] == (["system", "user"] if system_role else ["user"])
    assert "get_weather" in str(sent_on["messages"][0]["content"])
    (call,) = read(out).only.calls
    assert (call.name, call.value, read(out).only.finish_reasons) == ("get_weather", {"city": "Beijing"}, ["tool_calls"])
    proxy.addon.done()
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == out


def test_a_prompt_that_is_too_long_is_refused(routed: Routes, tmp_path: Path) -> None:
    proxy = routed()
    (tmp_path / "own.toml").write_text('[[provider]]\nname = "mine"\nmodels = ["mine-*"]\ntools = "prompt"\n')
    proxy.set(config=str(tmp_path / "own.toml"))
    request = {"model": "mine-7b", "messages": [], "tools": [tool(f"t{n}") for n in range(1001)]}
    flow = asked(host="openrouter.ai", path="/api/v1/chat/completions", body=json.dumps(request).encode())
    proxy.ask(flow)
    assert flow.response
    assert flow.response.status_code == 400
    assert "1000" in json.loads(flow.response.content or b"")["error"]["message"]


@pytest.mark.parametrize("client", PAIRS)
@pytest.mark.parametrize("upstream", PAIRS)
def test_every_pair_of_apis(routed: Routes, client: str, upstream: str) -> None:
    """An answer in each upstream's API, as made by the translation itself, for each client."""
    path, request, _ = PAIRS[upstream]
    source = routed(**{"from": "llm.invalid", "to": CHAT})
    body = source.run(asked(host="llm.invalid", path=path, body=json.dumps({"model": "a", "stream": True} | request).encode()), [HELLO])
    path, request, end = PAIRS[client]
    proxy = routed(**{"from": "llm.invalid", "to": f"https://a.example{PAIRS[upstream][0]}"})
    flow = asked(host="llm.invalid", path=path, body=json.dumps({"model": "a", "stream": True} | request).encode())
    out = proxy.run(flow, [body])
    assert flow.request.path == PAIRS[upstream][0]
    assert b"Hel" in out
    assert end in out
    assert (out == body) == (client == upstream)
