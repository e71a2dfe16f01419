"""The files of a recording, as they are written: for the user alone, and through no link. safe_read.py reads them.

    create(path, b"…")      append(path, 1234, b"…", [(56, b"…")])      keep(path)

Rule of this file: no more calls of the system than it takes. In each, the writer thread hands the interpreter to the event loop,
and has to get it back: beside forty streams a call costs more than what it does.
"""

import os
from collections.abc import Sequence
from errno import ESTALE
from pathlib import Path

_FLAGS = os.O_RDWR  # where a pipe stands, O_WRONLY waits until somebody reads
for _name in ("O_NOFOLLOW", "O_BINARY"):  # the last is all that Windows has
    _FLAGS |= getattr(os, _name, 0)


def create(path: Path, data: bytes) -> None:
    """A new file. Raises OSError, also where something stands in its place."""
    number = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        path.chmod(0o600)  # what the umask took
        _write(number, data)
    finally:
        os.close(number)


def append(path: Path, size: int, data: bytes, instead: Sequence[tuple[int, bytes]]) -> None:
    """Puts data at the end of a file of so many bytes, and then (offset, bytes) in the place of what stands there.

    Raises OSError, also where the file has not that size: another program has changed it.
    """
    number = os.open(path, _FLAGS)
    try:
        if os.lseek(number, 0, os.SEEK_END) != size:
            raise OSError(ESTALE, "another program has changed it")
        _write(number, data)
        for offset, piece in instead:
            os.lseek(number, offset, os.SEEK_SET)
            _write(number, piece)
    finally:
        os.close(number)


def keep(path: Path) -> None:
    """Waits until the disk keeps a file. Raises OSError."""
    number = os.open(path, _FLAGS)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _write(number: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(number, memoryview(data)[written:])
