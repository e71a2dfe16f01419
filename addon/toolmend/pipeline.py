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
from .apis.codec import Reply
from .dialects import REASONING_TAGS, Dialect
from .events import Event, Frame, StreamError
from .ids import new_call_id
from .providers import STANDARD, armed, profile_for
from .reader import Reader
from .requests import Translated, translate
from .requests.estimate import tokens
from .requests.prompted import template_for
from .settings import Settings
from .sse import ServerSentEvent
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
        dialects = armed(settings.dialects, profile, prompted=translated is not None and translated.prompted)
        # of a model that nothing is known of they are believed, too, where the client's API has another place for them
        thinks = profile.think_tags or (self.translates and source == "chat" and profile.name == STANDARD)
        tags: list[Dialect] = [REASONING_TAGS] if dialects and thinks else []
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
        self._codec = APIS[source].codec(reply)
        make_writer = APIS[target].writer if source != target else None
        self._writer = make_writer(reply) if make_writer else None
        unopened = bool(tags and profile.think_unopened)
        self._markup = Markup(lambda choice: Reader(dialects, offered, choice, self._id, self._fired, unopened=unopened))
        choices = (request or {}).get("n")
        self._policy = policy_for(settings, self._fired, choices=choices, let_go=let_go, now=now)
        transformers: list[Transformer] = [self._markup, Duplicates(self._fired)]
        if self._policy:
            transformers.append(self._policy)
        if translated and translated.stop and self._writer:
            transformers.append(StopSequences(translated.stop, self._fired))
        transformers.append(FinishReason(self._fired))
        spaces = namespaces(request or {}) if target == "responses" else {}
        if translated and self._writer:
            transformers.append(Naming(translated.names, translated.custom, spaces))
        elif target == "responses":
            transformers.append(Naming({}, freeform(request or {}), spaces, native=False))
        self._transformers: Sequence[Transformer] = transformers
        self._decoder = APIS[source].decoder()
        self._raw = not dialects and self._writer is None
        self._broken = False  # a translated answer that had to be given up
        self.lets_go = not self._raw and self._policy is not None and self._policy.lets_go
        self._unsent = bytearray()  # what came in and no frame that went out answers for
        self._inflight: deque[ServerSentEvent | bytes] = deque()  # the events in it; bytes: a comment that went ahead

    def feed(self, data: bytes) -> bytes:
        """The bytes of a stream as they arrive; returns what is to be sent now."""
        if self._raw:
            return data
        if self.done:
            return b""
        out: list[bytes] = []
        try:
            if not self._writer:
                self._unsent += data
            self._events(self._decoder.feed(data), out)
        except Exception as error:  # whatever is wrong in here, the client's bytes are not
            self._fail(error, out)
        return out[0] if len(out) == 1 else b"".join(out)

    def close(self) -> bytes:
        """The body is over; returns what had been held."""
        if self._raw or self.done:
            return b""
        out: list[bytes] = []
        try:
            self._events(self._decoder.close(), out)
            if not self.done and (last := self._codec.close()).events:
                self._send(self._through([last], 0), out)
            self._send(self._released(), out)
            if not self.done:
                out.append(self._writer.close() if self._writer else self._codec.held())
        except Exception as error:
            self._fail(error, out)
        return b"".join(out)

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
        except Exception as error:
            self._fail(error, out)
        return b"".join(out)

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

    def _events(self, events: Iterable[ServerSentEvent], out: list[bytes]) -> None:
        for sse in events:
            if self.done:
                return
            if self._writer:
                if sse.data is None and sse.raw.lstrip().startswith(b"{"):
                    self._send(self._through([self._decode_body(sse)], 0), out)
                elif sse.data is None or sse.event == b"ping":
                    out.append(self._writer.ping())
                else:
                    self._send(self._through([self._decode(sse)], 0), out)
                continue
            if sse.data is None and (self._markup.in_call or (self._policy and self._policy.silent)):
                # a comment is the upstream's keep-alive: it goes ahead of what is held, or the client may give up
                self._inflight.append(sse.raw)
                out.append(sse.raw)
                continue
            self._inflight.append(sse)
            self._send(self._through([self._decode(sse)], 0), out)

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
        for frame in frames:
            data = self._writer.write(frame.events) if self._writer else self._codec.encode(frame)
            if frame.sse is not None and not self._writer:
                self._answered(frame.sse)
            if data:
                out.append(data)

    def _answered(self, sse: ServerSentEvent) -> None:
        """The frame of this event goes out; so do comments that went ahead of it."""
        while True:
            first = self._inflight.popleft()
            done = first is sse
            assert done or isinstance(first, bytes)
            del self._unsent[: len(first if isinstance(first, bytes) else first.raw)]
            if done:
                return

    def _fail(self, error: Exception, out: list[bytes]) -> None:
        """From here on everything passes as it comes, what is held first; or, in another API, nothing but an error."""
        # where, not what: an exception's own words may quote the stream
        place = traceback.extract_tb(error.__traceback__)[-1]
        self.error = f"{type(error).__name__} in {place.name} ({Path(place.filename).name}:{place.lineno})"
        if self._writer:
            self._broken = True
            out.append(self._writer.fail(_BROKEN))
        else:
            self._raw = True
            out += self._codec.held(), bytes(self._unsent)
            self._unsent.clear()

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
