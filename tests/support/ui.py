"""Recordings for the pages of toolmend ui."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_requests import CLAUDE_CODE, CLAUDE_CODE_LATER
from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, stream
from tests.support.upstream_answers import Asked, Text, Thought, speak
from toolmend.cli.ui.index import Index
from toolmend.cli.ui.watching import FolderWatcher

HEADERS = {"request_headers": [["user-agent", "claude-cli/2.1"]]}
LEAK = ["I look.\n", "CALL get_weather ", 'WITH {"city": "Oslo"}']


def claude(folder: Path, request: dict[str, Any], at: int, *parts: Any, **meta: Any) -> Path:
    body = speak("messages", parts, "stop" if isinstance(parts[-1], Text) else "tool_calls")
    kept = {"recorded_at": f"2026-11-28T12:00:{at:02}+00:00", "session": {"id": "s1", "from": "x"}, **HEADERS, **meta}
    return keep(folder, in_events(body), request, api="messages", **kept)


def chat(folder: Path, at: int, *texts: str, pieces: list[str] | None = None, **meta: Any) -> Path:
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return keep(folder, in_events(stream(pieces or ["Hello."])), {**WEATHER, "messages": messages}, recorded_at=f"2026-11-28T13:00:{at:02}+00:00", **meta)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    day = tmp_path / "flows" / "2026-11-28"
    claude(day / "1", CLAUDE_CODE, 1, Thought("Hm."), Asked("toolu_01", "Read", '{"file_path": "a.py"}'))
    claude(day / "2", CLAUDE_CODE, 2, Text("A subagent speaks."), session={"id": "s1", "agent": "a1", "from": "x"})
    claude(day / "3", CLAUDE_CODE_LATER, 3, Text("It has **one** line."))
    chat(day / "4", 1, "Hi there")
    chat(day / "5", 2, "Hi there", "Hello.", "And then?")
    chat(day / "6", 3, "Something else", pieces=LEAK)
    chat(day / "7", 4, "Are you there", state="unanswered", status=0, waited_ms=31000.0, error="waited 31.0 s")
    (day / "8").mkdir()
    (day / "8" / "meta.json").write_text("{torn")
    (day / "9").symlink_to(day / "1")
    return tmp_path / "flows"


def looked_at(root: Path, index: Index, *, until: float = 30) -> list[dict[str, Any]]:
    """Until all is read."""
    told: list[dict[str, Any]] = []

    async def look() -> None:
        watcher = FolderWatcher(root, index, told.append)
        task = asyncio.create_task(watcher.run())
        while watcher.first or index.count_unread():
            await asyncio.wait({task}, timeout=0.01)
            assert not task.done(), task.exception()
        task.cancel()

    asyncio.run(asyncio.wait_for(look(), until))
    return told


@pytest.fixture
def index(root: Path) -> Index:
    index = Index(None)
    looked_at(root, index)
    return index
