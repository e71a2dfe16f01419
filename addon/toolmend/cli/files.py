"""Writes an output file at a path that the user names.

1. A file is written completely or not at all, and readable by its owner only.
2. A pipe or a device is written to and never replaced. A link is replaced, as in a shared folder another user may have made it.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from ..config.data_folder import on_one_line
from ..config.private_file import private_file
from . import CliError
from .error_hints import ls_command

DESCRIPTORS = re.compile("/dev/(stdout|stderr|fd/[0-9]+)|/proc/self/fd/[0-9]+")
"""Names of this process's own descriptors."""


def write_output(path: Path | None, write: Callable[[IO[bytes]], None]) -> None:
    """Writes standard output (`path` None) or a file.

    Raises:
        CliError: The file cannot be written.
    """
    if path is None:
        write(sys.stdout.buffer)
        return
    try:
        with path.open("wb") if _is_stream(path) else private_file(path) as file:
            write(file)
    except OSError as error:
        raise CliError(
            f"{on_one_line(path)} cannot be written: {error.strerror or error}", try_=ls_command(path.parent)
        ) from None


def _is_stream(path: Path) -> bool:
    """Returns whether a path is a pipe, a device or a descriptor, wherever that leads."""
    return path.exists() and (not path.is_file() or bool(DESCRIPTORS.fullmatch(str(path))))
