"""The receivers of stream events, and their threads; events.py has the events.

    event loop ─► one thread that parses the chunks ─┬► a thread for Prometheus
                  (meter.py)                         ├► a thread for the spans
                                                     └► a thread for each `toolmend_events` of a script

A receiver that raises or blocks affects only itself. Every arrow is a bounded queue (background_worker.py); what does not fit is
dropped and counted. Without receivers nothing is measured.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial

from ..config.targets import Targets
from ..core.background_worker import PATIENCE, BackgroundWorker
from ..core.exchange_record import ExchangeRecord
from .events import Event, RecordingLost
from .meter import Meter, Render

logger = logging.getLogger(__name__)

ATTRIBUTE = "toolmend_events"
"""The attribute that an addon is checked for when a response begins: a function of an event."""

MAX_UNREAD = 16 * 1024 * 1024
"""Bytes of streams that wait to be parsed: seconds of twenty fast ones."""

MAX_WAITING = 10_000
"""Events that wait for a blocked receiver: 10 MB."""

type Observer = Callable[[Event], None]
type Listener = tuple[Observer, BackgroundWorker[Event]]


class Metering:
    """The receivers. Called from the event loop, except `lost`; only `configure` raises."""

    def __init__(self) -> None:
        self.targets = Targets()
        self._own: list[Listener] = []
        self._scripts: list[Listener] = []
        self._reader: BackgroundWorker[Callable[[], None]] | None = None

    def configure(self, targets: Targets) -> None:
        """Starts and stops the receivers of a setting. Raises SettingsError; then none is running."""
        if targets == self.targets:
            return
        self._end_own()
        if targets.address:
            from .prometheus import Prometheus  # noqa: PLC0415  an extra that few installations have

            prometheus = Prometheus(targets.address, self._dropped)
            self._own.append(_with_thread(prometheus, prometheus.close))
        if targets.otel:
            from .otel import Spans  # noqa: PLC0415  likewise

            spans = Spans()
            self._own.append(_with_thread(spans, spans.close))
        if self._own:
            self._worker()  # a recording may be lost before the first response begins
        self.targets = targets

    def meter(self, addons: Iterable[object], about: Callable[[], tuple[ExchangeRecord, str]]) -> Meter | None:
        """Returns the meter of a new stream; None without receivers. `about` returns its exchange and the model's profile."""
        self._update_scripts(addons)
        if not (self._own or self._scripts):
            return None
        try:
            return Meter(self._worker(), self._publish, *about(), self._render())
        except Exception as error:
            logger.warning("toolmend: a stream is not counted: %s", type(error).__name__)
            return None

    def lost(self, reason: str) -> None:
        """Reports a lost recording; called from the recorder's thread."""
        if reader := self._reader:
            reader.put(partial(self._publish, RecordingLost(reason)), 0)

    def close(self) -> None:
        """Delivers what is possible within a few seconds, and stops."""
        if self._reader:
            self._reader.close()
            self._reader = None
        self._update_scripts((), PATIENCE)
        self._end_own()

    def _update_scripts(self, addons: Iterable[object], timeout: float = 0.0) -> None:
        """Starts and stops the receivers of scripts that were loaded and unloaded."""
        found = [observer for addon in addons if callable(observer := getattr(addon, ATTRIBUTE, None))]
        gone = [(known, worker) for known, worker in self._scripts if not any(known is observer for observer in found)]
        new = [observer for observer in found if not any(observer is known for known, _ in self._scripts)]
        if gone or new:
            kept = [row for row in self._scripts if row not in gone]
            self._scripts = kept + [_with_thread(observer) for observer in dict.fromkeys(new)]
        for _, worker in gone:
            worker.close(timeout)

    def _end_own(self) -> None:
        own, self._own, self.targets = self._own, [], Targets()
        for _, worker in own:
            worker.close()

    def _render(self) -> Render | None:
        return next((render for observer, _ in self._own if (render := getattr(observer, "render", None))), None)

    def _worker(self) -> BackgroundWorker[Callable[[], None]]:
        self._reader = self._reader or BackgroundWorker("metrics", lambda step: step(), logger.warning, MAX_UNREAD)
        return self._reader

    def _publish(self, event: Event) -> None:
        """Called in the reader's thread."""
        for _, worker in (*self._own, *self._scripts):
            worker.put(event)

    def _dropped(self) -> int:
        """Returns the number of chunks not parsed, and of events not delivered."""
        workers = [worker for _, worker in (*self._own, *self._scripts)]
        return sum(worker.dropped + worker.failed for worker in workers) + (self._reader.dropped if self._reader else 0)


def _with_thread(observer: Observer, last: Callable[[], None] = lambda: None) -> Listener:
    name = getattr(observer, "__qualname__", type(observer).__name__)
    return observer, BackgroundWorker(f"{ATTRIBUTE} {name}", observer, logger.warning, MAX_WAITING, last)
