"""Who wants to know what a client gets, message by message: other addons of mitmproxy, by having a `toolmend_observer`.

    class Words:                                                # in a script of your own: mitmdump -s addon/main.py -s words.py
        def on_message(self, message, event): ...               # something came: event is a TextDelta, a ToolCallStart, …
        def on_complete(self, message): ...                     # it is whole
        def on_error(self, message, error): ...                 # or it is not: error.type and error.message say why

    toolmend_observer = Words()                                 # of the script, or of one of its addons

An observer has any of the three. `message` is what came so far (fold.Message: text, reasoning, refusal, calls by index, finish,
usage), one object from the first event to the last, with the `flow_id` of mitmproxy's flow and the `choice`; `event` is one of
events.py (told apart best by `type(event).__name__`: whoever touches main.py gets new classes). Both are to be read, not changed.
To read a text costs as much as it is long: who follows a stream takes the events.

Rule of this file: to look on changes nothing, and costs nothing where nobody does. An observer that raises is told of once, and
never called again. It is called between two chunks, like any hook of mitmproxy: while it works, everything waits.
"""

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..apis import APIS
from ..core.events import Event, MessageEnd, StreamError
from ..core.fold import Answer, Message
from ..pipeline.event_reader import EventReader, events_of

ATTRIBUTE = "toolmend_observer"
"""What an addon is asked for when a response begins."""

MAX_KEPT = 4 * 1024 * 1024
"""Characters of a response that are kept for observers: models write some 128,000 tokens at most, half a million characters.
What is beyond is in the events, and in the message counted as `omitted`."""

CUT_OFF = StreamError("truncated", "the response ended before the message did")


class Observers:
    """Those who look on, and those who may no more. `log` gets a sentence for each that raises."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._dropped: list[object] = []  # the objects themselves: an id may come to be another's

    def watcher(self, addons: Iterable[object], api: str, flow_id: str = "") -> "Watcher | None":
        """What is to be told of a response in the client's API; None if nobody is there, or if the API is not known."""
        found: list[object] = []
        for addon in addons:
            observer = getattr(addon, ATTRIBUTE, None)
            if observer is not None and not _among(observer, found) and not _among(observer, self._dropped):
                found.append(observer)
        return Watcher(self, found, api, flow_id) if found and api in APIS else None

    def tell(self, observers: Iterable[object], name: str, *what: object) -> None:
        """Calls a method of each that has it. Never raises."""
        for observer in observers:
            method = getattr(observer, name, None)
            if method is None or _among(observer, self._dropped):
                continue
            try:
                method(*what)
            except Exception as error:
                self._dropped.append(observer)
                # where, not what: an exception's own words may quote the stream
                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{place.name} ({Path(place.filename).name}:{place.lineno})"
                self._log(f"{type(observer).__name__}, a {ATTRIBUTE}, is dropped: {type(error).__name__} in {where}")


@dataclass
class WatchedMessage(Message):
    """A message that is looked at."""

    flow_id: str = ""
    choice: int = 0


class Watcher:
    """One response: `sent` and `close` for a stream, `message` for a whole body, `fail` where one breaks off. Nothing raises.

    `feed` is for those who have the events; `sent` reads them from the client's bytes.
    """

    def __init__(self, registry: Observers, observers: Sequence[object], api: str, flow_id: str) -> None:
        self._registry = registry
        self._observers = observers
        self._api = api
        self._stream = EventReader(api)
        self._answer = Answer(MAX_KEPT, lambda choice: WatchedMessage(flow_id=flow_id, choice=choice))

    def sent(self, data: bytes) -> None:
        """Bytes of a stream, as the client gets them."""
        self._read(lambda: self._stream.feed(data))

    def message(self, body: bytes) -> None:
        """A whole response of JSON, as the client gets it."""
        self._read(lambda: events_of(self._api, [body], stream=False))
        self.close()

    def feed(self, events: Iterable[Event]) -> None:
        """Events, as the client gets them."""
        for event in events:
            for message in self._answer.feed(event):
                if isinstance(event, StreamError):
                    self._notify("on_error", message, event)
                elif not isinstance(event, MessageEnd):
                    self._notify("on_message", message, event)

    def close(self) -> None:
        """The body is over."""
        self._read(self._stream.close)
        self._end(CUT_OFF)

    def fail(self, reason: str) -> None:
        """The body breaks off, or the client is gone."""
        self._end(StreamError("connection", reason))

    def _read(self, read: Callable[[], Iterable[Event]]) -> None:
        if self._observers:
            try:
                self.feed(read())
            except Exception as error:  # ours, and it ends the looking on, nothing else
                self._end(StreamError("toolmend", f"the response could not be read: {type(error).__name__}"))

    def _end(self, error: StreamError) -> None:
        """The last that is told; `error` of the messages that did not end."""
        for message in self._answer.known():
            if message.error:
                continue
            if message.finish or message.ended:
                self._notify("on_complete", message)
            else:
                message.error = error
                self._notify("on_error", message, error)
        self._observers = ()

    def _notify(self, name: str, *what: object) -> None:
        self._registry.tell(self._observers, name, *what)


def _among(one: object, others: Iterable[object]) -> bool:
    return any(one is other for other in others)
