"""The files of a recording, as they are read: in one that somebody else made may be a pipe, or a link to what is only yours.

    read(folder / "meta.json")      all of it            read(path, tail=256)      no more than the end of it
    opened(path).read(4096)         piece by piece

Rule of this file: whatever stands there, it is read at once, or an OSError says why it is not. A link is not followed: what it
leads to would go into a page, an export or a fixture, and with these to others.
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
    """A file, to be read. Raises OSError."""
    return open(path, "rb", buffering=0, opener=_opened)


def read(path: Path | str, tail: int = 0) -> bytes:
    """A file, or the last bytes of it. Raises OSError."""
    with opened(path) as file:
        try:
            if tail:
                file.seek(max(0, file.seek(0, os.SEEK_END) - tail))
            return file.read(tail or -1)
        except MemoryError:  # of one with holes, that says it has terabytes
            raise OSError(EFBIG, os.strerror(EFBIG), str(path)) from None


def _opened(path: str, _: int) -> int:
    try:
        number = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno == ELOOP:
            raise OSError(ELOOP, "it is a link, and not followed", str(path)) from None
        raise
    if not S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(EINVAL, "it is no file", str(path))
    return number
