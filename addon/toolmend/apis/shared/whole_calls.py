"""Calls for a wire that has them whole, with their arguments as an object: they wait until these are complete.

    ToolCallStart, ToolCallDelta …, ToolCallEnd   →   WholeCall(start, {"city": "Oslo"})

Rule of this file: arguments are never invented. A call that breaks off, or whose arguments are no object, is told as text.
"""

from collections.abc import Iterable
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, ToolCallDelta, ToolCallEnd, ToolCallStart
from ...core.fastclass import value

MAX_HELD = 16 * 1024 * 1024
"""Characters of the arguments of a call that are held: as many as an event may have."""


@value
class WholeCall:
    """`arguments` None: they are no object, and `text` is what there is to be said of the call."""

    start: ToolCallStart
    arguments: dict[str, Any] | None
    text: str = ""


class WholeCalls:
    """The calls of one response."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], tuple[ToolCallStart, list[str]]] = {}
        self._text: dict[tuple[int, int], ToolCallStart] = {}  # those that got too long
        self._held = 0

    def feed(self, event: Event) -> WholeCall | None:
        """The call that an event completes."""
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
        """The calls of a choice that were broken off: nothing more of them comes."""
        return [self._broken(self._open.pop(key)) for key in sorted(self._open) if key[0] == choice]

    def broken_by(self, events: Iterable[Event]) -> bool:
        """Whether a choice ends with these while a call of it is open."""
        return bool(self._open) and any(isinstance(event, Finish) and event.choice in self.choices for event in events)

    @property
    def choices(self) -> list[int]:
        """The choices that have an open call."""
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
