"""One stream, counted: `Meter` is called from the event loop, `MeteredEvents` in a thread.

    meter.passed(received, sent)                 each chunk: a few additions, and what was sent goes on a queue to be read
    meter.finish("complete", rules, errors)      the end

Rule of this file: nothing raises, and the event loop reads nothing. What finds no room in the queue is not read at all; then
bytes and times are told, and tokens and calls are not known.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ..apis import APIS, decoder_of
from ..core import json_text
from ..core.background_worker import BackgroundWorker
from ..core.events import Event, Finish, MessageStart, StreamError, ToolCallStart, Usage
from ..core.exchange_record import ExchangeRecord
from ..core.fastclass import replace
from ..core.fold import Answer, Message
from ..pipeline.event_reader import EventReader, events_of
from ..pipeline.suspects import NO_CONTEXT, SuspectContext, in_messages
from ..secrets.key_patterns import LONGEST_KEY
from ..secrets.redactor import Redactor
from ..secrets.request_secrets import secrets_of
from .events import About, FailedOpen, RuleFired, StreamFinished, StreamStarted
from .events import Event as Told
from .observers import MAX_KEPT

OVERHEAD = 256
"""Bytes that a chunk takes in the queue beside its own."""

MAX_HEAD = 64 * 1024
"""Bytes in which the answer's id and model are looked for: they are in the first event."""

MAX_NAME = 200
"""Characters of a name or an id that are told."""

KEPT = MAX_NAME + LONGEST_KEY
"""Characters of one that are kept until it is."""

MAX_REASONS = 16
"""Finish reasons that are told: a choice has one."""

NO_ERROR = ("complete", "client_closed")
"""States of a stream in which nothing went wrong: an agent that is interrupted hangs up."""

_KEYS = Redactor(())

type Render = Callable[[ExchangeRecord, Sequence[Message]], Any]
"""Makes what an observer wants to have of a request and its answer."""


