"""A thread that somebody is told things from, and the bounded queue in front of it.

    teller = Teller("name", tell, log, limit)
    teller.put(item)                  at once, whatever `tell` is doing; False: there is no room, and the item is dropped
    teller.close()

Rule of this file: who puts neither waits nor fails. What `tell` raises costs the item that it was told; while it blocks, the
queue fills up, and then items are dropped and counted.
"""

import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue

PATIENCE = 2.0
"""Seconds that a close waits."""


class BackgroundWorker[T]:
    """Tells `tell` each item, in order, and calls `last` when it is closed.

    `limit`: the weight of all that may wait. `log` gets a sentence for each kind of failure.
    """

    def __init__(
        self,
        name: str,
        tell: Callable[[T], None],
        log: Callable[[str], None],
        limit: int,
        last: Callable[[], None] = lambda: None,
    ) -> None:
        self.dropped = self.failed = 0
        self._last = last
        self._name, self._tell, self._log, self._limit = name, tell, log, limit
        self._queue: SimpleQueue[tuple[T, int] | None] = SimpleQueue()
        self._put = self._done = 0  # weights ever: one is counted by who puts, one by the thread, so they need no lock
        self._said: set[str] = set()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"toolmend-{name}", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # no more threads
            self._closed = True
            self._log_once("thread", str(error))

    @property
    def waiting(self) -> int:
        """The weight of what is not told yet."""
        return self._put - self._done

    def put(self, item: T, weight: int = 1) -> bool:
        """Has an item told. Called from one thread; where the weight is 0, which always has room, from any."""
        if self._closed or (weight and self.waiting + weight > self._limit):
            self.dropped += 1
            return False
        self._put += weight
        self._queue.put((item, weight))
        return True

    def close(self, timeout: float = PATIENCE) -> None:
        """Waits until all is told, but at most so many seconds. Who blocks is left behind: the thread ends with the process."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join(timeout)

    def _run(self) -> None:
        while entry := self._queue.get():
            item, weight = entry
            self._try(partial(self._tell, item))
            self._done += weight
        self._try(self._last)

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            self.failed += 1
            # where, not what: an exception's own words may quote a stream
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = type(error).__name__
            self._log_once(kind, f"{kind} in {place.name} ({Path(place.filename).name}:{place.lineno})")

    def _log_once(self, kind: str, what: str) -> None:
        """Each kind of failure once."""
        if kind not in self._said:
            self._said.add(kind)
            with suppress(Exception):
                self._log(f"toolmend: {self._name}: {what}")
