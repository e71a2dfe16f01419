"""Finds and removes recordings in a folder; retention.py decides which.

    stored(root)                      the recorder's recordings          remove(folder)     one of them
    Sweeper(root, log).run(keep, ..)  called by the writer thread between two writes, a few steps at a time

Only folders with the recorder's path, <day>/<time>-<provider>-<id> below the root, are touched; a fixture next to them, in
<provider>/<case>, never is. No link below the root is followed.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ...config.retention import Keep, Stored, expired
from ...core import json_text
from ...core.error_text import reason
from ...core.log_once import LogOnce
from ..read.library import PINNED, UNFINISHED
from ..read.safe_read import read

OPEN = 3600.0
"""Seconds without a change after which an unfinished recording has no writer: no connection is silent for longer."""

EVERY = 60.0
"""Seconds between two scans of the folder: a thousand recordings take some hundredths of a second."""

SHARE = 4
"""A scan is done sooner if this fraction of the size limit was written since."""

AT_LEAST, FOR_EACH = 8, 2
"""Minimum steps each time, under any load, and further steps per new recording; otherwise nothing would be removed while forty
recordings are written every few seconds. A step removes a recording, or checks LOOKS of them: a millisecond or two.
"""

LOOKS = 16
"""Recordings checked per step: removing one takes as long."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NAME = re.compile(r"(\d{6})-[a-z0-9._-]+-[a-z0-9._-]+", re.ASCII)


def stored(root: Path, mine: Collection[Path] = ()) -> list[Stored]:
    """Returns the recordings below `root`. Held are the pinned ones, and those open in this process (`mine`) or another one."""
    return [found for path in recordings_in(root) if (found := _checked(path, mine))]


def _checked(path: Path, mine: Collection[Path]) -> Stored | None:
    """Returns None for a folder that is not a recording, or was removed meanwhile."""
    at = time_of(path.parent.name, path.name)
    try:
        with os.scandir(path) as files:
            stats = {file.name: file.stat(follow_symlinks=False) for file in files}
        changed = max((stat.st_mtime for stat in stats.values()), default=0) or path.lstat().st_mtime
    except OSError:
        return None
    if at is None:
        return None
    held = PINNED in stats or path in mine or (changed > time.time() - OPEN and _is_open(path))
    return Stored(path, at, sum(stat.st_size for stat in stats.values()), held)


def recordings_in(root: Path) -> Iterator[Path]:
    """Yields the recorder's folders below `root`."""
    for day in _folders(root, _DAY):
        for folder in _folders(day.path, _NAME):
            yield Path(folder.path)


def time_of(day: str, name: str) -> datetime | None:
    """Returns when a recording was made, by the recorder's path; None for other paths."""
    if not (_DAY.fullmatch(day) and _NAME.fullmatch(name)):
        return None
    try:
        return datetime.fromisoformat(f"{day}T{name[:2]}:{name[2:4]}:{name[4:6]}+00:00")
    except ValueError:  # no such day
        return None


def remove(folder: Path, *, day: bool = True) -> None:
    """Removes a recording, and its day if that becomes empty; only the recorder's thread removes days.

    meta.json is removed first: a half-removed recording is in no list, but `stored` still finds it.
    """
    with suppress(FileNotFoundError):  # another process was faster
        (folder / "meta.json").unlink(missing_ok=True)
        shutil.rmtree(folder)
    if day:
        with suppress(OSError):  # the day has others
            folder.parent.rmdir()


class Sweeper:
    """Keeps a folder within limits, a few steps at a time. Never raises: `log` gets a sentence, once."""

    def __init__(self, root: Path, log: Callable[[str], None]) -> None:
        self._root, self._log_once = root, LogOnce(log)
        self._next = 0.0  # time of the next scan
        self._written = 0  # bytes written at the last scan
        self._came = 0  # recordings at the last run
        self._steps: Iterator[None] | None = None  # the remaining steps

    def run(
        self, keep: Keep, mine: Collection[Path], idle: Callable[[], bool], written: int = 0, came: int = 0
    ) -> Iterator[None]:
        """Does some steps, and more while `idle`; the rest is done the next time.

        Args:
            keep: The limits.
            mine: Recordings open in this process.
            idle: Whether nothing waits to be written.
            written: Bytes written in total.
            came: Recordings in total.
        """
        now = time.monotonic()
        grown = keep.size is not None and written - self._written > keep.size // SHARE
        if self._steps is None and (now >= self._next or grown) and keep != Keep():
            self._next, self._written = now + EVERY, written
            self._steps = self._sweep(keep, mine)
        least = AT_LEAST + FOR_EACH * (came - self._came)
        self._came = came
        taken = 0
        while self._steps and (taken < least or idle()):
            taken += 1
            try:
                next(self._steps)
            except StopIteration:
                self._steps = None
            except Exception as error:
                self._steps = None
                self._failed(error)
            yield

    def _sweep(self, keep: Keep, mine: Collection[Path]) -> Iterator[None]:
        found = []
        for count, path in enumerate(recordings_in(self._root), 1):
            if recording := _checked(path, mine):
                found.append(recording)
            if count % LOOKS == 0:
                yield
        for recording in expired(found, keep, datetime.now(UTC)):
            try:
                remove(recording.folder)
            except Exception as error:  # continue with the others
                self._failed(error)
            yield

    def _failed(self, error: Exception) -> None:
        self._log_once("", f"old recordings stay: {reason(error)}: {self._root}")


def _folders(path: str | Path, name: re.Pattern[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _is_open(folder: Path) -> bool:
    """Whether its meta.json says that it is unfinished, or is missing."""
    try:
        return json_text.loads(read(folder / "meta.json"))["state"] in UNFINISHED
    except (OSError, ValueError, KeyError, TypeError):
        return True
