"""Folders of recordings, written file by file."""

import json
from pathlib import Path
from typing import Any

META: dict[str, Any] = {
    "format": 1,
    "state": "complete",
    "recorded_at": "2026-11-20T18:34:01.000+00:00",
    "host": "openrouter.ai",
    "provider": "openrouter",
    "model": "moonshotai/kimi-k2.5",
    "api": "chat",
    "status": 200,
    "stream": True,
    "request_headers": [["User-Agent", "claude-cli/2.1.329 (external, cli)"]],
    "rules": ["kimi_k2", "finish_reason"],
    "settings": {"dialects": "auto"},
}


def make(root: Path, name: str, meta: str | None = None, **more: Any) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({**META, **more}) if meta is None else meta)
    return folder
