"""Checks of where recordings are kept: can they be written, who can read them, is there room?"""

import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..config.checks import SettingsError
from ..config.data_folder import data_folder
from ..recordings.pruning import stored
from ..recordings.retention import DEFAULT, Keep
from .configuration import read
from .finding import Finding, Machine, fault, ok, warning

LITTLE = 100 * 10**6
"""Bytes that have to be free: a session of a day makes some tens of MB."""


def folder(machine: Machine) -> Iterator[Finding]:
    """Whether recordings can be written, and by whom they can be read."""
    root = _place(machine)[0]
    if root is None:
        yield ok("recordings are off")
        return
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
    if os.name == "posix" and root.exists() and root.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield warning(f"others can look into the recordings' folder {root}", f"chmod 700 {shlex.quote(str(root))}")
    else:
        yield ok(f"recordings go to {root}")


def space(machine: Machine) -> Iterator[Finding]:
    """What is free, and what the recordings take."""
    root, keep = _place(machine)
    if root is None:
        return
    there = next(parent for parent in (root, *root.parents) if parent.exists())
    usage = shutil.disk_usage(there)
    if not usage.total:  # not a disk
        return
    free = usage.free
    found = stored(root)
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


def _place(machine: Machine) -> tuple[Path | None, Keep]:
    """Where recordings go, and how many are kept; the defaults where the settings are wrong, which is told elsewhere."""
    try:
        given = read(machine)
    except (SettingsError, RecursionError):
        return data_folder() / "flows", DEFAULT
    return given.flows, given.keep
