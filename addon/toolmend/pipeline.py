"""The picture of DESIGN.md as code: bytes of one response in, bytes for the client out.

    bytes ─► sse.Decoder ─► codec.decode ─► transformers ─► codec.encode ─► bytes

Rule of this file: it fails open. Whatever is raised inside, `feed`, `close` and `message` return: what had been held goes out
first, as the raw bytes it came in, then everything that follows. No byte is lost for an exception of ours.
"""

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from . import json_text, tools
from .apis.chat import Chat
from .dialects import REASONING_TAGS
from .events import Frame
from .ids import new_call_id
from .providers import armed, profile_for
from .reader import Reader
from .settings import Settings
from .sse import Decoder, ServerSentEvent
from .transformers.duplicates import Duplicates
from .transformers.finish import FinishReason
from .transformers.markup import Markup
from .transformers.policy import policy_for

APIS = {"chat": Chat}
"""The wire APIs that are spoken."""


class Transformer(Protocol):
    """See transformers/__init__.py."""

    def feed(self, frame: Frame) -> Sequence[Frame]: ...
    def close(self) -> Sequence[Frame]: ...


class Pipeline:
    """One response. `request` is the client's, parsed; None if it is not at hand: then any call is expected.

    `let_go`: the caller can end the response, and let the upstream go, when `done` is set. `now` tells seconds.
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
    ) -> None:
        self.rules: list[str] = []
        self.ids: list[str] = []
        self.notes: list[str] = []
        self.error: str | None = None
        offered = tools.UNKNOWN if request is None else tools.of_chat(request)
        profile = profile_for((request or {}).get("model"), host, settings.providers)
        dialects = armed(settings.dialects, profile)
        if dialects and profile.think_tags:
            dialects.append(REASONING_TAGS)
        self._new_id = new_id
        self._codec = APIS[source](offered, self._id, self._fired, reasoning_field=profile.reasoning_field or "reasoning_content")
        unopened = bool(dialects and profile.think_tags and profile.think_unopened)
        self._markup = Markup(
            lambda choice: Reader(dialects, offered, choice, self._id, self._fired, unopened=unopened)
        )
        choices = (request or {}).get("n")
        self._policy = policy_for(settings, self._fired, choices=choices, let_go=let_go, now=now)
        policies = (self._policy,) if self._policy else ()
        duplicates, finish = Duplicates(self._fired), FinishReason(self._fired)
        self._transformers: Sequence[Transformer] = (self._markup, duplicates, *policies, finish)
        self._decoder = Decoder()
        self._raw = not offered.offered or not dialects
        self.lets_go = not self._raw and self._policy is not None and self._policy.lets_go
        self._unsent = bytearray()  # what came in and no frame that went out answers for
        self._inflight: deque[ServerSentEvent | bytes] = deque()  # the events in it; bytes: a comment that went ahead

    def feed(self, data: bytes) -> bytes:
        """The bytes of a stream as they arrive; returns what is to be sent now."""
        if self._raw:
            return data
        if self.done:
            return b""
        self._unsent += data
        out: list[bytes] = []
        try:
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
            for at, transformer in enumerate(self._transformers):
                self._send(self._through(transformer.close(), at + 1), out)
        except Exception as error:
            self._fail(error, out)
        return b"".join(out)

    @property
    def done(self) -> bool:
        """Whether the client has all: the end of the message is out, and what may still come is dropped."""
        return self._policy is not None and self._policy.done

    def message(self, body: bytes) -> bytes:
        """A whole response: JSON. Returns the very same bytes where there is nothing to mend."""
        if self._raw:
            return body
        try:
            frame = self._codec.decode_message(body)
            frames = list(self._through([frame], 0))
            for at, transformer in enumerate(self._transformers):
                frames += self._through(transformer.close(), at + 1)
            events = tuple(event for part in frames for event in part.events)
            return self._codec.encode_message(Frame(frame.sse, events, any(part.touched for part in frames)))
        except json_text.NotJSON:
            return body
        except Exception as error:
            self._fail(error, [])
            return body

    def _events(self, events: Iterable[ServerSentEvent], out: list[bytes]) -> None:
        for sse in events:
            if self.done:
                return
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

    def _through(self, frames: Sequence[Frame], first: int) -> Sequence[Frame]:
        """Takes frames through the transformers from the `first` on."""
        for transformer in self._transformers[first:]:
            if len(frames) == 1:
                frames = transformer.feed(frames[0])
            else:
                frames = [out for frame in frames for out in transformer.feed(frame)]
        return frames

    def _send(self, frames: Iterable[Frame], out: list[bytes]) -> None:
        for frame in frames:
            data = self._codec.encode(frame)
            if frame.sse is not None:
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
        """From here on everything passes as it comes; what is held goes first."""
        self._raw = True
        # where, not what: an exception's own words may quote the stream
        place = traceback.extract_tb(error.__traceback__)[-1]
        self.error = f"{type(error).__name__} in {place.name} ({Path(place.filename).name}:{place.lineno})"
        out.append(bytes(self._unsent))
        self._unsent.clear()

    def _fired(self, rule: str) -> None:
        if rule not in self.rules:
            self.rules.append(rule)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _id(self) -> str:
        self.ids.append(self._new_id())
        return self.ids[-1]
