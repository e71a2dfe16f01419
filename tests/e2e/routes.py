"""A proxy with one route, its upstream and clients for it."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic

from tests.e2e.clients import Start, context_for, http2_options
from tests.support.streams import stream
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Upstream

type Route = Callable[..., Mitmdump]

OURS, THEIRS = "sk-route-0123456789abcdef", "sk-ant-client-0123456789abcdef"
TOOL = {"name": "get_weather", "description": "", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
ASK: dict[str, Any] = {
    "model": "claude-sonnet-5",
    "max_tokens": 500,
    "tools": [TOOL],
    "messages": [{"role": "user", "content": "How is the weather in Beijing?"}],
}
LEAK = stream(
    [
        "I will look.",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>",
        *('{"', "city", '": "', "Beijing", '"}'),
        "<|tool_call_end|><|tool_calls_section_end|>",
    ]
)
MESSAGE = json.dumps(
    {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "kimi-k2.5",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Sunny."}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
    }
).encode()
DEAD = "https://llm.invalid"
"""A host that no name server knows: RFC 6761."""


@pytest.fixture
def route(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Route:
    """Starts a proxy with one route to an upstream."""
    monkeypatch.setenv("ROUTE_KEY", OURS)

    def route(to: str, source: str = f"{DEAD}/v1/messages", *, options: dict[str, str] | None = None, **more: str) -> Mitmdump:
        fields = {"from": source, "to": to, "key": "env:ROUTE_KEY", "use_model": "kimi-k2.5"} | more
        file = tmp_path / "toolmend.toml"
        file.write_text("\n".join(["[[route]]", *(f"{key} = {json.dumps(value)}" for key, value in fields.items() if value)]))
        given = {"toolmend_config": str(file), "connection_strategy": "eager", "tcp_timeout": "20"} | (options or {})
        return start(**given)

    return route


@pytest.fixture
def clients() -> Iterator[Callable[..., Anthropic]]:
    """The SDK behind a proxy, over HTTP/1.1 or HTTP/2."""
    with ExitStack() as stack:

        def client(proxy: Mitmdump, base: str = DEAD, *, http2: bool = False) -> Anthropic:
            options: dict[str, Any] = {"proxy": proxy.url, "verify": context_for(proxy.ca), "trust_env": False}
            http = stack.enter_context(httpx2.Client(**(http2_options(proxy) if http2 else options)))
            return Anthropic(base_url=base, api_key=THEIRS, http_client=http, max_retries=0)

        yield client


def chat(upstream: Upstream) -> str:
    return f"{upstream.url}/v1/chat/completions"


def check_call(message: Any) -> None:
    text, call = message.content
    assert (text.type, text.text) == ("text", "I will look.")
    assert (call.type, call.name, call.input) == ("tool_use", "get_weather", {"city": "Beijing"})
    assert message.stop_reason == "tool_use"
    assert message.usage.output_tokens > 0
