"""A recording that no redactor has seen."""

import json
import shutil
from pathlib import Path
from typing import Any

from tests.support.paths import FLOWS
from tests.support.streams import WEATHER, stream
from toolmend.recordings.read import replay


def made(folder: Path, deltas: list[str], request: dict[str, Any] = WEATHER, **meta: Any) -> Path:
    """A recording as a careless recorder would have left it: with everything in it."""
    shutil.copytree(FLOWS / "kimi" / "no-section", folder)
    known = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(known | meta))
    (folder / "request.json").write_text(json.dumps(request))
    body = stream(deltas)
    (folder / "upstream.sse").write_bytes(body)
    lines, at = [], 0
    for part in body.split(b"\n\n")[:-1]:
        lines.append(json.dumps({"off": at, "len": len(part) + 2, "t_ms": float(len(lines))}))
        at += len(part) + 2
    (folder / "upstream.idx").write_text("\n".join(lines) + "\n")
    (folder / "client.sse").write_bytes(replay.replay(replay.load(folder))[0])
    return folder
