"""Files that a command writes where the user says.

Rule of this file: a file is whole, or it is not there; and it is for its owner alone. What is no file (a pipe, a device, a link)
is written into, and never replaced.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from ..config.private_file import private_file
from . import Problem
from .hints import look


def put(path: Path | None, write: Callable[[IO[bytes]], None]) -> None:
    """Writes standard output, or a file: all of it, or nothing. Raises Problem."""
    if path is None:
        write(sys.stdout.buffer)
        return
    try:
        there = path.exists(follow_symlinks=False)
        with path.open("wb") if there and (path.is_symlink() or not path.is_file()) else private_file(path) as file:
            write(file)
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror or error}", try_=look(path.parent)) from None
