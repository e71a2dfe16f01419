"""The interfaces of a wire API to the pipeline: Codec for clients of the same API, Writer for clients of another one.

same API     sse ─► Codec.decode ─► transformers ─► Codec.encode ─► bytes      (an untouched frame: its own bytes)
another      sse ─► Codec.decode ─► transformers ─► Writer.write ─► bytes      (from the events alone)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol, TypeGuard

from ..core.events import Event, Frame, StreamError
from ..core.fastclass import value
from ..core.sse import ServerSentEvent
from ..core.text_state import TextState
from ..core.tools import Tools
from .shared.delta_template import DeltaTemplate


@value
class Reply:
    """The context of one response: what codecs and writers read of its request.

    Attributes:
        tools: The tools as they were offered to the upstream.
        new_id: Returns an id like `call_…`; a writer that needs another kind replaces the prefix. It also is the only clock:
            `created` is read from such an id (ids.seconds).
        fired: Reports the name of a rule that changed something.
        request: The client's own request, in its API.
        reasoning_field: The member that carries reasoning in Chat Completions.
        input_tokens: An estimate.
        translates: The client speaks another API than the upstream, so all output is written from events.
        note: Reports what a translation drops.
        query: What a client of Messages searches the web for, if its request offers a search: some upstreams do not report the
            query that they ran.
        bare_end: The upstream omits the items from the last event of Responses, and its clients accept that.
        brief: The request allows so few tokens that an empty answer is legal.
        codex: The client is Codex.
        compacts: The answer is a summary of the conversation: an item (or block), or a response of its own.
        kept: The items that such a response has before the summary.
        repairs: Arguments that are not JSON are repaired (the rule argument_json).
    """

    tools: Tools
    new_id: Callable[[], str]
    fired: Callable[[str], None]
    request: Mapping[str, Any] = field(default_factory=dict)
    reasoning_field: str = "reasoning_content"
    input_tokens: int = 0
    translates: bool = False
    note: Callable[[str], None] = lambda _: None
    query: str | None = None
    bare_end: bool = False
    brief: bool = False
    codex: bool = False
    compacts: Literal["", "item", "response"] = ""
    kept: Sequence[Mapping[str, Any]] = ()
    repairs: bool = True


class Decoder(Protocol):
    """Bytes of one response, in any chunks → SSE events, whose joined `raw` is the input. Never raises. See sse.Decoder."""

    def feed(self, data: bytes) -> list[ServerSentEvent]: ...
    def close(self) -> list[ServerSentEvent]: ...


class Codec(Protocol):
    """Decodes and encodes one response. Made with a Reply."""

    def decode(self, sse: ServerSentEvent) -> Frame:
        """Returns the frame of one SSE event. Raises json_text.NotJSON."""

    def decode_message(self, body: bytes) -> Frame:
        """Returns one frame for a whole response; its data is the body. Raises json_text.NotJSON."""

    def close(self) -> Frame:
        """Returns what was still held when the body ended; its frame may have no events."""

    def encode(self, frame: Frame) -> bytes:
        """Returns the bytes of a frame for the client: the upstream's own if the frame is untouched."""

    def held(self) -> bytes:
        """Returns what `encode` still holds, once no more frames come."""

    def encode_message(self, frame: Frame) -> bytes:
        """Returns the body for a touched frame of `decode_message`."""


class SupportsRuns(Protocol):
    """A codec that lets runs of equal deltas pass before they are decoded: see pipeline/fastpath/delta_run.py."""

    def run_template(self) -> tuple[DeltaTemplate, TextState | None] | None:
        """Returns the template of the last delta, if more of it may come, and the lexical state of its text.

        A state of None leaves the decision to the markup parser. A run of such events is equivalent to one event with the
        concatenated text.
        """


class Numbered(Protocol):
    """A codec or a writer whose events carry sequence numbers."""

    def skip(self, count: int) -> None:
        """Counts events that were sent without this object."""


def supports_runs(codec: object) -> TypeGuard[SupportsRuns]:
    """Whether a codec supports runs. `isinstance` with a protocol would double the cost of starting a response."""
    return hasattr(codec, "run_template")


def is_numbered(box: object) -> TypeGuard[Numbered]:
    """Whether a codec or writer is Numbered."""
    return hasattr(box, "skip")


class Writer(Protocol):
    """Writes one response for a client of this API from the events alone, choice 0 only. Made with a Reply."""

    def write(self, events: Sequence[Event]) -> bytes:
        """Returns the SSE events for the events of one frame; b"" if nothing can be sent yet."""

    def ping(self) -> bytes:
        """Returns a sign of life, sent for a comment or ping of the upstream."""

    def close(self, why: StreamError | None = None) -> bytes:
        """Returns the end of the stream, once. If the message is incomplete that is an error: `why`, if given."""

    def fail(self, message: str) -> bytes:
        """Returns a legal error event as the last thing in the stream, after a failure of toolmend."""

    def message(self, events: Sequence[Event]) -> bytes:
        """Returns a whole response as JSON."""
