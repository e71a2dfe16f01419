"""Recordings made for a test: the files that the recorder writes, with what the pipeline gives today as the client's."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.streams import WEATHER
from toolmend.recordings.read import replay

META: dict[str, Any] = {
    "format": 1,
    "state": "complete",
    "recorded_at": "2026-11-20T18:34:01.000+00:00",
    "host": "openrouter.ai",
    "method": "POST",
    "path": "/api/v1/chat/completions",
    "status": 200,
    "http_version": "HTTP/2.0",
    "api": "chat",
    "provider": "openrouter",
    "model": "moonshotai/kimi-k2.5",
    "stream": True,
    "request_headers": [["User-Agent", "claude-cli/2.1.329 (external, cli)"], ["authorization", "[REDACTED]"]],
    "response_headers": [["content-type", "text/event-stream"]],
    "toolmend": "0.1.0",
    "settings": {"dialects": "auto"},
    "wait_ms": 812.4,
    "rules": [],
    "ids": [f"call_{n:032x}" for n in range(8)],
    "error": None,
}


def keep(
    folder: Path, chunks: Sequence[bytes], request: Any = WEATHER, *, every: float = 20.0, client: bytes | None = None, **more: Any
) -> Path:
    """Writes one; a chunk comes `every` so many milliseconds. `client`: instead of what the pipeline gives."""
    folder.mkdir(parents=True)
    meta = META | more
    streams = {"upstream": meta["stream"], "client": meta.get("client_stream", meta["stream"])}
    names = {side: folder / f"{side}.{'sse' if stream else 'json'}" for side, stream in streams.items()}
    (folder / "meta.json").write_text(json.dumps(meta))
    (folder / "request.json").write_text(json.dumps(request))
    names["upstream"].write_bytes(b"".join(chunks))
    names["client"].write_bytes(client or b"")
    if meta["stream"]:
        offset, rows = 0, []
        for n, chunk in enumerate(chunks):
            rows.append(json.dumps({"off": offset, "len": len(chunk), "t_ms": n * every}))
            offset += len(chunk)
        (folder / "upstream.idx").write_text("\n".join(rows))
    if client is None:
        sent, rules = replay.replay(replay.load(folder))
        names["client"].write_bytes(sent)
        (folder / "meta.json").write_text(json.dumps(meta | {"rules": rules}))
    return folder


def in_events(body: bytes) -> list[bytes]:
    """A chunk an event."""
    return [part + b"\n\n" for part in body.split(b"\n\n") if part]
