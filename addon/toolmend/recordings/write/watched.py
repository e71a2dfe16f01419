"""Whether somebody looks at the recordings while they are written: then the recorder gathers less.

    watch(root)          every WATCH seconds, by who looks          is_watched(root)     by the recorder's writer thread

Rule of this file: one file, whose time of change says it; a process that ended without a word is known by its age.
"""

import time
from pathlib import Path

NAME = ".watched"
"""The file in the folder of the recordings. It has no content."""

WATCH, STALE = 2.0, 6.0
"""Seconds between two touches, and without one as of which nobody looks any more."""


def watch(root: Path) -> None:
    """Says that somebody looks. Raises OSError."""
    (root / NAME).touch(0o600)


def is_watched(root: Path) -> bool:
    """Whether somebody looks."""
    try:
        return abs(time.time() - (root / NAME).stat().st_mtime) < STALE
    except OSError:
        return False
