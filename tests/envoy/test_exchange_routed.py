"""An exchange that a route takes: where Envoy is to send it, with what, and what the client gets in its own API."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("envoy.service.ext_proc.v3", reason="toolmend[envoy] is not installed")

from envoy.service.ext_proc.v3.external_processor_pb2 import HttpTrailers

from tests.envoy.talk import EVENTS, ID, JSON, SSE, Message, Talk, header_map, headless, length
from tests.support.addon import MESSAGE
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.master import Headless

KEY, THEIRS = "sk-route-0123456789abcdef", "sk-client-0123456789abcdef"
TOOL = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
QUIET = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "tools": [TOOL]}
CLAUDE = {**QUIET, "stream": True}
CALLED: dict[str, Any] = {"host": "api.anthropic.com", "path": "/v1/messages?beta=true"}
HEADERS = (
    *JSON,
    ("x-api-key", THEIRS),
    ("cookie", "session=1"),
    ("x-envoy-hint", THEIRS),
    ("x-forwarded-proto", "https"),
    ("x-toolmend-upstream", "https://evil.example"),
    ("user-agent", "claude-cli/2"),
)


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Headless:
    monkeypatch.setenv("ROUTE_KEY", KEY)
    file = tmp_path / "toolmend.toml"
    file.write_text(
        '[[route]]\nfrom = "https://api.anthropic.com/v1/messages"\n'
        'to = "https://api.moonshot.ai/v1/chat/completions"\nuse_model = "kimi-k2.5"\nkey = "env:ROUTE_KEY"\n'
    )
    return headless(config=str(file))


def ask(hooks: Headless, body: Any = CLAUDE, **more: Any) -> tuple[Talk, Message]:
    talk = Talk(hooks)
    given = body if isinstance(body, bytes) else json.dumps(body).encode()
    return talk, talk.ask(given, HEADERS, **(CALLED | more))


@pytest.mark.parametrize("told", [True, False], ids=["its length is told", "not told"])
def test_where_it_goes_and_what_it_carries(hooks: Headless, told: bool) -> None:
    _, asked = ask(hooks, length=told)
    assert (asked[":authority"], asked[":path"]) == ("api.moonshot.ai", "/v1/chat/completions")
    assert asked["x-toolmend-upstream"] == "https://api.moonshot.ai"
    assert asked.rerouted
    assert asked["authorization"] == f"Bearer {KEY}"
    names = {name for name, _ in asked.headers if not name.startswith(":")}
    ours = {"authorization", "accept-encoding", "content-type", "x-toolmend-upstream"}
    envoys = {"x-request-id", "x-forwarded-proto"}
    assert names - {"content-length"} == ours | envoys | {"user-agent"}
    assert THEIRS not in str(asked.headers)
    assert asked["x-request-id"] == ID
    assert json.loads(asked.body)["model"] == "kimi-k2.5"


@pytest.mark.parametrize("name", ["x-request-id", "x-forwarded-proto"])
def test_nothing_of_a_client_goes_along_as_a_header_of_envoys(hooks: Headless, name: str) -> None:
    talk = Talk(hooks)
    asked = talk.ask(json.dumps(CLAUDE).encode(), (*JSON, (name, f"Bearer {THEIRS} ")), **CALLED)
    assert THEIRS not in str(asked.headers)


def test_another_port_and_no_tls(tmp_path: Path) -> None:
    file = tmp_path / "toolmend.toml"
    file.write_text('[[route]]\nfrom = "https://api.anthropic.com/v1/messages"\nto = "http://[::1]:4000/v1/chat/completions"\n')
    _, asked = ask(headless(config=str(file)))
    assert (asked["x-toolmend-upstream"], asked[":scheme"]) == ("http://[::1]:4000", "http")
    assert asked[":authority"] == "[::1]:4000"


def test_at_the_clients_own_origin_only_the_path_changes(tmp_path: Path) -> None:
    """Envoy's route is the one that it has: it has none for this header, perhaps."""
    file = tmp_path / "toolmend.toml"
    file.write_text('[[route]]\nfrom = "https://api.anthropic.com/v1/messages"\nto = "https://api.anthropic.com/v2/chat/completions"\n')
    _, asked = ask(headless(config=str(file)))
    assert asked[":path"] == "/v2/chat/completions"
    assert asked.rerouted
    assert asked.get("x-toolmend-upstream") is None
    assert asked["authorization"] == f"Bearer {THEIRS}"


def test_the_route_is_found_by_what_the_listener_stands_for(hooks: Headless) -> None:
    talk = Talk(hooks, Origin("https", "api.anthropic.com", 443))
    asked = talk.ask(json.dumps(CLAUDE).encode(), HEADERS, host="localhost:10000", path="/v1/messages", scheme="http")
    assert asked["x-toolmend-upstream"] == "https://api.moonshot.ai"


def test_a_stream(hooks: Headless) -> None:
    talk, _ = ask(hooks)
    response = talk.answer(EVENTS, (*SSE, ("x-ratelimit-limit-requests", "5"), ("server", "x")))
    assert response.status == 200
    assert response["content-type"].startswith("text/event-stream")
    assert b'"type":"tool_use"' in response.body
    assert response.body.endswith(b'data: {"type":"message_stop"}\n\n')
    assert b"chat.completion" not in response.body


