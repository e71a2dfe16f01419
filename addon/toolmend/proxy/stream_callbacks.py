"""The callables of a response's stream: `Mend` changes what passes, `Tee` only reads it.

    flow.response.stream = Mend(...)      called with each chunk on arrival, and with b"" at a clean end (or see end_of_stream.py)

1. A callable never raises: after an exception mitmproxy goes on and loses the chunk.
2. It returns b"" only at the end: mitmproxy would end a chunked body there.
3. It returns one `bytes` for each call: mitmproxy's cost is per piece.

toolmend may end a message itself. mitmproxy cannot stop an upstream: `flow.kill()` takes effect when the upstream has ended, and
leaves the client without a terminator. But it closes the upstream when the client disconnects, and an HTTP/1.1 client disconnects
at the end of a response with the header `connection: close`. If a later mitmproxy does not end the body at b"", the rest of the
upstream is read and dropped.
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
from ..telemetry.observers import ObservedResponse
from .patches.end_of_stream import is_body_chunk, is_upstream_reset

type Callback = Callable[[bytes], bytes | Iterable[bytes]]

FAST = 32 * 1024
"""Size of a read, in bytes, from which its chunks are mended together: a model takes a minute to write that much. In smaller
reads a chunk that fails or takes too long does not affect earlier chunks."""

_SWELLS = "the stream decompresses to far more than its size: possibly a decompression bomb"


def reason(error: Exception) -> str:
    """Returns an error as text; only its type, as it may quote a secret, unless the system, a decoder or a stall raised it."""
    return str(error) if isinstance(error, (OSError, CodingError, StalledError)) else type(error).__name__


class ResponseStream:
    """The base of all stream callables.

    Args:
        recording: Gets what came and what was sent, if there is a recording.
        then: The stream callable that another addon had set; it gets the output.
        errors: Gets a message for everything that goes wrong.

    Attributes:
        state: The state that the recording ends with after a clean end; unless "complete", the client got an error.
        ended: The message was ended here, before the upstream's end.
        over: The upstream's end was seen. It is not if the headers ended the message: then nothing is called at all.
        unreadable: The client got an error event in place of what could not be decoded.
        watcher: Gets what the client gets, for observers.
        meter: Counts both sides.
    """

    state = "complete"
    ended = False
    over = False
    unreadable = False
    watcher: ObservedResponse | None = None
    meter: Meter | None = None

    def __init__(self, recording: LiveRecording | None, then: Callback | None, errors: list[str]) -> None:
        self._recording = recording
        self._then = then
        self._errors = errors
        self._out: deque[bytes] = deque()  # output of the current call; a later failure does not lose it

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
            return self._take_output() if data else self._out.pop()
        except Exception as error:  # raised, it would make mitmproxy lose the chunk
            return self._rescue(data, error)

    def _feed(self, data: bytes) -> None:
        """Appends the output for a chunk to `_out`, and records it."""
        raise NotImplementedError

    def _close(self) -> None:
        self._out.append(b"")

    def _take_output(self) -> bytes | list[bytes]:
        """Returns the output of the call for a chunk."""
        return self._out.pop() or []

    def _rescue(self, data: bytes, error: Exception) -> bytes | list[bytes]:
        if self._out:
            self._stop_recording(f"the recording failed: {reason(error)}")
        else:
            self._handle_failure(data, error)
        return self._out.pop() or ([] if data else b"")

    def _handle_failure(self, data: bytes, error: Exception) -> None:
        """Appends to `_out` the output for a chunk that failed before it had any."""
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
        except Exception as error:  # a recording must not cost the client a byte
            self._stop_recording(f"the recording failed: {reason(error)}")

    def _stop_recording(self, message: str) -> None:
        recording, self._recording, self.watcher, self.meter = self._recording, None, None, None
        self._errors.append(message)
        if recording:
            with suppress(Exception):
                recording.cut()

    def _pass_on(self, then: Callback, out: bytes, *, ended: bool) -> bytes:
        try:
            outputs = [then(data) for data in ([out] if out else []) + ([b""] if ended else [])]
            return b"".join(part if isinstance(part, bytes) else b"".join(part) for part in outputs)
        except Exception as error:  # another addon's fault, but raised, it would corrupt the stream
            self._then = None
            self._errors.append(f"another addon's stream callable failed: {reason(error)}")
            return out


class Tee(ResponseStream):
    """Passes the bytes unchanged; only the recording gets them decoded."""

    def __init__(self, undo: ContentDecoder, recording: LiveRecording | None, then: Callback | None, errors: list[str]) -> None:
        super().__init__(recording, then, errors)
        self._undo = undo

    def _feed(self, data: bytes) -> None:
        self._out.append(data)
        if self._recording or self.watcher or self.meter:
            try:
                plain = self._undo.feed(data)
            except Exception as error:
                self._stop_recording(f"the recording ends early, the content encoding is broken: {reason(error)}")
                return
            if self._undo.swells:
                self._stop_recording(f"the recording ends early: {_SWELLS}")
            else:
                self._record(plain, plain)


class Plain(ResponseStream):
    """Decodes and changes nothing: for a route's response that is not mended, but whose key has to be masked."""

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

    def _handle_failure(self, data: bytes, error: Exception) -> None:
        if not data or self.unreadable:
            self._out.append(b"")
            return
        self._errors.append(f"the content encoding is broken: {reason(error)}")
        self.state, self.unreadable = "upstream_error", True
        decoded = error.decoded if isinstance(error, CodingError) else b""
        self._out.append(decoded + unreadable(self._api, decoded))
        self._record(decoded, self._out[0])