class Meter:
    """`publish` tells the observers, and is called in the reader's thread. `now` tells seconds."""

    def __init__(
        self,
        reader: BackgroundWorker[Callable[[], None]],
        publish: Callable[[Told], None],
        exchange: ExchangeRecord,
        profile: str,
        render: Render | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader, self._publish, self._now = reader, publish, now
        self._first_byte = (exchange.wait_ms or 0.0) / 1000
        self._began = now() - self._first_byte
        self._received = self._sent = 0
        self.about = about_of(exchange, profile, time.time() - self._first_byte)
        self._reading = MeteredEvents(self.about.api, exchange if render else None, render) if self.about.api in APIS else None
        self._asked = replace(exchange, request=b"", upstream_request=None)  # with the keys that it was sent with
        self._put(partial(publish, StreamStarted(self.about)))

    def passed(self, received: bytes, sent: bytes, *, whole: bool = False) -> None:
        """What came, and what went to the client for it; `whole`: it is a whole body of JSON."""
        self._received += len(received)
        self._sent += len(sent)
        if sent and self._reading:
            read = self._reading.whole if whole else self._reading.feed
            if not self._reader.put(partial(read, sent, self._now() - self._began), len(sent) + OVERHEAD):
                self._reading = None

    def finish(
        self, state: str, rules: Sequence[str], errors: Sequence[str], sought: SuspectContext = NO_CONTEXT
    ) -> None:
        """The end; `errors` are of what failed of ours, `sought` is what the answer was read with."""
        self._put(partial(self._end, state, tuple(rules), tuple(errors), sought, self._now() - self._began))

    def _put(self, step: Callable[[], None]) -> None:
        self._reader.put(step, 0)

    def _end(
        self, state: str, rules: tuple[str, ...], errors: tuple[str, ...], sought: SuspectContext, seconds: float
    ) -> None:
        """In the reader's thread."""
        about, reading = self.about, self._reading
        for rule in rules:
            self._publish(RuleFired(about, rule))
        if errors:
            self._publish(FailedOpen(about, _name("; ".join(errors))))
        wrong = str(about.status) if about.status >= 400 else "" if state in NO_ERROR else state
        read: dict[str, Any] = {"error_type": wrong, "failed_open": bool(errors)}
        if reading:
            read |= reading.told(Redactor(secrets_of(self._asked)))
            read["suspects"] = reading.suspects(sought)
            read["error_type"] = wrong or read["error_type"]
        self._publish(
            StreamFinished(about, state, self._received, self._sent, seconds, self._first_byte, rules=rules, **read)
        )


class MeteredEvents:
    """What is read of an answer, in the client's API. `exchange` and `render`: for the content, if anybody wants it."""

    def __init__(self, api: str, exchange: ExchangeRecord | None = None, render: Render | None = None) -> None:
        self._api = api
        self._readable = True
        self._stream = EventReader(api)
        self._head = decoder_of(api)
        self._seeks = True  # the answer's id
        self._in_head = 0
        self._exchange, self._render = exchange, render
        self._answer = Answer(MAX_KEPT)
        self._first_token: float | None = None
        self._calls = 0
        self._usage: Usage | None = None
        self._reasons: list[str] = []
        self._error = self._id = self._model = ""

    def feed(self, data: bytes, when: float) -> None:
        """Bytes of a stream, so many seconds after it was asked for."""
        self._try(lambda: self._take(self._stream.feed(data), when))
        self._try(lambda: self._look(data))

    def whole(self, body: bytes, _: float) -> None:
        """A whole body."""
        self._try(lambda: self._take(events_of(self._api, [body], stream=False)))
        self._try(lambda: self._named(body))

    def told(self, redactor: Redactor = _KEYS) -> dict[str, Any]:
        """Fields of StreamFinished; the body is over."""
        self._try(lambda: self._take(self._stream.close()))
        content = None
        if self._render and self._exchange:
            content = self._render(self._exchange, self._answer.known())
        return {
            "first_token": self._first_token,
            "calls": self._calls if self._readable else None,
            "usage": self._usage,
            "finish_reasons": tuple(_name(reason, redactor) for reason in self._reasons),
            "error_type": _name(self._error, redactor),
            "response_id": _name(self._id, redactor),
            "response_model": _name(self._model, redactor),
            "content": content,
        }

    def suspects(self, sought: SuspectContext) -> int:
        """How much looks like a call and was not made one; the body is over."""
        try:
            return len(in_messages(self._answer.known(), sought)) if self._readable and sought.tools.schemas else 0
        except Exception:
            return 0

    def _try(self, act: Callable[[], None]) -> None:
        """An error in a codec of ours ends the reading, nothing else."""
        try:
            if self._readable:
                act()
        except Exception:
            self._readable = False

    def _take(self, events: Iterable[Event], when: float | None = None) -> None:
        for event in events:
            self._event(event, when)

    def _event(self, event: Event, when: float | None) -> None:
        match event:
            case MessageStart():
                return
            case Usage():
                self._usage = event
            case StreamError():
                self._error = event.type[:KEPT] or "error"
            case Finish():
                if len(self._reasons) < MAX_REASONS:
                    self._reasons.append(event.finish_reason[:KEPT])
            case _:
                self._calls += isinstance(event, ToolCallStart)
                if self._first_token is None:
                    self._first_token = when
        self._answer.feed(event)

    def _look(self, data: bytes) -> None:
        """Looks for the answer's id in the first events."""
        if not self._seeks:
            return
        self._in_head += len(data)
        for sse in self._head.feed(data):
            if sse.data and self._seeks:
                self._named(sse.data)
        if self._in_head > MAX_HEAD:
            self._seeks = False

    def _named(self, data: bytes) -> None:
        """`id` and `model`, by Gemini's names or all others': of the object, or of the message or response in it."""
        try:
            value = json_text.loads(data)
        except json_text.NotJSON:
            return
        for part in (value, value.get("message"), value.get("response")) if isinstance(value, dict) else ():
            if isinstance(part, dict) and isinstance(found := part.get("id") or part.get("responseId"), str):
                model = part.get("model") or part.get("modelVersion")
                self._id, self._model, self._seeks = found[:KEPT], str(model or "")[:KEPT], False
                return


def about_of(exchange: ExchangeRecord, profile: str, at: float) -> About:
    """What events say of a stream."""
    return About(
        flow_id=exchange.flow_id,
        at=at,
        host=_name(exchange.settings.get("upstream") or exchange.host),
        provider=exchange.provider,
        api=exchange.client_api or exchange.api,
        upstream_api=exchange.api,
        model=_name(exchange.model),
        profile=profile,
        status=exchange.status,
        stream=exchange.stream,
    )


def _name(text: str, redactor: Redactor = _KEYS) -> str:
    """A stranger's word, without what looks like a key; what has no UTF-8 would cost all that is told with it."""
    return redactor.cut(text, MAX_NAME).encode(errors="replace").decode()
