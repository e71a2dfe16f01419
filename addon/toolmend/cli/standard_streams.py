"""Prepares standard input, output and error for commands.

1. A closed descriptor (`<&-`, `>&-`, `2>&-`) becomes the null device before anything else is opened: otherwise the first file
   would get its number, and everything that is printed.
2. A character that the encoding lacks (LC_ALL=C) is written as an escape.
3. Text that standard error does not take, as on a full disk, is dropped and changes no exit code.
"""

import io
import os
import sys
from collections.abc import Buffer
from typing import Any


def prepare() -> None:
    """Prepares the streams. Must be called once, before anything else."""
    for number, mode in enumerate("rww"):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
            os.set_inheritable(opened, True)
            assert opened == number
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:  # closed when Python started
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  open until exit
    if sys.stderr is sys.__stderr__ or sys.__stderr__ is None:
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_Lossy(2, "w", closefd=False)), sys.stderr.encoding, "backslashreplace", line_buffering=True
        )
    output: Any = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="backslashreplace")


class _Lossy(io.FileIO):
    """A file that drops what cannot be written."""

    def write(self, data: Buffer, /) -> int:
        try:
            written: int | None = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written
