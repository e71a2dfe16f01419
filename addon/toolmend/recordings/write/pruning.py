"""The recordings that lie in a folder, and their removal: retention.py says which go.

    stored(root)                      what the recorder made there         remove(folder)     one of them
    Sweeper(root, log).run(keep, ..)  what its writer thread does between two writes, a few steps at a time

Rule of this file: nothing is touched but what has the place and the name that the recorder gives, <day>/<time>-<provider>-<id>
below the root: so a fixture beside it, in <provider>/<case>, is never seen. No link is followed below the root.
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
from ..read.library import PINNED, UNFINISHED
from ..read.safe_read import read

OPEN = 3600.0
"""Seconds without a change after which no process writes what is not finished: no connection is silent for longer."""

EVERY = 60.0
"""Seconds between two looks at all that lies there: a thousand recordings take some hundredths of one."""

SHARE = 4
"""Sooner than that, when this part of what may stay has been written anew."""

AT_LEAST, FOR_EACH = 8, 2
"""Steps each time, however much there is to write, and so many more for each recording that came since: else what is written
every few seconds, forty at a time, would never go. In each a recording goes, or LOOKS are looked at: a millisecond or two."""

LOOKS = 16
"""To remove one takes as long."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NAME = re.compile(r"(\d{6})-[a-z0-9._-]+-[a-z0-9._-]+", re.ASCII)


def stored(root: Path, mine: Collection[Path] = ()) -> list[Stored]:
    """The recordings below `root`. Held are those that are pinned, those open in this process (`mine`) or in another one."""
    return [one for path in recordings_in(root) if (one := _looked_at(path, mine))]


def _looked_at(path: Path, mine: Collection[Path]) -> Stored | None:
    """None for what is no recording, or is gone meanwhile."""
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
    """The folders that the recorder made below `root`."""
    for day in _folders(root, _DAY):
        for folder in _folders(day.path, _NAME):
            yield Path(folder.path)


def time_of(day: str, name: str) -> datetime | None:
    """When a recording was made, by the place and the name that the recorder gives; None for what has others."""
    if not (_DAY.fullmatch(day) and _NAME.fullmatch(name)):
        return None
    try:
        return datetime.fromisoformat(f"{day}T{name[:2]}:{name[2:4]}:{name[4:6]}+00:00")
    except ValueError:  # no such day
        return None


def remove(folder: Path, *, day: bool = True) -> None:
    """Removes a recording, and its day if it has no others: who is not the recorder's thread leaves the day to it.

    Its meta.json goes first: what is gone by half is in no list, but still found by `stored`.
    """
    with suppress(FileNotFoundError):  # another process was faster
        (folder / "meta.json").unlink(missing_ok=True)
        shutil.rmtree(folder)
    if day:
        with suppress(OSError):  # the day has others
            folder.parent.rmdir()


class Sweeper:
    """Keeps a folder within limits, some steps at a time. Nothing is raised: `log` gets a sentence, once."""

    def __init__(self, root: Path, log: Callable[[str], None]) -> None:
        self._root, self._log = root, log
        self._next = 0.0  # when to look again
        self._written = 0  # when it looked
        self._came = 0  # when it did some steps
        self._steps: Iterator[None] | None = None  # what is left to do
        self._said = False

    def run(
        self, keep: Keep, mine: Collection[Path], idle: Callable[[], bool], written: int = 0, came: int = 0
    ) -> Iterator[None]:
        """Some steps, and more while there is nothing better to do; the rest are taken the next time.

        `mine`: open recordings; `written`: bytes, `came`: recordings, ever.
        """
        now = time.monotonic()
        much = keep.size is not None and written - self._written > keep.size // SHARE
        if self._steps is None and (now >= self._next or much) and keep != Keep():
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
                self._log_once(error)
            yield

    def _sweep(self, keep: Keep, mine: Collection[Path]) -> Iterator[None]:
        found = []
        for many, path in enumerate(recordings_in(self._root), 1):
            if one := _looked_at(path, mine):
                found.append(one)
            if many % LOOKS == 0:
                yield
        for one in expired(found, keep, datetime.now(UTC)):
            try:
                remove(one.folder)
            except Exception as error:  # others may go
                self._log_once(error)
            yield

    def _log_once(self, error: Exception) -> None:
        if not self._said:
            self._said = True
            reason = (error.strerror or str(error)) if isinstance(error, OSError) else type(error).__name__
            with suppress(Exception):
                self._log(f"old recordings stay: {reason}: {self._root}")


def _folders(path: str | Path, name: re.Pattern[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _is_open(folder: Path) -> bool:
    """Whether it says that it is not finished, or does not say anything yet."""
    try:
        return json_text.loads(read(folder / "meta.json"))["state"] in UNFINISHED
    except (OSError, ValueError, KeyError, TypeError):
        return True
