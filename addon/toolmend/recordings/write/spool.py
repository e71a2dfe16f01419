"""The spool: where recordings wait for their upload to a store, and the thread that uploads them.

    spool = Spool(url, log)
    spool.ready()                 its folder exists: the recorder's root is `spool.folder`
    spool.put(folder)             a recording is finished: it is uploaded, and then removed here
    spool.close()                 finished ones are uploaded within some seconds, the rest the next time

    <data folder>/spool/<store's name>/<process>-<worker>/      lock      <day>/<recording>/

The holder of the lock writes there. Recordings of a process that is gone are taken over by the next one: it gets the lock, moves
them into its own folder, and uploads them. meta.json is uploaded last, so a recording that has one is complete; uploading twice
is harmless.

Only the spool's thread waits for the network, and nothing is removed before it is in the store. What cannot be uploaded is kept
as `toolmend_keep` allows: the recorder prunes this folder like any other.
"""

import fcntl
import os
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ...config.data_folder import data_folder, private
from ...config.store_url import StoreUrl
from ...core.log_once import LogOnce
from ..read.store import filesystem, why
from .folder import META
from .pruning import recordings_in, remove
from .uploading import LateError, upload

PATIENCE = 5.0
"""Seconds that `close` waits for uploads."""

FIRST, LONGEST = 1.0, 300.0
"""Seconds until an upload is retried: at first, and at most. They double with each failure."""

LOOK = 600.0
"""Seconds between two searches for abandoned recordings."""

LOCK = "lock"


def home(url: StoreUrl) -> Path:
    """Returns the folder of a store, with one folder per process. Raises SettingsError if there is no home folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", url.url)[:60].strip(".-")
    return data_folder() / "spool" / f"{name}-{sha256(url.url.encode()).hexdigest()[:8]}"


def pause(failures: int) -> float:
    """Returns the seconds to wait after consecutive failures."""
    return min(LONGEST, FIRST * 2.0 ** min(failures - 1, 30)) if failures else 0.0


class Spool:
    """The spool of one process. `worker` is part of its recordings' names, which makes them unique. `log` gets sentences.

    `put` is called by the recorder's thread, all else by one other thread.
    """

    def __init__(self, url: StoreUrl, log: Callable[[str], None]) -> None:
        self.url, self._log_once = url, LogOnce(log)
        self.worker = secrets.token_hex(3)
        self.folder = home(url) / f"{os.getpid()}-{self.worker}"
        self._lock: int | None = None
        self._state = threading.Condition()  # guards the next two
        self._waiting: deque[Path] = deque()
        self._until: float | None = None  # closing: the deadline
        self._thread: threading.Thread | None = None

    def ready(self) -> bool:
        """Creates the folder if needed, and starts the upload of abandoned recordings. False if it cannot, which is logged."""
        try:
            if self._lock is None:
                self._lock = _locked(self.folder)
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="toolmend-spool", daemon=True)
                thread.start()
                self._thread = thread
        except (OSError, RuntimeError) as error:  # no disk; no more threads
            self._log_once("folder", f"nothing is recorded for {self.url}: {why(error)}: {self.folder}")
            return False
        return True

    def place(self, folder: Path) -> str:
        """Returns the URL that a recording will have."""
        return self.url.child(folder.relative_to(self.folder).as_posix())

    def put(self, folder: Path) -> None:
        """Queues a finished recording. Never waits or raises."""
        with self._state:
            self._waiting.append(folder)
            self._state.notify_all()

    def close(self, *, wait: bool = True) -> None:
        """Ends the spool when all is uploaded or PATIENCE is over, and waits for that by default."""
        with self._state:
            self._until = time.monotonic() + PATIENCE
            self._state.notify_all()
        if self._thread and wait:
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        with suppress(Exception):  # an upload reports the error
            filesystem(self.url)  # imports now, which would block a stream later
        failures, look = 0, 0.0
        while True:
            if time.monotonic() >= look:
                look = time.monotonic() + LOOK
                self._adopt()
            with self._state:
                if failures:
                    self._state.wait_for(lambda: self._until is not None, pause(failures))
                else:
                    self._state.wait_for(lambda: self._waiting or self._until is not None, LOOK)
                if self._until is not None and (not self._waiting or time.monotonic() > self._until):
                    break
                folder = self._waiting.popleft() if self._waiting else None
            if folder is None or self._upload(folder):
                failures = 0
            else:
                failures += 1
                with self._state:
                    self._waiting.append(folder)
                    if self._until is not None:
                        break
        self._release()

    def _upload(self, folder: Path) -> bool:
        """Uploads a recording; False if it has to stay here."""
        try:
            if (folder / META[0]).exists():  # otherwise it was uploaded before, or pruned
                upload(self.url, folder, folder.relative_to(self.folder).as_posix(), self._over)
        except LateError:
            return False
        except Exception as error:
            if (folder / META[0]).exists():
                self._log_once("store", f"recordings wait in {self.folder}, since {self.url} does not take them: {why(error)}")
                return False
        if "store" in self._log_once.kinds and not folder.exists():
            self._log_once("pruned", f"recordings that could not be uploaded to {self.url} are deleted, as toolmend_keep says")
        with suppress(OSError):  # it is then uploaded again the next time
            remove(folder, day=False)
        with self._state:
            if not self._waiting:
                self._log_once.kinds.clear()  # all is uploaded
        return True

    def _over(self) -> bool:
        return self._until is not None and time.monotonic() > self._until

    def _adopt(self) -> None:
        """Moves the recordings of ended processes here and queues them."""
        try:
            for other in _workers(self.folder.parent):
                if other != self.folder:
                    found = [self.folder / folder.relative_to(other) for folder in _taken(other, self.folder)]
                    with self._state:
                        self._waiting.extend(found)
        except Exception as error:
            self._log_once("left", f"what was recorded before for {self.url} waits: {why(error)}: {self.folder.parent}")

    def _release(self) -> None:
        """Releases the lock if nothing is left. Otherwise it stays until the process ends, as the recorder may still write."""
        if self._lock is not None and _cleared(self.folder):
            os.close(self._lock)


def _locked(folder: Path) -> int:
    """Creates a folder that is locked from its first moment; returns the descriptor that holds the lock."""
    draft = folder.with_name(f".{folder.name}")
    private(draft)
    number = os.open(draft / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.rename(folder)
    except BaseException:
        os.close(number)
        raise
    return number


def _workers(home: Path) -> list[Path]:
    try:
        with os.scandir(home) as folders:
            visible = (each for each in folders if not each.name.startswith("."))
            found = [Path(each.path) for each in visible if each.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    return sorted(found)


def _taken(other: Path, mine: Path) -> Iterator[Path]:
    """Moves the recordings of an unlocked folder to another one; yields where they were."""
    try:
        number = os.open(other / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:  # adopted by another process
        return
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for folder in recordings_in(other):
            target = mine / folder.relative_to(other)
            target.parent.mkdir(0o700, exist_ok=True)
            folder.rename(target)
            yield folder
        _cleared(other)
    except BlockingIOError:  # its process is running
        return
    finally:
        os.close(number)


def _cleared(worker: Path) -> bool:
    """Removes a folder if it has no recordings left, its lock last."""
    try:
        for day in worker.iterdir():
            if day.name != LOCK:
                day.rmdir()
        (worker / LOCK).unlink()
        worker.rmdir()
    except OSError:
        return False
    return True
