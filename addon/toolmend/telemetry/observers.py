"""Observers: mitmproxy addons with a `toolmend_observer`, which receive what a client gets, message by message.

    class Words:                                                # in a script of your own: mitmdump -s addon/main.py -s words.py
        def on_message(self, message, event): ...               # event is a TextDelta, a ToolCallStart, …
        def on_complete(self, message): ...                     # the message is complete
        def on_error(self, message, error): ...                 # or it is not: see error.type and error.message

    toolmend_observer = Words()                                 # of the script, or of one of its addons

An observer has any of the three. `message` is the content so far (fold.Message: text, reasoning, refusal, calls by index, finish,
usage): one object from the first event to the last, with the `flow_id` of mitmproxy's flow and the `choice`. `event` is one of
core/events.py; compare it by `type(event).__name__`, as classes are reloaded when main.py changes. Observers must change neither.
Reading a text costs as much as it is long, so code that follows a stream should use the events.

Observing changes nothing, and costs nothing without observers. An observer that raises is logged once and never called again. It
is called between two chunks, like any mitmproxy hook: everything waits for it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..apis import APIS
from ..core.error_text import class_and_place
from ..core.events import Event, MessageEnd, StreamError
from ..core.fold import Answer, Message
from ..pipeline.event_reader import EventReader, events_of

ATTRIBUTE = "toolmend_observer"
"""The attribute that an addon is checked for when a response begins."""

MAX_KEPT = 4 * 1024 * 1024
"""Characters of a response that are kept for observers: models write at most some 128,000 tokens, half a million characters. Text
beyond is in the events, and counted in `omitted` of the message.
"""

CUT_OFF = StreamError("truncated", "the response ended before the message did")


class Observers:
    """The observers, and those that were dropped. `log` gets a sentence for each that raises."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._dropped: list[object] = []  # the objects, because ids are reused

    def watcher(self, addons: Iterable[object], api: str, flow_id: str = "") -> "ObservedResponse | None":
        """Returns what to report a response to, in the client's API; None without observers, or for an unknown API."""
        found: list[object] = []
        for addon in addons:
            observer = getattr(addon, ATTRIBUTE, None)
            if observer is not None and not _among(observer, found) and not _among(observer, self._dropped):
                found.append(observer)
        return ObservedResponse(self, found, api, flow_id) if found and api in APIS else None

    def call(self, observers: Iterable[object], name: str, *arguments: object) -> None:
        """Calls a method of each observer that has it. Never raises."""
        for observer in observers:
            method = getattr(observer, name, None)
            if method is None or _among(observer, self._dropped):
                continue
            try:
                method(*arguments)
            except Exception as error:
                self._dropped.append(observer)
                self._log(f"{type(observer).__name__}, a {ATTRIBUTE}, is dropped: {class_and_place(error)}")


@dataclass
class WatchedMessage(Message):
    """The message that observers receive."""

    flow_id: str = ""
    choice: int = 0


class ObservedResponse:
    """Reports one response: `sent` and `close` for a stream, `message` for a whole body, `fail` if it is cut off. Nothing raises.

    `feed` takes events; `sent` decodes them from the client's bytes.
    """

    def __init__(self, registry: Observers, observers: Sequence[object], api: str, flow_id: str) -> None:
        self._registry = registry
        self._observers = observers
        self._api = api
        self._stream = EventReader(api)
        self._answer = Answer(MAX_KEPT, lambda choice: WatchedMessage(flow_id=flow_id, choice=choice))

    def sent(self, data: bytes) -> None:
        """Takes bytes of a stream as the client gets them."""
        self._read(lambda: self._stream.feed(data))

    def message(self, body: bytes) -> None:
        """Takes a whole JSON response as the client gets it."""
        self._read(lambda: events_of(self._api, [body], stream=False))
        self.close()

    def feed(self, events: Iterable[Event]) -> None:
        """Takes events as the client gets them."""
        for event in events:
            for message in self._answer.feed(event):
                if isinstance(event, StreamError):
                    self._notify("on_error", message, event)
                elif not isinstance(event, MessageEnd):
                    self._notify("on_message", message, event)

    def close(self) -> None:
        """Ends the body."""
        self._read(self._stream.close)
        self._end(CUT_OFF)

    def fail(self, reason: str) -> None:
        """Ends a body that is cut off, or whose client is gone."""
        self._end(StreamError("connection", reason))

    def _read(self, read: Callable[[], Iterable[Event]]) -> None:
        if self._observers:
            try:
                self.feed(read())
            except Exception as error:  # a fault of toolmend: it only ends the observation
                self._end(StreamError("toolmend", f"the response could not be read: {type(error).__name__}"))

    def _end(self, error: StreamError) -> None:
        """Reports the end of all messages; `error` for those without an end."""
        for message in self._answer.known():
            if message.error:
                continue
            if message.finish or message.ended:
                self._notify("on_complete", message)
            else:
                message.error = error
                self._notify("on_error", message, error)
        self._observers = ()

    def _notify(self, name: str, *arguments: object) -> None:
        self._registry.call(self._observers, name, *arguments)


def _among(observer: object, others: Iterable[object]) -> bool:
    return any(observer is other for other in others)
