"""A file that is whole, or not there: it is written beside its place, for the user alone, and put there at the end.

    with private_file(path) as file:  file.write(b"…")

Rule of this file: it is apart from data_folder.py, as tempfile takes 10 ms to import and most commands write nothing.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def private_file(path: Path) -> Iterator[IO[bytes]]:
    """Opens it; what was at the path stays as it was unless the block ends well. Raises OSError."""
    number, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600
    try:
        with os.fdopen(number, "wb") as file:
            yield file
        Path(draft).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(draft).unlink()
        raise
