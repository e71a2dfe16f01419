"""The picture of docs/dev/architecture.md as code: bytes of one response in, bytes for the client out.

    bytes ─► sse.Decoder ─► codec.decode ─► transformers ─► codec.encode ─► bytes      the client speaks the upstream's API
                                                       └──► writer.write ─► bytes      it speaks another one

It fails open: `feed`, `close` and `message` never raise. After an exception, what was held is sent as the raw bytes that came in,
and so is everything that follows. No byte is lost to a failure of toolmend. If the client speaks another API, it gets a
legal error event, and nothing after it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..core import json_text
from ..core.error_text import class_and_place
from ..core.events import Event, Frame, MessageEnd, StreamError
from ..core.fastclass import replace
from ..core.ids import new_call_id
from ..core.sse import MAX_EVENT, ServerSentEvent
from ..core.sse import begins as is_stream
from ..providers.model_profiles import profile_for
from ..requests import Translated, translate
from ..requests.prompted import template_for
from .build import AnswerContext, assemble
from .event_chain import ENDS, EventChain, is_idle, may_overtake
from .reader_choice import new_reader
from .settings import MendSettings
from .undelivered import UndeliveredInput

_CUT_OFF = "the upstream's answer was cut off"
_BROKEN = "toolmend failed on this answer, and cannot pass it on in the API that was asked for"


class TooLongError(Exception):
    """An event that is too long to be decoded, and so cannot be translated."""


class Pipeline:
    """Corrects or translates one response.

    Attributes:
        rules: The rules that fired, each once.
        ids: The ids that were generated, in order.
        notes: What a translation dropped.
        error: Why the response passes unchanged; None unless toolmend failed on it.
        api: The client's API.
        translates: The client speaks another API, or gets something else than the upstream's answer.
        lets_go: A policy may end the response early.
        sought: What the response was decoded with: see suspects.py.
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
        """Builds the pipeline of one response.

        Args:
            request: The client's request; None if unknown: then any call is expected.
            source: The API that the upstream speaks.
            target: The API that the client speaks.
            settings: What is corrected.
            host: The upstream's host.
            new_id: Returns an id like `call_…`.
            let_go: The caller can end the response and drop the upstream when `done` is set.
            now: Returns seconds.
            translated: The request for the upstream; if None, it is made here.
            watch: Called with the rule each time one fires.
            begins: How the text of earlier answers of this model at this host began, "content" or "reasoning"; "" if unknown.
            seen: The ambiguous dialects in which earlier answers had calls.

        Raises:
            requests.RequestError: The request cannot be translated.
        """
        self.rules: list[str] = []
        self.ids: list[str] = []
        self.notes: list[str] = []
        self.error: str | None = None
        self.api = target
        self._new_id = new_id
        self._watch = watch
        if translated is None and request is not None:
            profile = profile_for(request.get("model"), host, settings.providers)
            template = template_for(profile)
            translated = translate(request, target, source, host=host, template=template, system_role=profile.system_role)
            if source == target:  # the request was sent unchanged
                translated = replace(translated, compacts="")
        self.notes += translated.notes if translated else ()
        answer = AnswerContext(request or {}, translated, source, target, settings, host, begins, seen)
        self.translates = answer.translates
        boxes = assemble(answer, self._id, self._fired, self._note, let_go=let_go, now=now)
        self._decoder, self._codec, self._writer = boxes.decoder, boxes.codec, boxes.writer
        errors = None if "error_form" in settings.off.rules else self._fired
        self._chain = EventChain(boxes.codec, boxes.transformers, self._note, errors)
        self._markup, self._policy, self._fit = boxes.markup, boxes.policy, boxes.fit
        self._keep_alives = boxes.keep_alives
        self.begins = begins if boxes.text_reasoning else ""
        self.seen = seen
        self.sought = boxes.sought
        self._text_reasoning = boxes.text_reasoning
        self._before = b""  # the end of the last event
        self._undelivered = UndeliveredInput()
        self._reader = new_reader(boxes.decoder, self._process, self._undelivered, boxes.runs)
        self._raw = not boxes.searches
        self._broken = False  # a translation failed, and an error was sent
        self.lets_go = not self._raw and self._policy is not None and self._policy.lets_go

    def try_fast(self, data: bytes) -> bytes | None:
        """Returns the output for a chunk that need not be decoded now; if None, the chunk must be fed."""
        if self._raw:
            return data if self._keep_alives is None or self._keep_alives.passes(data) else None
        return self._reader.try_fast(data)

    def feed(self, data: bytes) -> bytes:
        """Takes a chunk of a stream. Returns what is to be sent now."""
        if self._raw:
            return self._keep_alives.feed(data) if self._keep_alives else data
        if self.done:
            return b""
        out: list[bytes] = []
        try:
            self._undelivered.begin(b"" if self._writer else data, out)
            self._reader.read(data, out)
            return out[0] if len(out) == 1 else b"".join(out)
        except Exception as error:  # no failure here may cost the client a byte
            return self._fail(error, out, data)

    def close(self) -> bytes:
        """Ends the body. Returns what was held."""
        if self._raw or self.done:
            return self._keep_alives.close() if self._raw and self._keep_alives else b""
        out: list[bytes] = []
        try:
            self._undelivered.begin(b"", out)
            rest = self._reader.close(out)
            if not self.done:
                self._send(self._chain.end_of_body(), out)
            self._send(self._chain.flush(), out)
            if not self.done:
                out.append(b"")
                out[-1] = self._writer.close(self._chain.last_error()) if self._writer else self._codec.held()
            return b"".join(out if self._writer else _with_ends(out, rest))
        except Exception as error:
            return self._fail(error, out)

    @property
    def began(self) -> str:
        """How this text began, as `begins` of the next answer; "" if that does not show."""
        return self._markup.beginning if self._text_reasoning else ""

    @property
    def done(self) -> bool:
        """Whether the end of the message was sent. What still comes is dropped."""
        return self._broken or (self._policy is not None and self._policy.done)

    def message(self, body: bytes) -> bytes:
        """Returns a whole response, which may be a stream labelled as JSON: the same bytes if nothing changes."""
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
        """Returns a whole response (or a stream labelled as one) as a stream, for a client of another API."""
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
        """Returns a complete stream as a whole response, for a client of another API."""
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

    def _process(self, sse: ServerSentEvent, out: list[bytes]) -> None:
        if not self.done:
            self._event(sse, out)
            self._before = sse.raw[-4:]

    def _event(self, sse: ServerSentEvent, out: list[bytes]) -> None:
        if self._keep_alives and sse.data is not None and (sse.data.lstrip(b" \t") or b":").startswith((b":", b"null")):
            comment = self._keep_alives.repaired(self._before + sse.raw, len(self._before))
            if comment != sse.raw:
                self._go_ahead(sse, self._writer.ping() if self._writer else comment, out)
                return
        elif self._keep_alives and sse.data is None and (repaired := self._keep_alives.read(sse.raw)) != sse.raw:
            self._go_ahead(sse, repaired, out)
            return
        if self._writer:
            if is_idle(sse):
                if len(sse.raw) > MAX_EVENT // 2:  # only the first part of the event is here
                    raise TooLongError
                self._chain.skip_event(sse)
                out.append(self._writer.ping())
            else:
                self._send(self._chain.translate_event(sse), out)
            return
        silent = self._markup.in_call or (self._policy and self._policy.silent) or (self._fit and self._fit.holds_frames)
        if silent and may_overtake(sse):
            self._go_ahead(sse, sse.raw, out)
            return
        frame, leaving = self._chain.next_frames(sse)
        self._undelivered.enter(frame.sse or sse)
        self._send(self._chain.transform(leaving), out)

    def _go_ahead(self, sse: ServerSentEvent, keep_alive: bytes, out: list[bytes]) -> None:
        """Sends a keep-alive ahead of held content: without it the client may disconnect."""
        out.append(keep_alive)
        if not self._writer:
            self._undelivered.comment_sent(sse.raw, out)

    def _send(self, frames: Iterable[Frame], out: list[bytes]) -> None:
        holds = True  # until a frame leaves
        for frame in frames:
            if self._writer:
                out.append(b"")  # its place comes first: a writer writes nothing twice
                out[-1] = self._writer.write(frame.events)
                continue
            data = self._codec.encode(frame)
            if data:
                out.append(data)
            if frame.sse is not None:
                self._undelivered.leave(frame.sse, out, has_output=bool(data))
            holds = not data and not frame.touched  # the codec holds an untouched frame without output
        if not holds:
            self._undelivered.mark_sent(out)

    def give_up(self, why: str) -> bytes:
        """Passes the rest of the stream unchanged, and returns what was held. A translation continues, with a note."""
        if self._writer:
            self._note(why)
        elif not self._raw:
            self.error = why
            self._pass_all()
            return b"".join(self._undelivered.take_rest())
        return b""

    def _fail(self, error: Exception, out: list[bytes], data: bytes = b"") -> bytes:
        """Passes the rest of the stream unchanged after what was held; in another API, sends an error.

        Args:
            error: What was raised.
            out: The output so far of the current call.
            data: The chunk of the current call.
        """
        self.error = class_and_place(error)
        if self._writer:
            self._broken = True
            self._reader.stop()
            return b"".join([*out, self._writer.fail(_BROKEN)])
        self._pass_all()
        return b"".join(self._undelivered.recover(out, data))

    def _pass_all(self) -> None:
        self._raw = True
        self._keep_alives = None
        self._reader.stop()

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


def _with_ends(out: Sequence[bytes], rest: Sequence[ServerSentEvent]) -> Iterator[bytes]:
    """Yields the output at the end of the body. If output follows an incomplete last event, that is ended first."""
    last = rest[-1] if rest and rest[-1].raw.strip() else None
    for at, part in enumerate(out):
        yield part
        if last and part.endswith(last.raw) and any(out[at + 1 :]):
            yield last.missing
