"""The callables that stand in a response's stream: `Mend` changes what passes, `Tee` only listens.

    flow.response.stream = Mend(...)      called with each chunk as it arrives; with b"" at a clean end, or see end_of_stream.py

Rule of this file: a callable never raises, and returns b"" at the end alone. mitmproxy goes on after an exception with
that chunk lost, and takes b"" for the end of a chunked body. It returns one `bytes` a call: mitmproxy pays per piece.

That end may be one of ours. mitmproxy has no way to tell an upstream to stop: `flow.kill()` takes effect when the
upstream has ended, and leaves the client without a terminator. But it closes the upstream when the client leaves, and a
client of HTTP/1.1 leaves at the end of a response whose headers said `connection: close`. Should mitmproxy cease to end
the body at a b"", the rest of the upstream is read, and dropped.
"""

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import thread_time

from ..apis.decode_failure_event import unreadable
from ..core.content_encoding import CodingError, ContentDecoder
from ..core.events import MessageEnd
from ..core.joined_chunks import chunks_of
from ..pipeline.event_reader import events_of
from ..pipeline.pipeline import Pipeline
from ..pipeline.stall_guard import LONG, PIECE, StalledError, StallGuard
from ..recordings.write.recorder import LiveRecording
from ..telemetry.meter import Meter
from ..telemetry.observers import Watcher
from .patches.end_of_stream import is_body_chunk, is_upstream_reset

type Callback = Callable[[bytes], bytes | Iterable[bytes]]

FAST = 32 * 1024
"""Bytes read at once, of which not each chunk is mended alone: a model takes a minute to write so many. Of fewer, one that fails
or takes too long costs those behind it, and none before."""

_SWELLS = "a line of the stream is out of all proportion to what came of it"


def reason(error: Exception) -> str:
    """What is told of an error; only its kind if it is not the system's, a coding's or a stall, as it may quote a secret."""
    return str(error) if isinstance(error, (OSError, CodingError, StalledError)) else type(error).__name__


class ResponseStream:
    """`then` is the callable that another addon had set; it gets what we give. `errors` takes what went wrong.

    `state` is what the recording is to end with if the message ends well; if it is not "complete", the client was told so.
    `ended`: it ended well, before the upstream's end.
    `over`: the upstream's end came; it does not, where the headers ended the message: then nothing was called at all.
    `unreadable`: the client was told so, in place of what followed. `watcher` is told what the client gets, `meter` counts it.
    """

    state = "complete"
    ended = False
    over = False
    unreadable = False
    watcher: Watcher | None = None
    meter: Meter | None = None

    def __init__(self, recording: LiveRecording | None, then: Callback | None, errors: list[str]) -> None:
        self._recording = recording
        self._then = then
        self._errors = errors
        self._out: deque[bytes] = deque()  # what goes out, from the moment it is made: what fails behind that costs none of it

    def __call__(self, data: bytes) -> bytes | list[bytes]:
        try:
            if not data:
                if is_body_chunk():
                    return []
                self.over = True
            if self.ended:
                return [] if data else b""
            if data:
                self._feed(data)
            else:
                self._close()
            if self._then:
                self._out[0] = self._pass_on(self._then, self._out[0], ended=not data and not is_upstream_reset())
            return self._leave() if data else self._out.pop()
        except Exception as error:  # mitmproxy would lose the chunk for it
            return self._rescue(data, error)

    def _feed(self, data: bytes) -> None:
        """Puts what goes out for a chunk into `_out`, and has it recorded."""
        raise NotImplementedError

    def _close(self) -> None:
        self._out.append(b"")

    def _leave(self) -> bytes | list[bytes]:
        """What the call returns for a chunk."""
        return self._out.pop() or []

    def _rescue(self, data: bytes, error: Exception) -> bytes | list[bytes]:
        if self._out:
            self._stop_recording(f"the recording failed: {reason(error)}")
        else:
            self._instead(data, error)
        return self._out.pop() or ([] if data else b"")

    def _instead(self, data: bytes, error: Exception) -> None:
        """Puts into `_out` what goes out for a chunk of which nothing was made."""
        self._stop_recording(f"the recording failed: {reason(error)}")
        self._out.append(data)

    def _record(self, received: bytes, sent: bytes) -> None:
        try:
            if self.watcher:
                self.watcher.sent(sent)
            if self.meter:
                self.meter.passed(received, sent)
            if self._recording:
                self._recording.passed(received, sent)
        except Exception as error:  # a recording is not worth a byte of the client's
            self._stop_recording(f"the recording failed: {reason(error)}")

    def _stop_recording(self, why: str) -> None:
        recording, self._recording, self.watcher, self.meter = self._recording, None, None, None
        self._errors.append(why)
        if recording:
            with suppress(Exception):
                recording.cut()

    def _pass_on(self, then: Callback, out: bytes, *, ended: bool) -> bytes:
        try:
            given = [then(data) for data in ([out] if out else []) + ([b""] if ended else [])]
            return b"".join(part if isinstance(part, bytes) else b"".join(part) for part in given)
        except Exception as error:  # theirs, but it would corrupt the stream just so
            self._then = None
            self._errors.append(f"another addon's stream callable failed: {reason(error)}")
            return out


