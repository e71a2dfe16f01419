r"""A recording replayed event by event: what arrived, what was sent for it, and which rules fired.

    Step(raw=b'data: {"…":"<|tool_call_beg"}\\n\\n', sent=b"", rules=(), time=0.31)
    Step(raw=b'data: {"…":"in|>functions.re"}\\n\\n', sent=b"", rules=("kimi_k2",), time=0.33)

It uses today's pipeline with the recorded request and settings, like a replay.
"""

from collections.abc import Iterator

from ...apis import decoder_of
from ...core.fastclass import value
from ...pipeline.pipeline import Pipeline
from .replay import Clock, Recording, ended, pipeline_of


@value
class Step:
    """An upstream event (the last step may have none) and the bytes sent for it; `time` in seconds.

    `rules`: those that fired for it, each once.
    """

    raw: bytes
    sent: bytes
    rules: tuple[str, ...]
    time: float

    @property
    def touched(self) -> bool:
        """Whether the client got other bytes."""
        return self.raw != self.sent


def steps(recording: Recording) -> Iterator[Step]:
    """Yields the steps of a recorded stream; a whole response, or a stream for a client that asked for none, is one step."""
    fired: list[str] = []
    clock = Clock(recording)
    pipeline = pipeline_of(recording, clock, watch=fired.append)
    client_stream = recording.meta.get("client_stream")
    if not recording.stream or client_stream is False:
        body = b"".join(recording.chunks)
        make = pipeline.folded if recording.stream else pipeline.as_stream if client_stream else pipeline.message
        sent = make(body)
        yield Step(body, sent, tuple(dict.fromkeys(fired)), 0.0)
        return
    decoder = decoder_of(recording.meta["api"])
    time = 0.0
    for chunk, time in zip(recording.chunks, recording.times, strict=True):
        for event in decoder.feed(chunk):
            yield _step(pipeline, clock, event.raw, fired, time)
    for event in decoder.close():
        yield _step(pipeline, clock, event.raw, fired, time)
    fired.clear()
    if ended(recording) and (rest := pipeline.close()):
        yield Step(b"", rest, tuple(dict.fromkeys(fired)), time)


def _step(pipeline: Pipeline, clock: Clock, raw: bytes, fired: list[str], time: float) -> Step:
    fired.clear()
    clock.fed += len(raw)
    return Step(raw, pipeline.feed(raw), tuple(dict.fromkeys(fired)), time)
