"""Splits the chunks of a stream into events, and processes each one.

    read(b"data: {…A…}\\n\\ndata: {…B…}\\n\\nda", out)     →     process(A, out), process(B, out)

The fast path (fastpath/run_reader.py) extends it: most deltas are sent before they are processed. reader_choice.py picks one.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from ..apis.codec import Decoder, Numbered, SupportsRuns
from ..apis.shared.delta_template import Kind
from ..core.fastclass import value
from ..core.sse import ServerSentEvent
from ..core.text_state import TextState
from .undelivered import UndeliveredInput

type Process = Callable[[ServerSentEvent, list[bytes]], None]
"""Processes an event, and appends its output to a list."""

type Matcher = Callable[[bytes], bytes | None]
"""Takes a chunk, and returns its output; None if it is not recognised, and nothing was taken."""


class TextParser(Protocol):
    """What parses texts; in a pipeline, transformers.markup.Markup."""

    @property
    def holds(self) -> bool: ...

    def text_state(self, kind: Kind, choice: int) -> TextState | None: ...


class Busy(Protocol):
    """A transformer that may do more with deltas than pass them."""

    @property
    def busy(self) -> bool: ...


@value
class RunContext:
    """What decides whether the deltas of a stream may pass in runs.

    Attributes:
        codec: Decodes the stream.
        parser: Parses its texts.
        busy: Transformers that at times need each delta.
        numbered: Codecs and writers that number their events.
        translates: No event passes unchanged.
        may_wait: The beginning of an event may be kept until the next chunk.
    """

    codec: SupportsRuns
    parser: TextParser
    busy: Sequence[Busy] = ()
    numbered: Sequence[Numbered] = ()
    translates: bool = False
    may_wait: bool = False


def no_match(_: bytes) -> bytes | None:
    """Recognises no chunk."""
    return None


class ChunkReader:
    """Reads one stream.

    `try_fast` takes a chunk that need not be processed now. If it returns None, `read` must take the chunk.
    """

    def __init__(
        self, decoder: Decoder, process: Process, undelivered: UndeliveredInput, runs: RunContext | None = None
    ) -> None:
        self.try_fast: Matcher = no_match
        self._decoder = decoder
        self._process = process
        self._undelivered = undelivered

    def read(self, data: bytes, out: list[bytes]) -> None:
        """Processes the events that a chunk completes."""
        self._process_all(self._decoder.feed(data), out)

    def flush(self, out: list[bytes]) -> None:
        """Processes what was sent before it was processed."""

    def close(self, out: list[bytes]) -> Sequence[ServerSentEvent]:
        """Processes the events at the end of the body, and returns them."""
        rest = self._decoder.close()
        self._process_all(rest, out)
        return rest

    def stop(self) -> None:
        """Forgets what was not processed: the stream is not read any more."""

    def _process_all(self, events: Sequence[ServerSentEvent], out: list[bytes]) -> None:
        for sse in events:
            self._process(sse, out)
