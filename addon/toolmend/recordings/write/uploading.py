"""A recording's way into a store: its files at once, as far as the store's driver can, and then its meta.json.

    upload(url, folder, "2026-11-20/183401-openrouter-0f3c9a12-a1b2c3")

Rule of this file: it only writes, so that a key that may do no more is enough.
"""

import os
import shutil
from collections.abc import Callable
from errno import ENOTDIR
from pathlib import Path
from typing import Any

from ...config.data_folder import private
from ...config.store_url import StoreUrl
from ..read.store import filesystem
from .folder import META


class LateError(TimeoutError):
    """There is no time left to upload."""


def upload(url: StoreUrl, folder: Path, path: str, over: Callable[[], bool] = lambda: False) -> None:
    """Puts the files of a recording below the URL, meta.json last. Raises what the store raises; LateError if `over` says so."""
    fs, root = filesystem(url)
    with os.scandir(folder) as files:
        names = {file.name for file in files if file.is_file(follow_symlinks=False)} - {*META}
    for part in (sorted(names), [META[0]]):
        if over():
            raise LateError
        _put(fs, [folder / name for name in part], f"{root}/{path}")


def _put(fs: Any, files: list[Path], remote: str) -> None:
    from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]  # noqa: PLC0415  an extra

    if isinstance(fs, LocalFileSystem):
        for file in files:
            _copy(file, Path(remote) / file.name)
    else:  # two lists: else it would ask what lies there
        fs.put([str(file) for file in files], [f"{remote}/{file.name}" for file in files])


def _copy(file: Path, target: Path) -> None:
    """To a folder of this machine: as private there as here, through no link, and on the disk before it goes from here."""
    for folder in (target.parent.parent, target.parent):
        private(folder)
        if folder.is_symlink():
            raise OSError(ENOTDIR, "a link stands in the place of a folder", str(folder))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with file.open("rb") as source, os.fdopen(os.open(target, flags, 0o600), "wb") as copy:
        os.fchmod(copy.fileno(), 0o600)  # what the umask took
        shutil.copyfileobj(source, copy)
        copy.flush()
        os.fsync(copy.fileno())
