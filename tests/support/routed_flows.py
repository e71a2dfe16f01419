"""Flows that a route takes, and what their upstream gets."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from tests.support.addon import Proxy, asked
from tests.support.routes import CHAT, SECRET, table
from tests.support.streams import stream

THEIRS = "sk-ant-client-0123456789"
ASK: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "stream": True,
    "messages": [{"role": "user", "content": "Hello"}],
}
BODY = json.dumps(ASK).encode()
HELLO = stream(["Hel", "lo."])
UPSTREAMS = {
    "chat": (CHAT, {"authorization": f"Bearer {SECRET}"}),
    "responses": ("https://api.openai.com/v1/responses", {"authorization": f"Bearer {SECRET}"}),
    "messages": ("https://llm.example.com/v1/messages", {"x-api-key": SECRET, "anthropic-version": "2023-06-01"}),
}

type Routes = Callable[..., Proxy]


@pytest.fixture
def routed(proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Routes]:
    """The addon with one route."""
    monkeypatch.setenv("ROUTE_KEY", SECRET)
    proxy.context.options.add_option("connection_strategy", str, "eager", "of another addon")
    proxy.context.options.add_option("stream_large_bodies", str | None, "1k", "of another addon")

    def routed(**fields: str) -> Proxy:
        file = tmp_path / "toolmend.toml"
        file.write_text(table(**({"key": "env:ROUTE_KEY", "use_model": "kimi-k2.5"} | fields)))
        proxy.set(config=str(file))
        return proxy

    yield routed
    proxy.set(config="")


def post(body: bytes = BODY, **more: Any) -> http.HTTPFlow:
    return asked(**({"host": "api.anthropic.com", "path": "/v1/messages", "body": body} | more))


def error_of(response: http.Response | None) -> tuple[int, str, str]:
    """Its status, type and words, of an error in Messages."""
    assert response
    assert response.headers["content-type"] == "application/json"
    body = json.loads(response.content or b"")
    assert (body["type"], body["request_id"][:4]) == ("error", "req_")
    return response.status_code, body["error"]["type"], body["error"]["message"]


ANSWER = json.dumps(
    {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "k",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}],
    }
).encode()

PAIRS = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}]}, b"data: [DONE]"),
    "messages": ("/v1/messages", {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9}, b"event: message_stop"),
    "responses": ("/v1/responses", {"input": "Hello"}, b"event: response.completed"),
}
