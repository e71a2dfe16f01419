"""The tool calls of a Chat Completions stream, however irregular, as events.

A regular call is: one delta with `index` (0, 1, …), `id`, `type` and `function.name`, then deltas with `index` and
`function.arguments`. Every client reads that; each departure from it breaks one SDK or another, and each is mended here
under a name of its own. A delta that is regular leaves its frame untouched.

    {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": ""}}
    {"index": 0, "function": {"arguments": "{\\"zone\\""}}

1. A call starts when its id and its whole name are known, and counts from then on; until then it is held.
2. After complete arguments (R12 of dialect-rules.md), more text at the same index is dropped, unless it is another object: that
   is a second call of the same tool.
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
    find_call,
    inner_of,
    is_other,
    join_name,
    latest_call,
    may_continue,
    offered_name,
    only_fitting,
    text_of,
)
from ..shared.named_arguments import named_arguments
from ..shared.numbers import index_of, is_index

MAX_KEPT = 1024 * 1024
"""Characters of arguments that are kept: of held calls, and of others to detect repetition."""

MAX_OPEN = 256
"""Calls of a choice that a delta can refer to: the last ones."""

BROKEN_OFF = ("length", "content_filter", "error")
"""Finish reasons after which a call without arguments is incomplete."""

_CALLED = ("tool_calls", "function_call")

PROOF = "extra_content"
"""The member with what Gemini wants back with a call: {"google": {"thought_signature": "…"}}, on Vertex {"vertex": …}."""

_KNOWN_KEYS = frozenset({"index", "id", "type", "function", "custom", *INNER})


class Calls:
    """The calls of one choice. Most methods return events, and whether the upstream's own spelling of them is regular.

    `patient`: the output is written from events alone, so a call may wait until its id and name are certain, and what the
    upstream wants back with a call becomes a seal. `repairs`: arguments that are not JSON are repaired.
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
        self._new: list[CallState] = []  # calls of the last delta
        self._started = 0
        self._ids: set[str] = set()
        self._kept = 0
        self._last = False

    def feed(self, entries: list[Any], *, last: bool = False) -> tuple[list[Event], bool]:
        """Takes the `tool_calls` of one delta. `last`: no more deltas follow."""
        events: list[Event] = []
        regular = True
        self._last = last
        for call in self._new:
            call.seen_before = True
        self._new.clear()
        for entry in entries:
            if isinstance(entry, Mapping):
                regular &= self._entry(entry, events)
            else:
                regular = self._mended("tool_call_type")
        return events, regular

    def more(self, key: int, arguments: str) -> tuple[list[Event], bool]:
        """Takes a delta that holds only a piece of the arguments of the call at an index."""
        call = latest_call(self._calls, key)
        if call is None or call.index != key:
            return self.feed([{"index": key, "function": {"arguments": arguments}}])
        events: list[Event] = []
        return events, self._take(call, arguments, events)

    def supports_run(self, key: int, entry: Mapping[str, Any] | None = None) -> bool:
        """Whether at least ROOM characters inside a string of a call's arguments would pass unchanged.

        `entry`: the irregular entry that each of these deltas has.
        """
        if entry is None:
            call = latest_call(self._calls, key)
            begun = call is not None and call.index == key
        else:
            id_, name = (text if isinstance(text, str) else "" for text in (entry.get("id"), entry["function"].get("name")))
            call = find_call(self._calls, self._tools, index_of(entry.get("index"), None), id_, name, "")
            begun = call is not None and call.started
        plain = call is not None and begun and not call.became_text and call.kind == "function" and call.body.in_string
        return plain and self._kept + ROOM <= MAX_KEPT

    @property
    def complete(self) -> bool:
        """Whether there are calls, and all are complete."""
        return bool(self._calls) and all(call.ended for call in self._calls)

    @property
    def lacks(self) -> bool:
        """Whether a call lacks the arguments that its tool requires."""
        return any(not call.begun and self._tools.requires(offered_name(call.name, self._tools)) for call in self._calls)

    def settle(self, before: CallState | None = None) -> list[Event]:
        """Starts the calls that have their name, because other content follows, or the call `before`: the order must stay."""
        events: list[Event] = []
        for call in self._calls:
            if call is before:
                break
            self._is_empty(call, events)
            if call.started or call.became_text or call.repeated:
                continue
            whole = call.begun or not may_continue(call.name, self._tools)
            if whole and offered_name(call.name, self._tools):
                self._start(call, events)
        return events

    def close(self, reason: str, *, wait: bool = False, last: bool = False) -> tuple[list[Event], bool]:
        """Ends the choice: starts held calls, and completes calls without arguments by `{}` unless they were broken off.

        Args:
            reason: The finish reason; "" if there is none.
            wait: The arguments of calls without any may still follow; these calls stay open until the next `close`.
            last: No more arguments of the other calls follow, so missing brackets are added if the reason is a call.

        Returns:
            The events, and whether all of them are ends of calls.
        """
        broken = reason in BROKEN_OFF
        wait = wait and not broken
        events: list[Event] = []
        for call in self._calls:
            if wait and not call.begun:
                continue
            if not (call.started or call.became_text or call.repeated):
                arguments = call.arguments
                if not offered_name(call.name, self._tools):
                    self._fired("tool_call_name")
                    call.name = only_fitting(arguments, self._tools)
                if call.name and (call.begun or not broken):
                    self._start(call, events)
                elif arguments:
                    events.append(TextDelta(arguments, self._choice))
            if call.started and not call.ended:
                self._end(call, events, broken=broken, last=last and reason in _CALLED)
            if call.started and not broken and (found := call.trailing.end()):
                self._further_calls(call, found, events)
        self._calls = [call for call in self._calls if call.started or (wait and not call.begun)]
        return events, all(isinstance(event, ToolCallEnd) for event in events)

    def _end(self, call: CallState, events: list[Event], *, broken: bool, last: bool) -> None:
        self._is_empty(call, events)
        rest = call.body.end(broken=broken) if call.kind == "function" else ""
        if last and not rest and call.kind == "function":
            rest = call.body.closing(call.arguments, self._tools, offered_name(call.name, self._tools))
        if rest:
            self._fired(call.body.rule)
            events.append(ToolCallDelta(call.index, rest, self._choice))
        if broken:
            call.ended = True  # no end is sent, and nothing more is accepted
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
        call = find_call(self._calls, self._tools, key, id_, name, arguments)
        new = call is None
        if call is None:
            if not (id_ or name or arguments.strip()):
                return self._mended("tool_call_name")  # it is empty
            before = latest_call(self._calls, key)
            call = CallState(key, kind, id_, name, repeated=bool(before and not id_ and before.name == name))
            self._add(call)
        elif not (id_ or name or arguments or isinstance(entry.get(kind), Mapping)) and entry.keys() <= _KNOWN_KEYS:
            return self._mended("tool_call_name")  # so is this
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
                return self._mended("tool_call_name" if call.upstream_id else "tool_call_id")
            regular &= self._start(call, events) and new
            if new and entry.get("type") != kind:
                regular = self._mended("tool_call_type")
        elif entry.get("type", kind) != kind:  # null, sent by serialisers that write all members
            regular = self._mended("tool_call_type")
        regular &= self._take(call, arguments, events)
        return regular if is_index(index) and index == call.index else self._mended("tool_call_index")

    def _add(self, call: CallState) -> None:
        self._calls.append(call)
        self._new.append(call)
        if len(self._calls) > MAX_OPEN:
            del self._calls[0]

    def _repeated_header(self, call: CallState, id_: str, name: str) -> bool:
        """Records an id or name after the first delta: late, split, or repeated."""
        if id_:
            self._fired("tool_call_id")
            call.upstream_id = call.upstream_id or id_
        if name:
            self._fired("tool_call_name")
            call.renamed = True
            call.name = call.name if call.started else join_name(call.name, name, self._tools)
        return not id_ and not name

    def _certain(self, call: CallState) -> bool:
        """Whether id and name can be sent: a name is whole once arguments follow, or if no longer name is offered.

        With `patient`, a late id is awaited until other content follows.

        XX without `patient`, a name that is split where another offered name ends is sent as the shorter one: waiting would
        change
        regular streams.
        """
        if call.became_text or not offered_name(call.name, self._tools):
            return False
        if self._patient and not call.upstream_id:
            return False
        return call.begun or (bool(call.upstream_id) and not may_continue(call.name, self._tools, further=self._patient))

    def _start(self, call: CallState, events: list[Event]) -> bool:
        """Starts a call. Returns whether its id and name are the upstream's own."""
        regular = True
        name, id_ = offered_name(call.name, self._tools), call.upstream_id
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
        """Takes the next piece of a call's arguments. Returns whether the client gets it unchanged."""
        if not arguments:
            return not call.body.complete or self._mended("arguments")
        if call.became_text:
            events.append(TextDelta(arguments, self._choice))
            return False
        plain = call.kind == "function"
        new_text = call.without_repetition(arguments) if plain and not call.body.waits else arguments
        if not call.text.tell():
            name = offered_name(call.name, self._tools)
            call.body.demands, call.body.as_is = self._tools.requires(name), not self._repairs
            call.body.named = named_arguments(call.name, name, self._tools) if name != call.name else ""
        sent, trailing = call.body.feed(new_text) if new_text and plain else (new_text, "")
        if self._last:
            sent += call.body.settle()
        self._emit(call, sent, events)
        if trailing and call.started:
            self._trailing(call, trailing, events)
        return sent == arguments or self._mended(call.body.rule if new_text == arguments else "arguments")

    def _is_empty(self, call: CallState, events: list[Event]) -> None:
        """Emits a complete `{}` that was held."""
        self._emit(call, call.body.settle(), events)

    def _emit(self, call: CallState, sent: str, events: list[Event]) -> None:
        """Emits arguments if the call has started, and its end if they are complete."""
        if sent:
            if call.started:
                events.append(ToolCallDelta(call.index, sent, self._choice))
            self._keep(call, sent, events)
        self._emit_end(call, events)

    def _trailing(self, call: CallState, text: str, events: list[Event]) -> None:
        """Takes text after complete arguments: only another object counts, as another call."""
        self._further_calls(call, call.trailing.feed(text), events)

    def _further_calls(self, call: CallState, found: list[str], events: list[Event]) -> None:
        """Starts calls for the objects after the arguments of a call."""
        for arguments in found:
            if call.arguments and is_other(arguments, call.arguments):
                self._fired("tool_call_index")
                call = CallState(call.key, name=call.name, renamed=call.renamed, trailing=call.trailing)
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
        """Frees the memory. Held calls without a name become text; those without an id start with a new one."""
        self._kept = 0
        events += self.settle()
        for call in self._calls:
            if not call.started and call.arguments:
                self._fired("hold_limit")
                call.became_text = True
                events.append(TextDelta(call.arguments, self._choice))
            call.forget()

    def _mended(self, rule: str) -> bool:
        """Reports a rule. Returns False: what it names is not regular."""
        self._fired(rule)
        return False