class Tee(ResponseStream):
    """Lets the bytes pass as they are, coded or not; only the recording has the coding undone."""

    def __init__(self, undo: ContentDecoder, recording: LiveRecording | None, then: Callback | None, errors: list[str]) -> None:
        super().__init__(recording, then, errors)
        self._undo = undo

    def _feed(self, data: bytes) -> None:
        self._out.append(data)
        if self._recording or self.watcher or self.meter:
            try:
                plain = self._undo.feed(data)
            except Exception as error:
                self._stop_recording(f"the recording ends early, the content coding is broken: {reason(error)}")
                return
            if self._undo.swells:
                self._stop_recording(f"the recording ends early: {_SWELLS}")
            else:
                self._record(plain, plain)


class Plain(ResponseStream):
    """Undoes the coding, and changes nothing: of a route's answer that is not mended, but has to be masked."""

    def __init__(
        self, api: str, undo: ContentDecoder, recording: LiveRecording | None, then: Callback | None, errors: list[str]
    ) -> None:
        super().__init__(recording, then, errors)
        self._api = api
        self._undo = undo

    def _feed(self, data: bytes) -> None:
        plain = b"" if self.unreadable else self._undo.feed(data)
        if self._undo.swells:
            raise CodingError(_SWELLS)
        self._out.append(plain)
        self._record(plain, plain)

    def _instead(self, data: bytes, error: Exception) -> None:
        if not data or self.unreadable:
            self._out.append(b"")
            return
        self._errors.append(f"the content coding is broken: {reason(error)}")
        self.state, self.unreadable = "upstream_error", True
        decoded = error.decoded if isinstance(error, CodingError) else b""
        self._out.append(decoded + unreadable(self._api, decoded))
        self._record(decoded, self._out[0])


