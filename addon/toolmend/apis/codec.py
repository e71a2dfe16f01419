"""What a wire API is to the pipeline: its codec and its writer.

A codec reads it, and writes it to a client of the same; a writer serves clients of it whose upstream speaks another.

    same API     sse ─► Codec.decode ─► transformers ─► Codec.encode ─► bytes      (an untouched frame: its own bytes)
    another      sse ─► Codec.decode ─► transformers ─► Writer.write ─► bytes      (from the events alone)

Rule of this file: types only.
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
    """What is to be known of the request that is answered.

    `tools`: as the upstream was offered them. `request`: the client's own, in its API. `input_tokens`: an estimate.
    `reasoning_field`: where reasoning goes in Chat Completions. `new_id` makes ids like `call_…`; a writer that needs
    another kind of id replaces the prefix. Time is not to be had: `created` is told from such an id (ids.seconds).
    `translates`: the client speaks another API, so nothing has to leave as it came; `note` is told what is lost there.
    `query`: what a client of Messages searches the web for, if it offers a search: not every upstream reports the one it ran.
    `brief`: the client asks for so few tokens that there may be nothing to say; `codex`: it is Codex.
    `compacts`: the answer is a summary of the conversation, as an item or a block of it, or as a response of its own; `kept`: the
    items that this response has in front of the summary.
    `repairs`: arguments that are no JSON are made such (the rule argument_json).
    `bare_end`: the upstream leaves the items out of the last event of Responses, and its clients do without.
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
    """Bytes of one response in any chunks → events, whose joined `raw` is the input. Never raises. See sse.Decoder."""

    def feed(self, data: bytes) -> list[ServerSentEvent]: ...
    def close(self) -> list[ServerSentEvent]: ...


class Codec(Protocol):
    """One response. Made with a Reply."""

    def decode(self, sse: ServerSentEvent) -> Frame:
        """One server-sent event → its frame. Raises json_text.NotJSON where the data is no JSON."""

    def decode_message(self, body: bytes) -> Frame:
        """A whole response → one frame, whose data is the body. Raises json_text.NotJSON."""

    def close(self) -> Frame:
        """What there is still to be told when the body is over, which may be nothing."""

    def encode(self, frame: Frame) -> bytes:
        """A frame → the bytes for the client: its own as long as nothing was touched."""

    def held(self) -> bytes:
        """What `encode` has not given yet, once nothing more comes."""

    def encode_message(self, frame: Frame) -> bytes:
        """A frame that `decode_message` made, and that was touched → the body."""


class Flowing(Protocol):
    """A codec whose stream can pass in part, to be read later: see delta_run.py."""

    def course(self) -> tuple[DeltaTemplate, TextState | None] | None:
        """The shape of events that are regular and say one thing, where one may come again; and on which course the text is.

        The course is None for the reader to tell it. Many such events mean what one means whose text is theirs, joined.
        """


class Counting(Protocol):
    """A codec or a writer whose events have numbers."""

    def skip(self, count: int) -> None:
        """So many events went out that were not written here."""


def flows(codec: object) -> TypeGuard[Flowing]:
    """Whether it is one; `isinstance` with a protocol costs as much as the rest of what an answer begins with."""
    return hasattr(codec, "course")


def counts(box: object) -> TypeGuard[Counting]:
    """Likewise."""
    return hasattr(box, "skip")


class Writer(Protocol):
    """One response. Made with a Reply. Only choice 0 is written."""

    def write(self, events: Sequence[Event]) -> bytes:
        """The events of one frame → server-sent events; none where nothing can be said yet."""

    def ping(self) -> bytes:
        """A sign of life, at a comment or ping of the upstream's."""

    def close(self, why: StreamError | None = None) -> bytes:
        """The upstream's body is over: the legal end, once; an error if the message was cut off, and `why` if that is known."""

    def fail(self, message: str) -> bytes:
        """Something broke on our side: a legal error as the last thing in the stream."""

    def message(self, events: Sequence[Event]) -> bytes:
        """A whole response: JSON."""
