"""A routed flow for each pair of APIs, for requests that are made to steer it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from tests.support.addon import Proxy, asked
from tests.support.routed_flows import THEIRS
from tests.support.routes import SECRET, table

TOOL = {"type": "object", "properties": {"a": {"type": "string"}}}
UPSTREAMS = {
    "chat": "https://route.example/v1/chat/completions",
    "messages": "https://route.example:444/v1/messages",
    "responses": "http://route.example:8000/v1/responses",
}
CLIENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}], "tools": [{"type": "function", "function": {"name": "t", "parameters": TOOL}}]}),
    "messages": ("/v1/messages", {"max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}], "tools": [{"name": "t", "input_schema": TOOL}]}),
    "responses": ("/v1/responses", {"input": "Hello", "tools": [{"type": "function", "name": "t", "parameters": TOOL}]}),
}


@pytest.fixture
def routed(proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A route to each API, told by the model."""
    monkeypatch.setenv("ROUTE_KEY", SECRET)
    proxy.context.options.add_option("connection_strategy", str, "lazy", "of another addon")
    proxy.context.options.add_option("stream_large_bodies", str | None, None, "of another addon")
    file = tmp_path / "toolmend.toml"
    yield proxy
    file.unlink()
    proxy.set(config="")


def ask(proxy: Proxy, folder: Path, client: str, upstream: str, body: Any = None, *, key: bool = True, suffix: str = "", **headers: str) -> http.HTTPFlow:
    (folder / "toolmend.toml").write_text(table(**{"from": "https://llm.invalid", "to": UPSTREAMS[upstream], "key": "env:ROUTE_KEY" if key else ""}))
    proxy.set(config="")
    proxy.set(config=str(folder / "toolmend.toml"))
    path, plain = CLIENTS[client]
    given = {"model": "m", "stream": True} | plain
    content = json.dumps(body(given) if body else given).encode()
    flow = asked(host="llm.invalid", path=path + suffix, body=content, authorization=f"Bearer {THEIRS}")
    flow.request.headers["x-api-key"] = THEIRS
    for name, value in headers.items():
        flow.request.headers[name] = value
    return proxy.ask(flow)
