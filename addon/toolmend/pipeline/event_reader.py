"""Bytes of a response → its neutral events, for observers and for the recording's message.json.

    events_of("chat", chunks, stream=True) → TextDelta, ToolCallStart, …

It reads what the client receives, and changes nothing. What cannot be read is skipped: a masked line of a recording, data that
is not JSON. The same bytes give the same events, with the same generated ids.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

from ..apis import APIS, decoder_of
from ..apis.codec import Codec, Reply, supports_runs
from ..apis.shared.delta_template import Kind
from ..core import json_text
from ..core.events import Event
from ..core.sse import ServerSentEvent, SseDecoder
from ..core.text_state import ANYTHING, TextState
from ..core.tools import Tools
from .fastpath.run_opener import RunOpener

if TYPE_CHECKING:
    from .fastpath.delta_run import DeltaRun


class _NoReading:
    """No text is parsed: any text may continue a run."""

    holds = False

    def text_state(self, kind: Kind, choice: int) -> TextState | None:
        return ANYTHING


class EventReader:
    """Reads a stream in any chunks, of an API in apis.APIS.

    Deltas in a row in one chunk may become one event: delta_run.py explains why that is equivalent, and much faster.
    """

    def __init__(self, api: str) -> None:
        self._codec = _codec(api)
        self._decoder = decoder_of(api)
        self._lanes = RunOpener(self._codec, _NoReading(), (), translates=False) if supports_runs(self._codec) else None
        self._lane: DeltaRun | None = None  # the run that may continue

    def feed(self, data: bytes) -> list[Event]:
        """Returns the events that `data` completes."""
        if self._lanes is None or not isinstance(self._decoder, SseDecoder):
            return [event for sse in self._decoder.feed(data) for event in self._read(sse)]
        events: list[Event] = []
        at = 0
        while at < len(data):
            lane, self._lane = self._lane, None
            if lane:
                at, _ = lane.run(data, at, [])
                events += () if lane.empty else self._read(lane.read()[0])
                continue
            found, at = self._decoder.take(data, at)
            events += (event for sse in found for event in self._read(sse))
            if found and self._decoder.between:
                self._lane = self._lanes.open(found[-1], [found[-1].raw])
        return events

    def close(self) -> list[Event]:
        """Returns the events at the end of the body."""
        return [event for sse in self._decoder.close() for event in self._read(sse)] + list(self._codec.close().events)

    def _read(self, sse: ServerSentEvent) -> Sequence[Event]:
        try:
            return self._codec.decode(sse).events
        except json_text.NotJSON:
            return ()


def events_of(api: str, body: Iterable[bytes], *, stream: bool) -> Iterator[Event]:
    """Yields the events of a response, a stream or a JSON body, as its chunks arrive; none for an unknown API."""
    if api not in APIS:
        return
    if stream:
        reading = EventReader(api)
        for data in body:
            yield from reading.feed(data)
        yield from reading.close()
    else:
        try:
            yield from _codec(api).decode_message(b"".join(body)).events
        except json_text.NotJSON:
            return


def _codec(api: str) -> Codec:
    numbers = count()
    # the offered tools are not needed: what the client receives is regular
    return APIS[api].codec(Reply(Tools(), lambda: f"call_{next(numbers):032x}", lambda _: None))
