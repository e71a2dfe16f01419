"""Unescapes the arguments of models that are known to escape them like HTML, once (deepagents#2954: Grok).

    ToolCallDelta '{"command": "a &am', 'p;&amp; echo &quot;b&quot;"}'   →   '{"command": "a ', '&& echo \\"b\\""}'

1. Arguments with a bare `<`, `>` or `&` are not escaped: from there on the text stays as it is.
2. A frame whose text does not change is sent unchanged. One that may end within an entity is held until the next.
"""

import html
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field

from ...core import json_text
from ...core.events import Event, Finish, Frame, MessageEnd, StreamError, ToolCallDelta, ToolCallEnd
from ...core.fastclass import mutable, replace

RULE = "argument_entities"

_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#(?:0?3[489]|6[02]|[xX](?:2[267]|3[cCeE])));|[<>]|&(?!#?\w{0,5}\Z)")
_CUT = re.compile(r"&#?\w{0,5}\Z")


@mutable
class _Item:
    """An event of a frame, and its text for the client."""

    event: Event
    out: str | None = None
    rest: str = ""  # it may be part of an entity

    def result(self) -> Event:
        if isinstance(self.event, ToolCallDelta) and self.out not in (None, self.event.arguments):
            return replace(self.event, arguments=self.out)
        return self.event


@mutable
class _Call:
    bare: bool = False  # the arguments are not escaped
    held: list[_Item] = field(default_factory=list)  # deltas that may end within an entity

    def keep_text(self) -> None:
        """Sends the held text: it is not an entity."""
        for item in self.held:
            item.out = (item.out or "") + item.rest
            item.rest = ""
        self.held.clear()


class Entities:
    """Unescapes the native calls of one answer."""

    def __init__(self, fired: Callable[[str], None]) -> None:
        self._fired = fired
        self._calls: dict[tuple[int, int], _Call] = {}
        self._held: deque[tuple[Frame, list[_Item]]] = deque()

    def feed(self, frame: Frame) -> Sequence[Frame]:
        if not self.busy and not any(isinstance(event, ToolCallDelta) for event in frame.events):
            return (frame,)
        self._held.append((frame, [self._item(event) for event in frame.events]))
        return self._released()

    def close(self) -> Sequence[Frame]:
        self._settle()
        return self._released()

    @property
    def busy(self) -> bool:
        """Whether a call is open: any of its deltas may have an entity."""
        return bool(self._held or self._calls)

    def _item(self, event: Event) -> _Item:
        item = _Item(event)
        if isinstance(event, ToolCallDelta):
            key = event.choice, event.index
            self._settle(except_for=key)
            self._unescape(self._calls.setdefault(key, _Call()), item, event.arguments)
        elif isinstance(event, ToolCallEnd | Finish | MessageEnd | StreamError):
            self._settle()
            ended = (event.choice, event.index) if isinstance(event, ToolCallEnd) else None
            self._calls = {key: call for key, call in self._calls.items() if ended and key != ended}
        return item

    def _unescape(self, call: _Call, item: _Item, arguments: str) -> None:
        tail = "".join(held.rest for held in call.held)
        text = tail + arguments
        pieces: list[str] = []
        at = 0
        for match in _ENTITY.finditer(text) if not call.bare else ():
            if len(match.group()) == 1:
                call.bare = True
                break
            pieces += text[at : match.start()], json_text.inside(html.unescape(match.group()))
            at = match.end()
        cut = _CUT.search(text, at) if not call.bare else None
        end = cut.start() if cut else len(text)
        if pieces:
            self._fired(RULE)
            for held in call.held:
                held.rest = ""
            call.held.clear()
        elif end:
            call.keep_text()
        item.out = "".join((*pieces, text[at:end]))[0 if pieces or not end else len(tail) :]
        item.rest = text[max(end, len(tail)) :]
        if item.rest:
            call.held.append(item)

    def _settle(self, except_for: tuple[int, int] | None = None) -> None:
        """Sends the held text of other calls, because they do not continue here."""
        for key, call in self._calls.items():
            if key != except_for:
                call.keep_text()

    def _released(self) -> list[Frame]:
        released = []
        while self._held and not any(item.rest for item in self._held[0][1]):
            frame, items = self._held.popleft()
            events = tuple(item.result() for item in items)
            same = all(one is event for one, event in zip(events, frame.events, strict=True))
            released.append(frame if same else Frame(frame.sse, events, touched=True))
        return released
