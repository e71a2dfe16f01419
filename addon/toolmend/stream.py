"""The callables that stand in a response's stream: `Mend` changes what passes, `Tee` only listens.

    flow.response.stream = Mend(...)      called with each chunk as it arrives; with b"" at a clean end, and only there

Rule of this file: a callable never raises, and returns b"" at the end alone. mitmproxy goes on after an exception with
that chunk lost, and takes b"" for the end of a chunked body. It returns one `bytes` a call: mitmproxy pays per piece.

That end may be one of ours. mitmproxy has no way to tell an upstream to stop: `flow.kill()` takes effect when the
upstream has ended, and leaves the client without a terminator. But it closes the upstream when the client leaves, and a
client of HTTP/1.1 leaves at the end of a response whose headers said `connection: close`. Should mitmproxy cease to end
the body at a b"", the rest of the upstream is read, and dropped.
"""

from collections.abc import Callable, Iterable

from .codings import CodingError, Decoder
from .meter import Meter
from .observers import Watcher
from .pipeline import Pipeline
from .recorder import Recording

type Callback = Callable[[bytes], bytes | Iterable[bytes]]

_WRONG = b"the provider's stream is broken: its content coding cannot be undone any further"

_EVENTS = {
    "chat": b'data: {"error":{"message":"%s","type":"upstream_error","param":null,"code":"undecodable_stream"}}\n\n',
    "messages": b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"%s"}}\n\n',
    "responses": b'event: error\ndata: {"type":"error","code":"undecodable_stream","message":"%s","param":null}\n\n',
}
UNREADABLE = {api: event % _WRONG for api, event in _EVENTS.items()}
"""What a client gets, in its API, for the rest of a body whose coding broke. The headers, which say that there is none, are
out: coded bytes would be garbage to it, and a silent end would pass for a short answer. SDKs raise on this event."""

_BLANK_LINE = (b"\n\n", b"\r\r", b"\n\r\n")


def reason(error: Exception) -> str:
    """What is told of an error; only its kind if it is not the system's or a coding's, as it may quote a secret."""
    return str(error) if isinstance(error, (OSError, CodingError)) else type(error).__name__


class Stream:
    """`then` is the callable that another addon had set; it gets what we give. `errors` takes what went wrong.

    `state` is what the recording is to end with if the message ends well. `ended`: it did, before the upstream's end.
    `watcher` is told what the client gets, `meter` counts it.
    """

    state = "complete"
    ended = False
    watcher: Watcher | None = None
    meter: Meter | None = None

    def __init__(self, recording: Recording | None, then: Callback | None, errors: list[str]) -> None:
        self._recording = recording
        self._then = then
        self._errors = errors

    def __call__(self, data: bytes) -> bytes | list[bytes]:
        out = self._feed(data) if data else self._close()
        if self._then:
            out = self._pass_on(self._then, out, ended=not data)
        return out if out or not data else []

    def _feed(self, data: bytes) -> bytes:
        raise NotImplementedError

    def _close(self) -> bytes:
        return b""

    def _record(self, received: bytes, sent: bytes) -> None:
        if self.watcher:
            self.watcher.sent(sent)
        if self.meter:
            self.meter.passed(received, sent)
        if self._recording:
            try:
                if received:
                    self._recording.received(received)
                self._recording.sent(sent)
            except Exception as error:  # a recording is not worth a byte of the client's
                self._recording = None
                self._errors.append(f"the recording failed: {reason(error)}")

    def _pass_on(self, then: Callback, out: bytes, *, ended: bool) -> bytes:
        try:
            given = [then(data) for data in ([out] if out else []) + ([b""] if ended else [])]
            return b"".join(part if isinstance(part, bytes) else b"".join(part) for part in given)
        except Exception as error:  # theirs, but it would corrupt the stream just so
            self._then = None
            self._errors.append(f"another addon's stream callable failed: {reason(error)}")
            return out


class Tee(Stream):
    """Lets the bytes pass as they are, coded or not; only the recording has the coding undone."""

    def __init__(self, undo: Decoder, recording: Recording | None, then: Callback | None, errors: list[str]) -> None:
        super().__init__(recording, then, errors)
        self._undo = undo

    def _feed(self, data: bytes) -> bytes:
        if self._recording or self.watcher or self.meter:
            try:
                plain = self._undo.feed(data)
            except Exception as error:
                self._recording = self.watcher = self.meter = None
                self._errors.append(f"the recording ends early, the content coding is broken: {reason(error)}")
            else:
                self._record(plain, plain)
        return data


class Mend(Stream):
    """Undoes the coding, and sends what the pipeline makes of it."""

    def __init__(
        self, pipeline: Pipeline, undo: Decoder, recording: Recording | None, then: Callback | None, errors: list[str]
    ) -> None:
        super().__init__(recording, then, errors)
        self._pipeline = pipeline
        self._coded = undo.coded
        # what comes behind a failure passes as it is; not where the client speaks another API
        self._raw: Callable[[bytes], bytes] = (lambda _: b"") if pipeline.translates else bytes
        self._undo: Callable[[bytes], bytes] = undo.feed
        self._mend: Callable[[bytes], bytes] = pipeline.feed
        self._release: Callable[[], bytes] = pipeline.close
        self._last = b""

    def __call__(self, data: bytes) -> bytes | list[bytes]:
        if self.ended:
            return [] if data else b""
        out = super().__call__(data)
        if not data or not self._pipeline.done:
            return out
        self.ended = True
        last = self._pass_on(self._then, b"", ended=True) if self._then else b""
        return [part for part in (out, last) if isinstance(part, bytes) and part] + [b""]

    def _feed(self, data: bytes) -> bytes:
        try:
            plain = self._undo(data)
        except Exception as error:
            if self._coded:
                return self._break_off(error)
            self._undo = bytes
            return self._out(data, self._give_up(error) + self._raw(data))
        return self._pass(plain) if plain else b""

    def _pass(self, plain: bytes) -> bytes:
        try:
            out = self._mend(plain)
        except Exception as error:  # it promises not to; then what it holds comes first, and all that follows is raw
            out = self._give_up(error) + self._raw(plain)
        return self._out(plain, out)

    def _out(self, plain: bytes, out: bytes) -> bytes:
        if out:
            self._last = out
        self._record(plain, out)
        return out

    def _close(self) -> bytes:
        release, self._release = self._release, bytes
        try:
            out = release()
        except Exception as error:
            out = self._give_up(error)
        return self._out(b"", out)

    def _give_up(self, error: Exception) -> bytes:
        self._errors.append(f"the mending failed: {reason(error)}")
        release, self._mend, self._release = self._release, self._raw, bytes  # bytes(x) is x, bytes() is nothing
        try:
            return release()
        except Exception:
            return b""

    def _break_off(self, error: Exception) -> bytes:
        self._errors.append(f"the content coding is broken: {reason(error)}")
        self.state = "upstream_error"
        self._undo = lambda _: b""
        decoded = error.decoded if isinstance(error, CodingError) else b""
        out = (self._pass(decoded) if decoded else b"") + self._close()
        if self._pipeline.translates:  # it has told the client that the message was cut off
            return out
        between = b"" if not self._last or self._last.endswith(_BLANK_LINE) else b"\n\n"
        return out + self._out(b"", between + UNREADABLE[self._pipeline.api])
