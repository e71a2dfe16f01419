"""The mark that `toolmend ui` leaves in a folder of recordings, by which the proxy knows the port that it has to refuse.

    mark(root, 8123)     every INTERVAL seconds, by the UI       port(root)    8123, for the proxy
    unmark(root)         when the UI ends

The mark is one small file that holds the port. A UI that was killed is recognised by the age of the file.
"""

import os
import time
from pathlib import Path

NAME = ".watched"
"""The file in the folder of the recordings."""

INTERVAL, STALE = 2.0, 6.0
"""Seconds between two marks, and the age from which a mark no longer counts."""


def mark(root: Path, port: int) -> None:
    """Marks the folder; `port` is 0 where the UI listens on a Unix socket. Raises OSError."""
    file = os.open(root / NAME, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        os.ftruncate(file, os.write(file, b"%d" % port))
        os.utime(file)
    finally:
        os.close(file)


def unmark(root: Path) -> None:
    """Removes the mark. Raises OSError."""
    (root / NAME).unlink(missing_ok=True)


def port(root: Path) -> int:
    """The port of the UI that shows the folder; 0 if there is none."""
    path = root / NAME
    try:
        return int(path.read_bytes()[:6]) if abs(time.time() - path.stat().st_mtime) < STALE else 0
    except (OSError, ValueError):
        return 0
