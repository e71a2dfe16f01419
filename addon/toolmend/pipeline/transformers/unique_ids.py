"""Makes the ids of calls unique in the conversation: Kimi K3 counts from 0 in each turn, and models repeat what they read.

    history: get_time:0       ToolCallStart(id="get_time:0")     →     ToolCallStart(id="get_time:0_7")

Claude Code drops a second call with an id that it has seen, and Messages refuses it. A new id consists of the old one and the
number of calls so far, so that a replay makes the same.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from ...core.events import Event, Frame, ToolCallStart
from ...core.fastclass import replace
from ...core.json_access import objects
from .frame_queue import with_events

RULE = "tool_call_id"


class UniqueIds:
    """`used`: the ids of the `count` earlier calls. Reports RULE."""

    def __init__(self, used: Collection[str], count: int, fired: Callable[[str], None]) -> None:
        self._used = set(used)
        self._count = count
        self._fired = fired

    def feed(self, frame: Frame) -> Sequence[Frame]:
        if not any(isinstance(event, ToolCallStart) and event.id in self._used for event in frame.events):
            return (frame,)
        self._fired(RULE)
        return (with_events(frame, [self._with_unique_id(event) for event in frame.events]),)

    def close(self) -> Sequence[Frame]:
        return ()

    def _with_unique_id(self, event: Event) -> Event:
        if not (isinstance(event, ToolCallStart) and event.id in self._used):
            return event
        number = self._count + event.index
        while (id_ := f"{event.id}_{number}") in self._used:
            number += 1
        self._used.add(id_)
        return replace(event, id=id_)


def ids_of_calls(request: Mapping[str, Any], api: str) -> set[str]:
    """The ids of the calls in a request."""
    return {id_ for id_ in _ids(request, api) if isinstance(id_, str) and id_}


def _ids(request: Mapping[str, Any], api: str) -> Iterator[Any]:
    if api == "responses":
        for item in objects(request.get("input")):
            if str(item.get("type")).endswith("_call"):
                yield item.get("call_id")
        return
    for message in objects(request.get("messages")):
        for call in objects(message.get("tool_calls" if api == "chat" else "content")):
            if api == "chat" or call.get("type") == "tool_use":
                yield call.get("id")
