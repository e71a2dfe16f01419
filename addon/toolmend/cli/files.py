"""Files that a command writes where the user says.

Rule of this file: a file is whole, or it is not there; and it is for its owner alone.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from . import Problem
from .hints import look


def put(path: Path | None, write: Callable[[IO[bytes]], None]) -> None:
    """Writes standard output, or a file: all of it, or nothing. Raises Problem."""
    if path is None:
        write(sys.stdout.buffer)
        return
    try:
        number, new = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # for the user alone
        try:
            with os.fdopen(number, "wb") as file:
                write(file)
            Path(new).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(new).unlink()
            raise
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror or error}", try_=look(path.parent)) from None
