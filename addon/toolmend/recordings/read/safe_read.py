"""Reads the files of a recording safely: a foreign one may contain a pipe, or a link to a private file.

    read(folder / "meta.json")      all of it            read(path, tail=256)      only the end
    opened(path).read(4096)         piece by piece

It never blocks: the file is read at once, or OSError is raised. A link is not followed: its target would be included in a page,
an export or a fixture, and passed on with these.
"""

import os
from errno import EFBIG, EINVAL, ELOOP
from pathlib import Path
from stat import S_ISREG
from typing import IO

_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"):  # the last is all that Windows has
    _FLAGS |= getattr(os, _name, 0)


def opened(path: Path | str) -> IO[bytes]:
    """Opens a file for reading. Raises OSError."""
    return open(path, "rb", buffering=0, opener=_opened)


def read(path: Path | str, tail: int = 0) -> bytes:
    """Returns a file, or the last bytes of it. Raises OSError."""
    with opened(path) as file:
        try:
            if tail:
                file.seek(max(0, file.seek(0, os.SEEK_END) - tail))
            return file.read(tail or -1)
        except MemoryError:  # a sparse file may claim terabytes
            raise OSError(EFBIG, os.strerror(EFBIG), str(path)) from None


def _opened(path: str, _: int) -> int:
    try:
        number = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno == ELOOP:
            raise OSError(ELOOP, "it is a link, which is not followed", str(path)) from None
        raise
    if not S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(EINVAL, "it is not a file", str(path))
    return number
