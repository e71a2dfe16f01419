"""The mark that `toolmend ui` leaves in a folder of recordings: the recorder gathers less, and the proxy refuses that port.

    watch(root, 8123)    every WATCH seconds, by the UI        is_watched(root)    by the recorder's writer thread
    unwatch(root)        when the UI ends                      port(root)          by the proxy: 8123

The mark is one small file with the port of the UI. A UI that was killed is recognised by the age of the file.
"""

import os
import time
from pathlib import Path

NAME = ".watched"
"""The file in the folder of the recordings."""

WATCH, STALE = 2.0, 6.0
"""Seconds between two marks, and the age from which a mark no longer counts."""


def watch(root: Path, port: int = 0) -> None:
    """Marks the folder; `port` is 0 where the UI listens on a Unix socket. Raises OSError."""
    file = os.open(root / NAME, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        os.ftruncate(file, os.write(file, b"%d" % port))
        os.utime(file)
    finally:
        os.close(file)


def unwatch(root: Path) -> None:
    """Removes the mark. Raises OSError."""
    (root / NAME).unlink(missing_ok=True)


def is_watched(root: Path) -> bool:
    """Whether a UI shows the folder."""
    try:
        return abs(time.time() - (root / NAME).stat().st_mtime) < STALE
    except OSError:
        return False


def port(root: Path) -> int:
    """The port of the UI that shows the folder; 0 if there is none."""
    try:
        return int((root / NAME).read_bytes()[:6]) if is_watched(root) else 0
    except (OSError, ValueError):
        return 0
