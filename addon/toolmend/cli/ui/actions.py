"""What can be done with a recording from its page: each as the command of the same name does it.

    pin(row, {})        play(row, {"dialects": "all"})        promote(row, {"case": "kimi/issue-17", "minimise": true})

Rule of this file: what is written goes to one place that is fixed, and what went wrong is told in a sentence.
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
"""Findings that are told."""


def pin(row: Row, _: Json) -> Json:
    """It stays, however old it is."""
    with suppress(FileExistsError):  # whatever stands there, be it a link
        (Path(row["path"]) / PINNED).touch(0o600, exist_ok=False)
    return {"done": "it stays, however old it is"}


def unpin(row: Row, _: Json) -> Json:
    """It may go."""
    (Path(row["path"]) / PINNED).unlink(missing_ok=True)
    return {"done": "it may go when its time comes"}


def verify(row: Row, _: Json) -> Json:
    """Played once more, in its chunks and in others."""
    result = check(Path(row["path"]), splits=16)
    if result.passed:
        return {"done": "the client gets today what it got then, however the stream is cut", "notes": list(result.notes)}
    return {"problem": result.problem, "how": result.how, "diff": diff(result.expected, result.got), "notes": list(result.notes)}


def play(row: Row, given: Json) -> Json:
    """Through the mending of today; with all dialects, where that is asked."""
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
    """A fixture, unless something looks like a secret."""
    try:
        folder = fixture.home() / fixture.place(str(given.get("case") or ""), row["provider"])
        promotion = prepare(Path(row["path"]), os.environ, small=bool(given.get("minimise")))
        if promotion.findings:
            found = [str(finding) for finding in promotion.findings[:MAX_FINDINGS]]
            problem = "nothing is written, since this looks like a secret"
            return {"problem": problem, "findings": found, "notes": list(promotion.notes)}
        put(promotion, folder)
    except FileExistsError:
        return {"problem": "there is a fixture of this name already"}
    except (RecordingError, ValueError, OSError) as error:
        return {"problem": str(error)}
    return {"done": f"written to {folder}", "notes": list(promotion.notes)}
