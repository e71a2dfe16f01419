"""Where recordings wait that are to go to a store: a folder of the user's, and the thread that takes them from there.

    spool = Spool(url, log)
    spool.ready()                 its folder is there: the recorder's root is `spool.folder`
    spool.put(folder)             a recording is finished: it is uploaded, and then goes from here
    spool.close()                 what is finished goes up within some seconds, the rest the next time

    <data folder>/spool/<store's name>/<process>-<worker>/      lock      <day>/<recording>/

Who holds the lock writes there. What one has left that is gone, killed or ended, is taken by the next: it gets the lock, moves
all into a folder of its own, and uploads it. meta.json goes up last, so what has one is whole; to upload a thing twice does no
harm.

Rule of this file: nobody waits for the network but its thread, and nothing goes from the disk before it lies in the store. What
cannot be uploaded waits as long as `toolmend_keep` lets it: the recorder prunes this folder as any other.
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
from ..read.store import filesystem, why
from .folder import META
from .pruning import recordings_in, remove
from .uploading import LateError, upload

PATIENCE = 5.0
"""Seconds that a close waits for uploads."""

FIRST, LONGEST = 1.0, 300.0
"""Seconds until an upload is tried again: at first, and at most. They double with each failure."""

LOOK = 600.0
"""Seconds between two looks for what others have left."""

LOCK = "lock"


def home(url: StoreUrl) -> Path:
    """What all processes have of a store: a folder for each of them. Raises SettingsError where no home folder is known."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", url.url)[:60].strip(".-")
    return data_folder() / "spool" / f"{name}-{sha256(url.url.encode()).hexdigest()[:8]}"


def pause(failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return min(LONGEST, FIRST * 2.0 ** min(failures - 1, 30)) if failures else 0.0


class Spool:
    """One process's. `worker` is in the names of its recordings, so that they never meet another's. `log` gets sentences.

    All but `put`, which is the recorder's thread's, is called by one thread.
    """

    def __init__(self, url: StoreUrl, log: Callable[[str], None]) -> None:
        self.url, self._log = url, log
        self.worker = secrets.token_hex(3)
        self.folder = home(url) / f"{os.getpid()}-{self.worker}"
        self._lock: int | None = None
        self._state = threading.Condition()  # of the next two
        self._waiting: deque[Path] = deque()
        self._until: float | None = None  # closing: it ends then
        self._thread: threading.Thread | None = None
        self._said: set[str] = set()

    def ready(self) -> bool:
        """Makes the folder, if it is not there, and begins to upload what others left. False: it cannot, which is said."""
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
        """The URL that a recording comes to lie at."""
        return self.url.child(folder.relative_to(self.folder).as_posix())

    def put(self, folder: Path) -> None:
        """A recording is finished. Never waits or raises."""
        with self._state:
            self._waiting.append(folder)
            self._state.notify_all()

    def close(self, *, wait: bool = True) -> None:
        """Ends it, when all is uploaded, or PATIENCE is over. It waits for that, unless told otherwise."""
        with self._state:
            self._until = time.monotonic() + PATIENCE
            self._state.notify_all()
        if self._thread and wait:
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        with suppress(Exception):  # it is told when something is to be uploaded
            filesystem(self.url)  # imports, which would take the interpreter from a stream later
        failures, look = 0, 0.0
        while True:
            if time.monotonic() >= look:
                look = time.monotonic() + LOOK
                self._take_over()
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
        self._leave()

    def _upload(self, folder: Path) -> bool:
        """Takes a recording to the store; False if it has to stay here."""
        try:
            if (folder / META[0]).exists():  # or it went up before, or was pruned, and something was in the way
                upload(self.url, folder, folder.relative_to(self.folder).as_posix(), self._over)
        except LateError:
            return False
        except Exception as error:
            if (folder / META[0]).exists():
                self._log_once("store", f"recordings wait in {self.folder}, since {self.url} does not take them: {why(error)}")
                return False
        if "store" in self._said and not folder.exists():
            self._log_once("pruned", f"recordings go that could not be uploaded to {self.url}, as toolmend_keep says")
        with suppress(OSError):  # then it goes up once more, the next time
            remove(folder, day=False)
        with self._state:
            if not self._waiting:
                self._said.clear()
        return True

    def _over(self) -> bool:
        return self._until is not None and time.monotonic() > self._until

    def _take_over(self) -> None:
        """Moves here what others have left that are gone, and has it uploaded with what lies here."""
        try:
            for other in _workers(self.folder.parent):
                if other != self.folder:
                    found = [self.folder / folder.relative_to(other) for folder in _taken(other, self.folder)]
                    with self._state:
                        self._waiting.extend(found)
        except Exception as error:
            self._log_once("left", f"what was recorded before for {self.url} waits: {why(error)}: {self.folder.parent}")

    def _leave(self) -> None:
        """Nothing more is done here. What is left is anybody's when this process has ended: the recorder may write to it yet."""
        if self._lock is not None and _cleared(self.folder):
            os.close(self._lock)

    def _log_once(self, kind: str, message: str) -> None:
        """Each kind of failure once, until all is uploaded."""
        if kind not in self._said:
            self._said.add(kind)
            with suppress(Exception):
                self._log(message)


def _locked(folder: Path) -> int:
    """Makes a folder whose lock is held as soon as it is there; the descriptor that holds it."""
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
            found = [Path(one.path) for one in folders if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")]
    except FileNotFoundError:
        return []
    return sorted(found)


def _taken(other: Path, mine: Path) -> Iterator[Path]:
    """Moves the recordings of a folder that nobody holds into another one; where they were."""
    try:
        number = os.open(other / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:  # another was faster
        return
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for folder in recordings_in(other):
            target = mine / folder.relative_to(other)
            target.parent.mkdir(0o700, exist_ok=True)
            folder.rename(target)
            yield folder
        _cleared(other)
    except BlockingIOError:  # it is at work
        return
    finally:
        os.close(number)


def _cleared(worker: Path) -> bool:
    """Removes a folder if no recording lies in it any more, its lock last."""
    try:
        for day in worker.iterdir():
            if day.name != LOCK:
                day.rmdir()
        (worker / LOCK).unlink()
        worker.rmdir()
    except OSError:
        return False
    return True
