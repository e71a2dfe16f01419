"""Checks of the recordings' folder: it can be written, others cannot read it, and the disk has room. A store is not contacted."""

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
from .writable_by_others import close_command, writable_by_others

LATE = 3600.0
"""Seconds after which an upload to a store counts as refused: retries pause for less."""

RECENT = timedelta(days=7)
"""How far back suspects are counted."""

LITTLE = 100 * 10**6
"""Bytes that must be free: a day's session records some tens of MB."""


def folder(machine: Machine) -> Iterator[Finding]:
    """Checks that recordings can be written, and who can read them."""
    place = _place(machine)[0]
    if place is None:
        yield ok("recordings are off")
        return
    root = _folder(place)
    existing = next(parent for parent in (root, *root.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        yield fault(
            f"recordings cannot be written to {root}: {error.strerror or error}",
            f"sudo chown -R $USER {shlex.quote(str(existing))}  (or set toolmend_flows to another folder, or to off)",
        )
        return
    if open_to := writable_by_others(root):
        yield warning(f"others can write to {open_to}, and so redirect recordings to another folder", close_command(open_to))
    elif os.name == "posix" and root.exists() and root.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield warning(f"others can read the recordings' folder {root}", f"chmod 700 {shlex.quote(str(root))}")
    elif root == place:
        yield ok(f"recordings go to {root}")
    else:
        yield _spooled(place, root)


def _spooled(place: object, root: Path) -> Finding:
    """Returns a finding on recordings that wait to be uploaded: normally a finished one is uploaded in seconds."""
    late = time.time() - LATE
    left = [folder for worker in root.glob("*") for folder in recordings_in(worker) if folder.lstat().st_mtime < late]
    if left:
        text = f"{len(left)} recording{'' if len(left) == 1 else 's'} for {place} wait in {root} for an hour or more"
        return warning(text, f"toolmend flows {shlex.quote(str(place))}  (shows the error, if the store cannot be read)")
    return ok(f"recordings go to {place}, by way of {root}")


def space(machine: Machine) -> Iterator[Finding]:
    """Checks the free space, and what recordings take."""
    place, keep = _place(machine)
    if place is None:
        return
    root = _folder(place)
    existing = next(parent for parent in (root, *root.parents) if parent.exists())
    usage = shutil.disk_usage(existing)
    if not usage.total:  # not on a disk
        return
    free = usage.free
    found = stored(root) if root == place else [one for worker in root.glob("*") for one in stored(worker)]
    taken = sum(one.size for one in found)
    text = f"{len(found)} recording{'' if len(found) == 1 else 's'}, {taken / 10**6:.1f} MB; {free / 10**9:.1f} GB are free"
    if free < LITTLE:
        yield fault(f"the disk is nearly full, so recordings are lost: {free / 10**6:.0f} MB free", "toolmend prune --keep 50MB")
    elif keep.size is None and keep.age is None:
        yield warning(f"recordings are kept for ever: {text}", "toolmend prune --keep '500MB 14d' --dry-run")
    elif keep.size is not None and taken + free < keep.size:
        yield warning(
            f"recordings may take {keep.size / 10**6:.0f} MB, more than the disk has room for: {text}",
            "toolmend prune --dry-run  (and set toolmend_keep to less)",
        )
    else:
        yield ok(text)


def suspects(machine: Machine) -> Iterator[Finding]:
    """Counts recent responses with text that looks like a call and was not made one."""
    place = _place(machine)[0]
    if not isinstance(place, Path) or not place.is_dir():
        return
    since = datetime.now(UTC) - RECENT
    recent = [one for one in entries(place) if one.recorded_at >= since]
    found = [one for one in recent if one.suspects]
    answers = f"{len(found)} of {len(recent)} answers of the last {RECENT.days} days"
    text = f"{answers} contain text that looks like a call and was not made one"
    if found:
        yield warning(text, "toolmend flows --suspect  (and toolmend explain NAME, for what would mend it)")
    elif recent:
        yield ok(text)


def _folder(place: Path | StoreUrl) -> Path:
    """Returns the local folder that recordings are written to."""
    if isinstance(place, Path):
        return place
    from ...recordings.write.spool import home  # noqa: PLC0415  needed for a store only

    return home(place)


def _place(machine: Machine) -> tuple[Path | StoreUrl | None, Keep]:
    """Returns where recordings go and how many are kept; the defaults if the settings are wrong, which another check reports."""
    try:
        given = read(machine)
    except (SettingsError, RecursionError):
        return data_folder() / "flows", DEFAULT
    return given.flows, given.keep
