"""Routed flows, hook by hook: what an upstream gets to see, and what a client gets whatever goes wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.flow import Error

from tests.support.addon import Log, Proxy, answered, asked, log, proxy, sent
from tests.support.content_encodings import CODERS
from tests.support.judges.chat import read
from tests.support.routed_flows import ASK, BODY, HELLO, THEIRS, UPSTREAMS, Routes, error_of, post, routed
from tests.support.routes import CHAT, MESSAGES, SECRET, table
from tests.support.streams import stream, tool
from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.dialects.engine.opener_index import indices
from toolmend.proxy.routed_response import EVENTS, unanswered
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


def spoken(body: bytes) -> list[str]:
    return [line.removeprefix("event: ") for line in body.decode().splitlines() if line.startswith("event: ")]


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("http_version", ["HTTP/1.1", "HTTP/2.0"])
def test_a_stream_is_translated_and_recorded(routed: Routes, coding: str, http_version: str) -> None:
    flow = post(http_version=http_version)
    proxy = routed()
    body = CODERS[coding](HELLO)
    out = proxy.run(flow, [body[:50], body[50:]], content_encoding=coding, set_cookie="a=b", x_request_id="r1")
    assert spoken(out)[0] == "message_start"
    assert spoken(out)[-1] == "message_stop"
    assert flow.response
    headers = dict(flow.response.headers)
    assert headers.pop("request-id").startswith("req_")
    chunked = {"transfer-encoding": "chunked"} if http_version == "HTTP/1.1" else {}
    assert headers == {"content-type": EVENTS, "x-upstream-request-id": "r1"} | chunked
    kept = proxy.recording()
    assert (kept["api"], kept["client_api"], kept["state"], kept["provider"]) == ("chat", "messages", "complete", "openrouter")
    assert (kept["upstream"], kept["client"]) == (HELLO, out)
    assert json.loads(kept["request"])["model"] == ASK["model"]
    assert json.loads(kept["upstream_request"])["model"] == "kimi-k2.5"
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == out
    assert SECRET not in json.dumps(kept, default=bytes.decode)


ANSWER = json.dumps(
    {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "k",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}],
    }
).encode()


@pytest.mark.parametrize("streamed", [True, False])
def test_a_whole_answer(routed: Routes, streamed: bool) -> None:
    flow = post(json.dumps(ASK | {"stream": streamed}).encode())
    proxy = routed()
    response = proxy.open(flow, content_type="application/json")
    response.raw_content = ANSWER
    proxy.addon.response(flow)
    out = response.content or b""
    assert response.headers["content-type"] == (EVENTS if streamed else "application/json")
    assert response.headers["content-length"] == str(len(out))
    assert "transfer-encoding" not in response.headers
    if streamed:
        assert spoken(out)[-1] == "message_stop"
    else:
        assert json.loads(out)["content"] == [{"type": "text", "text": "Hello."}]
    assert proxy.recording()["client"] == out
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == out


BROKEN = [
    # status, headers, body; the client's status, type, and some of the words
    (429, {"content_type": "application/json"}, b'{"error":{"message":"slow"}}', 429, "rate_limit_error", "slow"),
    (500, {"content_type": "text/html"}, b"<html>", 500, "api_error", "500"),
    (401, {"content_type": "text/plain", "x_request_id": SECRET}, f"bad key {SECRET}".encode(), 401, "authentication_error", f"bad key {'*' * len(SECRET)}"),
    (200, {"content_type": "application/json"}, b'{"error":{"message":"busy","code":503}}', 529, "overloaded_error", "busy"),
    (200, {"content_type": "application/json"}, b"", 500, "api_error", "empty"),
    (204, {"content_type": "application/json"}, b"", 500, "api_error", "empty"),
    (200, {"content_type": "text/html"}, b"<html>", 500, "api_error", "JSON object"),
    (307, {"location": f"https://me:{THEIRS}@evil.example/?key={THEIRS}"}, b"", 500, "api_error", "redirects to evil.example"),
    (301, {"location": "/v2"}, b"", 500, "api_error", "redirects to another path"),
    (302, {"location": "https://[bad/"}, b"", 500, "api_error", "redirects"),
    (200, {"location": "/v2", "content_type": "text/html"}, b"<html>", 500, "api_error", "JSON object"),
    (301, {}, b"", 500, "api_error", "redirects to another path"),
    (304, {"content_type": "application/json"}, b"", 500, "api_error", "answers with status 304"),
    (300, {"content_type": "application/json"}, ANSWER, 500, "api_error", "answers with status 300"),
    (101, {"upgrade": "foo"}, b"", 500, "api_error", "answers with status 101"),
    (103, {"link": "</a>"}, b"", 500, "api_error", "sends an interim status 103"),
    (200, {"content_type": "application/json", "content_encoding": "gzip"}, b"no gzip", 500, "api_error", "cannot be decoded"),
    (200, {"content_encoding": "snappy"}, HELLO, 500, "api_error", "cannot be decoded"),
]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(("status", "headers", "body", "out", "kind", "words"), BROKEN)
def test_a_client_gets_an_error_of_its_own_api(
    routed: Routes, status: int, headers: dict[str, str], body: bytes, out: int, kind: str, words: str, streamed: bool
) -> None:
    flow = post(json.dumps(ASK | {"stream": streamed}).encode())
    proxy = routed()
    response = proxy.open(flow, None, status, **headers)
    assert not response.stream
    response.raw_content = body
    proxy.addon.response(flow)
    code, name, message = error_of(response)
    assert (code, name) == (out, kind)
    assert words in message
    assert not {"location", "set-cookie", "content-encoding", "transfer-encoding"} & set(response.headers)
    assert not {SECRET, THEIRS} & set(message.split())
    assert SECRET not in str(response.headers)
    kept = proxy.recording()
    assert kept["client"] == response.content
    assert kept["status"] == status
    assert SECRET not in json.dumps(kept, default=bytes.decode)


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


@pytest.mark.parametrize(
    ("why", "reached", "words"),
    [
        ("server closed connection", True, "is incomplete (server closed connection): try again"),
        ("[Errno 111] Connect call failed ('::1', 1)", False, "cannot be reached ([Errno 111] Connect call failed ('::1', 1)): check that it runs"),
        ("Certificate verify failed: self-signed certificate", False, "ssl_verify_upstream_trusted_ca"),
        (f"unexpected server response: b'{'a' * 160} {SECRET}", True, "unexpected server response: b'aaa"),
    ],
)
def test_a_client_gets_an_error_of_its_own_api_where_there_is_no_answer(routed: Routes, why: str, reached: bool, words: str) -> None:
    flow = post()
    proxy = routed()
    proxy.ask(flow)
    call = proxy.addon.exchanges[flow].routed
    assert call
    status, kind, message = error_of(unanswered(flow, call, why, reached=reached))
    assert (status, kind) == (500, "api_error")
    assert words in message
    assert message.endswith(f"the route is the one at {call.route.where}")
    assert SECRET[:6] not in message


NOT_SAID: list[dict[str, Any]] = [
    # what Messages cannot say: arguments that are no JSON object, and nothing
    {"index": 0, "finish_reason": "tool_calls", "message": {"tool_calls": [{"id": "a", "function": {"name": "b", "arguments": text}}]}}
    for text in ("<<<", "[1]")
] + [{}]


@pytest.mark.parametrize("choice", NOT_SAID)
def test_an_answer_that_cannot_be_said_is_no_success(routed: Routes, choice: dict[str, Any]) -> None:
    flow = post(json.dumps(ASK | {"stream": False}).encode())
    proxy = routed()
    response = proxy.open(flow, content_type="application/json")
    response.raw_content = json.dumps({"choices": [choice] if choice else []}).encode()
    proxy.addon.response(flow)
    assert (response.status_code, response.reason) == (500, "Internal Server Error")
    assert json.loads(response.content or b"")["error"]["type"] == "api_error"
    proxy.addon.done()
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == response.content


def test_a_recorded_error_can_be_replayed(routed: Routes) -> None:
    flow = post()
    proxy = routed()
    response = proxy.open(flow, None, 429, content_type="application/json")
    response.raw_content = b'{"error":{"message":"slow"}}'
    proxy.addon.response(flow)
    proxy.addon.done()
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == response.content


def test_a_stream_where_none_was_asked_for(routed: Routes) -> None:
    """Some upstreams know nothing else."""
    flow = post(json.dumps(ASK | {"stream": False}).encode())
    proxy = routed()
    response = proxy.open(flow)
    assert response.stream is False
    response.raw_content = HELLO
    proxy.addon.response(flow)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    answer = json.loads(response.content or b"")
    assert (answer["content"], answer["stop_reason"]) == ([{"type": "text", "text": "Hello."}], "end_turn")
    proxy.addon.done()
    (folder,) = replay.find(proxy.flows)
    kept = replay.load(folder)
    assert replay.replay(kept)[0] == kept.client == response.content


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


def test_an_upstream_that_breaks_off(routed: Routes) -> None:
    flow = post()
    proxy = routed()
    response = proxy.open(flow)
    assert b"message_start" in sent(response, HELLO[:300])
    flow.error = Error("peer closed connection")
    proxy.addon.error(flow)
    assert proxy.recording()["state"] == "upstream_error"


def test_an_upstream_that_cannot_be_reached_is_told(routed: Routes, log: Log) -> None:
    flow = post()
    proxy = routed()
    proxy.ask(flow)
    flow.error = Error("[Errno 111] Connect call failed")
    proxy.addon.error(flow)
    level, message = log()[-1]
    assert (level, "https://openrouter.ai" in message) == ("WARNING", True)
    assert "Connect call failed" in message


@pytest.mark.parametrize("key", ["env:ROUTE_KEY", "env:WORD"])
def test_the_same_api_without_mending_is_routed_all_the_same(routed: Routes, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """What passes as it came still has none of the other host's cookies. A coding is undone only to mask a key."""
    monkeypatch.setenv("WORD", "ollama")
    body = json.dumps({"model": "a", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}).encode()
    proxy = routed(**{"from": "llm.invalid", "key": key})
    proxy.set(dialects="off")
    flow = asked(host="llm.invalid", body=body)
    coded, masks = CODERS["gzip"](HELLO), key == "env:ROUTE_KEY"
    assert proxy.run(flow, [coded], content_encoding="gzip", set_cookie="a=b") == (HELLO if masks else coded)
    assert flow.response
    coding = {} if masks else {"content-encoding": "gzip"}
    assert dict(flow.response.headers) == {"content-type": EVENTS, "transfer-encoding": "chunked"} | coding


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


