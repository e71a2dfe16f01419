"""The picture of architecture.md as code: bytes of one response in, bytes for the client out.

    bytes ─► sse.Decoder ─► codec.decode ─► transformers ─► codec.encode ─► bytes      the client speaks the upstream's API
                                                       └──► writer.write ─► bytes      it speaks another

Rule of this file: it fails open. Whatever is raised inside, `feed`, `close` and `message` return: what had been held goes out
first, as the raw bytes it came in, then everything that follows. No byte is lost for an exception of ours. Where raw bytes
would be the wrong API, the client gets a legal error of its own, and nothing behind it.
"""

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import json_text
from ..core.events import Event, Frame, MessageEnd, StreamError
from ..core.fastclass import replace
from ..core.ids import new_call_id
from ..core.sse import MAX_EVENT, ServerSentEvent, SseDecoder
from ..core.sse import begins as is_stream
from ..providers.model_profiles import profile_for
from ..requests import Translated, translate
from ..requests.prompted import template_for
from .build import AnswerContext, assemble
from .event_chain import ENDS, EventChain, is_idle
from .fastpath.matchers import Glance, nothing
from .settings import MendSettings
from .undelivered import UndeliveredInput

if TYPE_CHECKING:
    from .fastpath.delta_run import DeltaRun

_CUT_OFF = "the upstream's answer was cut off"
_BROKEN = "toolmend failed on this answer, and cannot pass it on in the API that was asked for"


class TooLongError(Exception):
    """An event that nobody reads, and so nobody can translate."""


