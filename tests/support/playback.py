"""Recordings for playback."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.streams import WEATHER, stream
from toolmend.recordings.read.replay import load, replay

META: dict[str, Any] = {
    "format": 1,
    "state": "complete",
    "recorded_at": "2026-11-20T18:34:01.000+00:00",
    "host": "openrouter.ai",
    "path": "/api/v1/chat/completions",
    "status": 200,
    "api": "chat",
    "model": "kimi-k2.5",
    "stream": True,
    "settings": {"dialects": "auto"},
    "response_headers": [],
}
CHUNKS = [b"data: [1]\n\n", b"data: [2]\n", b"\ndata: [DONE]\n\n"]
TIMES = (0.0, 0.25, 1.0)

LEAK = stream(
    [
        "I will look.",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}",
        "<|tool_call_end|><|tool_calls_section_end|>",
    ]
)
EVENTS = [event + b"\n\n" for event in LEAK.split(b"\n\n") if event]
ASK = {"model": "claude", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hi"}], "tools": []}
ASK["tools"] = [{"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}]
TRANSLATED = {
    "client_api": "messages",
    "path": "/v1/messages",
    "model": "claude",
    "route": "a → b",
    "settings": {"dialects": "auto", "upstream": "openrouter.ai", "use_model": "kimi-k2.5"},
    "ids": [f"call_{at:032x}" for at in range(9)],
}


def make(
    root: Path,
    name: str,
    chunks: Sequence[bytes] = CHUNKS,
    client: bytes | None = None,
    *,
    request: Any = WEATHER,
    upstream_request: Any = None,
    **meta: Any,
) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    stream, client_stream = meta.get("stream", True), meta.get("client_stream", meta.get("stream", True))
    (folder / "meta.json").write_text(json.dumps({**META, **meta}))
    for file, value in (("request.json", request), ("upstream_request.json", upstream_request)):
        if value is not None:
            (folder / file).write_text(json.dumps(value))
    body = b"".join(chunks)
    (folder / f"upstream.{'sse' if stream else 'json'}").write_bytes(body)
    (folder / f"client.{'sse' if client_stream else 'json'}").write_bytes(body if client is None else client)
    if stream:
        at, lines = 0, []
        for time, chunk in zip((*TIMES, *([2.0] * len(chunks))), chunks, strict=False):
            lines.append(json.dumps({"off": at, "len": len(chunk), "t_ms": time * 1000}) + "\n")
            at += len(chunk)
        (folder / "upstream.idx").write_text("".join(lines))
    return folder


def translated(root: Path, name: str, **meta: Any) -> Path:
    """A recording of a client of Messages before a chat upstream."""
    upstream_request = {**WEATHER, "messages": [{"role": "user", "content": "Hi"}]}
    folder = make(root, name, EVENTS, request=ASK, upstream_request=upstream_request, **(TRANSLATED | meta))
    (folder / "client.sse").write_bytes(replay(load(folder))[0])
    return folder
