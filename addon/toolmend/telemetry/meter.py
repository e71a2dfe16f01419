"""Measures one stream: `Meter` is called from the event loop, `MeteredEvents` in a thread.

    meter.passed(received, sent)                 each chunk: a few additions, and the sent bytes are queued for parsing
    meter.finish("complete", rules, errors)      the end

Nothing raises, and the event loop parses nothing. If the queue is full, the stream is not parsed: bytes and times are reported,
tokens and calls are unknown.
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
from .events import Event as StreamEvent
from .observers import MAX_KEPT

OVERHEAD = 256
"""Bytes that a chunk takes in the queue beyond its content."""

MAX_HEAD = 64 * 1024
"""Bytes searched for the response's id and model: they are in the first event."""

MAX_NAME = 200
"""Characters of a name or id that are published."""

KEPT = MAX_NAME + LONGEST_KEY
"""Characters of a name or id that are kept until it is redacted."""

MAX_REASONS = 16
"""Finish reasons that are published: a choice has one."""

NO_ERROR = ("complete", "client_closed")
"""States that are not an error: an interrupted agent closes the connection."""

_KEYS = Redactor(())

type Render = Callable[[ExchangeRecord, Sequence[Message]], Any]
"""Builds an observer's content from a request and its response."""


class Meter:
    """Counts one stream. `publish` is called in the reader's thread; `now` returns seconds."""

    def __init__(
        self,
        reader: BackgroundWorker[Callable[[], None]],
        publish: Callable[[StreamEvent], None],
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
        self._asked = replace(exchange, request=b"", upstream_request=None)  # keeps the headers, with their keys
        self._put(partial(publish, StreamStarted(self.about)))

    def passed(self, received: bytes, sent: bytes, *, whole: bool = False) -> None:
        """Counts a chunk and the bytes sent for it; `whole`: a whole JSON body."""
        self._received += len(received)
        self._sent += len(sent)
        if sent and self._reading:
            read = self._reading.whole if whole else self._reading.feed
            if not self._reader.put(partial(read, sent, self._now() - self._began), len(sent) + OVERHEAD):
                self._reading = None

    def finish(
        self, state: str, rules: Sequence[str], errors: Sequence[str], context: SuspectContext = NO_CONTEXT
    ) -> None:
        """Ends the stream. `errors`: of toolmend itself; `context`: the context in which the response was parsed."""
        self._put(partial(self._end, state, tuple(rules), tuple(errors), context, self._now() - self._began))

    def _put(self, step: Callable[[], None]) -> None:
        self._reader.put(step, 0)

    def _end(
        self, state: str, rules: tuple[str, ...], errors: tuple[str, ...], context: SuspectContext, seconds: float
    ) -> None:
        """Called in the reader's thread."""
        about, reading = self.about, self._reading
        for rule in rules:
            self._publish(RuleFired(about, rule))
        if errors:
            self._publish(FailedOpen(about, _name("; ".join(errors))))
        wrong = str(about.status) if about.status >= 400 else "" if state in NO_ERROR else state
        read: dict[str, Any] = {"error_type": wrong, "failed_open": bool(errors)}
        if reading:
            read |= reading.fields(Redactor(secrets_of(self._asked)))
            read["suspects"] = reading.suspects(context)
            read["error_type"] = wrong or read["error_type"]
        self._publish(
            StreamFinished(about, state, self._received, self._sent, seconds, self._first_byte, rules=rules, **read)
        )


class MeteredEvents:
    """Parses a response in the client's API. `exchange` and `render` are for the content, if an observer wants it."""

    def __init__(self, api: str, exchange: ExchangeRecord | None = None, render: Render | None = None) -> None:
        self._api = api
        self._readable = True
        self._stream = EventReader(api)
        self._head = decoder_of(api)
        self._seeks = True  # the response's id
        self._in_head = 0
        self._exchange, self._render = exchange, render
        self._answer = Answer(MAX_KEPT)
        self._first_token: float | None = None
        self._calls = 0
        self._usage: Usage | None = None
        self._reasons: list[str] = []
        self._error = self._id = self._model = ""

    def feed(self, data: bytes, when: float) -> None:
        """Takes bytes of a stream that arrived `when` seconds after the request."""
        self._try(lambda: self._take(self._stream.feed(data), when))
        self._try(lambda: self._look(data))

    def whole(self, body: bytes, _: float) -> None:
        """Takes a whole body."""
        self._try(lambda: self._take(events_of(self._api, [body], stream=False)))
        self._try(lambda: self._named(body))

    def fields(self, redactor: Redactor = _KEYS) -> dict[str, Any]:
        """Ends the body; returns fields of StreamFinished."""
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

    def suspects(self, context: SuspectContext) -> int:
        """Returns how many texts look like a call and were not made one, once the body is over."""
        try:
            return len(in_messages(self._answer.known(), context)) if self._readable and context.tools.schemas else 0
        except Exception:
            return 0

    def _try(self, act: Callable[[], None]) -> None:
        """Runs a step; an error in a codec ends only the parsing."""
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
        """Searches the first events for the response's id."""
        if not self._seeks:
            return
        self._in_head += len(data)
        for sse in self._head.feed(data):
            if sse.data and self._seeks:
                self._named(sse.data)
        if self._in_head > MAX_HEAD:
            self._seeks = False

    def _named(self, data: bytes) -> None:
        """Reads `id` and `model`, or Gemini's names for them, of the object, or of its message or response."""
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
    """Returns what events contain about a stream."""
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
    """Returns foreign text without what looks like a key, and as valid UTF-8: otherwise the event could not be published."""
    return redactor.cut(text, MAX_NAME).encode(errors="replace").decode()
