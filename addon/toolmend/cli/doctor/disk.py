"""Checks of where recordings are kept: can they be written, who can read them, is there room? A store is not asked."""

import os
import shlex
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ...config.checks import SettingsError
from ...config.data_folder import data_folder
from ...config.retention import DEFAULT, Keep
from ...config.store_url import StoreUrl
from ...recordings.read.library import entries
from ...recordings.write.pruning import recordings_in, stored
from .configuration import read
from .finding import Finding, Machine, fault, ok, warning
from .writable_by_others import closed, others

LATE = 3600.0
"""Seconds after which what waits for a store has been refused: nothing pauses for longer."""

RECENT = timedelta(days=7)
"""How far back suspects are counted: what is older was told before."""

LITTLE = 100 * 10**6
"""Bytes that have to be free: a session of a day makes some tens of MB."""


def folder(machine: Machine) -> Iterator[Finding]:
    """Whether recordings can be written, and by whom they can be read."""
    place = _place(machine)[0]
    if place is None:
        yield ok("recordings are off")
        return
    root = _folder(place)
    there = next(parent for parent in (root, *root.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        yield fault(
            f"recordings cannot be written to {root}: {error.strerror or error}",
            f"sudo chown -R $USER {shlex.quote(str(there))}  (or set toolmend_flows to another folder, or to off)",
        )
        return
    if open_to := others(root):
        yield warning(f"others can write to {open_to}, and so have recordings go to a folder of theirs", closed(open_to))
    elif os.name == "posix" and root.exists() and root.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield warning(f"others can look into the recordings' folder {root}", f"chmod 700 {shlex.quote(str(root))}")
    elif root == place:
        yield ok(f"recordings go to {root}")
    else:
        yield _spooled(place, root)


def _spooled(place: object, root: Path) -> Finding:
    """What waits to be uploaded: what is finished is gone in seconds, if the store takes it."""
    late = time.time() - LATE
    left = [folder for worker in root.glob("*") for folder in recordings_in(worker) if folder.lstat().st_mtime < late]
    if left:
        told = f"{len(left)} recording{'' if len(left) == 1 else 's'} for {place} wait in {root} for an hour or more"
        return warning(told, f"toolmend flows {shlex.quote(str(place))}  (it says what is wrong, if the store cannot be read)")
    return ok(f"recordings go to {place}, by way of {root}")


def space(machine: Machine) -> Iterator[Finding]:
    """What is free, and what the recordings take."""
    place, keep = _place(machine)
    if place is None:
        return
    root = _folder(place)
    there = next(parent for parent in (root, *root.parents) if parent.exists())
    usage = shutil.disk_usage(there)
    if not usage.total:  # not a disk
        return
    free = usage.free
    found = stored(root) if root == place else [one for worker in root.glob("*") for one in stored(worker)]
    taken = sum(one.size for one in found)
    told = f"{len(found)} recording{'' if len(found) == 1 else 's'}, {taken / 10**6:.1f} MB; {free / 10**9:.1f} GB are free"
    if free < LITTLE:
        yield fault(f"the disk is nearly full, so recordings are lost: {free / 10**6:.0f} MB free", "toolmend prune --keep 50MB")
    elif keep.size is None and keep.age is None:
        yield warning(f"recordings are kept for ever: {told}", "toolmend prune --keep '500MB 14d' --dry-run")
    elif keep.size is not None and taken + free < keep.size:
        yield warning(
            f"recordings may take {keep.size / 10**6:.0f} MB, which is more than there is room for: {told}",
            "toolmend prune --dry-run  (and set toolmend_keep to less)",
        )
    else:
        yield ok(told)


def suspects(machine: Machine) -> Iterator[Finding]:
    """How many answers of the last days held what looks like a call and was not made one."""
    place = _place(machine)[0]
    if not isinstance(place, Path) or not place.is_dir():
        return
    since = datetime.now(UTC) - RECENT
    recent = [one for one in entries(place) if one.recorded_at >= since]
    found = [one for one in recent if one.suspects]
    answers = f"{len(found)} of {len(recent)} answers of the last {RECENT.days} days"
    told = f"{answers} held what looks like a call and was not made one"
    if found:
        yield warning(told, "toolmend flows --suspect  (and toolmend explain NAME says what would mend it)")
    elif recent:
        yield ok(told)


def _folder(place: Path | StoreUrl) -> Path:
    """The folder that is written to."""
    if isinstance(place, Path):
        return place
    from ...recordings.write.spool import home  # noqa: PLC0415  where there is a store

    return home(place)


def _place(machine: Machine) -> tuple[Path | StoreUrl | None, Keep]:
    """Where recordings go, and how many are kept; the defaults where the settings are wrong, which is told elsewhere."""
    try:
        given = read(machine)
    except (SettingsError, RecursionError):
        return data_folder() / "flows", DEFAULT
    return given.flows, given.keep
