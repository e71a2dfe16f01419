"""`toolmend_keep` in a real proxy: what is too old or too much goes while it records."""

import json
from pathlib import Path

import pytest

from tests.e2e.clients import LEAK, Serve, Start, ask, chunks, eventually, recording
from toolmend.recordings.playback.server import Script


@pytest.mark.parametrize("keep", ["14d", "100KB 1000w", ""])
def test_old_recordings_go(start: Start, serve: Serve, tmp_path: Path, path: str, keep: str) -> None:
    root = tmp_path / "flows"
    old, fixture = root / "2025-01-01" / "100000-kimi-1", root / "kimi" / "one-call"
    for folder in (old, fixture):
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text(json.dumps({"state": "complete", "path": "/", "sha256": {}}))
        (folder / "upstream.sse").write_bytes(b"x" * 100_000)
    proxy, upstream = start(toolmend_keep=keep), serve(Script(chunks(LEAK)))
    ask(proxy, upstream.url, path=path)
    eventually(lambda: not old.parent.exists())
    assert recording(root, path).meta["state"] == "complete"
    assert len(list(fixture.iterdir())) == 2
    assert "Traceback" not in proxy.log
