"""Who else can put something in the place of a file, or of a folder: they would be obeyed, or read what is written there.

    others(Path("~/.config/toolmend/config.toml"))  →  Path("~/.config")    others may write in it, and so rename what is in it

Rule of this file: it is asked what the system would let them do, and as on POSIX; elsewhere nothing is told.
"""

import os
import shlex
import stat
from pathlib import Path


def others(path: Path) -> Path | None:
    """The first of it and of the folders above that lets others do so, or None. What is missing is passed over."""
    if os.name != "posix":
        return None
    path = path.resolve()
    return next((one for one in (path, *path.parents) if one.exists() and _open_to_others(one)), None)


def closed(path: Path) -> str:
    """The command that ends it."""
    quoted = shlex.quote(str(path))
    return f"chmod go-w {quoted}" if path.stat().st_uid == os.getuid() else f"sudo chown $USER {quoted} && chmod go-w {quoted}"


def _open_to_others(path: Path) -> bool:
    about = path.stat()
    if stat.S_ISDIR(about.st_mode) and about.st_mode & stat.S_ISVTX:  # /tmp: each has their own in it
        return False
    theirs = about.st_uid not in (0, os.getuid()) and os.getuid() != 0  # to root, a container's say, all belong
    group = bool(about.st_mode & stat.S_IWGRP) and about.st_gid not in (0, os.getgid())  # many systems give each user one
    return theirs or group or bool(about.st_mode & stat.S_IWOTH)
