"""Mode `observe`: what would be mended is found and told, and nothing is changed.

    provider ─► Observe ─► client            the very bytes, coded as they are
                   └─► Observed pipeline     its rules, its ids; what it makes of them goes nowhere

A route is not observed: a client of another API has to be served in its own. Neither is what is asked for in so many words, as
toolmend_replay.

Rule of this file: whatever is raised in here costs the client no byte.
"""

from ..core.content_encoding import ContentDecoder
from ..pipeline.dry_run import Observed
from ..recordings.write.recorder import LiveRecording
from .stream_callbacks import Callback, ResponseStream, reason


class Observe(ResponseStream):
    """Lets the bytes pass as they are; the pipeline and the recording have the coding undone."""

    def __init__(
        self, pipeline: Observed, undo: ContentDecoder, recording: LiveRecording | None, then: Callback | None, errors: list[str]
    ) -> None:
        super().__init__(recording, then, errors)
        self._pipeline = pipeline
        self._undo: ContentDecoder | None = undo

    def _feed(self, data: bytes) -> None:
        self._out.append(data)
        if self._undo:
            try:
                plain = self._undo.feed(data)
                self._record(plain, plain)
                self._pipeline.feed(plain)
            except Exception as error:
                self._undo = None
                self._stop_recording(f"it was observed no further, and the recording ends early: {reason(error)}")

    def _close(self) -> None:
        self._out.append(b"")
        if self._undo:
            try:
                self._pipeline.close()
            except Exception as error:
                self._errors.append(f"the end was not observed: {reason(error)}")
