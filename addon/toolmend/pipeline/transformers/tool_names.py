"""Gives calls the names and kinds that the client offered: the last transformer of a translated stream.

mcp__files__read  →  read, in the namespace mcp__files, as a client of Responses has it
get_weather_1f3a  →  a name of over 64 characters that the upstream would not take
apply_patch({"input": "*** Begin Patch …"})  →  apply_patch, custom, *** Begin Patch …          and the other way around
tool_search({"query": "calendar"})  →  the client's search for tools, whose arguments are sent in one piece
"""

from collections.abc import Callable, Mapping, Sequence

from ...apis.shared.freeform import FreeformInput, Unwrap
from ...apis.shared.freeform_readers import PatchReader, ScriptReader, freeform_reader
from ...core.builtin_tools import BY_KIND
from ...core.events import Event, Finish, Frame, Kind, MessageEnd, StreamError, ToolCallDelta, ToolCallEnd, ToolCallStart
from ...core.fastclass import replace
from .frame_queue import with_events


class _Gathered:
    """Holds arguments until they are complete."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, text: str) -> str:
        self._pieces.append(text)
        return ""

    def end(self, *, broken: bool = False) -> str:
        return "".join(self._pieces)


def _gathered(_name: str) -> _Gathered:
    return _Gathered()


type ArgumentConverter = Unwrap | PatchReader | ScriptReader | FreeformInput | _Gathered
"""Converts the arguments of a call to those of another kind."""

_CONVERTERS: Mapping[Kind, Callable[[str], ArgumentConverter]] = {
    "function": lambda _: FreeformInput(),
    "custom": freeform_reader,
}


class Naming:
    """Renames calls.

    Args:
        names: The upstream's name of a tool → the client's, where they differ.
        custom: The client's freeform tools.
        spaces: The client's flat name of a tool → its namespace and its name there: see tools.namespaces.
        search: The name of the client's search for tools, if it offers one.
        builtin: The tools that the client's API describes and the client runs.
        native: Native calls are renamed, too. If the upstream speaks the client's API, they are right.
    """

    def __init__(
        self,
        names: Mapping[str, str],
        custom: frozenset[str],
        spaces: Mapping[str, tuple[str, str]],
        search: str = "",
        *,
        builtin: frozenset[str] = frozenset(),
        native: bool = True,
    ) -> None:
        self._builtin = builtin
        self._names = names
        self._custom = custom
        self._spaces = spaces
        self._search = search
        self._native = native
        self._open: dict[tuple[int, int], ArgumentConverter] = {}  # calls of another kind, by choice and index

    @property
    def busy(self) -> bool:
        """Whether arguments of an open call are converted; else deltas pass."""
        return bool(self._open)

    def feed(self, frame: Frame) -> Sequence[Frame]:
        events: list[Event] = []
        for event in frame.events:
            self._event(event, events)
        return (with_events(frame, events),)

    def close(self) -> Sequence[Frame]:
        events = self._break_off()
        return (Frame(None, tuple(events), touched=True),) if events else ()

    def _event(self, event: Event, out: list[Event]) -> None:
        match event:
            case ToolCallStart():
                out.append(self._start(event))
                return
            case ToolCallDelta() if call := self._open.get((event.choice, event.index)):
                if arguments := call.feed(event.arguments):
                    out.append(replace(event, arguments=arguments))
                return
            case ToolCallEnd() if call := self._open.pop((event.choice, event.index), None):
                if arguments := call.end():
                    out.append(ToolCallDelta(event.index, arguments, event.choice))
            case Finish() if not self._native:  # in another API, calls may continue after it
                out += self._break_off(event.choice)
            case MessageEnd() | StreamError():
                out += self._break_off()
            case _:
                pass
        out.append(event)

    def _start(self, event: ToolCallStart) -> ToolCallStart:
        name = self._names.get(event.name, event.name)
        kind: Kind = "custom" if name in self._custom else "search" if name and name == self._search else "function"
        if name in self._builtin and self._native:
            kind = BY_KIND[name].kind
        self._open.pop((event.choice, event.index), None)
        if not (self._native or event.in_text):
            return event
        if kind != event.kind:
            self._open[event.choice, event.index] = _CONVERTERS.get(kind, _gathered)(name)
        extra = event.extra
        if place := self._spaces.get(name):
            name, extra = place[1], {**(extra or {}), "namespace": place[0]}
        if (name, kind, extra) == (event.name, event.kind, event.extra):
            return event
        return replace(event, name=name, kind=kind, extra=extra)

    def _break_off(self, choice: int | None = None) -> list[Event]:
        """Ends the incomplete calls of a choice (None: of all), and returns their rest."""
        keys = [key for key in self._open if choice in (None, key[0])]
        rests = [(key, self._open.pop(key).end(broken=True)) for key in keys]
        return [ToolCallDelta(index, arguments, choice) for (choice, index), arguments in rests if arguments]
