"""Stop sequences that the upstream does not take: the answer ends in front of the first that its text holds.

    stop_sequences ["END"]     "The first part. EN" "D and more", stop   →   "The first part. ", stop (END)

Rule of this file: of a text that may end in the beginning of a sequence, only that much is held. For translated streams alone:
the events are new, the frames are not kept, and of the choices only the first is read, as by all writers.
"""

from collections.abc import Callable, Sequence

from ...core.events import Event, Finish, Frame, MessageEnd, MessageStart, StreamError, TextDelta, Usage
from .frame_queue import with_events

MAX_SEQUENCE = 4096
"""Characters of a sequence that is looked for: of a longer one no model's text would ever be the same."""

_STAYS = (MessageEnd, MessageStart, StreamError, Usage)
"""What is told behind the end of the text."""


class StopSequences:
    """`sequences`: those to look for, none of them empty."""

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
        # no regex of them all: it tries each anew at every place, and of a long one reads far
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
    """Where the longest beginning of a sequence stands that a text ends with; the text's length if there is none."""
    at = text.find(sequence[0], max(0, len(text) - len(sequence) + 1))
    while at >= 0:
        if sequence.startswith(text[at:]):
            return at
        at = text.find(sequence[0], at + 1)
    return len(text)