class Pipeline:
    """One response.

    `source` is the API the upstream speaks, `target` the client's. `request` is the client's, parsed; None if it is not at
    hand: then any call is expected. `translated`: what was made of it for the upstream; if None, it is made here, which
    may raise requests.RequestError. `let_go`: the caller can end the response, and let the upstream go, when `done` is
    set. `now` tells seconds. `watch` is told each rule whenever it fires; `rules` holds each once. `glance` gives what goes
    out for a chunk, where that is told at once: then it has been taken in; else it is to be fed. `begins`: how the text of
    earlier answers of this model at this host began, "content" or "reasoning"; empty where that is not known. `seen`: the
    ambiguous dialects in which they had calls.
    """

    def __init__(
        self,
        request: Mapping[str, Any] | None,
        *,
        source: str = "chat",
        target: str = "chat",
        settings: MendSettings = MendSettings(),
        host: str = "",
        new_id: Callable[[], str] = new_call_id,
        let_go: bool = False,
        now: Callable[[], float] = time.monotonic,
        translated: Translated | None = None,
        watch: Callable[[str], None] = lambda _: None,
        begins: str = "",
        seen: Sequence[str] = (),
    ) -> None:
        self.rules: list[str] = []
        self.ids: list[str] = []
        self.notes: list[str] = []
        self.error: str | None = None
        self.api = target
        self._new_id = new_id
        self._watch = watch
        if translated is None and request is not None:
            told = profile_for(request.get("model"), host, settings.providers)
            template = template_for(told)
            translated = translate(request, target, source, host=host, template=template, system_role=told.system_role)
            if source == target:  # the request went out as it was
                translated = replace(translated, compacts="")
        self.notes += translated.notes if translated else ()
        answer = AnswerContext(request or {}, translated, source, target, settings, host, begins, seen)
        self.translates = answer.translates
        boxes = assemble(answer, self._id, self._fired, self._note, let_go=let_go, now=now)
        self._decoder, self._codec, self._writer = boxes.decoder, boxes.codec, boxes.writer
        errors = None if "error_form" in settings.off.rules else self._fired
        self._chain = EventChain(boxes.codec, boxes.transformers, self._note, errors)
        self._markup, self._policy, self._fit = boxes.markup, boxes.policy, boxes.fit
        self._alive, self._counting = boxes.alive, boxes.counting
        self.begins = begins if boxes.thinks else ""
        self.seen = seen
        self.sought = boxes.sought
        self._thinks = boxes.thinks
        self._lanes = boxes.lanes
        self._lane: DeltaRun | None = None  # what may come next
        self._waiting = b""  # events that came, and may be of the lane
        if self._lanes:
            self._lanes.wait = self._wait
        self._before = b""  # how the last event ended
        self._undelivered = UndeliveredInput()
        self._raw = not boxes.looks
        self.glance: Glance = self._passes if self._raw else nothing
        self._broken = False  # a translated answer that had to be given up
        self.lets_go = not self._raw and self._policy is not None and self._policy.lets_go

    def _passes(self, data: bytes) -> bytes | None:
        """`glance`, where all passes."""
        return data if self._alive is None or self._alive.passes(data) else None

    def feed(self, data: bytes) -> bytes:
        """The bytes of a stream as they arrive; returns what is to be sent now."""
        if self._raw:
            return self._alive.feed(data) if self._alive else data
        out: list[bytes] = []
        try:
            self._undelivered.begin(b"" if self._writer else data, out)
            self._read(self._waiting + data, out)
            return out[0] if len(out) == 1 else b"".join(out)
        except Exception as error:  # whatever is wrong in here, the client's bytes are not
            return self._fail(error, out, data)

    def _read(self, data: bytes, out: list[bytes]) -> None:
        """Takes in what is there, unread where a lane is open."""
        at, self._waiting, self.glance = 0, b"", nothing
        if self._lane:
            self._lane.join()
            end = data.rfind(b"\n\n", 0, -2) + 2  # where the last event begins: it may be cut, or end as a call begins
            if end > 1 and (given := self._lane.whole(data[:end])) is not None:
                out.append(given)
                at = end
                self._undelivered.mark_sent(out, at)
        while at < len(data) and not self.done:
            if self._lane is None:
                events, at = self._take(data, at)
                self._events(events, out)
                continue
            end, waits = self._lane.run(data, at, out)
            if not self._lane.holds:
                self._undelivered.mark_sent(out, end - at)
            at = end
            if waits:
                self._waiting, self.glance = data[at:], self._goes_on
                return
            if at < len(data):
                self._catch_up(out)
        if self._lane:
            self.glance = self._lane.glance

    def _wait(self, data: bytes, given: bytes) -> bytes:
        """`glance`, of an event that is told with what comes behind it: `given` goes out for those in front of it."""
        self._waiting, self.glance = data, self._goes_on
        # in one line: what fails in front of it has taken nothing in, and nothing can fail behind it
        return self._undelivered.begin(b"" if self._writer else data, []) or given  # type: ignore[func-returns-value]

    def _goes_on(self, data: bytes) -> bytes | None:
        """`glance`, where something waits: it is told with what comes behind it."""
        if self._lane is None or (given := self._lane.whole(self._waiting + data)) is None:
            self.glance = nothing
            return None
        self._waiting, self.glance = b"", self._lane.glance
        # in one line: what fails in front of it has answered for nothing, and nothing can fail behind it
        return self._undelivered.mark_all_sent() or given  # type: ignore[func-returns-value]

    def close(self) -> bytes:
        """The body is over; returns what had been held."""
        if self._raw or self.done:
            return self._alive.close() if self._raw and self._alive else b""
        out: list[bytes] = []
        try:
            self._undelivered.begin(b"", out)
            self._catch_up(out)
            self._read(self._waiting, out)
            self._catch_up(out)
            rest = self._decoder.close()
            self._events(rest, out)
            if not self.done:
                self._send(self._chain.end_of_body(), out)
            self._send(self._chain.flush(), out)
            if not self.done:
                out.append(b"")
                out[-1] = self._writer.close(self._chain.last_error()) if self._writer else self._codec.held()
            return b"".join(out if self._writer else _apart(out, rest))
        except Exception as error:
            return self._fail(error, out)

    @property
    def began(self) -> str:
        """How this text began, as `begins` of the next answer; empty where it does not show."""
        return self._markup.beginning if self._thinks else ""

    @property
    def done(self) -> bool:
        """Whether the client has all: the end of the message is out, and what may still come is dropped."""
        return self._broken or (self._policy is not None and self._policy.done)

    def message(self, body: bytes) -> bytes:
        """A whole response: JSON, or events that are called so. Returns the very same bytes where there is nothing to mend."""
        if self._raw:
            return body
        self._markup.whole = True
        try:
            frame, events, touched = self._chain.transform_message(body)
            if self._writer:
                return self._writer.message(events)
            return self._codec.encode_message(Frame(frame.sse, events, touched)) if touched else body
        except Exception as error:
            no_json = isinstance(error, json_text.NotJSON)
            self._markup.whole = not no_json
            if self._writer and no_json and is_stream(body):
                return self.folded(body)
            if not self._writer and no_json:
                out = self.feed(body) + self.close()
                return body if out == body else out
            self._fail(error, [])
            return self._writer.message([StreamError("api_error", _BROKEN, 502)]) if self._writer else body

    def as_stream(self, body: bytes) -> bytes:
        """A whole response, for a client of another API that waits for a stream; or events that are called so."""
        assert self._writer
        out: list[bytes] = []
        self._markup.whole = True
        try:
            out.append(self._writer.write((*self._chain.transform_message(body)[1], MessageEnd())))
            out.append(self._writer.close())
            return b"".join(out)
        except Exception as error:
            self._markup.whole = False
            if isinstance(error, json_text.NotJSON) and is_stream(body):
                return self.feed(body) + self.close()
            return self._fail(error, out)

    def folded(self, body: bytes) -> bytes:
        """A stream that is over, for a client of another API that waits for a whole response."""
        assert self._writer
        events: list[Event] = []
        self._markup.whole = True
        try:
            for sse in (*self._decoder.feed(body), *self._decoder.close()):
                if is_idle(sse):
                    self._chain.skip_event(sse)
                    continue
                events += (event for frame in self._chain.translate_event(sse) for event in frame.events)
            events += (event for frame in (*self._chain.end_of_body(), *self._chain.flush()) for event in frame.events)
            if not any(isinstance(event, ENDS) and getattr(event, "choice", 0) == 0 for event in events):
                events.append(self._chain.last_error() or StreamError("api_error", _CUT_OFF, 502))
            return self._writer.message(events)
        except Exception as error:
            self._fail(error, [])
            return self._writer.message([StreamError("api_error", _BROKEN, 502)])

    def _take(self, data: bytes, at: int) -> tuple[Sequence[ServerSentEvent], int]:
        """Events that are complete from `at` on, and where the next begins; one, if it may be that lanes open behind it."""
        if self._lanes and isinstance(self._decoder, SseDecoder):
            return self._decoder.take(data, at)
        return self._decoder.feed(data[at:] if at else data), len(data)

    def _events(self, events: Iterable[ServerSentEvent], out: list[bytes]) -> None:
        for sse in events:
            if self.done:
                return
            before = len(out)
            self._event(sse, out)
            self._before = sse.raw[-4:]
            if self._lanes:
                self._lane = self._lanes.open(sse, out[before:])
        if self._lane and not (isinstance(self._decoder, SseDecoder) and self._decoder.between):
            self._lane = None  # it begins where an event does

    def _event(self, sse: ServerSentEvent, out: list[bytes]) -> None:
        if self._alive and sse.data is not None and (sse.data.lstrip(b" \t") or b":").startswith((b":", b"null")):
            comment = self._alive.repaired(self._before + sse.raw, len(self._before))
            if comment != sse.raw:
                self._go_ahead(sse, self._writer.ping() if self._writer else comment, out)
                return
        elif self._alive and sse.data is None and (given := self._alive.read(sse.raw)) != sse.raw:
            self._go_ahead(sse, given, out)
            return
        if self._writer:
            if is_idle(sse):
                if len(sse.raw) > MAX_EVENT // 2:  # the first piece of it
                    raise TooLongError
                self._chain.skip_event(sse)
                out.append(self._writer.ping())
            else:
                self._send(self._chain.translate_event(sse), out)
            return
        silent = self._markup.in_call or (self._policy and self._policy.silent) or (self._fit and self._fit.holds_frames)
        if sse.data is None and silent:
            self._go_ahead(sse, sse.raw, out)
            return
        frame, leaving = self._chain.next_frames(sse)
        self._undelivered.enter(frame.sse or sse)
        self._send(self._chain.transform(leaving), out)

    def _go_ahead(self, sse: ServerSentEvent, given: bytes, out: list[bytes]) -> None:
        """The upstream's keep-alive goes ahead of what is held, or the client may give up."""
        out.append(given)
        if not self._writer:
            self._undelivered.comment_sent(sse.raw, out)

    def _catch_up(self, out: list[bytes]) -> None:
        """Reads what went in unread. It went out, and is answered for, or was held."""
        lane, self._lane = self._lane, None
        if lane is None or lane.empty:
            return
        if lane.holds:
            self._event(lane.held(), out)
            return
        sse, count, due = lane.read()
        for box in self._counting:
            box.skip(count - 1)
        given: list[bytes] = []
        self._event(sse, given)
        self._undelivered.ignore_reread()
        assert b"".join(given) == due

    def _send(self, frames: Iterable[Frame], out: list[bytes]) -> None:
        waits = True  # until a frame leaves
        for frame in frames:
            if self._writer:
                out.append(b"")  # its place is there before it is made: a writer says nothing twice
                out[-1] = self._writer.write(frame.events)
                continue
            data = self._codec.encode(frame)
            if data:
                out.append(data)
            if frame.sse is not None:
                self._undelivered.leave(frame.sse, out, has_output=bool(data))
            waits = not data and not frame.touched  # an untouched frame that gives nothing is kept back by the codec
        if not waits:
            self._undelivered.mark_sent(out)

    def give_up(self, why: str) -> bytes:
        """Has all pass as it comes from here on; returns what had been held. In another API it goes on, and says why."""
        if self._writer:
            self._note(why)
        elif not self._raw:
            self.error = why
            self._pass_all()
            return b"".join(self._undelivered.take_rest())
        return b""

    def _fail(self, error: Exception, out: list[bytes], data: bytes = b"") -> bytes:
        """From here on all passes as it comes, what is held first; or, in another API, nothing but an error.

        `out`: what was to go out for `data`.
        """
        # where, not what: an exception's own words may quote the stream
        place = traceback.extract_tb(error.__traceback__)[-1]
        self.error = f"{type(error).__name__} in {place.name} ({Path(place.filename).name}:{place.lineno})"
        if self._writer:
            self._broken, self._lane, self.glance = True, None, nothing
            return b"".join([*out, self._writer.fail(_BROKEN)])
        self._pass_all()
        return b"".join(self._undelivered.recover(out, data))

    def _pass_all(self) -> None:
        self._raw = True
        self._alive = self._lane = None
        self.glance = self._passes

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


def _apart(out: Sequence[bytes], rest: Sequence[ServerSentEvent]) -> Iterator[bytes]:
    """What goes out at the end of the body. Where something is put behind the last event, and that was not ended, it is now."""
    last = rest[-1] if rest and rest[-1].raw.strip() else None
    for at, part in enumerate(out):
        yield part
        if last and part.endswith(last.raw) and any(out[at + 1 :]):
            yield last.missing
