"""The tool calls of a Chat Completions stream, however irregular, as events.

A regular call is: one delta with `index` (0, 1, …), `id`, `type` and `function.name`, then deltas with `index` and
`function.arguments`. Every client reads that; each departure from it breaks one SDK or another, and each is mended here
under a name of its own. A delta that is regular leaves its frame untouched.

    {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": ""}}
    {"index": 0, "function": {"arguments": "{\\"zone\\""}}

Rule of this file: a call starts when its id and its whole name are known, and counts from then on; until then it is
held. Behind complete arguments there is nothing more (R12 of dialect-rules.md): what still comes at their index is dropped,
unless it is another object: that is a second call of the same tool.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from ...core import json_text
from ...core.events import Event, ReasoningSeal, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from ...core.reasoning_state import ReasoningState
from ...core.text_state import ROOM
from ...core.tools import Tools
from ..shared.call_identity import (
    INNER,
    CallState,
    bare,
    find,
    inner_of,
    is_other,
    joined,
    latest,
    may_go_on,
    only_fitting,
    text_of,
)
from ..shared.indices import index_of, is_index
from ..shared.named_arguments import named_arguments

MAX_KEPT = 1024 * 1024
"""Characters of arguments that are kept: of calls that are held, and of others to tell whether they are sent twice."""

MAX_OPEN = 256
"""Calls of a choice that a delta can speak of: the last ones."""

BROKEN_OFF = ("length", "content_filter", "error")
"""Finish reasons behind which a call without arguments is not one that needs none."""

_CALLED = ("tool_calls", "function_call")

PROOF = "extra_content"
"""Where Gemini has what it wants back with a call: {"google": {"thought_signature": "…"}}, on Vertex {"vertex": …}."""

_KNOWN_KEYS = frozenset({"index", "id", "type", "function", "custom", *INNER})


class Calls:
    """The calls of one choice. Methods return events, and whether the upstream spells them as is regular.

    `patient`: a call may wait until its id and name are certain, however regular it is; all is written anew, so what the upstream
    wants back with it is told as a seal. `repairs`: arguments that are no JSON are made such.
    """

    def __init__(
        self,
        tools: Tools,
        choice: int,
        new_id: Callable[[], str],
        fired: Callable[[str], None],
        *,
        patient: bool = False,
        repairs: bool = True,
    ) -> None:
        self._tools = tools
        self._patient = patient
        self._repairs = repairs
        self._choice = choice
        self._new_id = new_id
        self._fired = fired
        self._calls: list[CallState] = []
        self._new: list[CallState] = []  # of the last delta
        self._started = 0
        self._ids: set[str] = set()
        self._kept = 0
        self._last = False

    def feed(self, entries: list[Any], *, last: bool = False) -> tuple[list[Event], bool]:
        """One delta's `tool_calls`; `last`: nothing comes behind them."""
        events: list[Event] = []
        regular = True
        self._last = last
        for call in self._new:
            call.known = True
        self._new.clear()
        for entry in entries:
            if isinstance(entry, Mapping):
                regular &= self._entry(entry, events)
            else:
                regular = self._mended("tool_call_type")
        return events, regular

    def more(self, key: int, arguments: str) -> tuple[list[Event], bool]:
        """A delta that holds nothing but a piece of the arguments of the call at an index."""
        call = latest(self._calls, key)
        if call is None or call.index != key:
            return self.feed([{"index": key, "function": {"arguments": arguments}}])
        events: list[Event] = []
        return events, self._take(call, arguments, events)

    def flows(self, key: int, entry: Mapping[str, Any] | None = None) -> bool:
        """Whether what stays in a string of the arguments of the call at an index passes, a room-ful of it and more.

        `entry`: each delta is one like this, which is not regular.
        """
        if entry is None:
            call = latest(self._calls, key)
            begun = call is not None and call.index == key
        else:
            id_, name = (text if isinstance(text, str) else "" for text in (entry.get("id"), entry["function"].get("name")))
            call = find(self._calls, self._tools, index_of(entry.get("index"), None), id_, name, "")
            begun = call is not None and call.started
        plain = call is not None and begun and not call.lost and call.kind == "function" and call.body.in_string
        return plain and self._kept + ROOM <= MAX_KEPT

    @property
    def complete(self) -> bool:
        """Whether there are calls, and nothing more of them is to come."""
        return bool(self._calls) and all(call.ended for call in self._calls)

    @property
    def lacks(self) -> bool:
        """Whether there is a call without the arguments that its tool requires."""
        return any(not call.begun and self._tools.requires(bare(call.name, self._tools)) for call in self._calls)

    def settle(self, before: CallState | None = None) -> list[Event]:
        """Something else is said, or the call `before`: calls that have their name wait no longer, for order's sake."""
        events: list[Event] = []
        for call in self._calls:
            if call is before:
                break
            self._is_empty(call, events)
            if call.started or call.lost or call.repeated:
                continue
            whole = call.begun or not may_go_on(call.name, self._tools)
            if whole and bare(call.name, self._tools):
                self._start(call, events)
        return events

    def close(self, reason: str, *, wait: bool = False, last: bool = False) -> tuple[list[Event], bool]:
        """The end of the choice: what was held comes now, and calls without arguments get `{}`, if it is a good end.

        `wait`: their arguments may come behind it, and until it is closed again they are left alone. `last`: no more of the
        others comes, so brackets that they lack are added if they are why it ends.
        """
        broken = reason in BROKEN_OFF
        wait = wait and not broken
        events: list[Event] = []
        for call in self._calls:
            if wait and not call.begun:
                continue
            if not (call.started or call.lost or call.repeated):
                arguments = call.arguments
                if not bare(call.name, self._tools):
                    self._fired("tool_call_name")
                    call.name = only_fitting(arguments, self._tools)
                if call.name and (call.begun or not broken):
                    self._start(call, events)
                elif arguments:
                    events.append(TextDelta(arguments, self._choice))
            if call.started and not call.ended:
                self._end(call, events, broken=broken, last=last and reason in _CALLED)
        self._calls = [call for call in self._calls if call.started or (wait and not call.begun)]
        return events, all(isinstance(event, ToolCallEnd) for event in events)

    def _end(self, call: CallState, events: list[Event], *, broken: bool, last: bool) -> None:
        self._is_empty(call, events)
        rest = call.body.end(broken=broken) if call.kind == "function" else ""
        if last and not rest and call.kind == "function":
            rest = call.body.closing(call.arguments, self._tools, bare(call.name, self._tools))
        if rest:
            self._fired(call.body.rule)
            events.append(ToolCallDelta(call.index, rest, self._choice))
        if broken:
            call.ended = True  # as far as we are concerned
        elif call.body.complete or call.kind == "custom":
            call.ended = True
            events.append(ToolCallEnd(call.index, self._choice))

    def _entry(self, entry: Mapping[str, Any], events: list[Event]) -> bool:
        kind: Literal["function", "custom"] = "custom" if isinstance(entry.get("custom"), Mapping) else "function"
        inner, regular = inner_of(entry, kind)
        if not regular:
            self._fired("tool_calls")
        index = entry.get("index")
        key = index_of(index, None)
        id_, name = entry.get("id") or "", inner.get("name") or ""
        arguments = inner.get("input" if kind == "custom" else "arguments", "")
        if not isinstance(id_, str):
            id_, regular = "", self._mended("tool_call_id")
        if not isinstance(name, str):
            name, regular = "", self._mended("tool_call_name")
        if not isinstance(arguments, str):
            arguments = text_of(arguments)
            regular = self._mended("arguments_type")
        call = find(self._calls, self._tools, key, id_, name, arguments)
        new = call is None
        if call is None:
            if not (id_ or name or arguments.strip()):
                return self._mended("tool_call_name")  # it says nothing
            before = latest(self._calls, key)
            call = CallState(key, kind, id_, name, repeated=bool(before and not id_ and before.name == name))
            self._add(call)
        elif not (id_ or name or arguments or isinstance(entry.get(kind), Mapping)) and entry.keys() <= _KNOWN_KEYS:
            return self._mended("tool_call_name")  # nor does it
        else:
            regular &= self._repeated_header(call, id_, name)
            if entry.get("id") == "":  # DashScope, in each delta: clients take it for another call's (opencode#40969)
                regular = self._mended("tool_call_id")
            if inner.get("name") == "":
                regular = self._mended("tool_call_name")
        call.begun = call.begun or not (arguments.isspace() or not arguments)
        call.repeated = call.repeated and not call.begun
        if not call.started:
            call.extra.update((key, value) for key, value in entry.items() if key not in _KNOWN_KEYS)
            if not self._certain(call):
                self._take(call, arguments, events)
                return self._mended("tool_call_name" if call.said else "tool_call_id")
            regular &= self._start(call, events) and new
            if new and entry.get("type") != kind:
                regular = self._mended("tool_call_type")
        elif entry.get("type", kind) != kind:  # null, of who writes all members
            regular = self._mended("tool_call_type")
        regular &= self._take(call, arguments, events)
        return regular if is_index(index) and index == call.index else self._mended("tool_call_index")

    def _add(self, call: CallState) -> None:
        self._calls.append(call)
        self._new.append(call)
        if len(self._calls) > MAX_OPEN:
            del self._calls[0]

    def _repeated_header(self, call: CallState, id_: str, name: str) -> bool:
        """Takes in an id or name behind the first delta: late, split, or said again."""
        if id_:
            self._fired("tool_call_id")
            call.said = call.said or id_
        if name:
            self._fired("tool_call_name")
            call.renamed = True
            call.name = call.name if call.started else joined(call.name, name, self._tools)
        return not id_ and not name

    def _certain(self, call: CallState) -> bool:
        """Whether id and name can be sent: a name is whole once arguments follow, or if no longer one is offered.

        An id that is late is waited for until something else is said, by the patient.

        XX a name that is split where another offered name ends comes out as the shorter one, but for the patient:
        waiting there would change regular streams.
        """
        if call.lost or not bare(call.name, self._tools):
            return False
        if self._patient and not call.said:
            return False
        return call.begun or (bool(call.said) and not may_go_on(call.name, self._tools, further=self._patient))

    def _start(self, call: CallState, events: list[Event]) -> bool:
        """Starts a call. Whether its id and name are as the upstream says them."""
        regular = True
        name, id_ = bare(call.name, self._tools), call.said
        if name != call.name:
            regular = self._mended("tool_call_name")
            call.body.named = named_arguments(call.name, name, self._tools)
        if not id_ or id_ in self._ids:
            id_ = self._new_id()
            regular = self._mended("tool_call_id")
        self._ids.add(id_)
        events += self.settle(call)
        call.index = self._started
        self._started += 1
        if self._patient and isinstance(proof := call.extra.get(PROOF), Mapping) and proof:
            events.append(ReasoningSeal(ReasoningState("call", json_text.dumps({"id": id_, PROOF: proof})), self._choice))
        events.append(ToolCallStart(call.index, id_, name, self._choice, call.kind, call.extra or None))
        if held := call.arguments:
            events.append(ToolCallDelta(call.index, held, self._choice))
        self._emit_end(call, events)
        return regular

    def _emit_end(self, call: CallState, events: list[Event]) -> None:
        if call.started and call.body.complete and not call.ended:
            call.ended = True
            events.append(ToolCallEnd(call.index, self._choice))

    def _take(self, call: CallState, arguments: str, events: list[Event]) -> bool:
        """The next piece of a call's arguments. Whether it is what the client gets."""
        if not arguments:
            return not call.body.complete or self._mended("arguments")
        if call.lost:
            events.append(TextDelta(arguments, self._choice))
            return False
        plain = call.kind == "function"
        fresh = call.unsaid(arguments) if plain and not call.body.waits else arguments
        if not call.text.tell():
            name = bare(call.name, self._tools)
            call.body.demands, call.body.as_is = self._tools.requires(name), not self._repairs
            call.body.named = named_arguments(call.name, name, self._tools) if name != call.name else ""
        sent, behind = call.body.feed(fresh) if fresh and plain else (fresh, "")
        if self._last:
            sent += call.body.settle()
        self._emit(call, sent, events)
        if behind and call.started:
            self._behind(call, behind, events)
        return sent == arguments or self._mended(call.body.rule if fresh == arguments else "arguments")

    def _is_empty(self, call: CallState, events: list[Event]) -> None:
        """If `{}` came for it, that was all."""
        self._emit(call, call.body.settle(), events)

    def _emit(self, call: CallState, sent: str, events: list[Event]) -> None:
        """Arguments that are the client's, once the call has started; and the end, if that was all."""
        if sent:
            if call.started:
                events.append(ToolCallDelta(call.index, sent, self._choice))
            self._keep(call, sent, events)
        self._emit_end(call, events)

    def _behind(self, call: CallState, text: str, events: list[Event]) -> None:
        """Something comes behind complete arguments: nothing counts there but an object."""
        for arguments in call.behind.feed(text):
            if call.arguments and is_other(arguments, call.arguments):
                self._fired("tool_call_index")
                call = CallState(call.key, name=call.name, renamed=call.renamed, behind=call.behind)
                call.body.feed(arguments)
                self._keep(call, arguments, events)
                self._add(call)
                self._start(call, events)

    def _keep(self, call: CallState, text: str, events: list[Event]) -> None:
        call.text.write(text)
        self._kept += len(text)
        if self._kept > MAX_KEPT:
            self._forget(events)

    def _forget(self, events: list[Event]) -> None:
        """Too much is kept. What was held for calls that have no name yet is text; one without an id has waited enough."""
        self._kept = 0
        events += self.settle()
        for call in self._calls:
            if not call.started and call.arguments:
                self._fired("hold_limit")
                call.lost = True
                events.append(TextDelta(call.arguments, self._choice))
            call.forget()

    def _mended(self, rule: str) -> bool:
        """A rule fires; what it is about is not regular."""
        self._fired(rule)
        return False
