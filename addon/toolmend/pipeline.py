"""The picture of DESIGN.md as code: bytes of one response in, bytes for the client out.

    bytes ─► sse.Decoder ─► codec.decode ─► transformers ─► codec.encode ─► bytes      the client speaks the upstream's API
                                                       └──► writer.write ─► bytes      it speaks another

Rule of this file: it fails open. Whatever is raised inside, `feed`, `close` and `message` return: what had been held goes out
first, as the raw bytes it came in, then everything that follows. No byte is lost for an exception of ours. Where raw bytes
would be the wrong API, the client gets a legal error of its own, and nothing behind it.
"""

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from . import json_text
from .apis import APIS
from .apis.codec import Counting, Flowing, Reply
from .config.settings import Settings
from .dialects import REASONING_TAGS, Dialect
from .events import Event, Frame, StreamError
from .ids import new_call_id
from .keep_alive import KeepAlives
from .lane import Lane, Lanes
from .leaving import Leaving
from .providers import STANDARD, armed, profile_for
from .reader import Reader
from .requests import Translated, translate
from .requests.estimate import tokens
from .requests.prompted import template_for
from .sse import Decoder, ServerSentEvent
from .tools import UNKNOWN, freeform, namespaces
from .transformers.duplicates import Duplicates
from .transformers.finish import FinishReason
from .transformers.markup import Markup
from .transformers.naming import Naming
from .transformers.policy import policy_for
from .transformers.stop_sequences import StopSequences

_BROKEN = "toolmend failed on this answer, and cannot pass it on in the API that was asked for"


class Transformer(Protocol):
    """See transformers/__init__.py."""

    def feed(self, frame: Frame) -> Sequence[Frame]: ...
    def close(self) -> Sequence[Frame]: ...


