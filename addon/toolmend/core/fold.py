"""Folds events into the complete message.

    fold(events) → Message(text, reasoning, calls by index, finish reason, usage, error)

The fold only accumulates; what is legal, and what an API makes of it, is decided elsewhere. The cost of a delta does not grow
with the message: a text is joined only when it is read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, assert_never

from .events import (
    Citation,
    Compacting,
    Compaction,
    Event,
    Finish,
    LogProbs,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    ReasoningSeal,
    RefusalDelta,
    StreamError,
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    WebSearch,
)
from .fastclass import replace
from .reasoning_state import ReasoningState

MAX_CHOICES = 128
"""Choices of a response that are folded: OpenAI's limit of `n`."""

BETWEEN = "\n\n"
"""Separates the messages of one response, or its runs of reasoning, where they are one text."""

OVERHEAD = 1024
"""Characters charged per call, run of reasoning or choice beyond its content, so that many empty ones are bounded, too."""


class _Text:
    """A string field that grows in a buffer: `message.text` reads it, `_add(message, "text", piece)` appends."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, owner: Any, kind: type) -> str:
        return "" if owner is None else str(vars(owner)[self._name].getvalue())

    def __set__(self, owner: Any, text: str) -> None:
        buffer = vars(owner)[self._name] = StringIO()
        buffer.write(text)


def _add(owner: object, name: str, piece: str) -> None:
    vars(owner)[f"_{name}"].write(piece)


@dataclass
class Thinking:
    """A run of reasoning and its seal."""

    text: _Text = _Text()
    seal: ReasoningState | None = None


@dataclass
class Call:
    """`arguments`: JSON text, or the bare input of a custom call. `complete`: its end was received."""

    index: int
    id: str
    name: str
    kind: str = "function"
    arguments: _Text = _Text()
    complete: bool = False


@dataclass
class Message:
    """One choice of a response."""

    text: _Text = _Text()
    refusal: _Text = _Text()
    thinking: list[Thinking] = field(default_factory=list)
    calls: dict[int, Call] = field(default_factory=dict)
    searches: list[WebSearch] = field(default_factory=list)
    logprobs: list[Mapping[str, Any]] = field(default_factory=list)
    compaction: Compaction | None = None
    apart: list[tuple[int, int]] = field(default_factory=list)
    """Where in `text` one message of the response ends and the next begins."""
    citations: list[Citation] = field(default_factory=list)
    """`start` and `end` count characters of `text`."""
    finish: Finish | None = None
    usage: Usage | None = None
    error: StreamError | None = None
    ended: bool = False
    omitted: int = 0
    """Characters that were counted but not kept: see `Answer`."""
    _length: int = field(default=0, compare=False)  # of `text`
    _ends_blank: bool = field(default=False, compare=False)
    _part: int = field(default=0, compare=False)  # start of the last part in `text`

    @property
    def size(self) -> int:
        """Characters of the content."""
        texts = len(self.text) + len(self.refusal) + sum(len(run.text) for run in self.thinking)
        return texts + sum(len(call.arguments) for call in self.calls.values())

    @property
    def reasoning(self) -> str:
        """All reasoning. Runs are paragraphs, as in the upstream's items."""
        return BETWEEN.join(run.text for run in self.thinking if run.text)

    def feed(self, event: Event) -> None:
        """Adds an event of this choice."""
        match event:
            case TextDelta():
                _add(self, "text", event.text)
                self._length += len(event.text)
                self._ends_blank = event.text[-1:].isspace() if event.text else self._ends_blank
            case TextStart():
                if event.apart and self._length:
                    between = "" if self._ends_blank else BETWEEN
                    _add(self, "text", between)
                    self.apart.append((self._length, self._length + len(between)))
                    self._length += len(between)
                self._part = self._length
            case Citation():
                self.citations.append(in_part(event, self._part, self._length))
            case WebSearch():
                self.searches.append(event)
            case LogProbs():
                self.logprobs += event.tokens
            case Compaction():
                self.compaction = event
            case Compacting():
                pass
            case RefusalDelta():
                _add(self, "refusal", event.text)
            case ReasoningDelta():
                _add(self._open_run(), "text", event.text)
            case ReasoningSeal():
                self._open_run().seal = event.seal
            case ToolCallStart():
                self.calls[event.index] = Call(event.index, event.id, event.name, event.kind)
            case ToolCallDelta():
                if call := self.calls.get(event.index):
                    _add(call, "arguments", event.arguments)
            case ToolCallEnd():
                if call := self.calls.get(event.index):
                    call.complete = True
            case Finish():
                self.finish = event
            case Usage():
                self.usage = event if event.input_tokens or event.output_tokens else self.usage or event
            case StreamError():
                self.error = event
            case MessageEnd():
                self.ended = True
            case MessageStart():
                pass
            case _:
                assert_never(event)

    def _open_run(self) -> Thinking:
        if not self.thinking or self.thinking[-1].seal:
            self.thinking.append(Thinking())
        return self.thinking[-1]


def in_part(citation: Citation, part: int, length: int) -> Citation:
    """Returns a citation whose range counts characters of a text part.

    A range beyond the text is cut: calls that had leaked into the text were removed from it.

    Args:
        citation: With a range that counts from the start of the upstream's part.
        part: Where the upstream's part begins in the text part.
        length: Characters of the text part sent so far.
    """
    end = length if citation.end is None else min(max(0, part + citation.end), length)
    return replace(citation, start=min(max(0, part + citation.start), end), end=end)


class Answer:
    """All choices of a response, in at most `limit` characters; more is counted in `omitted` of its message.

    `make` creates the message of a choice.
    """

    def __init__(self, limit: int, make: Callable[[int], Message] = lambda _: Message()) -> None:
        self._messages: dict[int, Message] = {}
        self._left = limit
        self._make = make

    def known(self) -> list[Message]:
        """Returns the messages so far in order of choice, at least one."""
        return [message for _, message in sorted(self._messages.items())] or self._of(0)

    def feed(self, event: Event) -> list[Message]:
        """Adds an event; returns the messages that it belongs to."""
        choice = getattr(event, "choice", None)
        messages = self.known() if choice is None else self._of(choice)
        size = _size(event)
        for message in messages:
            if size and (message.omitted or size > self._left):
                message.omitted += size
            else:
                self._left -= size
                message.feed(event)
        return messages

    def _of(self, choice: int) -> list[Message]:
        if choice not in self._messages:
            if len(self._messages) == MAX_CHOICES:
                return []
            self._messages[choice] = self._make(choice)
        return [self._messages[choice]]


def _size(event: Event) -> int:
    """The characters that an event adds to a message. An event that replaces another adds none."""
    match event:
        case TextDelta() | RefusalDelta() | ReasoningDelta():
            return len(event.text)
        case ToolCallDelta():
            return len(event.arguments)
        case ToolCallStart():
            return OVERHEAD + len(event.id) + len(event.name)
        case ReasoningSeal():
            return OVERHEAD + len(event.seal.data)
        case Citation():
            return OVERHEAD + len(event.url) + len(event.title) + len(event.cited)
        case LogProbs():
            return OVERHEAD * len(event.tokens)
        case Compaction():
            return len(event.summary) + len(event.sealed)
        case WebSearch():
            return OVERHEAD + sum(len(source.url) + len(source.title) for source in event.sources)
    return 0


def fold(events: Iterable[Event], choice: int = 0) -> Message:
    """Returns the message of a choice; events of no particular choice belong to each."""
    message = Message()
    for event in events:
        if getattr(event, "choice", choice) == choice:
            message.feed(event)
    return message
