"""Applies stop sequences that the upstream does not support: the answer ends before the first one in its text.

    stop_sequences ["END"]     "The first part. EN" "D and more", stop   →   "The first part. ", stop (END)

Only text that may be the beginning of a sequence is held. For translated streams alone: events are new, frames are not kept,
and only the first choice is read, as by all writers.
"""

from collections.abc import Callable, Sequence

from ...core.events import Event, Finish, Frame, MessageEnd, MessageStart, StreamError, TextDelta, Usage
from .frame_queue import with_events

MAX_SEQUENCE = 4096
"""Characters of a sequence: a longer one is ignored, because no model repeats so much."""

_STAYS = (MessageEnd, MessageStart, StreamError, Usage)
"""Events that may follow the end of the text."""


class StopSequences:
    """`sequences`: not empty."""

    def __init__(self, sequences: Sequence[str], fired: Callable[[str], None]) -> None:
        self._fired = fired
        self._sequences = [sequence for sequence in sequences if len(sequence) <= MAX_SEQUENCE]
        self._held = ""
        self._over = False

    def feed(self, frame: Frame) -> Sequence[Frame]:
        events: list[Event] = []
        for event in frame.events:
            if getattr(event, "choice", 0):
                continue
            if self._over:
                if isinstance(event, _STAYS):
                    events.append(event)
            elif isinstance(event, TextDelta):
                self._text(event, events)
            else:
                if not isinstance(event, Usage):
                    events += self._release()
                events.append(event)
        return (with_events(frame, events),)

    def close(self) -> Sequence[Frame]:
        held = self._release()
        return (Frame(None, tuple(held), touched=True),) if held else ()

    def _text(self, event: TextDelta, out: list[Event]) -> None:
        text, self._held = self._held + event.text, ""
        # no regex of all: it would try each of them at every position, and read far ahead for a long one
        places = ((at, which) for which, sequence in enumerate(self._sequences) if (at := text.find(sequence)) >= 0)
        found = min(places, default=None)
        if found:
            self._fired("stop_sequence")
            self._over = True
            text = text[: found[0]]
        else:
            begin = min((_begin(text, sequence) for sequence in self._sequences), default=len(text))
            text, self._held = text[:begin], text[begin:]
        if text:
            out.append(TextDelta(text))
        if found:
            out.append(Finish("stop", stop_sequence=self._sequences[found[1]]))

    def _release(self) -> list[Event]:
        held, self._held = self._held, ""
        return [TextDelta(held)] if held else []


def _begin(text: str, sequence: str) -> int:
    """The index of the longest beginning of a sequence at the end of a text; the text's length if there is none."""
    at = text.find(sequence[0], max(0, len(text) - len(sequence) + 1))
    while at >= 0:
        if sequence.startswith(text[at:]):
            return at
        at = text.find(sequence[0], at + 1)
    return len(text)