class Pipeline:
    """One response.

    `source` is the API the upstream speaks, `target` the client's. `request` is the client's, parsed; None if it is not at
    hand: then any call is expected. `translated`: what was made of it for the upstream; if None, it is made here, which
    may raise requests.RequestError. `let_go`: the caller can end the response, and let the upstream go, when `done` is
    set. `now` tells seconds. `watch` is told each rule whenever it fires; `rules` holds each once.
    """

    def __init__(
        self,
        request: Mapping[str, Any] | None,
        *,
        source: str = "chat",
        target: str = "chat",
        settings: Settings = Settings(),
        host: str = "",
        new_id: Callable[[], str] = new_call_id,
        let_go: bool = False,
        now: Callable[[], float] = time.monotonic,
        translated: Translated | None = None,
        watch: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.rules: list[str] = []
        self.ids: list[str] = []
        self.notes: list[str] = []
        self.error: str | None = None
        self.api = target
        self.translates = source != target
        self._new_id = new_id
        self._watch = watch
        if translated is None and request is not None:
            told = profile_for(request.get("model"), host, settings.providers)
            template = template_for(told)
            translated = translate(request, target, source, host=host, template=template, system_role=told.system_role)
        offered = translated.tools.also(translated.names) if translated else UNKNOWN
        self.notes += translated.notes if translated else ()
        profile = profile_for(translated.request.get("model") if translated else None, host, settings.providers)
        off, alone = settings.off.rules, settings.off.leaves(host)
        dialects = armed(settings.dialects, profile, prompted=translated is not None and translated.prompted)
        dialects = [] if alone else [dialect for dialect in dialects if dialect.name not in off]
        # of a model that nothing is known of they are believed, too, where the client's API has another place for them
        thinks = profile.think_tags or (self.translates and source == "chat" and profile.name == STANDARD)
        tags: list[Dialect] = [REASONING_TAGS] if dialects and thinks and REASONING_TAGS.name not in off else []
        # without tools nothing is looked for (R18); tags are, where the stream is written anew in any case
        dialects = dialects + tags if offered.offered else tags if self.translates else []
        reply = Reply(
            offered,
            self._id,
            self._fired,
            request or {},
            profile.reasoning_field or "reasoning_content",
            tokens(request or {}, target) if self.translates else 0,
            self.translates,
        )
        self._codec = Leaving(APIS[source].codec, reply, off) if off else APIS[source].codec(reply)
        make_writer = APIS[target].writer if source != target else None
        self._writer = make_writer(reply) if make_writer else None
        unopened = bool(tags and profile.think_unopened)
        self._markup = Markup(lambda choice: Reader(dialects, offered, choice, self._id, self._fired, unopened=unopened))
        choices = (request or {}).get("n")
        self._policy = policy_for(settings, self._fired, choices=choices, let_go=let_go, now=now)
        transformers: list[Transformer] = [self._markup]
        if "duplicate_call" not in off:
            transformers.append(Duplicates(self._fired))
        if self._policy:
            transformers.append(self._policy)
        if translated and translated.stop and self._writer:
            transformers.append(StopSequences(translated.stop, self._fired))
        if self._writer or APIS[source].tells_calls:
            transformers.append(FinishReason(self._fired, off))
        spaces = namespaces(request or {}) if target == "responses" else {}
        if translated and self._writer:
            transformers.append(Naming(translated.names, translated.custom, spaces))
        elif target == "responses":
            transformers.append(Naming({}, freeform(request or {}), spaces, native=False))
        self._transformers: Sequence[Transformer] = transformers
        self._decoder = APIS[source].decoder()
        self._raw = not dialects and self._writer is None
        mends = settings.dialects != () and not alone and "keep_alive" not in off
        self._alive = KeepAlives(self._fired, comments=APIS[source].comments) if mends or self._writer else None
        self._broken = False  # a translated answer that had to be given up
        self.lets_go = not self._raw and self._policy is not None and self._policy.lets_go
        self._unsent: list[bytes] = []  # chunks that came in, and are not all answered for
        self._kept = 0  # how many of them came before this call
        self._parts: list[bytes] = []  # what this call gives
        self._sure = (0, 0)  # so many parts of what a call gives, and the bytes of `_unsent` that they answer for
        self._answered = 0  # the same, of frames that are still on their way
        self._ahead: list[tuple[int, int]] = []  # where in it comments are that have gone out
        boxes: tuple[object, ...] = (self._codec, self._writer)
        self._counting = [box for box in boxes if isinstance(box, Counting)]
        self._lane: Lane | None = None  # what may come next
        self._lanes: Lanes | None = None
        watched = (Markup, Duplicates, FinishReason, Naming)  # a run of deltas is to others what it is to these
        if isinstance(self._codec, Flowing) and all(isinstance(box, watched) for box in transformers):
            others = [box for box in transformers if isinstance(box, Duplicates | Naming)]
            self._lanes = Lanes(self._codec, self._markup, others, translates=self._writer is not None)
        self._inflight: deque[ServerSentEvent | bytes] = deque()  # the events in it; bytes: a comment that went ahead

    def feed(self, data: bytes) -> bytes:
        """The bytes of a stream as they arrive; returns what is to be sent now."""
        if self._raw:
            return self._alive.feed(data) if self._alive else data
        self._kept = len(self._unsent)
        out = self._parts = []
        try:
            at = self._lane.passes(data) if self._lane else 0
            if at == len(data):
                return data
            self._forget()
            if not self._writer:
                self._unsent.append(data)
            if at:
                out.append(data[:at])
                self._goes(out, at)
            while at < len(data) and not self.done:
                if self._lane:
                    given, end = self._lane.run(data, at)
                    if given:
                        out.append(given)
                    self._goes(out, end - at)
                    at = end
                    if at < len(data):
                        self._catch_up()
                    continue
                events, at = self._take(data, at)
                self._events(events, out)
            return out[0] if len(out) == 1 else b"".join(out)
        except Exception as error:  # whatever is wrong in here, the client's bytes are not
            return self._fail(error, out, data if len(self._unsent) == self._kept else b"")

    def close(self) -> bytes:
        """The body is over; returns what had been held."""
        if self._raw or self.done:
            return self._alive.close() if self._raw and self._alive else b""
        out = self._parts = []
        try:
            self._forget()
            self._catch_up()
            self._events(self._decoder.close(), out)
            if not self.done and (last := self._codec.close()).events:
                self._send(self._through([last], 0), out)
            self._send(self._released(), out)
            if not self.done:
                out.append(self._writer.close() if self._writer else self._codec.held())
            return b"".join(out)
        except Exception as error:
            return self._fail(error, out)

    @property
    def done(self) -> bool:
        """Whether the client has all: the end of the message is out, and what may still come is dropped."""
        return self._broken or (self._policy is not None and self._policy.done)

    def message(self, body: bytes) -> bytes:
        """A whole response: JSON. Returns the very same bytes where there is nothing to mend."""
        if self._raw:
            return body
        try:
            frame, events, touched = self._whole(body)
            if self._writer:
                return self._writer.message(events)
            return self._codec.encode_message(Frame(frame.sse, events, touched))
        except Exception as error:
            if not self._writer and isinstance(error, json_text.NotJSON):
                return body
            self._fail(error, [])
            return self._writer.message([StreamError("api_error", _BROKEN, 502)]) if self._writer else body

    def as_stream(self, body: bytes) -> bytes:
        """A whole response, for a client of another API that waits for a stream."""
        assert self._writer
        out: list[bytes] = []
        try:
            out.append(self._writer.write(self._whole(body)[1]))
            out.append(self._writer.close())
            return b"".join(out)
        except Exception as error:
            return self._fail(error, out)

    def folded(self, body: bytes) -> bytes:
        """A stream that is over, for a client of another API that waits for a whole response."""
        assert self._writer
        events: list[Event] = []
        try:
            for sse in (*self._decoder.feed(body), *self._decoder.close()):
                events += (event for frame in self._through([self._decode(sse)], 0) for event in frame.events)
            events += (event for frame in self._through([self._codec.close()], 0) for event in frame.events)
            events += (event for frame in self._released() for event in frame.events)
            return self._writer.message(events)
        except Exception as error:
            self._fail(error, [])
            return self._writer.message([StreamError("api_error", _BROKEN, 502)])

    def _whole(self, body: bytes) -> tuple[Frame, tuple[Event, ...], bool]:
        """The frame of a whole response, and what the transformers make of its events."""
        frame = self._codec.decode_message(body)
        frames = [*self._through([frame], 0), *self._released()]
        return frame, tuple(event for part in frames for event in part.events), any(part.touched for part in frames)

    def _take(self, data: bytes, at: int) -> tuple[Sequence[ServerSentEvent], int]:
        """Events that are complete from `at` on, and where the next begins; one, if it may be that lanes open behind it."""
        if self._lanes and isinstance(self._decoder, Decoder):
            return self._decoder.take(data, at)
        return self._decoder.feed(data[at:] if at else data), len(data)

    def _events(self, events: Iterable[ServerSentEvent], out: list[bytes]) -> None:
        for sse in events:
            if self.done:
                return
            before = len(out)
            self._event(sse, out)
            if self._lanes:
                self._lane = self._lanes.open(sse, b"".join(out[before:]))
        if self._lane and not (isinstance(self._decoder, Decoder) and self._decoder.between):
            self._lane = None  # it begins where an event does

    def _event(self, sse: ServerSentEvent, out: list[bytes]) -> None:
        if self._alive and sse.data and sse.data.lstrip(b" \t").startswith(b":"):
            comment = self._alive.repaired(sse.raw)
            if comment != sse.raw:
                self._go_ahead(sse, self._writer.ping() if self._writer else comment, out)
                return
        if self._writer:
            if sse.data is None and sse.raw.lstrip().startswith(b"{"):
                self._send(self._through([self._decode_body(sse)], 0), out)
            elif sse.data is None or sse.event == b"ping":
                out.append(self._writer.ping())
            else:
                self._send(self._through([self._decode(sse)], 0), out)
            return
        if sse.data is None and (self._markup.in_call or (self._policy and self._policy.silent)):
            self._go_ahead(sse, sse.raw, out)
            return
        self._inflight.append(sse)
        self._send(self._through([self._decode(sse)], 0), out)

    def _go_ahead(self, sse: ServerSentEvent, given: bytes, out: list[bytes]) -> None:
        """The upstream's keep-alive goes ahead of what is held, or the client may give up."""
        out.append(given)
        if self._inflight:
            at = self._answered + sum(len(each if isinstance(each, bytes) else each.raw) for each in self._inflight)
            self._inflight.append(sse.raw)
            self._ahead.append((at, at + len(sse.raw)))
        elif not self._writer:
            self._goes(out, len(sse.raw))

    def _catch_up(self) -> None:
        """Reads what went out unread, and is answered for."""
        lane, self._lane = self._lane, None
        if lane is None or lane.empty:
            return
        sse, count, due = lane.read()
        for box in self._counting:
            box.skip(count - 1)
        given: list[bytes] = []
        self._events([sse], given)
        self._answered = self._sure[1]
        assert b"".join(given) == due

    def _decode(self, sse: ServerSentEvent) -> Frame:
        try:
            return self._codec.decode(sse)
        except json_text.NotJSON:
            self._note("data that is no JSON passed as it came")
            return Frame(sse)

    def _decode_body(self, sse: ServerSentEvent) -> Frame:
        """A whole response, most often an error, whose content type says that it is a stream."""
        try:
            return self._codec.decode_message(sse.raw)
        except json_text.NotJSON:
            return Frame(sse)

    def _through(self, frames: Sequence[Frame], first: int) -> Sequence[Frame]:
        """Takes frames through the transformers from the `first` on."""
        for transformer in self._transformers[first:]:
            if len(frames) == 1:
                frames = transformer.feed(frames[0])
            else:
                frames = [out for frame in frames for out in transformer.feed(frame)]
        return frames

    def _released(self) -> Iterator[Frame]:
        """What the transformers hold, once nothing more comes: of each in turn, through those behind it."""
        for at, transformer in enumerate(self._transformers):
            yield from self._through(transformer.close(), at + 1)

    def _send(self, frames: Iterable[Frame], out: list[bytes]) -> None:
        waits = False  # an untouched frame that gives nothing is kept back by the codec
        for frame in frames:
            if self._writer:
                out.append(self._writer.write(frame.events))
                continue
            data = self._codec.encode(frame)
            if data:
                out.append(data)
            answered = self._answers(frame.sse) if frame.sse is not None else 0
            waits = not data and not frame.touched
            if data and answered:
                self._goes(out, answered)
            else:
                self._answered += answered
        if not waits:
            self._goes(out, 0)

    def _goes(self, out: list[bytes], size: int) -> None:
        """All in `out` goes to the client, and answers for so many bytes more."""
        self._answered += size
        if out is self._parts:  # else it was given before
            self._sure = (len(out), self._answered)

    def _forget(self) -> None:
        """What is answered for is needed no more."""
        sure, gone = self._sure[1], 0
        for chunk in self._unsent:
            if len(chunk) > sure:
                break
            sure -= len(chunk)
            gone += 1
        kept = self._unsent[gone:] if gone else self._unsent
        size = self._sure[1] - sure
        ahead = [(first - size, last - size) for first, last in self._ahead if last > size]
        left = self._answered - size
        self._unsent, self._kept, self._sure, self._answered, self._ahead = kept, len(kept), (0, sure), left, ahead

    def _answers(self, sse: ServerSentEvent) -> int:
        """The bytes that the frame of this event answers for; so does it for comments that went ahead of it."""
        size = 0
        while True:
            first = self._inflight.popleft()
            size += len(first if isinstance(first, bytes) else first.raw)
            if first is sse:
                return size
            assert isinstance(first, bytes)

    def give_up(self, why: str) -> bytes:
        """Has all pass as it comes from here on; returns what had been held. In another API it goes on, and says why."""
        out: list[bytes] = []
        if self._writer:
            self._note(why)
        elif not self._raw:
            self.error = why
            self._pass_on(out)
        return b"".join(out)

    def _fail(self, error: Exception, out: list[bytes], rest: bytes = b"") -> bytes:
        """From here on all passes as it comes, what is held first, then the `rest`; or, in another API, nothing but an error."""
        # where, not what: an exception's own words may quote the stream
        place = traceback.extract_tb(error.__traceback__)[-1]
        self.error = f"{type(error).__name__} in {place.name} ({Path(place.filename).name}:{place.lineno})"
        if self._writer:
            self._broken = True
            return b"".join([*out, self._writer.fail(_BROKEN)])
        del out[self._sure[0] :]  # it is not known what the rest answers for
        self._pass_on(out)
        return b"".join([*out, rest])

    def _pass_on(self, out: list[bytes]) -> None:
        self._raw = True
        self._alive = self._lane = None
        at, raw = self._sure[1], b"".join(self._unsent)
        for first, last in self._ahead:
            if first >= at:
                out.append(raw[at:first])
                at = last
        out.append(raw[at:])
        self._unsent.clear()
        self._inflight.clear()

    def _fired(self, rule: str) -> None:
        self._watch(rule)
        if rule not in self.rules:
            self.rules.append(rule)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _id(self) -> str:
        self.ids.append(self._new_id())
        return self.ids[-1]