def test_the_trailers_of_a_stream_are_left_out(hooks: Headless) -> None:
    """They may repeat the route's key."""
    talk, _ = ask(hooks)
    response = talk.begin(SSE, 200)
    talk.piece(response, EVENTS[0])
    *_, end = talk.send(response_trailers=HttpTrailers(trailers=header_map([("x-sum", KEY), ("grpc-status", "0")])))
    assert [*end.response_trailers.header_mutation.remove_headers] == ["x-sum", "grpc-status"]


@pytest.mark.parametrize("told", [True, False], ids=["its length is told", "not told"])
@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        pytest.param(MESSAGE, 200, (200, '"tool_use"'), id="an answer"),
        pytest.param(b'{"error":{"message":"slow"}}', 429, (429, "rate_limit_error"), id="an error"),
        pytest.param(b"<html>", 200, (500, "JSON object"), id="something else"),
        pytest.param(b"", 200, (500, "is empty"), id="nothing"),
        pytest.param(b'{"x":"%s"}' % (b"." * (40 << 20)), 200, (500, "longer than"), id="too much"),
    ],
)
def test_whole_answers(hooks: Headless, body: bytes, status: int, expected: tuple[int, str], told: bool) -> None:
    talk, _ = ask(hooks, QUIET)
    headers = (*JSON, length(body)) if told else JSON
    response = talk.answer([body] if body or not told else [], headers, status)
    assert (response.status, response["content-type"]) == (expected[0], "application/json")
    assert expected[1] in response.body.decode()
    assert json.loads(response.body)["type"] in ("message", "error")


@pytest.mark.parametrize(
    ("asked", "status", "text"),
    [
        ({"body": b"no JSON"}, 400, "JSON object"),
        ({"body": {**CLAUDE, "pad": "." * (40 << 20)}}, 413, "too long to be translated"),
        ({"body": {**CLAUDE, "pad": "." * (40 << 20)}, "length": False}, 413, "too long to be translated"),
        ({"body": b""}, 400, "JSON object"),
        ({"body": b"{}", "path": "/v1/messages/count_tokens"}, 200, "input_tokens"),
    ],
    ids=["no JSON", "too long", "too long, not told", "empty", "counted here"],
)
def test_what_is_answered_here(hooks: Headless, asked: dict[str, Any], status: int, text: str) -> None:
    _, answer = ask(hooks, **asked)
    assert (answer.here, answer.status) == (True, status)
    assert answer["content-type"] == "application/json"
    assert text in answer.body.decode()
    assert answer.get("content-length") is None  # Envoy says it


def test_a_list_of_models(hooks: Headless) -> None:
    answer = Talk(hooks).ask(None, HEADERS, method="GET", host="api.anthropic.com", path="/v1/models")
    assert (answer.here, answer.status) == (True, 200)
    assert "data" in json.loads(answer.body)


def test_a_socket_that_a_route_cannot_take(tmp_path: Path) -> None:
    file = tmp_path / "toolmend.toml"
    file.write_text('[[route]]\nfrom = "https://api.openai.com/v1/responses"\nto = "https://api.moonshot.ai/v1/chat/completions"\n')
    talk = Talk(headless(config=str(file)))
    upgrade = (("connection", "upgrade"), ("upgrade", "websocket"))
    answer = talk.ask(None, upgrade, method="GET", host="api.openai.com", path="/v1/responses")
    assert (answer.here, answer.status) == (True, 426)


def test_a_failure_of_ours_is_no_answer_in_another_api(hooks: Headless, monkeypatch: pytest.MonkeyPatch) -> None:
    talk, _ = ask(hooks, QUIET)

    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("toolmend.proxy.envoy.exchange.changes", fail)
    response = talk.answer([MESSAGE], JSON)
    assert (response.here, response.status) == (True, 500)
    assert json.loads(response.body)["type"] == "error"


@pytest.mark.parametrize("body", [CLAUDE, QUIET], ids=["a stream", "whole"])
def test_a_refusal_has_the_client_ask_again(hooks: Headless, body: dict[str, Any]) -> None:
    """Envoy sends nothing twice: what is learnt is changed in the next request."""
    warm = {**body, "temperature": 0.5}
    refusal = {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model.", "param": "max_tokens"}}
    talk, asked = ask(hooks, warm)
    assert json.loads(asked.body)["max_tokens"] == 9
    response = talk.answer([json.dumps(refusal).encode()], JSON, 400)
    assert (response.status, response["x-should-retry"], response["retry-after-ms"]) == (500, "true", "50")
    assert json.loads(response.body)["type"] == "error" and b"send it again" in response.body
    talk, asked = ask(hooks, warm)
    assert "max_tokens" not in json.loads(asked.body)
    again = talk.answer([json.dumps(refusal).encode()], JSON, 400)
    assert (again.status, again.get("x-should-retry")) == (400, None)
