"""A worker thread with a bounded queue.

    worker = BackgroundWorker("name", handle, log, limit)
    worker.put(item)      returns at once; False: the queue is full and the item is dropped
    worker.close()

`put` never waits and never raises. An exception in `handle` costs only its item; while `handle` blocks, the queue fills up, and
further items are dropped and counted.
"""

import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue

from .error_text import class_and_place
from .log_once import LogOnce

PATIENCE = 2.0
"""Seconds that `close` waits for the queue to drain."""


class BackgroundWorker[T]:
    """Calls `handle` with each item, in order.

    Args:
        name: Of the thread, and in log lines.
        handle: Called in the thread with each item.
        log: Called once for each kind of failure, with a sentence.
        limit: The total weight of waiting items.
        on_close: Called in the thread after the last item.
    """

    def __init__(
        self,
        name: str,
        handle: Callable[[T], None],
        log: Callable[[str], None],
        limit: int,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self.dropped = self.failed = 0
        self._on_close = on_close
        self._handle, self._limit = handle, limit
        self._log_once = LogOnce(lambda text: log(f"toolmend: {name}: {text}"))
        self._queue: SimpleQueue[tuple[T, int] | None] = SimpleQueue()
        self._put = self._done = 0  # total weights, each written by one thread only, so no lock is needed
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"toolmend-{name}", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # no more threads
            self._closed = True
            self._log_once("thread", str(error))

    @property
    def waiting(self) -> int:
        """The weight of the items that are not handled yet."""
        return self._put - self._done

    def put(self, item: T, weight: int = 1) -> bool:
        """Queues an item; False if it was dropped.

        Items with a weight may be put by one thread only. Items of weight 0 always have room and may be put by any thread.
        """
        if self._closed or (weight and self.waiting + weight > self._limit):
            self.dropped += 1
            return False
        self._put += weight
        self._queue.put((item, weight))
        return True

    def close(self, timeout: float = PATIENCE) -> None:
        """Waits at most `timeout` seconds until all items are handled. A blocked thread is left to end with the process."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join(timeout)

    def _run(self) -> None:
        while entry := self._queue.get():
            item, weight = entry
            self._try(partial(self._handle, item))
            self._done += weight
        self._try(self._on_close)

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            self.failed += 1
            self._log_once(type(error).__name__, class_and_place(error))
