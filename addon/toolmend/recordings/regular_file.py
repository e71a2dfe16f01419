"""The files of a recording, as they are read: in one that somebody else made may be a pipe, or a link to a device without end.

    read(folder / "meta.json")      all of it            read(path, tail=256)      no more than the end of it

Rule of this file: whatever stands there, it is read at once, or an OSError says why it is not.
"""

import os
from errno import EFBIG, EINVAL
from pathlib import Path
from stat import S_ISREG

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # each system has one of the two


def read(path: Path | str, tail: int = 0) -> bytes:
    """A file, or the last bytes of it. Raises OSError."""
    number = os.open(path, _FLAGS)
    try:
        about = os.fstat(number)
        if not S_ISREG(about.st_mode):
            raise OSError(EINVAL, "it is no file", str(path))
        if tail:
            os.lseek(number, max(0, about.st_size - tail), os.SEEK_SET)
        with open(number, "rb", closefd=False) as file:
            return file.read(tail or -1)
    except MemoryError:  # of one with holes, that says it has terabytes
        raise OSError(EFBIG, os.strerror(EFBIG), str(path)) from None
    finally:
        os.close(number)
