"""A recorder on a real disk, an exchange for it, and what it wrote."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolmend.core.exchange_record import ExchangeRecord
from toolmend.recordings.write.recorder import LiveRecording, Recorder

KEY = "sk-ant-api03-AbC_9-xYzAbC_9"
REQUEST = {"model": "kimi-k2", "stream": True, "messages": [{"role": "user", "content": f"my key is {KEY}"}]}
EXCHANGE = ExchangeRecord(
    flow_id="0f3c9a12-5d1e-4b7a-9c55-2f6a1b2c3d4e",
    provider="openrouter",
    api="chat",
    model="moonshotai/kimi-k2",
    method="POST",
    host="openrouter.ai",
    path=f"/api/v1/chat/completions?key={KEY}&sig=abc&beta=1",
    http_version="HTTP/2.0",
    status=200,
    request_headers=(("authorization", f"Bearer {KEY}"), ("content-type", "application/json"), ("x-title", "agent")),
    response_headers=(("content-type", "text/event-stream"), ("set-cookie", "a=b"), ("server", f"s {KEY}")),
    request=json.dumps(REQUEST).encode(),
    upstream_request=None,
    stream=True,
    settings={"dialects": "auto"},
)


def event(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


def meta(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "meta.json").read_bytes())
    assert isinstance(found, dict)
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def wait_for(true: Callable[[], bool]) -> None:
    """Until the writer thread, or another process, has come so far; the test's own timeout ends it."""
    while not true():
        time.sleep(0.01)


def all_done(recorder: Recorder) -> None:
    """Until the writer thread has done all that it was given, and the disk has it."""
    wait_for(lambda: recorder._put == recorder._done and not recorder._ends and settled(recorder))


def settled(recorder: Recorder) -> bool:
    return not recorder._settling or recorder._settling._put == recorder._settling._done


def record(recorder: Recorder, exchange: ExchangeRecord = EXCHANGE, body: bytes = event("hi")) -> LiveRecording:
    """One whole flow."""
    recording = recorder.start(exchange)
    recording.passed(body, b"")
    recording.passed(b"", body)
    recording.finish("complete")
    return recording


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def recorder(tmp_path: Path, log: list[str]) -> Iterator[Recorder]:
    recorder = Recorder(tmp_path / "flows", log.append)
    yield recorder
    recorder.close()
