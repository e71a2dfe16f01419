"""Stores for tests: fsspec's memory, and one that fails when it is told to.

    with failing(2): ..           its second upload fails, once
    with failing(forever=True): ..

Rule of this file: what a store has is emptied for each test; nothing here is on a network.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

BOOM = "the store says no to sk-ant-api03-Hh1Ee2Aa3Dd4Ee5Rr6"
"""What it raises holds a key: it must not be told."""


class Trying(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Memory that does what `act` says before each upload, and before each of READS; `names` has the uploaded ones in order."""

    protocol = "trying"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    names: ClassVar[list[str]] = []
    act: ClassVar[Any] = None
    reads: ClassVar[Any] = None

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("trying://").strip("/")

    def put_file(self, lpath: str, rpath: str, *args: Any, **kwargs: Any) -> None:
        if Trying.act:
            Trying.act()
        super().put_file(lpath, rpath, *args, **kwargs)
        Trying.names.append(rpath)

    def find(self, path: str, *args: Any, **kwargs: Any) -> Any:
        return _read("find") or super().find(path, *args, **kwargs)

    def cat_file(self, path: str, *args: Any, **kwargs: Any) -> Any:
        return _read("cat_file") or super().cat_file(path, *args, **kwargs)

    def get_file(self, rpath: str, lpath: str, *args: Any, **kwargs: Any) -> Any:
        return _read("get_file") or super().get_file(rpath, lpath, *args, **kwargs)


def _read(call: str) -> None:
    if Trying.reads == call:
        raise RuntimeError(BOOM)


fsspec.register_implementation("trying", Trying, clobber=True)


def emptied() -> None:
    """Nothing is stored, and nothing fails."""
    for kind in (MemoryFileSystem, Trying):
        kind.store.clear()
        kind.pseudo_dirs[:] = [""]
    Trying.names.clear()
    Trying.act = Trying.reads = None


@contextmanager
def failing(at: int = 1, *, forever: bool = False) -> Iterator[list[int]]:
    """Uploads fail: the one with this number, or all; the list has a number for each that was tried."""
    tried: list[int] = []

    def act() -> None:
        tried.append(len(tried) + 1)
        if forever or tried[-1] == at:
            raise RuntimeError(BOOM)

    Trying.act = act
    try:
        yield tried
    finally:
        Trying.act = None


def stored(kind: type[MemoryFileSystem] = Trying) -> dict[str, bytes]:
    """All that it has, by path."""
    return {path: file.getvalue() for path, file in kind.store.items()}
