"""Which call a delta belongs to, and its tool: found by index, id and name, any of them missing or wrong.

The offered tools decide: an offered name is complete, and pieces that join to an offered name are one name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from io import StringIO
from typing import Any, Literal

from ...core import json_text
from ...core.fastclass import mutable
from ...core.tools import Tools
from .arguments import Arguments
from .trailing_json import TrailingJson

INNER = ("name", "arguments", "parameters", "input")
"""Members of a call's `function`; some providers put them next to it."""

_PREFIXES = ("functions.", "default_api.", "default_api:")
"""Modules that a model's template puts its tools in: OpenAI's and Moonshot's, and Google's."""

_NO_NAME = re.compile(r"[<>({\"'\n]")
"""What ends a name: markup or arguments begin with it."""

_NO_END = re.compile(r'\s*\{\s*"\s*[^\s:,}\]]')
"""The beginning of an object whose first quote cannot end a string, because no valid continuation follows."""


@mutable
class CallState:
    """A call as received. `key` and `upstream_id` are the upstream's index and id, `index` is the client's."""

    key: int | None
    kind: Literal["function", "custom"] = "function"
    upstream_id: str = ""
    name: str = ""
    index: int = -1  # until it starts
    extra: dict[str, Any] = field(default_factory=dict)
    body: Arguments = field(default_factory=Arguments)
    text: StringIO = field(default_factory=StringIO)  # the arguments; empty if they are too long
    begun: bool = False  # arguments were received
    ended: bool = False
    renamed: bool = False  # its name was repeated
    repeated: bool = False  # it may only repeat the name of the call before
    became_text: bool = False  # its name is missing, and too much was held for it
    cumulative: bool = False  # each piece repeats all arguments so far
    seen_before: bool = False  # it began in an earlier delta
    trailing: TrailingJson = field(default_factory=TrailingJson)

    @property
    def started(self) -> bool:
        return self.index >= 0

    @property
    def arguments(self) -> str:
        return self.text.getvalue()

    def without_repetition(self, arguments: str) -> str:
        """Removes from a piece of arguments a repetition of all before it (hermes-agent#35592).

        A repetition is certain if JSON cannot continue like that, or if one was before.
        """
        size = self.text.tell()
        if not size or len(arguments) < size or self.body.complete:  # nearly all pieces
            return arguments
        if self.body.holds and not self.cumulative:  # `text` is not all that was received, so it proves nothing
            return arguments
        before = self.arguments
        if not before.lstrip().startswith("{") or not arguments.startswith(before):
            return arguments
        may_continue = not _NO_END.match(arguments) if self.body.within_string else before.rstrip()[-1] in ":[,"
        self.cumulative = self.cumulative or not may_continue
        return arguments[size:] if self.cumulative else arguments

    def forget(self) -> None:
        """Frees the arguments."""
        self.text = StringIO()


def entries_of(calls: Any) -> list[Any]:
    """The entries of irregular calls: nested lists, JSON text, a single object, or an object with indices as keys (PHP)."""
    if isinstance(calls, str):
        calls = value_of(calls)
    if isinstance(calls, list):
        return [inner for entry in calls for inner in (entry if isinstance(entry, list) else [entry])]
    if isinstance(calls, Mapping) and all(key.isdecimal() for key in calls):
        return [{"index": key, **entry} if isinstance(entry, Mapping) else entry for key, entry in calls.items()]
    return [calls]


def inner_of(entry: Mapping[str, Any], kind: str) -> tuple[Mapping[str, Any], bool]:
    """The name and arguments of an entry, and whether they are where they belong."""
    function = entry.get(kind)
    inner = function if isinstance(function, Mapping) else _function_in_text(function)
    if inner is function and "arguments" in inner and ("name" in inner or "name" not in entry):  # nearly all entries
        return inner, True
    found = {**{name: entry[name] for name in INNER if name in entry}, **inner}
    for other in ("parameters", "input") if kind == "function" else ():
        if other in found:
            found.setdefault("arguments", found[other])
    stands = all(name in inner for name in ("name", "arguments") if name in found)
    return found, stands and not isinstance(function, str)


def _function_in_text(function: Any) -> Mapping[str, Any]:
    """Parses a string in the place of a function: its JSON, or its name."""
    if not isinstance(function, str) or not function:
        return {}
    read = value_of(function)
    return read if isinstance(read, Mapping) else {"name": function}


def latest_call(calls: Sequence[CallState], key: int | None) -> CallState | None:
    """The last call at an index of the upstream; of all calls if the index is None."""
    for call in reversed(calls):
        if key is None or call.key == key:
            return call
    return None


