"""The thread that waits for the disk, which may take seconds to keep a gigabyte: whoever still writes does not.

    settling = Settling(settle)
    settling.put(folder)      its last words are written: `settle` is called with it
    settling.close()          returns when all is settled

Rule of this file: one at a time, in the order in which they ended; an end that has to wait is late in a list, and loses nothing.
"""

import threading
from queue import Queue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .folder import Folder


class Settling:
    """Of one recorder, whose writer thread calls all of this. `settle` raises nothing."""

    def __init__(self, settle: "Callable[[Folder], None]") -> None:
        self.queue: Queue[Folder | None] = Queue()
        self._settle = settle
        self._thread: threading.Thread | None = None

    def put(self, folder: "Folder") -> None:
        if not self._thread:
            thread = threading.Thread(target=self._run, name="toolmend-settling", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no more threads
                self._settle(folder)
                return
            self._thread = thread
        self.queue.put(folder)

    def close(self) -> None:
        if self._thread:
            self.queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while folder := self.queue.get():
            self._settle(folder)
            self.queue.task_done()
