"""watching.py: recordings that come, grow and go."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, stream
from tests.support.ui import index, looked_at, root
from toolmend.cli.ui.index import Index
from toolmend.cli.ui.watching import FolderWatcher
from toolmend.recordings.write.ui_mark import NAME

__all__ = ["index", "root"]


def test_what_is_removed_is_gone(root: Path, index: Index) -> None:
    for file in (root / "2026-11-28" / "6").iterdir():
        file.unlink()
    (root / "2026-11-28" / "6").rmdir()
    looked_at(root, index)
    assert index.by_name("6") is None
    assert index.search("Something else") == []


def test_what_is_written_is_told_as_it_comes(tmp_path: Path) -> None:
    """A recording that waits, streams and ends; and one whose proxy is gone."""
    root, index, told = tmp_path, Index(None), list[dict[str, Any]]()
    body = in_events(stream(["Once", " upon", " a time"]))

    def write(name: str, state: str, **meta: Any) -> Path:
        folder = keep(tmp_path / "2026-11-28" / name, [], WEATHER, state=state, **meta)
        for file in folder.glob("*.sse"):
            file.unlink()
        return folder

    async def until(true: Any) -> None:
        while not true():  # noqa: ASYNC110  it is the disk that is waited for
            await asyncio.sleep(0.01)

    async def look() -> None:
        folder = write("1", "waiting", pid=os.getpid())
        write("2", "partial", pid=2**22 + 1)
        watcher = FolderWatcher(root, index, told.append)
        task = asyncio.create_task(watcher.run())
        await until(lambda: len(watcher.growing) == 1)
        assert (root / NAME).exists()
        row = index.by_name("1")
        assert row
        assert (row["state"], row["live"], index.by_name("2")["live"]) == ("waiting", 1, 0)  # type: ignore[index]
        (folder / "upstream.sse").write_bytes(body[0] + body[1])
        (folder / "client.sse").write_bytes(body[0] + body[1])
        await until(lambda: (watcher.follow(row["id"]) or {}).get("pieces"))
        (folder / "client.sse").write_bytes(b"".join(body))
        (folder / "upstream.sse").write_bytes(b"".join(body))
        await until(lambda: watcher.follow(row["id"])["pieces"] == [["text", "Once upon a time"]])  # type: ignore[index]
        meta = json.loads((folder / "meta.json").read_bytes())
        (folder / "meta.json").write_text(json.dumps(meta | {"state": "complete"}))
        await until(lambda: not watcher.growing and index.by_name("1")["state"] == "complete")  # type: ignore[index]
        task.cancel()

    asyncio.run(asyncio.wait_for(look(), 20))
    assert not (root / NAME).exists()
    assert any("Once" in json.dumps(message.get("live", {})) for message in told)
