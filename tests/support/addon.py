"""The addon in a mitmproxy without a network: flows, and the hooks that mitmproxy calls for them."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import taddons, tflow, tutils

from tests.support.streams import WEATHER, stream
from toolmend.pipeline.pipeline import Pipeline
from toolmend.proxy.addon import Toolmend

SSE = "text/event-stream; charset=utf-8"
LEAK = stream(
    [
        "Let me look.",
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>",
        "functions.get_weather:0",
        "<|tool_call_argument_begin|>",
        '{"city": "Beijing"}',
        "<|tool_call_end|>",
        "<|tool_calls_section_end|>",
    ]
)
PROSE = stream(["It is ", "sunny."])
MESSAGE = json.dumps(
    {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "kimi-k2.5",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {
                    "role": "assistant",
                    "content": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
                    '<|tool_call_argument_begin|>{"city": "Beijing"}<|tool_call_end|><|tool_calls_section_end|>',
                },
            }
        ],
    }
).encode()
ASK = json.dumps(WEATHER).encode()


def mended(body: bytes = LEAK) -> bytes:
    """What the pipeline makes of a stream; that this is right is its own tests' business."""
    pipeline = Pipeline(WEATHER)
    out = pipeline.feed(body) + pipeline.close()
    assert pipeline.rules
    return out


def asked(
    *,
    host: str = "openrouter.ai",
    path: str = "/api/v1/chat/completions",
    method: str = "POST",
    body: bytes | None = ASK,
    http_version: str = "HTTP/1.1",
    live: bool = True,
    **headers: str,
) -> http.HTTPFlow:
    fields = {"host": host, "accept-encoding": "gzip, br", "authorization": "Bearer sk-secret-of-the-user"} | headers
    request = tutils.treq(
        host=host,
        port=443,
        scheme=b"https",
        path=path.encode(),
        method=method.encode(),
        content=body,
        http_version=http_version.encode(),
        headers=http.Headers([(name.encode(), value.encode()) for name, value in fields.items()]),
    )
    flow = tflow.tflow(req=request, live=live)
    flow.client_conn.alpn = b"h2" if http_version == "HTTP/2.0" else b"http/1.1"
    return flow


def answered(flow: http.HTTPFlow, body: bytes | None = None, status: int = 200, **headers: str) -> http.Response:
    fields = {"content_type": SSE, "transfer_encoding": "chunked", "x_kept": "yes"} | headers
    flow.response = tutils.tresp(
        status_code=status,
        content=body,
        headers=http.Headers([(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]),
    )
    return flow.response


class Proxy:
    """Calls the hooks as mitmproxy does, over a real addon manager."""

    def __init__(self, flows: Path) -> None:
        self.addon, self.flows = Toolmend(), flows
        self.context = taddons.context(self.addon)
        self.context.configure(self.addon, toolmend_flows=str(flows))
        self.context.master.should_exit.set()  # `done` waits for what is recorded, as at the end

    def set(self, **options: str) -> None:
        self.context.configure(self.addon, **{f"toolmend_{name}": value for name, value in options.items()})

    def ask(self, flow: http.HTTPFlow) -> http.HTTPFlow:
        self.addon.requestheaders(flow)
        self.addon.request(flow)
        return flow

    def open(self, flow: http.HTTPFlow, body: bytes | None = None, status: int = 200, **headers: str) -> http.Response:
        response = answered(self.ask(flow), body, status, **headers)
        self.addon.responseheaders(flow)
        return response

    def run(self, flow: http.HTTPFlow, chunks: Sequence[bytes], **headers: str) -> bytes:
        """The whole life of a stream; returns what the client gets."""
        response = self.open(flow, **headers)
        out = b"".join(sent(response, data) for data in chunks) + sent(response, b"")
        self.addon.response(flow)
        return out

    def recordings(self) -> list[dict[str, Any]]:
        """The finished recordings; the bodies are under "upstream" and "client"."""
        self.addon.done()
        found = []
        for meta in sorted(self.flows.rglob("meta.json")):
            bodies = {
                path.stem: path.read_bytes() for path in meta.parent.iterdir() if path.suffix in (".sse", ".json")
            }
            found.append(bodies | json.loads(bodies.pop("meta")))
        return found

    def recording(self) -> dict[str, Any]:
        (one,) = self.recordings()
        return one


def sent(response: http.Response, data: bytes) -> bytes:
    """What mitmproxy sends for a chunk; an empty piece would end the body."""
    if not callable(response.stream):
        assert response.stream is True
        return data
    pieces = response.stream(data)
    assert pieces != b"" or data == b""
    return pieces if isinstance(pieces, bytes) else b"".join(pieces)


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    proxy = Proxy(tmp_path / "flows")
    with proxy.context:
        yield proxy
        proxy.addon.done()


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, str]]]:
    caplog.set_level(logging.INFO, "toolmend")
    return lambda: [
        (record.levelname, record.getMessage()) for record in caplog.records if record.name.startswith("toolmend")
    ]


type Log = Callable[[], list[tuple[str, str]]]