PAIRS = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}]}, b"data: [DONE]"),
    "messages": ("/v1/messages", {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9}, b"event: message_stop"),
    "responses": ("/v1/responses", {"input": "Hello"}, b"event: response.completed"),
}


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


WHOLE_ERRORS = {
    "chat": {"error": {"message": "slow", "type": "requests", "param": None, "code": "rate_limit_exceeded"}},
    "messages": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}, "request_id": "req_1"},
    "responses": {"error": {"message": "slow", "type": "requests", "param": None, "code": "rate_limit_exceeded"}},
}


@pytest.mark.parametrize("client", PAIRS)
@pytest.mark.parametrize("upstream", PAIRS)
def test_errors_of_every_pair(routed: Routes, client: str, upstream: str) -> None:
    path, request, _ = PAIRS[client]
    proxy = routed(**{"from": "llm.invalid", "to": f"https://a.example{PAIRS[upstream][0]}"})
    flow = asked(host="llm.invalid", path=path, body=json.dumps({"model": "a", "stream": True} | request).encode())
    response = proxy.open(flow, None, 429, content_type="application/json", retry_after="3")
    response.raw_content = json.dumps(WHOLE_ERRORS[upstream]).encode()
    proxy.addon.response(flow)
    body = json.loads(response.content or b"")
    assert (response.status_code, response.headers["retry-after"]) == (429, "3")
    assert (list(body), list(body["error"])) == (list(WHOLE_ERRORS[client]), list(WHOLE_ERRORS[client]["error"]))
    assert body["error"]["message"] == "slow"
