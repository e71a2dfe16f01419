"""The tool calls of a Chat Completions stream, however irregular, as events.

A regular call is: one delta with `index` (0, 1, …), `id`, `type` and `function.name`, then deltas with `index` and
`function.arguments`. Every client reads that; each departure from it breaks one SDK or another, and each is mended here under
a name of its own. A delta that is regular leaves its frame untouched.

    {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": ""}}
    {"index": 0, "function": {"arguments": "{\\"zone\\""}}
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import json_text
from ..events import Event, ToolCallDelta, ToolCallEnd, ToolCallStart
from ..tools import Tools

_MAX_KEPT = 64 * 1024
"""Characters of a started call that are kept to see whether they are complete, should a second call share its index."""

_KNOWN_KEYS = frozenset({"index", "id", "type", "function", "custom"})


@dataclass(slots=True)
class _Call:
    """One call as it comes in. `key` is the index that the upstream gives it, `index` the one it gets."""

    key: int | None
    index: int
    id: str = ""
    name: str = ""
    started: bool = False
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, arguments: str) -> None:
        """Keeps the arguments: until the call starts, and to tell whether they are complete. Long ones are let go."""
        self.size += len(arguments)
        if self.started and self.size > _MAX_KEPT:
            self.pieces.clear()
        else:
            self.pieces.append(arguments)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Calls:
    """The calls of one choice."""

    def __init__(self, tools: Tools, new_id: Callable[[], str], fired: Callable[[str], None]) -> None:
        self._tools = tools
        self._new_id = new_id
        self._fired = fired
        self._calls: list[_Call] = []

    def feed(self, entries: list[Any], choice: int) -> tuple[list[Event], bool]:
        """The events of one delta's `tool_calls`, and whether they are spelt as a regular stream would spell them."""
        events: list[Event] = []
        regular = True
        for entry in entries:
            if isinstance(entry, Mapping):
                regular &= self._entry(entry, choice, events)
        return events, regular

    def close(self, choice: int) -> tuple[list[Event], bool]:
        """The end of the choice: calls whose name or id never became certain start now. All are complete."""
        events: list[Event] = []
        regular = True
        for call in self._calls:
            if not call.started and call.name:
                regular = False
                self._start(call, choice, events, None)
            if call.started:
                events.append(ToolCallEnd(call.index, choice))
        self._calls.clear()
        return events, regular

    def _entry(self, entry: Mapping[str, Any], choice: int, events: list[Event]) -> bool:
        kind = "custom" if isinstance(entry.get("custom"), Mapping) else "function"
        inner = entry.get(kind)
        inner = inner if isinstance(inner, Mapping) else {}
        id_, name = _text(entry.get("id")), _text(inner.get("name"))
        arguments = inner.get("input" if kind == "custom" else "arguments")
        regular = True
        if arguments is not None and not isinstance(arguments, str):
            arguments = json_text.dumps(arguments)
            self._fired("arguments_type")
            regular = False
        arguments = arguments or ""
        call = self._find(entry.get("index"), id_, name)
        if call is None:
            call = self._new(entry.get("index"))
            regular &= self._as_sent(entry, call, id_, name, kind)
            call.id, call.name = id_, name
        else:
            regular &= self._repeated(call, id_, name)
            regular &= self._indexed(entry, call)
        if arguments:
            call.add(arguments)
        if not call.started:
            if self._certain(call):
                self._start(call, choice, events, entry)
                return regular
            return False
        if arguments:
            events.append(ToolCallDelta(call.index, arguments, choice))
        return regular

    def _find(self, key: Any, id_: str, name: str) -> _Call | None:
        """The call that an entry goes on with; None for a new one."""
        if id_:
            for call in self._calls:
                if call.id == id_ and (call.key == key or not isinstance(key, int)):
                    return call
        if isinstance(key, int):
            at_key = [call for call in self._calls if call.key == key]
        else:
            at_key = [call for call in self._calls[-1:] if not (id_ and call.id)]
        if not at_key:
            return None
        call = at_key[-1]
        # a new id at an old index, or a name behind complete arguments: two calls share the index
        other_id = bool(id_ and call.id and id_ != call.id)
        if name and (other_id or (call.name and _complete(call.arguments))):
            return None
        return call

    def _new(self, key: Any) -> _Call:
        call = _Call(key if isinstance(key, int) else None, len(self._calls))
        self._calls.append(call)
        return call

    def _as_sent(self, entry: Mapping[str, Any], call: _Call, id_: str, name: str, kind: str) -> bool:
        """Whether the first delta of a call is as it should be."""
        right = self._indexed(entry, call)
        if entry.get("type") != kind:
            self._fired("tool_call_type")
            right = False
        return right and bool(id_) and bool(name)

    def _indexed(self, entry: Mapping[str, Any], call: _Call) -> bool:
        if entry.get("index") == call.index:
            return True
        self._fired("tool_call_index")
        return False

    def _repeated(self, call: _Call, id_: str, name: str) -> bool:
        """Takes in an id or name behind the first delta: late, split, or said again."""
        if id_:
            self._fired("tool_call_id")
            if not call.started:
                call.id = call.id or id_
        if name:
            self._fired("tool_call_name")
            if not call.started:
                joined = call.name + name
                repeated = name == call.name and joined not in self._tools.schemas
                call.name = call.name if repeated else joined
        return not id_ and not name

    def _certain(self, call: _Call) -> bool:
        """Whether id and name can be sent: the name is whole once arguments follow, or if no offered one begins with it.

        XX a name that is split where another offered name ends comes out as the shorter one: waiting there would change
        regular streams.
        """
        if not call.name or not (call.id or call.pieces):
            return False
        return bool(call.pieces) or call.name in self._tools.schemas or not self._begins_offered(call.name)

    def _begins_offered(self, name: str) -> bool:
        return any(offered.startswith(name) for offered in self._tools.schemas)

    def _start(self, call: _Call, choice: int, events: list[Event], entry: Mapping[str, Any] | None) -> None:
        if not call.id:
            call.id = self._new_id()
            self._fired("tool_call_id")
        call.started = True
        extra = {key: value for key, value in entry.items() if key not in _KNOWN_KEYS} if entry else None
        kind = "custom" if entry and isinstance(entry.get("custom"), Mapping) else "function"
        events.append(ToolCallStart(call.index, call.id, call.name, choice, kind, extra or None))  # type: ignore[arg-type]
        if call.pieces:
            events.append(ToolCallDelta(call.index, call.arguments, choice))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _complete(arguments: str) -> bool:
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        json_text.loads(arguments.encode())
    except (json_text.NotJSON, UnicodeEncodeError):
        return False
    return True
