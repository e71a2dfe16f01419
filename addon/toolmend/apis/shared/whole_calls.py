"""Collects calls for an API that sends them whole, with their arguments as an object.

    ToolCallStart, ToolCallDelta …, ToolCallEnd   →   WholeCall(start, {"city": "Oslo"})

Arguments are never invented: a call that breaks off, or whose arguments are not an object, becomes text.
"""

from collections.abc import Iterable
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, ToolCallDelta, ToolCallEnd, ToolCallStart
from ...core.fastclass import value

MAX_HELD = 16 * 1024 * 1024
"""Characters held of a call's arguments: as many as an SSE event may have."""


@value
class WholeCall:
    """A call. `arguments` is None if they are not an object; `text` replaces the call then."""

    start: ToolCallStart
    arguments: dict[str, Any] | None
    text: str = ""


class WholeCalls:
    """The calls of one response."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], tuple[ToolCallStart, list[str]]] = {}
        self._text: dict[tuple[int, int], ToolCallStart] = {}  # those that became too long
        self._held = 0

    def feed(self, event: Event) -> WholeCall | None:
        """Takes an event. Returns the call that it completes."""
        match event:
            case ToolCallStart():
                self._open[event.choice, event.index] = event, []
            case ToolCallDelta():
                return self._more((event.choice, event.index), event.arguments)
            case ToolCallEnd():
                self._text.pop((event.choice, event.index), None)
                found = self._open.pop((event.choice, event.index), None)
                if found:
                    return self._whole(found)
            case _:
                pass
        return None

    def _more(self, key: tuple[int, int], text: str) -> WholeCall | None:
        if start := self._text.get(key):
            return WholeCall(start, None, text)
        if found := self._open.get(key):
            found[1].append(text)
            self._held += len(text)
            if self._held > MAX_HELD:
                self._text[key] = found[0]
                return self._broken(self._open.pop(key))
        return None

    def rest(self, choice: int) -> list[WholeCall]:
        """Returns the open calls of a choice, which were broken off."""
        return [self._broken(self._open.pop(key)) for key in sorted(self._open) if key[0] == choice]

    def broken_by(self, events: Iterable[Event]) -> bool:
        """Whether the events end a choice that has an open call."""
        return bool(self._open) and any(isinstance(event, Finish) and event.choice in self.choices for event in events)

    @property
    def choices(self) -> list[int]:
        """The choices with an open call."""
        return sorted({choice for choice, _ in self._open})

    def _whole(self, found: tuple[ToolCallStart, list[str]]) -> WholeCall:
        text = "".join(found[1])
        try:
            value = json_text.loads((text.strip() or "{}").encode())
        except (json_text.NotJSON, UnicodeEncodeError):
            value = None
        if not isinstance(value, dict):
            return self._broken(found)
        self._held -= len(text)
        return WholeCall(found[0], value)

    def _broken(self, found: tuple[ToolCallStart, list[str]]) -> WholeCall:
        text = "".join(found[1])
        self._held -= len(text)
        return WholeCall(found[0], None, f"{found[0].name} {text}")
