"""Writes a file atomically, for the user alone: into a temporary file in the same folder, which replaces the path at the end.

    with private_file(path) as file:  file.write(b"…")

Separate from data_folder.py because tempfile takes 10 ms to import and most commands write nothing.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def private_file(path: Path) -> Iterator[IO[bytes]]:
    """Opens the file; an existing one is replaced only if the block succeeds. Raises OSError."""
    number, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600
    try:
        with os.fdopen(number, "wb") as file:
            yield file
        Path(draft).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(draft).unlink()
        raise
