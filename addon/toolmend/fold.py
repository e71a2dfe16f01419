"""Events → the complete message: the one fold of everybody who needs the whole.

    fold(events) → Message(text, reasoning, calls by index, finish reason, usage, error)

Rule of this file: it only adds up. What is legal, and what an API makes of it, is told elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from .events import (
    Event,
    Finish,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    ReasoningSeal,
    RefusalDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from .seals import Seal


@dataclass(slots=True)
class Thinking:
    """A run of reasoning, and what seals it."""

    text: str = ""
    seal: Seal | None = None


@dataclass(slots=True)
class Call:
    """`arguments` is JSON text (of a custom call, the bare input); `complete`: its end was told."""

    index: int
    id: str
    name: str
    kind: str = "function"
    arguments: str = ""
    complete: bool = False


@dataclass(slots=True)
class Message:
    """One choice of a response."""

    text: str = ""
    refusal: str = ""
    thinking: list[Thinking] = field(default_factory=list)
    calls: dict[int, Call] = field(default_factory=dict)
    finish: Finish | None = None
    usage: Usage | None = None
    error: StreamError | None = None
    ended: bool = False

    @property
    def reasoning(self) -> str:
        """All of it."""
        return "".join(run.text for run in self.thinking)

    def feed(self, event: Event) -> None:
        """Takes in an event of this choice."""
        match event:
            case TextDelta():
                self.text += event.text
            case RefusalDelta():
                self.refusal += event.text
            case ReasoningDelta():
                self._open_run().text += event.text
            case ReasoningSeal():
                self._open_run().seal = event.seal
            case ToolCallStart():
                self.calls[event.index] = Call(event.index, event.id, event.name, event.kind)
            case ToolCallDelta():
                if call := self.calls.get(event.index):
                    call.arguments += event.arguments
            case ToolCallEnd():
                if call := self.calls.get(event.index):
                    call.complete = True
            case Finish():
                self.finish = event
            case Usage():
                self.usage = event
            case StreamError():
                self.error = event
            case MessageEnd():
                self.ended = True
            case MessageStart():
                pass

    def _open_run(self) -> Thinking:
        if not self.thinking or self.thinking[-1].seal:
            self.thinking.append(Thinking())
        return self.thinking[-1]


def fold(events: Iterable[Event], choice: int = 0) -> Message:
    """The message that the events of a choice make; what concerns all choices is in each."""
    message = Message()
    for event in events:
        if getattr(event, "choice", choice) == choice:
            message.feed(event)
    return message
