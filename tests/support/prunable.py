"""Recordings of a size and an age."""

import json
import os
import time
from pathlib import Path

from toolmend.recordings.write.pruning import OPEN

OLD = time.time() - OPEN - 60
DAY = "2026-11-01"
NAME = "183401-openrouter-0f3c9a12"


def make(root: Path, name: str = NAME, *, day: str = DAY, state: str | None = "complete", changed: float = OLD) -> Path:
    """A recording of 2 files, last changed so long ago."""
    folder = root / day / name
    folder.mkdir(parents=True)
    (folder / "upstream.sse").write_bytes(b"x" * 1000)
    if state:
        (folder / "meta.json").write_text(json.dumps({"state": state}))
    for file in folder.iterdir():
        os.utime(file, (changed, changed))
    os.utime(folder, (changed, changed))
    return folder
