"""Shows a client of another API why a model declined.

    Messages  stop_reason refusal, stop_details {"explanation": "…"}   →   RefusalDelta("…"), Finish content_filter
    Codex     RefusalDelta("…"), Finish content_filter                 →   TextDelta("…"), Finish stop

Codex drops a message with a refusal, and retries a request whose answer was filtered: for it both become text, and the answer
is complete. For translated streams alone, and the first choice.
"""

from collections.abc import Sequence

from ...core.events import Event, Finish, Frame, RefusalDelta, TextDelta, TextStart, ToolCallStart
from ...core.fastclass import replace
from .frame_queue import with_events

DECLINED = "The model declined to answer."
CUT = "(The answer was stopped here by a filter of the provider.)"


class Refusal:
    """`as_text`: the client is Codex."""

    def __init__(self, *, as_text: bool) -> None:
        self._as_text = as_text
        self._has_content = self._refused = False

    def feed(self, frame: Frame) -> Sequence[Frame]:
        if not any(isinstance(event, RefusalDelta | Finish) for event in frame.events):
            self._has_content |= any(isinstance(event, TextDelta | ToolCallStart) for event in frame.events)
            return (frame,)
        events: list[Event] = []
        for event in frame.events:
            if getattr(event, "choice", 0):
                events.append(event)
            elif isinstance(event, RefusalDelta):
                events += self._refusal_events(event.text)
            elif isinstance(event, Finish) and event.finish_reason == "content_filter":
                if not self._refused and (event.explanation or self._as_text or not self._has_content):
                    events += self._refusal_events(event.explanation or (CUT if self._has_content else DECLINED))
                events.append(replace(event, finish_reason="stop") if self._as_text else event)
            else:
                self._has_content |= isinstance(event, TextDelta | ToolCallStart)
                events.append(event)
        return (with_events(frame, events),)

    def close(self) -> Sequence[Frame]:
        return ()

    def _refusal_events(self, text: str) -> list[Event]:
        first, self._refused = not self._refused, True
        if not self._as_text:
            return [RefusalDelta(text)]
        return [*([TextStart(apart=True)] if first and self._has_content else []), TextDelta(text)]
