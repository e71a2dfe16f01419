"""Uploads a recording to a store: its files in parallel, as far as the store's driver can, and then its meta.json.

    upload(url, folder, "2026-11-20/183401-openrouter-0f3c9a12-a1b2c3")

It only writes, so that a write-only key suffices.
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
    """Uploads the files of a recording, meta.json last. Raises the store's exceptions; LateError if `over` returns True."""
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
    else:  # with two lists it does not list the target
        fs.put([str(file) for file in files], [f"{remote}/{file.name}" for file in files])


def _copy(file: Path, target: Path) -> None:
    """Copies to a folder of this machine: private, through no link, and synced to disk."""
    for folder in (target.parent.parent, target.parent):
        private(folder)
        if folder.is_symlink():
            raise OSError(ENOTDIR, "it is a link, not a folder", str(folder))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with file.open("rb") as source, os.fdopen(os.open(target, flags, 0o600), "wb") as copy:
        os.fchmod(copy.fileno(), 0o600)  # the umask may have removed bits
        shutil.copyfileobj(source, copy)
        copy.flush()
        os.fsync(copy.fileno())
