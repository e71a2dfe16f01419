"""Decodes the events of one response, and passes them through the transformers.

    event ─► codec.decode ─► frame ─► a transformer ─► frames ─► the next one ─► frames

Data that is not JSON, or not an event, is repaired if its meaning is certain.
"""

from collections.abc import Callable, Iterator, Sequence

from ..apis.codec import Codec
from ..apis.messages.errors import error_body
from ..apis.shared.errors import final_error, trailing_error
from ..core import json_text
from ..core.events import Event, Finish, Frame, MessageEnd, StreamError
from ..core.fastclass import replace
from ..core.sse import BOM, ServerSentEvent, parse
from .build import Transformer

ENDS = (Finish, MessageEnd, StreamError)
"""A stream that was not cut off has one of these."""

CUT = "an event of the upstream's answer was cut off"


class EventChain:
    """One response. `note` reports remarks; `fired` the rule for errors that cut an event: None if that rule is off."""

    def __init__(
        self,
        codec: Codec,
        transformers: Sequence[Transformer],
        note: Callable[[str], None],
        fired: Callable[[str], None] | None = None,
    ) -> None:
        self._codec = codec
        self._transformers = transformers
        self._note = note
        self._fired = fired
        self._undecoded: ServerSentEvent | None = None  # the last event, if it had no content
        self._cut: Frame | None = None  # the frame of the last event, if its JSON was cut
        self._ended = False  # there was a finish reason, an error, or the end of the message

    def translate_event(self, sse: ServerSentEvent) -> Sequence[Frame]:
        """Returns the frames of an event for a client of another API. An event may hold a list of several.

        After a cut event, words or half of a path may be missing: that is an error, or the upstream's own if one is next.
        """
        before, self._cut = self._cut, None
        if is_body(sse):
            sse = _of_body(sse)
        try:
            listed = sse.data is not None and sse.data.startswith(b"[") and not sse.ends
            frames = self._decode_list(sse) if listed else [self._read(sse)]
        except json_text.NotJSON:
            frames = self._decode_list(sse)
        self._undecoded = None if any(frame.events for frame in frames) else sse
        ends = [event for frame in frames for event in frame.events if isinstance(event, ENDS)]
        if before and not self._ended and not any(isinstance(event, StreamError) for event in ends):
            frames = [replace(before, events=(StreamError("api_error", CUT, 502),)), *frames]
        self._ended |= bool(ends)
        return self.transform(frames)

    def skip_event(self, sse: ServerSentEvent) -> None:
        """Records an event without data: a comment, or text that is not an event."""
        if _is_words(sse):
            self._undecoded = sse

    def last_error(self) -> StreamError | None:
        """The error with which the upstream broke off, if its last data was one."""
        sse = self._undecoded
        return None if sse is None else final_error(sse.raw if sse.data is None else sse.data)

    def next_frames(self, sse: ServerSentEvent) -> tuple[Frame, Sequence[Frame]]:
        """Returns the frame of an event, and the frames that may leave now.

        A cut event waits for the next one: if that is an error, the client must receive it instead of failing before it.
        """
        before, self._cut = self._cut, None
        frame = self.decode(sse)
        if not self._fired:
            self._cut = None
        if before and self._fired and any(isinstance(event, StreamError) for event in frame.events):
            self._fired("error_form")
            return frame, [frame]
        return frame, [each for each in (before, frame) if each and each is not self._cut]

    def decode(self, sse: ServerSentEvent) -> Frame:
        """Decodes an event; the frame has no events if the data is not JSON. An error may be bare, as outside of a stream."""
        if self._fired and is_body(sse) and final_error(sse.raw):
            self._fired("error_form")
            return replace(self._codec.decode(_of_body(sse)), touched=True)
        try:
            return self._read(sse)
        except json_text.NotJSON:
            if sse.event == b"error" and (error := final_error(sse.data or b"")):
                return self._codec.decode(replace(sse, data=error_body("api_error", error.message).encode()))
            self._note("data that is no JSON passed as it came")
            frame = Frame(sse)
            if sse.data and sse.data.startswith(b"{"):
                self._cut = frame
            return frame

    def _read(self, sse: ServerSentEvent) -> Frame:
        try:
            return self._codec.decode(sse)
        except json_text.NotJSON:
            pass
        data = sse.data or b""
        wrapped = parse(data, data)  # an event within an event, as frameworks wrap data that is one already
        if wrapped.data is not None:
            return self._codec.decode(replace(sse, data=wrapped.data, event=wrapped.event))
        try:
            return self._codec.decode(replace(sse, data=json_text.readable(data)))
        except json_text.NotJSON:
            error = trailing_error(sse.raw) if data.startswith(b"{") else None
            if not (self._fired and error):
                raise
        self._fired("error_form")
        return replace(self._codec.decode(replace(sse, data=error, event=b"error")), touched=True)

    def _decode_list(self, sse: ServerSentEvent) -> Sequence[Frame]:
        """Decodes a list of objects, or several objects on one line; anything else has no events."""
        try:
            return [self.decode(replace(sse, data=data)) for data in json_text.objects(sse.data or b"")]
        except json_text.NotJSON:
            return [self.decode(sse)]

    def transform(self, frames: Sequence[Frame], first: int = 0) -> Sequence[Frame]:
        """Passes frames through the transformers, from the `first` on."""
        for transformer in self._transformers[first:]:
            if len(frames) == 1:
                frames = transformer.feed(frames[0])
            else:
                frames = [out for frame in frames for out in transformer.feed(frame)]
        return frames

    def end_of_body(self) -> Sequence[Frame]:
        """Ends the body: the frames of a cut event and of what the codec still holds."""
        cut, self._cut = self._cut, None
        last = self._codec.close()
        return self.transform([*([cut] if cut else []), *([last] if last.events else [])])

    def flush(self) -> Iterator[Frame]:
        """Yields what the transformers hold, in turn, each through the transformers after it."""
        for at, transformer in enumerate(self._transformers):
            yield from self.transform(transformer.close(), at + 1)

    def transform_message(self, body: bytes) -> tuple[Frame, tuple[Event, ...], bool]:
        """Transforms a whole response. Raises json_text.NotJSON.

        Returns:
            Its frame, the events after all transformers, and whether they changed.
        """
        try:
            frame = self._codec.decode_message(body)
        except json_text.NotJSON:
            frame = self._codec.decode_message(json_text.readable(body))
        frames = [*self.transform([frame]), *self.flush()]
        return frame, tuple(event for part in frames for event in part.events), any(part.touched for part in frames)


def is_body(sse: ServerSentEvent) -> bool:
    """Whether an event is a whole response, most often an error, sent as a stream; or a line of JSON."""
    return sse.data is None and sse.raw.removeprefix(BOM).lstrip().startswith((b"{", b"["))


def is_idle(sse: ServerSentEvent) -> bool:
    """Whether an event has no content, and keeps the connection alive."""
    return not is_body(sse) and (sse.data is None or sse.event == b"ping")


def may_overtake(sse: ServerSentEvent) -> bool:
    """Whether an event is a complete comment, which can be sent ahead of held events without a change to them."""
    return sse.data is None and sse.raw.endswith((b"\n", b"\r")) and not _is_words(sse)


def _is_words(sse: ServerSentEvent) -> bool:
    """Whether an event without data is text that is not an event, such as a proxy's error."""
    return bool(sse.raw.strip()) and not (sse.raw.startswith(b":") or sse.event or sse.id is not None or sse.retry is not None)


def _of_body(sse: ServerSentEvent) -> ServerSentEvent:
    return replace(sse, data=sse.raw.removeprefix(BOM).strip())
