"""The actions on a recording's page; each does the same as the command of its name.

    pin(row, {})        play(row, {"dialects": "all"})        promote(row, {"case": "kimi/issue-17", "minimise": true})

Files are written to one fixed place only. Failures are returned as a sentence.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...core.fastclass import replace
from ...dialects import DIALECTS
from ...recordings.fixtures import fixture
from ...recordings.fixtures.promotion import prepare, put
from ...recordings.fixtures.verification import check
from ...recordings.read.event_diff import diff
from ...recordings.read.library import PINNED
from ...recordings.read.replay import RecordingError, load, replay
from .reading import Row

type Json = dict[str, Any]

MAX_FINDINGS = 50
"""Bound of the findings that are returned."""


def pin(row: Row, _: Json) -> Json:
    """Exempts a recording from retention."""
    with suppress(FileExistsError):  # of any kind, even a link
        (Path(row["path"]) / PINNED).touch(0o600, exist_ok=False)
    return {"done": "the recording is kept, however old it is"}


def unpin(row: Row, _: Json) -> Json:
    """Lets retention remove a recording again."""
    (Path(row["path"]) / PINNED).unlink(missing_ok=True)
    return {"done": "the recording can be removed again"}


def verify(row: Row, _: Json) -> Json:
    """Replays a recording in its chunks and in others."""
    result = check(Path(row["path"]), splits=16)
    if result.passed:
        return {"done": "the client gets the same as then, however the stream is cut", "notes": list(result.notes)}
    return {"problem": result.problem, "how": result.how, "diff": diff(result.expected, result.got), "notes": list(result.notes)}


def play(row: Row, given: Json) -> Json:
    """Replays a recording through the current toolmend, with all dialects if requested."""
    try:
        recording = load(Path(row["path"]))
        if given.get("dialects") == "all":
            settings = recording.meta.get("settings", {}) | {"dialects": ",".join(DIALECTS)}
            meta = recording.meta | {"settings": settings}
            recording = replace(recording, meta=meta)
        got, rules = replay(recording)
    except RecordingError as error:
        return {"problem": str(error).removeprefix(f"{row['path']}: ")}
    return {"rules": rules, "same": got == recording.client, "diff": diff(recording.client, got)}


def promote(row: Row, given: Json) -> Json:
    """Makes a fixture, unless something looks like a secret."""
    try:
        folder = fixture.home() / fixture.place(str(given.get("case") or ""), row["provider"])
        promotion = prepare(Path(row["path"]), os.environ, small=bool(given.get("minimise")))
        if promotion.findings:
            found = [str(finding) for finding in promotion.findings[:MAX_FINDINGS]]
            problem = "nothing was written: this looks like a secret"
            return {"problem": problem, "findings": found, "notes": list(promotion.notes)}
        put(promotion, folder)
    except FileExistsError:
        return {"problem": "a fixture of this name already exists"}
    except (RecordingError, ValueError, OSError) as error:
        return {"problem": str(error)}
    return {"done": f"written to {folder}", "notes": list(promotion.notes)}
