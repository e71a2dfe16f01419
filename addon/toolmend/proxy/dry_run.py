"""Mode `observe`: reports what would be mended and changes nothing.

    provider ─► Observe ─► client            the same bytes, with their content encoding
                   └─► DryRunPipeline        only its rules and ids are used; its output is discarded

Routes are not observed: a client of another API has to be served in its own. Neither is toolmend_replay: the user asked for it.

1. No exception in here costs the client a byte.
"""

from ..core.content_encoding import ContentDecoder
from ..pipeline.dry_run import DryRunPipeline
from ..recordings.write.recorder import LiveRecording
from .stream_callbacks import Callback, ResponseStream, reason


class Observe(ResponseStream):
    """Passes the bytes unchanged; the pipeline and the recording get them decoded."""

    def __init__(
        self,
        pipeline: DryRunPipeline,
        undo: ContentDecoder,
        recording: LiveRecording | None,
        then: Callback | None,
        errors: list[str],
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
                self._stop_recording(f"the stream was observed no further, and the recording ends early: {reason(error)}")

    def _close(self) -> None:
        self._out.append(b"")
        if self._undo:
            try:
                self._pipeline.close()
            except Exception as error:
                self._errors.append(f"the end was not observed: {reason(error)}")
