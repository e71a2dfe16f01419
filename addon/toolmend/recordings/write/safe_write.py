"""Writes the files of a recording: for the user alone, and through no link. safe_read.py reads them.

    create(path, b"…")      append(path, 1234, b"…", [(56, b"…")])      keep(path)

Few system calls: each of them hands the interpreter to the event loop, and with forty streams waiting for it costs more than the
call.
"""

import os
from collections.abc import Sequence
from errno import ESTALE
from pathlib import Path

_FLAGS = os.O_RDWR  # O_WRONLY would block on a pipe until it is read
for _name in ("O_NOFOLLOW", "O_BINARY"):  # the last is all that Windows has
    _FLAGS |= getattr(os, _name, 0)


def create(path: Path, data: bytes) -> None:
    """Creates a file. Raises OSError, also if the path exists."""
    number = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        path.chmod(0o600)  # the umask may have removed bits
        _write(number, data)
    finally:
        os.close(number)


def append(path: Path, size: int, data: bytes, overwrites: Sequence[tuple[int, bytes]]) -> None:
    """Appends data to a file of `size` bytes, and then overwrites (offset, bytes) in it.

    Raises OSError, also if the file has another size: another program has changed it.
    """
    number = os.open(path, _FLAGS)
    try:
        if os.lseek(number, 0, os.SEEK_END) != size:
            raise OSError(ESTALE, "another program has changed it")
        _write(number, data)
        for offset, piece in overwrites:
            os.lseek(number, offset, os.SEEK_SET)
            _write(number, piece)
    finally:
        os.close(number)


def keep(path: Path) -> None:
    """Waits until the disk has stored a file (fsync). Raises OSError."""
    number = os.open(path, _FLAGS)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _write(number: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(number, memoryview(data)[written:])
