"""Recordings to export."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

from mitmproxy import http
from mitmproxy.io import FlowReader

from tests.support.judges.har import faults
from toolmend.recordings.export.export import sides
from toolmend.recordings.export.flow_file import write
from toolmend.recordings.export.har import har

REQUEST = [["Host", "llm.example"], ["Authorization", "[REDACTED]"], ["Content-Length", "9"], ["Content-Type", "application/json"]]
RESPONSE = [["content-type", "text/event-stream"], ["transfer-encoding", "chunked"], ["content-encoding", "br"], ["x-request-id", "r1"]]
RAW, SENT = 'data: {"a":"日本"}\n\ndata: [DONE]\n\n'.encode(), b"data: {}\n\n"
META: dict[str, Any] = {
    "format": 1,
    "state": "complete",
    "recorded_at": "2026-11-20T18:34:01.500+00:00",
    "wait_ms": 500.0,
    "scheme": "https",
    "host": "llm.example",
    "method": "POST",
    "path": "/v1/chat/completions?beta=true&key=[REDACTED]",
    "status": 200,
    "http_version": "HTTP/1.1",
    "api": "chat",
    "model": "kimi-k2.5",
    "stream": True,
    "request_headers": REQUEST,
    "response_headers": RESPONSE,
    "settings": {"dialects": "auto"},
    "rules": ["kimi_k2"],
    "ids": [],
    "error": None,
}


def make(tmp_path: Path, files: dict[str, bytes] | None = None, **more: Any) -> Path:
    folder = tmp_path / "183401-example-1"
    folder.mkdir()
    (folder / "meta.json").write_text(json.dumps({**META, **more}))
    index = b'{"off":0,"len":20,"t_ms":0.000}\n{"off":20,"len":16,"t_ms":250.125}\n'
    all_files = {"request.json": b'{"stream":true}', "upstream.sse": RAW, "upstream.idx": index, "client.sse": SENT}
    for name, data in (all_files if files is None else files).items():
        (folder / name).write_bytes(data)
    return folder


def flows(folder: Path, kind: str = "raw") -> list[http.HTTPFlow]:
    file = BytesIO()
    write(file, [side for side in sides(folder) if side.kind == kind])
    file.seek(0)
    return [flow for flow in FlowReader(file).stream() if isinstance(flow, http.HTTPFlow)]


def entries(folder: Path) -> list[dict[str, Any]]:
    document = har(sides(folder))
    assert faults(document) == []
    return list(document["log"]["entries"])
