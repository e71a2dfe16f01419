"""Who counts streams, and how they are told: see events.py for what they are told.

    event loop ─► one thread that reads the chunks ─┬► a thread for Prometheus
                  (meter.py)                        ├► a thread for the spans
                                                    └► a thread for each `toolmend_events` of a script

Rule of this file: an observer that raises or blocks costs nothing but itself. Every arrow is a bounded queue
(background_worker.py), what finds no room is dropped and counted. Where nobody counts, nothing is done.
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
"""What an addon is asked for when a response begins: a function of an event."""

MAX_UNREAD = 16 * 1024 * 1024
"""Bytes of streams that wait to be read: seconds of twenty fast ones."""

MAX_UNTOLD = 10_000
"""Events that wait for an observer that blocks: 10 MB."""

type Observer = Callable[[Event], None]
type Listener = tuple[Observer, BackgroundWorker[Event]]


class Metering:
    """The observers. All is called from the event loop, but `lost`; nothing raises, but `configure`."""

    def __init__(self) -> None:
        self.targets = Targets()
        self._own: list[Listener] = []
        self._scripts: list[Listener] = []
        self._reader: BackgroundWorker[Callable[[], None]] | None = None

    def configure(self, targets: Targets) -> None:
        """Begins and ends what the setting says. Raises SettingsError; then nobody of ours counts."""
        if targets == self.targets:
            return
        self._end_own()
        if targets.address:
            from .prometheus import Prometheus  # noqa: PLC0415  an extra, which few have

            prometheus = Prometheus(targets.address, self._dropped)
            self._own.append(_with_thread(prometheus, prometheus.close))
        if targets.otel:
            from .otel import Spans  # noqa: PLC0415  likewise

            spans = Spans()
            self._own.append(_with_thread(spans, spans.close))
        if self._own:
            self._reading()  # a recording may be lost before the first response begins
        self.targets = targets

    def meter(self, addons: Iterable[object], about: Callable[[], tuple[ExchangeRecord, str]]) -> Meter | None:
        """What counts a stream that begins; None if nobody wants it. `about` tells its exchange and the model's profile."""
        self._look(addons)
        if not (self._own or self._scripts):
            return None
        try:
            return Meter(self._reading(), self._publish, *about(), self._render())
        except Exception as error:
            logger.warning("toolmend: a stream is not counted: %s", type(error).__name__)
            return None

    def lost(self, reason: str) -> None:
        """A recording is lost; called from the recorder's thread."""
        if reader := self._reader:
            reader.put(partial(self._publish, RecordingLost(reason)), 0)

    def close(self) -> None:
        """All is told that can be in a few seconds, and nobody listens any more."""
        if self._reader:
            self._reader.close()
            self._reader = None
        self._look((), PATIENCE)
        self._end_own()

    def _look(self, addons: Iterable[object], patience: float = 0.0) -> None:
        """Scripts come and go."""
        found = [observer for addon in addons if callable(observer := getattr(addon, ATTRIBUTE, None))]
        gone = [(known, teller) for known, teller in self._scripts if not any(known is observer for observer in found)]
        new = [observer for observer in found if not any(observer is known for known, _ in self._scripts)]
        if gone or new:
            kept = [row for row in self._scripts if row not in gone]
            self._scripts = kept + [_with_thread(observer) for observer in dict.fromkeys(new)]
        for _, teller in gone:
            teller.close(patience)

    def _end_own(self) -> None:
        own, self._own, self.targets = self._own, [], Targets()
        for _, teller in own:
            teller.close()

    def _render(self) -> Render | None:
        return next((render for observer, _ in self._own if (render := getattr(observer, "render", None))), None)

    def _reading(self) -> BackgroundWorker[Callable[[], None]]:
        self._reader = self._reader or BackgroundWorker("metrics", lambda step: step(), logger.warning, MAX_UNREAD)
        return self._reader

    def _publish(self, event: Event) -> None:
        """In the reader's thread."""
        for _, teller in (*self._own, *self._scripts):
            teller.put(event)

    def _dropped(self) -> int:
        """Chunks that were not read, and events that somebody was not told."""
        tellers = [teller for _, teller in (*self._own, *self._scripts)]
        return sum(teller.dropped + teller.failed for teller in tellers) + (self._reader.dropped if self._reader else 0)


def _with_thread(observer: Observer, last: Callable[[], None] = lambda: None) -> Listener:
    name = getattr(observer, "__qualname__", type(observer).__name__)
    return observer, BackgroundWorker(f"{ATTRIBUTE} {name}", observer, logger.warning, MAX_UNTOLD, last)
