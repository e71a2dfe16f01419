"""Recordings in a store at an fsspec URL: listed, found, and fetched when their bytes are needed.

    store = Store(url, into)          `into`: a folder for fetched files
    store.entries()                   newest first: one listing, then the small files of each, many in parallel
    store.find("last")                as library.py does in a folder, with few reads
    store.fetch([entry, ..])          its files, in `entry.folder`

A recording with a meta.json is complete: the spool uploads that last.

It only reads. A name in a store is untrusted: it is checked before it becomes a path, and an oversized meta.json is not read.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ...config.store_url import StoreUrl
from ...core.fastclass import replace
from ...secrets.names import is_credential
from ...secrets.redactor import Redactor
from ..write.pruning import time_of
from .library import MAX_SMALL, Entry, entry_of, newest_first, only

AT_ONCE = 16
"""Files read in parallel: a store takes some hundredths of a second for each."""

MAX_ERROR = 300
"""Characters of a store's error message."""

SLACK = timedelta(minutes=1)
"""Between the time in a recording's name and the one in its meta.json."""

_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_FOLDER = re.compile(r"(?!\.\.?$)[^/\\\0]{1,200}")


type Watch = Callable[[Iterator[Entry], int], Iterable[Entry]]
"""Called with the recordings being read and their number; passes them on."""


class StoreError(OSError):
    """A store cannot be read; the message says which, and why."""


def filesystem(url: StoreUrl) -> tuple[Any, str]:
    """Returns the store, and the URL's path in it, without network access. Raises the exceptions of the store's driver."""
    from fsspec.core import url_to_fs  # type: ignore[import-untyped]  # noqa: PLC0415  an extra, and slow

    fs, root = url_to_fs(url.url)
    return fs, str(root).rstrip("/")


def why(error: BaseException) -> str:
    """Returns a store's error on one line, without credentials."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    secrets = [value for name, value in os.environ.items() if len(value) >= 8 and is_credential(name)]
    text = " ".join(Redactor(secrets).text(str(error)).split())[:MAX_ERROR]
    kind = type(error).__name__
    return "".join(char if char.isprintable() else "?" for char in (f"{kind}: {text}" if text else kind))


class Store:
    """The recordings at a URL. All methods may raise StoreError."""

    def __init__(self, url: StoreUrl, into: Path) -> None:
        self.url, self._into = url, into
        self._sizes: dict[str, dict[str, int]] | None = None  # file sizes by the recording's path below the URL
        try:
            self._fs, self._root = filesystem(url)
        except Exception as error:
            raise self._error(error) from None

    def entries(self, since: datetime | None = None, watch: Watch = lambda found, _: found) -> list[Entry]:
        """Returns the recordings, newest first. `since`: older ones, by their names, are skipped unread."""
        earliest = (since - SLACK).astimezone(UTC) if since else None
        paths = [path for path in self._listed() if not (earliest and (at := _time(path)) and at < earliest)]
        return newest_first(watch(self._read(paths), len(paths)))

    def find(self, word: str) -> Entry:
        """Returns the recording for `last`, a name or its beginning, or a request's id. Raises NotFound."""
        names = {path: self._folder(path).name for path in self._listed()}
        if word == "last" and names:
            return newest_first(self._read(_newest(names)))[0]
        fitting = [path for path, name in names.items() if name == word]
        fitting = fitting or [path for path, name in names.items() if name.startswith(word)]
        if not fitting:
            candidates = self._read([path for path, name in names.items() if f"-{word[:8].lower()}" in name])
            return only(word, [entry for entry in candidates if entry.flow_id == word], str(self.url))
        if len(fitting) == 1:
            return self._entry(fitting[0])
        return only(word, [Entry(self._folder(path)) for path in fitting], str(self.url))

    def fetch(self, found: Iterable[Entry]) -> Iterator[Entry]:
        """Yields each entry as soon as its files are in its folder."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            yield from pool.map(self._fetch, found)

    def _fetch(self, entry: Entry) -> Entry:
        path = entry.url.removeprefix(self.url.url).lstrip("/")
        entry.folder.mkdir(0o700, parents=True, exist_ok=True)
        try:
            for name in self._listed()[path]:
                self._fs.get_file(self._object(path, name), str(entry.folder / name))
        except Exception as error:
            raise self._error(error) from None
        return entry

    def _listed(self) -> Mapping[str, Mapping[str, int]]:
        """Returns the file sizes of each recording, by its path below the URL."""
        if self._sizes is None:
            try:
                self._fs.invalidate_cache()
                found = self._fs.find(self._root, detail=True)
            except Exception as error:
                raise self._error(error) from None
            self._sizes = _recordings(self._root, found)
        return self._sizes

    def _read(self, paths: Sequence[str]) -> Iterator[Entry]:
        """Yields the entries in the order of the paths."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            yield from pool.map(self._entry, paths)

    def _entry(self, path: str) -> Entry:
        files = _Objects(self._fs, self._object(path, ""), self._listed()[path])
        return replace(entry_of(self._folder(path), files), url=self.url.child(path))

    def _folder(self, path: str) -> Path:
        return self._into.joinpath(*path.split("/")) if path else self._into / self.url.url.rpartition("/")[2]

    def _object(self, path: str, name: str) -> str:
        return "/".join(part for part in (self._root, path, name) if part)

    def _error(self, error: Exception) -> StoreError:
        return StoreError(f"{self.url} cannot be read: {why(error)}")


class _Objects:
    """The files of a recording in a store."""

    def __init__(self, fs: Any, path: str, sizes: Mapping[str, int]) -> None:
        self._fs, self._path, self._sizes = fs, path, sizes

    @property
    def size(self) -> int:
        return sum(self._sizes.values())

    def __contains__(self, name: object, /) -> bool:
        return name in self._sizes

    def read(self, name: str, tail: int = 0) -> bytes:
        size = self._sizes.get(name)
        if size is None:
            raise FileNotFoundError(name)
        if not tail and size > MAX_SMALL:
            raise OSError(f"{name} has {size} bytes")
        if not size:
            return b""
        try:
            data: bytes = self._fs.cat_file(f"{self._path}/{name}", start=max(0, size - tail) if tail else 0, end=size)
        except OSError:
            raise
        except Exception as error:  # exceptions of the driver
            raise OSError(why(error)) from None
        return data


def _recordings(root: str, found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Returns the recordings among all files below a path: the folders with a meta.json."""
    folders: dict[str, dict[str, int]] = {}
    for path, about in found.items():
        if path.startswith(f"{root}/"):
            folder, _, name = path[len(root) + 1 :].rpartition("/")
            if _FILE.fullmatch(name) and all(map(_FOLDER.fullmatch, folder.split("/") if folder else ())):
                folders.setdefault(folder, {})[name] = int(about.get("size") or 0)
    return {folder: files for folder, files in folders.items() if "meta.json" in files}


def _newest(paths: Iterable[str]) -> list[str]:
    """Returns the paths that may be the newest: the recorder's names contain the second, other names do not."""
    times = {path: _time(path) for path in paths}
    latest = max((at for at in times.values() if at), default=None)
    return [path for path, at in times.items() if at in (None, latest)]


def _time(path: str) -> datetime | None:
    """Returns when a recording was made, by the recorder's path: <day>/<time>-<provider>-<id>."""
    day, _, name = path.rpartition("/")
    return time_of(day.rpartition("/")[2], name)
