"""Logs each kind of failure once, so that a disk that stays full does not fill the log.

log_once = LogOnce(log)
log_once("store", "the store cannot be reached")      logged; again only after log_once.kinds.clear()
"""

from collections.abc import Callable
from contextlib import suppress


class LogOnce:
    """Passes the first message of each kind to `log`. Never raises. `kinds`: those that were logged."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self.kinds: set[str] = set()
        self._log = log

    def __call__(self, kind: str, message: str) -> None:
        if kind not in self.kinds:
            self.kinds.add(kind)
            with suppress(Exception):
                self._log(message)
