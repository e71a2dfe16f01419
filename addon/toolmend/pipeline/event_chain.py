"""What the events of one response go through: the codec reads them, the transformers change what they tell.

    event ─► codec.decode ─► frame ─► a transformer ─► frames ─► the next one ─► frames

Rule of this file: nothing goes out here. What may be no JSON, or no event, is read as what it is meant to be.
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
"""One of these is in a stream that was not cut off."""

CUT = "an event of the upstream's answer was cut off"


class Chain:
    """One response. `note` takes what is to be told of it; `fired` the rule of errors that cut an event: None if it is off."""

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
        self._unread: ServerSentEvent | None = None  # the last one, if it told nothing
        self._cut: Frame | None = None  # of the last one, if it is JSON that was cut
        self._ended = False  # by a reason or an error, or the message has

    def take(self, sse: ServerSentEvent) -> Sequence[Frame]:
        """What becomes of an event, or of several that came as one, where nothing has to leave as it came.

        Behind one that was cut, words may be missing, or half of a path: that is an error, and the upstream's own if one is next.
        """
        before, self._cut = self._cut, None
        if is_body(sse):
            sse = _of_body(sse)
        try:
            listed = sse.data is not None and sse.data.startswith(b"[") and not sse.ends
            frames = self._apart(sse) if listed else [self._read(sse)]
        except json_text.NotJSON:
            frames = self._apart(sse)
        self._unread = None if any(frame.events for frame in frames) else sse
        ends = [event for frame in frames for event in frame.events if isinstance(event, ENDS)]
        if before and not self._ended and not any(isinstance(event, StreamError) for event in ends):
            frames = [replace(before, events=(StreamError("api_error", CUT, 502),)), *frames]
        self._ended |= bool(ends)
        return self.through(frames)

    def pass_over(self, sse: ServerSentEvent) -> None:
        """An event without data: a comment, or words that are no event at all."""
        if sse.raw.strip() and not (sse.raw.startswith(b":") or sse.event or sse.id is not None or sse.retry is not None):
            self._unread = sse

    def last_words(self) -> StreamError | None:
        """Why the upstream broke off, if that was the last thing it said."""
        sse = self._unread
        return None if sse is None else final_error(sse.raw if sse.data is None else sse.data)

    def next(self, sse: ServerSentEvent) -> tuple[Frame, Sequence[Frame]]:
        """The frame of an event, and those that may leave now.

        One that was cut waits for the next: if that is an error, the client is to hear of it, and not to fail in front of it.
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
        """What an event tells; nothing where that is no JSON. An error may stand there bare, as it would without a stream."""
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
        wrapped = parse(data, data)  # an event in an event, as frameworks make it of what is one already
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

    def _apart(self, sse: ServerSentEvent) -> Sequence[Frame]:
        """What the objects of a list tell, or those of one line; nothing where it holds anything else."""
        try:
            return [self.decode(replace(sse, data=data)) for data in json_text.objects(sse.data or b"")]
        except json_text.NotJSON:
            return [self.decode(sse)]

    def through(self, frames: Sequence[Frame], first: int = 0) -> Sequence[Frame]:
        """Takes frames through the transformers from the `first` on."""
        for transformer in self._transformers[first:]:
            if len(frames) == 1:
                frames = transformer.feed(frames[0])
            else:
                frames = [out for frame in frames for out in transformer.feed(frame)]
        return frames

    def ended(self) -> Sequence[Frame]:
        """What the codec tells of the end of the body, behind an event that was cut."""
        cut, self._cut = self._cut, None
        last = self._codec.close()
        return self.through([*([cut] if cut else []), *([last] if last.events else [])])

    def released(self) -> Iterator[Frame]:
        """What the transformers hold, once nothing more comes: of each in turn, through those behind it."""
        for at, transformer in enumerate(self._transformers):
            yield from self.through(transformer.close(), at + 1)

    def whole(self, body: bytes) -> tuple[Frame, tuple[Event, ...], bool]:
        """The frame of a whole response, and what becomes of its events; whether they changed. Raises json_text.NotJSON."""
        try:
            frame = self._codec.decode_message(body)
        except json_text.NotJSON:
            frame = self._codec.decode_message(json_text.readable(body))
        frames = [*self.through([frame]), *self.released()]
        return frame, tuple(event for part in frames for event in part.events), any(part.touched for part in frames)


def is_body(sse: ServerSentEvent) -> bool:
    """Whether it is no event: a whole response, most often an error, that is called a stream, or lines of JSON."""
    return sse.data is None and sse.raw.removeprefix(BOM).lstrip().startswith((b"{", b"["))


def is_idle(sse: ServerSentEvent) -> bool:
    """Whether it says nothing, and keeps the connection alive."""
    return not is_body(sse) and (sse.data is None or sse.event == b"ping")


def _of_body(sse: ServerSentEvent) -> ServerSentEvent:
    return replace(sse, data=sse.raw.removeprefix(BOM).strip())