def find_call(
    calls: Sequence[CallState], tools: Tools, key: int | None, id_: str, name: str, arguments: str
) -> CallState | None:
    """Finds the call that a delta continues; None if it starts a new one.

    Args:
        calls: The calls of the choice.
        tools: The offered tools.
        key: The upstream's index; None if missing.
        id_: The upstream's id.
        name: The upstream's name.
        arguments: The piece of arguments.
    """
    same = next((call for call in reversed(calls) if call.upstream_id == id_), None) if id_ else None
    if same is not None:
        # two calls may share an id, and one call may have several indices
        elsewhere = key not in (None, same.key)
        renamed = bool(name) and name != same.name
        if not (same.body.complete and (elsewhere or renamed)) and not (elsewhere and name):
            return same
        if elsewhere and name == same.name and same.seen_before and _continues(same, arguments):
            return same
    call = latest_call(calls, key)
    if call is None:
        # an unknown index is wrong if a call is open
        return calls[-1] if not (id_ or name) and calls and not calls[-1].body.complete else None
    if id_ and call.upstream_id and id_ != call.upstream_id:
        continued = not name or (name == call.name and _is_continued(call, tools, arguments))
        return call if continued and not call.body.complete else None
    one, two = offered_name(call.name, tools), offered_name(name, tools)
    if not one or not two:
        return call
    if call.body.complete:
        repeated = one == two and not id_ and (call.renamed or (arguments and "{" not in arguments))
        return call if repeated else None
    return None if one != two and {one, two} <= tools.schemas.keys() and one + two not in tools.schemas else call


def _is_continued(call: CallState, tools: Tools, arguments: str) -> bool:
    """Whether arguments continue a call, when each piece has another id and the name."""
    if call.begun:
        return not arguments.lstrip().startswith("{")
    return tools.requires(offered_name(call.name, tools)) and bool(arguments.strip())


def _continues(call: CallState, arguments: str) -> bool:
    """Whether a call continues, or is repeated, when its id and name come at another index (LocalAI#9722).

    A repetition has all of its arguments, or those that are missing; anything else belongs to another call with the same id.
    """
    size = call.text.tell()
    if call.body.complete:
        return 0 < size < 2 * len(arguments) and value_of(arguments) == value_of(call.arguments) is not None
    if not call.begun or not arguments.lstrip().startswith("{"):
        return not (arguments.isspace() or not arguments)
    return 0 < size <= len(arguments) and arguments.startswith(call.arguments)


def offered_name(name: str, tools: Tools) -> str:
    """Returns a name without what models and parsers add (R2, R17), such as `bash\\n<function=bash` (llxprt-code#69)."""
    name = name.partition("<|")[0].strip()
    candidates = (name, *map(name.removeprefix, _PREFIXES), _NO_NAME.split(name, maxsplit=1)[0].strip())
    return next((candidate for candidate in candidates if candidate in tools.schemas), name)


def join_name(name: str, piece: str, tools: Tools) -> str:
    """Joins a name and a later piece of it, which may be a repetition."""
    return name if piece == name and offered_name(name + piece, tools) not in tools.schemas else name + piece


def may_continue(name: str, tools: Tools, *, further: bool = False) -> bool:
    """Whether an offered name may begin with `name`. `further`: even if `name` is offered itself."""
    name = name.strip()
    if offered_name(name, tools) in tools.schemas and not further:
        return False
    beginnings = (name, *map(name.removeprefix, _PREFIXES))
    in_prefix = any(prefix.startswith(name) for prefix in _PREFIXES)
    longer = (offered for offered in tools.schemas if offered not in beginnings)
    return any(in_prefix or offered.startswith(beginnings) for offered in longer)


def only_fitting(arguments: str, tools: Tools) -> str:
    """The name of the only offered tool that arguments fit; "" if there is not exactly one."""
    value = value_of(arguments)
    fitting = tools.fitting(value) if isinstance(value, dict) else []
    return fitting[0] if len(fitting) == 1 else ""


def value_of(text: str) -> Any:
    """Parses JSON text; None if it is not JSON."""
    try:
        return json_text.loads(text.encode())
    except (json_text.NotJSON, UnicodeEncodeError):
        return None


def is_other(arguments: str, before: str) -> bool:
    """Whether arguments are JSON, and differ from those before them."""
    value = value_of(arguments)
    return value is not None and value != value_of(before)


def parse_object(text: str) -> dict[str, Any] | None:
    """Parses whole arguments, without what surrounds them (R5, R17); None if they are not an object."""
    body = Arguments()
    sent, trailing = body.feed(text) if text else ("", "")
    value = value_of(sent + body.end(broken=False))
    return value if isinstance(value, dict) and "{" not in trailing else None


def text_of(value: Any) -> str:
    """Returns arguments that are not a string as text: joined pieces, or JSON.

    None and `{}` become "", because the real arguments may follow.
    """
    if isinstance(value, list) and all(isinstance(piece, str) for piece in value):
        return "".join(value)
    return json_text.dumps(value) if value not in (None, {}) else ""
