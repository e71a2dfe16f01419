"""Bytes of a response → its neutral events, for those who look on: the recording's message.json, and observers.

    events_of("chat", chunks, stream=True) → TextDelta, ToolCallStart, …

Rule of this file: it looks at what the client gets, and changes nothing. What cannot be read is passed over: a masked line of a
recording, data that is no JSON. The same bytes make the same events, ids that a codec must invent included.
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
    """Nobody looks into texts: whatever comes is more of the same."""

    holds = False

    def text_state(self, kind: Kind, choice: int) -> TextState | None:
        return ANYTHING


class EventReader:
    """A stream, in any chunks. Made for an API that is in apis.APIS.

    Deltas that come in a row, in one chunk, may be told as one: delta_run.py has why that means the same, and is much faster.
    """

    def __init__(self, api: str) -> None:
        self._codec = _codec(api)
        self._decoder = decoder_of(api)
        self._lanes = RunOpener(self._codec, _NoReading(), (), translates=False) if supports_runs(self._codec) else None
        self._lane: DeltaRun | None = None  # what may come next

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes."""
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
        """Those at the end of the body."""
        return [event for sse in self._decoder.close() for event in self._read(sse)] + list(self._codec.close().events)

    def _read(self, sse: ServerSentEvent) -> Sequence[Event]:
        try:
            return self._codec.decode(sse).events
        except json_text.NotJSON:
            return ()


def events_of(api: str, body: Iterable[bytes], *, stream: bool) -> Iterator[Event]:
    """The events of a response, a stream or a whole body of JSON, as its chunks are taken; none of an API that is not known."""
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
    # nothing is known of the offered tools, and nothing need be: what the client gets is regular
    return APIS[api].codec(Reply(Tools(), lambda: f"call_{next(numbers):032x}", lambda _: None))
