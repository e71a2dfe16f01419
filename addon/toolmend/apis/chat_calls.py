"""The tool calls of a Chat Completions stream, however irregular, as events.

A regular call is: one delta with `index` (0, 1, …), `id`, `type` and `function.name`, then deltas with `index` and
`function.arguments`. Every client reads that; each departure from it breaks one SDK or another, and each is mended here under
a name of its own. A delta that is regular leaves its frame untouched.

    {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": ""}}
    {"index": 0, "function": {"arguments": "{\\"zone\\""}}

Rule of this file: a call starts when its id and its whole name are known, and counts from then on; until then it is held. Behind
complete arguments there is nothing more (R12 of dialects.md): what still comes at their index is dropped, unless it is
another object with another value: that is a second call of the same tool.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import json_text
from ..events import Event, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from ..tools import Tools
from .arguments import Arguments

MAX_KEPT = 1024 * 1024
"""Characters of arguments that are kept: of calls that are held, and of others to tell whether they are sent twice."""

BROKEN_OFF = ("length", "content_filter", "error")
"""Finish reasons behind which an open call is not complete, whatever its arguments look like."""

_KNOWN_KEYS = frozenset({"index", "id", "type", "function", "custom"})


@dataclass(slots=True)
class _Call:
    """One call as it comes in. `key` and `said` are the index and the id that the upstream gives it, `index` is the client's."""

    key: int | None
    kind: Literal["function", "custom"] = "function"
    said: str = ""
    name: str = ""
    index: int = -1  # until it starts
    extra: dict[str, Any] = field(default_factory=dict)
    body: Arguments = field(default_factory=Arguments)
    pieces: list[str] = field(default_factory=list)  # of the arguments
    begun: bool = False  # some of the arguments came
    ended: bool = False
    lost: bool = False  # its name is missing, and too much is held for it
    repeated: bool = False  # it may be the name of the one before, said again
    twin: "_Call | None" = None  # what comes behind the arguments

    @property
    def started(self) -> bool:
        return self.index >= 0

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Calls:
    """The calls of one choice. Methods return the events, and whether the upstream spells them as a regular stream would."""

    def __init__(self, tools: Tools, choice: int, new_id: Callable[[], str], fired: Callable[[str], None]) -> None:
        self._tools = tools
        self._choice = choice
        self._new_id = new_id
        self._fired = fired
        self._calls: list[_Call] = []
        self._started = 0
        self._ids: set[str] = set()
        self._kept = 0

    def feed(self, entries: list[Any]) -> tuple[list[Event], bool]:
        """One delta's `tool_calls`."""
        events: list[Event] = []
        regular = True
        for entry in entries:
            if isinstance(entry, Mapping):
                regular &= self._entry(entry, events)
            else:
                regular = self._mended("tool_call_type")
        return events, regular

    def more(self, key: int, arguments: str) -> tuple[list[Event], bool]:
        """A delta that holds nothing but a piece of the arguments of the call at an index."""
        call = self._latest(key)
        if call is None or call.index != key:
            return self.feed([{"index": key, "function": {"arguments": arguments}}])
        events: list[Event] = []
        return events, self._take(call, arguments, events)

    def close(self, reason: str) -> tuple[list[Event], bool]:
        """The end of the choice: what was held comes now, and calls without arguments get `{}`, if it is a good end."""
        broken = reason in BROKEN_OFF
        events: list[Event] = []
        for call in self._calls:
            if not call.started and call.body.complete and not call.name:
                call.name = self._name_for(call.arguments)
            if not call.started and not call.repeated and call.name and (call.begun or not broken):
                self._start(call, events)
            if call.started and not call.ended:
                self._end(call, events, broken=broken)
            elif not call.started and call.pieces:
                events.append(TextDelta(call.arguments, self._choice))
        self._calls = [call for call in self._calls if call.started]
        return events, all(isinstance(event, ToolCallEnd) for event in events)

    def _end(self, call: _Call, events: list[Event], *, broken: bool) -> None:
        rest = call.body.end(broken=broken) if call.kind == "function" else ""
        if rest:
            self._fired("arguments")
            call.pieces.append(rest)
            events.append(ToolCallDelta(call.index, rest, self._choice))
        if not broken:
            call.ended = True
            events.append(ToolCallEnd(call.index, self._choice))

    def _entry(self, entry: Mapping[str, Any], events: list[Event]) -> bool:
        kind: Literal["function", "custom"] = "custom" if isinstance(entry.get("custom"), Mapping) else "function"
        inner = entry.get(kind)
        inner = inner if isinstance(inner, Mapping) else {}
        id_, name, key = _text(entry.get("id")), _text(inner.get("name")), entry.get("index")
        arguments = inner.get("input" if kind == "custom" else "arguments", "")
        regular = True
        if not isinstance(arguments, str):
            arguments = _as_text(arguments)
            regular = self._mended("arguments_type")
        call = self._find(key, id_, name)
        if call is None:
            if not (id_ or name or arguments.strip()):
                return False  # it says nothing
            call = _Call(key if isinstance(key, int) else None, kind, id_, name)
            before = self._latest(call.key)
            call.repeated = bool(before and not id_ and before.name == name)
            self._calls.append(call)
            opens = True
        else:
            opens = False
            regular &= self._said_again(call, id_, name)
        if not call.started:
            call.extra.update((name, value) for name, value in entry.items() if name not in _KNOWN_KEYS)
        regular &= self._take(call, arguments, events)
        if not call.started and not call.lost and self._certain(call):
            regular &= self._start(call, events)
            regular &= opens and call.arguments == arguments
            if entry.get("type") != kind:
                regular = self._mended("tool_call_type")
        if call.started and key != call.index:
            regular = self._mended("tool_call_index")
        return regular and call.started

    def _find(self, key: Any, id_: str, name: str) -> _Call | None:
        """The call that an entry goes on with; None for a new one."""
        for call in reversed(self._calls) if id_ else ():
            if call.said == id_:
                if key == call.key or not isinstance(key, int):
                    return call
                if not call.body.complete and name in ("", call.name):  # the index is wrong
                    return call
                break  # the id is wrong
        call = self._latest(key if isinstance(key, int) else None)
        if call is None:
            # an index that nobody has announced: it is wrong, if a call is open
            is_open = not (id_ or name) and self._calls and not self._calls[-1].body.complete
            return self._calls[-1] if is_open else None
        if id_ and call.said and id_ != call.said:
            return None if name or call.body.complete else call
        if name and call.name:
            offered = self._tools.schemas
            other = name != call.name and name in offered and call.name in offered and call.name + name not in offered
            return None if other or call.body.complete else call
        return call

    def _latest(self, key: int | None) -> _Call | None:
        """The last call at an index of the upstream's; of all, where it says none."""
        for call in reversed(self._calls):
            if key is None or call.key == key:
                return call
        return None

    def _said_again(self, call: _Call, id_: str, name: str) -> bool:
        """Takes in an id or name behind the first delta: late, split, or said again."""
        if id_:
            self._fired("tool_call_id")
            call.said = call.said or id_
        if name:
            self._fired("tool_call_name")
            joined = call.name + name
            if name != call.name or self._bare(joined) in self._tools.schemas:
                call.name = call.name if call.started else joined
        return not id_ and not name

    def _certain(self, call: _Call) -> bool:
        """Whether id and name can be sent: the name is whole once arguments follow, or if no offered one begins with it.

        XX a name that is split where another offered name ends comes out as the shorter one: waiting there would change
        regular streams.
        """
        name = self._bare(call.name)
        if not name or not (call.said or call.begun):
            return False
        return call.begun or name in self._tools.schemas or not self._begins_offered(call.name.strip())

    def _begins_offered(self, name: str) -> bool:
        prefix = "functions."
        bare = name.removeprefix(prefix)
        return any(offered.startswith((name, bare)) or prefix.startswith(name) for offered in self._tools.schemas)

    def _bare(self, name: str) -> str:
        """A name without what models and their parsers leave around it (R2, R17)."""
        name = name.partition("<|")[0].strip()
        bare = name.removeprefix("functions.")
        return bare if bare in self._tools.schemas and name not in self._tools.schemas else name

    def _name_for(self, arguments: str) -> str:
        """The one offered tool that arguments without a name fit."""
        value = _value(arguments)
        fitting = self._tools.fitting(value) if isinstance(value, dict) else []
        return fitting[0] if len(fitting) == 1 else ""

    def _start(self, call: _Call, events: list[Event]) -> bool:
        """Starts a call. Whether its id and name are as the upstream says them."""
        regular = True
        name, id_ = self._bare(call.name), call.said
        if name != call.name:
            regular = self._mended("tool_call_name")
        if not id_ or id_ in self._ids:
            id_ = self._new_id()
            regular = self._mended("tool_call_id")
        self._ids.add(id_)
        call.index = self._started
        self._started += 1
        events.append(ToolCallStart(call.index, id_, name, self._choice, call.kind, call.extra or None))
        if call.pieces:
            events.append(ToolCallDelta(call.index, call.arguments, self._choice))
        self._told(call, events)
        return regular

    def _told(self, call: _Call, events: list[Event]) -> None:
        if call.body.complete and not call.ended:
            call.ended = True
            events.append(ToolCallEnd(call.index, self._choice))

    def _take(self, call: _Call, arguments: str, events: list[Event]) -> bool:
        """The next piece of a call's arguments. Whether it is what the client gets."""
        if not arguments:
            return not call.body.complete or self._mended("arguments")
        call.begun = call.begun or not arguments.isspace()
        sent, behind = call.body.feed(arguments) if call.kind == "function" else (arguments, "")
        if sent:
            self._keep(call, sent)
            if call.started:
                events.append(ToolCallDelta(call.index, sent, self._choice))
            elif call.lost or len(call.arguments) > MAX_KEPT:
                self._lose(call, events)
        if call.started:
            self._told(call, events)
        if behind:
            self._behind(call, behind, events)
        return sent == arguments or self._mended("arguments")

    def _behind(self, call: _Call, text: str, events: list[Event]) -> None:
        """Something comes behind complete arguments."""
        if not call.started:
            return
        twin = call.twin = call.twin or _Call(call.key, name=call.name)
        sent, behind = twin.body.feed(text)
        if len(twin.pieces) < MAX_KEPT:
            twin.pieces.append(sent)
        if not twin.body.complete:
            return
        call.twin = None
        if call.pieces and _value(twin.arguments) not in (None, _value(call.arguments)):
            self._fired("tool_call_index")
            self._calls.append(twin)
            self._start(twin, events)
            call = twin
        if behind:
            self._behind(call, behind, events)

    def _keep(self, call: _Call, text: str) -> None:
        call.pieces.append(text)
        self._kept += len(text)
        if self._kept > MAX_KEPT:
            for other in self._calls:
                if other.started:
                    other.pieces.clear()
            self._kept = sum(len(other.arguments) for other in self._calls)

    def _lose(self, call: _Call, events: list[Event]) -> None:
        """Too much is held for a call without a name: it is text."""
        call.lost = True
        events.append(TextDelta(call.arguments, self._choice))
        call.pieces.clear()

    def _mended(self, rule: str) -> bool:
        """A rule fires; what it is about is not regular."""
        self._fired(rule)
        return False


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _as_text(value: Any) -> str:
    """Arguments that are no string: pieces of the text, or a value. None and `{}` may be followed by the real ones."""
    if isinstance(value, list) and all(isinstance(piece, str) for piece in value):
        return "".join(value)
    return json_text.dumps(value) if value not in (None, {}) else ""


def _value(text: str) -> Any:
    """What a JSON text says; None where it is none."""
    try:
        return json_text.loads(text.encode())
    except (json_text.NotJSON, UnicodeEncodeError):
        return None
