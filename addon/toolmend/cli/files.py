"""Files that a command writes where the user says.

Rule of this file: a file is whole, or it is not there; and it is for its owner alone. A pipe or a device is written into, and
never replaced. A link to a file is, as in a folder that others share it may be theirs.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from ..config.data_folder import on_one_line
from ..config.private_file import private_file
from . import Problem
from .error_hints import look

DESCRIPTORS = re.compile("/dev/(stdout|stderr|fd/[0-9]+)|/proc/self/fd/[0-9]+")
"""Of ours, by their names."""


def put(path: Path | None, write: Callable[[IO[bytes]], None]) -> None:
    """Writes standard output, or a file: all of it, or nothing. Raises Problem."""
    if path is None:
        write(sys.stdout.buffer)
        return
    try:
        with path.open("wb") if _takes_what_comes(path) else private_file(path) as file:
            write(file)
    except OSError as error:
        raise Problem(f"{on_one_line(path)} cannot be written: {error.strerror or error}", try_=look(path.parent)) from None


def _takes_what_comes(path: Path) -> bool:
    """Whether it is a pipe or a device, or a descriptor, whatever that leads to."""
    return path.exists() and (not path.is_file() or bool(DESCRIPTORS.fullmatch(str(path))))