class Mend(ResponseStream):
    """Decodes, and sends the pipeline's output."""

    def __init__(
        self, pipeline: Pipeline, undo: ContentDecoder, recording: LiveRecording | None, then: Callback | None, errors: list[str]
    ) -> None:
        super().__init__(recording, then, errors)
        self._pipeline = pipeline
        self._coded = undo.coded
        self._may_swell = undo if undo.coded else None
        self._glances = not (undo.coded or then)
        # after a failure the rest passes unchanged, unless the client speaks another API
        self._raw: Callable[[bytes], bytes] = (lambda _: b"") if pipeline.translates else bytes
        self._undo: Callable[[bytes], bytes] = undo.feed
        self._mend: Callable[[bytes], bytes] = StallGuard(pipeline.feed, pipeline.give_up)
        self._release: Callable[[], bytes] = pipeline.close
        self._plain: deque[bytes] = deque()  # the decoded chunk in pieces, until their output is known
        self._last = b""

    def __call__(self, data: bytes, out: bytes | None = None) -> bytes | list[bytes]:
        """Handles a chunk. `out` is an internal variable: callers never pass it."""
        try:
            out = self._pipeline.try_fast(data) if data and self._glances else None
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

    def _take_output(self) -> bytes | list[bytes]:
        if not (self._pipeline.done and self._pipeline.lets_go):  # otherwise the client may stay, and gets the upstream's end
            return self._out.pop() or []
        last = self._pass_on(self._then, b"", ended=True) if self._then else b""
        self.ended = True
        return [*filter(None, (self._out.pop(), last)), b""]  # mitmproxy ends the body at b""

    def _feed(self, data: bytes) -> None:
        decoded = self._undo(data)
        self._plain.append(decoded)
        if self._may_swell and self._may_swell.swells:
            self._may_swell = None
            self._stop_recording(f"the recording ends early: {_SWELLS}")
            raise CodingError(_SWELLS)
        if len(decoded) > PIECE:
            self._plain = deque(decoded[at : at + PIECE] for at in range(0, len(decoded), PIECE))
        elif len(decoded) < FAST:
            self._plain = deque(chunks_of(decoded))
        started = thread_time() if len(self._plain) > 1 and self._mend is not self._raw else 0.0
        for piece in self._plain:
            self._out.append(self._mend(piece) if piece else b"")
            if started and len(self._out) < len(self._plain) and thread_time() - started > LONG:
                started = 0.0
                self._out[-1] += self._give_up(StalledError(f"a chunk takes more than {LONG:.0f} s"))
        if len(self._out) > 1:
            self._plain, self._out = deque((decoded,)), deque((b"".join(self._out),))
        if self._coded:  # only needed if the content encoding breaks
            self._last = self._out[0] or self._last
        if plain := self._plain.pop():
            self._record(plain, self._out[0])

    def _close(self) -> None:
        self._out.append(self._release())
        self._release = bytes  # bytes() is b"" and bytes(x) is x
        self._record(b"", self._out[0])

    def _rescue(self, data: bytes, error: Exception) -> bytes | list[bytes]:
        if 0 < len(self._out) < len(self._plain):
            self._handle_failure(data, error)
            return self._out.pop() or []
        if self._out:
            self._plain, self._out = deque(), deque((b"".join(self._out),))
        return super()._rescue(data, error)

    def _handle_failure(self, data: bytes, error: Exception) -> None:
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
        if not _ends(self._pipeline.api, self._last + out):  # otherwise the client has everything
            self._errors.append(f"the content encoding is broken: {reason(error)}")
            self.state = "upstream_error"
            if not self._pipeline.translates:  # a translating pipeline has sent an error event already
                self.unreadable = True
                out += unreadable(self._pipeline.api, self._last + out)
        self._out.append(out)
        self._record(decoded, out)


def _ends(api: str, data: bytes) -> bool:
    """Returns whether a message ends in the last bytes that were sent."""
    try:
        return any(isinstance(event, MessageEnd) for event in events_of(api, [data], stream=True))
    except Exception:  # raised by a codec: unknown
        return False
