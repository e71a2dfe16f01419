"""Finds files and folders that other users could replace or rename, and so change settings or read recordings.

    writable_by_others(Path("~/.config/toolmend/config.toml"))  →  Path("~/.config")    others may rename the files in it

The answer follows POSIX permissions; on other systems it is None.
"""

import os
import shlex
import stat
from pathlib import Path


def writable_by_others(path: Path) -> Path | None:
    """Returns the first of a path and its parents that others may write to, or None. Missing ones are skipped."""
    if os.name != "posix":
        return None
    path = path.resolve()
    return next(
        (candidate for candidate in (path, *path.parents) if candidate.exists() and _is_writable_by_others(candidate)), None
    )


def close_command(path: Path) -> str:
    """Returns the command that removes the permission."""
    quoted = shlex.quote(str(path))
    return f"chmod go-w {quoted}" if path.stat().st_uid == os.getuid() else f"sudo chown $USER {quoted} && chmod go-w {quoted}"


def _is_writable_by_others(path: Path) -> bool:
    info = path.stat()
    if stat.S_ISDIR(info.st_mode) and info.st_mode & stat.S_ISVTX:  # /tmp: users cannot rename others' files there
        return False
    owned_by_other = info.st_uid not in (0, os.getuid()) and os.getuid() != 0  # root, as in a container, may own all
    group = bool(info.st_mode & stat.S_IWGRP) and info.st_gid not in (0, os.getgid())  # many systems have a group for each user
    return owned_by_other or group or bool(info.st_mode & stat.S_IWOTH)
