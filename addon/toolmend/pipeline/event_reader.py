"""Bytes of a response → its neutral events, for observers and for the recording's message.json.

    events_of("chat", chunks, stream=True) → TextDelta, ToolCallStart, …

It reads what the client receives, and changes nothing. What cannot be read is skipped: a masked line of a recording, data that
is not JSON. The same bytes give the same events, with the same generated ids.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count

from ..apis import APIS, decoder_of
from ..apis.codec import Codec, Reply, supports_runs
from ..apis.shared.delta_template import Kind
from ..core import json_text
from ..core.events import Event
from ..core.sse import ServerSentEvent
from ..core.text_state import ANYTHING, TextState
from ..core.tools import Tools
from .chunk_reader import RunContext
from .reader_choice import new_reader
from .undelivered import UndeliveredInput


class _AnyText:
    """Parses no text: any text may continue a run."""

    holds = False

    def text_state(self, kind: Kind, choice: int) -> TextState | None:
        return ANYTHING


class EventReader:
    """Reads a stream in any chunks, of an API in apis.APIS.

    Deltas in a row in one chunk may become one event: fastpath/delta_run.py explains why that is equivalent, and much faster.
    """

    def __init__(self, api: str) -> None:
        self._codec = _codec(api)
        self._events: list[Event] = []
        runs = RunContext(self._codec, _AnyText()) if supports_runs(self._codec) else None
        self._reader = new_reader(decoder_of(api), self._process, UndeliveredInput(), runs)

    def feed(self, data: bytes) -> list[Event]:
        """Returns the events that `data` completes."""
        output: list[bytes] = []
        self._reader.read(data, output)
        self._reader.flush(output)
        return self._take()

    def close(self) -> list[Event]:
        """Returns the events at the end of the body."""
        self._reader.close([])
        return [*self._take(), *self._codec.close().events]

    def _process(self, sse: ServerSentEvent, output: list[bytes]) -> None:
        output.append(sse.raw)
        with suppress(json_text.NotJSON):
            self._events += self._codec.decode(sse).events

    def _take(self) -> list[Event]:
        events, self._events = self._events, []
        return events


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