class Mend(ResponseStream):
    """Undoes the coding, and sends what the pipeline makes of it."""

    def __init__(
        self, pipeline: Pipeline, undo: ContentDecoder, recording: LiveRecording | None, then: Callback | None, errors: list[str]
    ) -> None:
        super().__init__(recording, then, errors)
        self._pipeline = pipeline
        self._coded = undo.coded
        self._may_swell = undo if undo.coded else None
        self._glances = not (undo.coded or then)
        # what comes behind a failure passes as it is; not where the client speaks another API
        self._raw: Callable[[bytes], bytes] = (lambda _: b"") if pipeline.translates else bytes
        self._undo: Callable[[bytes], bytes] = undo.feed
        self._mend: Callable[[bytes], bytes] = StallGuard(pipeline.feed, pipeline.give_up)
        self._release: Callable[[], bytes] = pipeline.close
        self._plain: deque[bytes] = deque()  # the chunk, undone, in pieces, until it is known what goes out for them
        self._last = b""

    def __call__(self, data: bytes, out: bytes | None = None) -> bytes | list[bytes]:
        """`out` is what goes out for a chunk, once it is told: nobody gives it."""
        try:
            out = self._pipeline.glance(data) if data and self._glances else None
            if out is None:
                return super().__call__(data)
            if not (self._recording or self.meter or self.watcher):
                return out or []
            self._out.append(out)
            self._record(data, out)
            return self._out.pop() or []
        except Exception as error:
            if out is not None and not self._out:
                self._out.append(out)
            return self._rescue(data, error)

    def _leave(self) -> bytes | list[bytes]:
        if not (self._pipeline.done and self._pipeline.lets_go):  # else the client may stay, and gets the upstream's end, too
            return self._out.pop() or []
        last = self._pass_on(self._then, b"", ended=True) if self._then else b""
        self.ended = True
        return [*filter(None, (self._out.pop(), last)), b""]  # for mitmproxy, a b"" ends the body

    def _feed(self, data: bytes) -> None:
        came = self._undo(data)
        self._plain.append(came)
        if self._may_swell and self._may_swell.swells:
            self._may_swell = None
            self._stop_recording(f"the recording ends early: {_SWELLS}")
            raise CodingError(_SWELLS)
        if len(came) > PIECE:
            self._plain = deque(came[at : at + PIECE] for at in range(0, len(came), PIECE))
        elif len(came) < FAST:
            self._plain = deque(chunks_of(came))
        begun = thread_time() if len(self._plain) > 1 and self._mend is not self._raw else 0.0
        for piece in self._plain:
            self._out.append(self._mend(piece) if piece else b"")
            if begun and len(self._out) < len(self._plain) and thread_time() - begun > LONG:
                begun = 0.0
                self._out[-1] += self._give_up(StalledError(f"a chunk takes more than {LONG:.0f} s"))
        if len(self._out) > 1:
            self._plain, self._out = deque((came,)), deque((b"".join(self._out),))
        if self._coded:  # only of a coding that breaks it is asked how what went out ends
            self._last = self._out[0] or self._last
        if plain := self._plain.pop():
            self._record(plain, self._out[0])

    def _close(self) -> None:
        self._out.append(self._release())
        self._release = bytes  # bytes(x) is x, bytes() is nothing
        self._record(b"", self._out[0])

    def _rescue(self, data: bytes, error: Exception) -> bytes | list[bytes]:
        if 0 < len(self._out) < len(self._plain):
            self._instead(data, error)
            return self._out.pop() or []
        if self._out:
            self._plain, self._out = deque(), deque((b"".join(self._out),))
        return super()._rescue(data, error)

    def _instead(self, data: bytes, error: Exception) -> None:
        if self._coded and data and not self._plain:
            self._break_off(error)
            return
        if not self._coded:
            self._undo = bytes
        plain = [*self._plain] or [data]
        self._out.append(self._give_up(error) + self._raw(b"".join(plain[len(self._out) :])))
        self._plain, self._out = deque(), deque((b"".join(self._out),))
        self._record(b"".join(plain), self._out[0])

    def _give_up(self, error: Exception) -> bytes:
        self._errors.append(f"the mending failed: {reason(error)}")
        self._glances, self._mend, self._release = False, self._raw, bytes
        try:
            return self._pipeline.close() if self._pipeline.translates else self._pipeline.give_up("it failed")
        except Exception:
            return b""

    def _break_off(self, error: Exception) -> None:
        self._undo = lambda _: b""
        decoded = error.decoded if isinstance(error, CodingError) else b""
        try:
            out = (self._mend(decoded) if decoded else b"") + self._release()
        except Exception as failure:
            out = self._give_up(failure) + self._raw(decoded)
        self._release = bytes
        if not _ends(self._pipeline.api, self._last + out):  # else the client has all, and it is no loss
            self._errors.append(f"the content coding is broken: {reason(error)}")
            self.state = "upstream_error"
            if not self._pipeline.translates:  # where it does, it has told the client that the message was cut off
                self.unreadable = True
                out += unreadable(self._pipeline.api, self._last + out)
        self._out.append(out)
        self._record(decoded, out)


def _ends(api: str, data: bytes) -> bool:
    """Whether a message ends in the last bytes that went out."""
    try:
        return any(isinstance(event, MessageEnd) for event in events_of(api, [data], stream=True))
    except Exception:  # a codec's, and then it is not known
        return False
