"""Which call a delta speaks of, and what it is called: told by index, id and name, any of them missing or wrong.

Rule of this file: the offered tools decide. A name that is offered is whole; pieces that join to an offered one are
one name.
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
from .trailing_json import Behind

INNER = ("name", "arguments", "parameters", "input")
"""What stands in a call's `function`, where it is spelt so at all; some have it beside that."""

_PREFIXES = ("functions.", "default_api.", "default_api:")
"""Modules that a model was shown its tools in: OpenAI's and Moonshot's templates, and Google's."""

_NO_NAME = re.compile(r"[<>({\"'\n]")
"""What no name holds: markup, or the arguments, begin with it."""

_NO_END = re.compile(r'\s*\{\s*"\s*[^\s:,}\]]')
"""The beginning of an object whose first quote cannot end a string: nothing that comes behind one comes behind it."""


@mutable
class CallState:
    """One call as it comes in. `key` and `said` are the upstream's index and id of it, `index` is the client's."""

    key: int | None
    kind: Literal["function", "custom"] = "function"
    said: str = ""
    name: str = ""
    index: int = -1  # until it starts
    extra: dict[str, Any] = field(default_factory=dict)
    body: Arguments = field(default_factory=Arguments)
    text: StringIO = field(default_factory=StringIO)  # of the arguments; nothing where that is too much
    begun: bool = False  # some of the arguments came
    ended: bool = False
    renamed: bool = False  # its name was said again
    repeated: bool = False  # it may be nothing but the name of the call before, said again
    lost: bool = False  # its name is missing, and too much is held for it
    again: bool = False  # each piece of its arguments says all of them so far
    known: bool = False  # it began with a delta before
    behind: Behind = field(default_factory=Behind)

    @property
    def started(self) -> bool:
        return self.index >= 0

    @property
    def arguments(self) -> str:
        return self.text.getvalue()

    def unsaid(self, arguments: str) -> str:
        """A piece of the arguments without what came before, where it says that again (hermes-agent#35592).

        That is certain where JSON cannot go on like it, or was before.
        """
        size = self.text.tell()
        if not size or len(arguments) < size or self.body.complete:  # nearly all
            return arguments
        if self.body.holds and not self.again:  # `text` is not all that came, so nothing is proof of a repetition
            return arguments
        said = self.arguments
        if not said.lstrip().startswith("{") or not arguments.startswith(said):
            return arguments
        may_go_on = not _NO_END.match(arguments) if self.body.within_string else said.rstrip()[-1] in ":[,"
        self.again = self.again or not may_go_on
        return arguments[size:] if self.again else arguments

    def forget(self) -> None:
        """Lets go of the arguments."""
        self.text = StringIO()


def entries_of(calls: Any) -> list[Any]:
    """The entries of calls that are no list of objects: lists in one, JSON text, one alone, or all by their places (PHP)."""
    if isinstance(calls, str):
        calls = value_of(calls)
    if isinstance(calls, list):
        return [inner for entry in calls for inner in (entry if isinstance(entry, list) else [entry])]
    if isinstance(calls, Mapping) and all(key.isdecimal() for key in calls):
        return [{"index": key, **entry} if isinstance(entry, Mapping) else entry for key, entry in calls.items()]
    return [calls]


def inner_of(entry: Mapping[str, Any], kind: str) -> tuple[Mapping[str, Any], bool]:
    """What an entry has of a call's name and arguments, and whether it stands where it should."""
    given = entry.get(kind)
    inner = given if isinstance(given, Mapping) else _function_in_text(given)
    if inner is given and "arguments" in inner and ("name" in inner or "name" not in entry):  # nearly all
        return inner, True
    found = {**{name: entry[name] for name in INNER if name in entry}, **inner}
    for other in ("parameters", "input") if kind == "function" else ():
        if other in found:
            found.setdefault("arguments", found[other])
    stands = all(name in inner for name in ("name", "arguments") if name in found)
    return found, stands and not isinstance(given, str)


def _function_in_text(function: Any) -> Mapping[str, Any]:
    """What a text tells in the place of a function: JSON of it, or its name."""
    if not isinstance(function, str) or not function:
        return {}
    read = value_of(function)
    return read if isinstance(read, Mapping) else {"name": function}


def latest(calls: Sequence[CallState], key: int | None) -> CallState | None:
    """The last call at an index of the upstream's; of all, where it says none."""
    for call in reversed(calls):
        if key is None or call.key == key:
            return call
    return None


def find(
    calls: Sequence[CallState], tools: Tools, key: int | None, id_: str, name: str, arguments: str
) -> CallState | None:
    """The call that a delta goes on with; None for a new one."""
    same = next((call for call in reversed(calls) if call.said == id_), None) if id_ else None
    if same is not None:
        # two calls may have one id, and one call several indices
        elsewhere = key not in (None, same.key)
        renamed = bool(name) and name != same.name
        if not (same.body.complete and (elsewhere or renamed)) and not (elsewhere and name):
            return same
        if elsewhere and name == same.name and same.known and _continues(same, arguments):
            return same
    call = latest(calls, key)
    if call is None:
        # an index that nobody has announced is wrong, if a call is open
        return calls[-1] if not (id_ or name) and calls and not calls[-1].body.complete else None
    if id_ and call.said and id_ != call.said:
        goes_on = not name or (name == call.name and _goes_on(call, tools, arguments))
        return call if goes_on and not call.body.complete else None
    one, two = bare(call.name, tools), bare(name, tools)
    if not one or not two:
        return call
    if call.body.complete:
        again = one == two and not id_ and (call.renamed or (arguments and "{" not in arguments))
        return call if again else None
    return None if one != two and {one, two} <= tools.schemas.keys() and one + two not in tools.schemas else call


def _goes_on(call: CallState, tools: Tools, arguments: str) -> bool:
    """Whether the arguments of a call go on, where another id and the name come with each piece of them."""
    if call.begun:
        return not arguments.lstrip().startswith("{")
    return tools.requires(bare(call.name, tools)) and bool(arguments.strip())


def _continues(call: CallState, arguments: str) -> bool:
    """Whether a call goes on, or is told again, where its id and name come at another index: LocalAI tells it so (LocalAI#9722).

    All of it again, or what it lacks; anything else is of a call that has the same id.
    """
    size = call.text.tell()
    if call.body.complete:
        return 0 < size < 2 * len(arguments) and value_of(arguments) == value_of(call.arguments) is not None
    if not call.begun or not arguments.lstrip().startswith("{"):
        return not (arguments.isspace() or not arguments)
    return 0 < size <= len(arguments) and arguments.startswith(call.arguments)


def bare(name: str, tools: Tools) -> str:
    """A name without what models and their parsers leave around it (R2, R17): `bash\\n<function=bash` (llxprt-code#69), too."""
    name = name.partition("<|")[0].strip()
    meant = (name, *map(name.removeprefix, _PREFIXES), _NO_NAME.split(name, maxsplit=1)[0].strip())
    return next((inner for inner in meant if inner in tools.schemas), name)


def joined(name: str, piece: str, tools: Tools) -> str:
    """A name and what came for it later: the rest of it, or the same again."""
    return name if piece == name and bare(name + piece, tools) not in tools.schemas else name + piece


def may_go_on(name: str, tools: Tools, *, further: bool = False) -> bool:
    """Whether a name can be the beginning of an offered one; `further`: even if it is one itself."""
    name = name.strip()
    if bare(name, tools) in tools.schemas and not further:
        return False
    beginnings = (name, *map(name.removeprefix, _PREFIXES))
    in_prefix = any(prefix.startswith(name) for prefix in _PREFIXES)
    longer = (offered for offered in tools.schemas if offered not in beginnings)
    return any(in_prefix or offered.startswith(beginnings) for offered in longer)


def only_fitting(arguments: str, tools: Tools) -> str:
    """The name of the one offered tool that arguments fit."""
    value = value_of(arguments)
    fitting = tools.fitting(value) if isinstance(value, dict) else []
    return fitting[0] if len(fitting) == 1 else ""


def value_of(text: str) -> Any:
    """What a JSON text says; None where it is none."""
    try:
        return json_text.loads(text.encode())
    except (json_text.NotJSON, UnicodeEncodeError):
        return None


def is_other(arguments: str, before: str) -> bool:
    """Whether arguments say something, and not what those before them say."""
    value = value_of(arguments)
    return value is not None and value != value_of(before)


def object_of(text: str) -> dict[str, Any] | None:
    """The object that whole arguments are, without what should not be around it (R5, R17); None where that is not one."""
    body = Arguments()
    sent, behind = body.feed(text) if text else ("", "")
    value = value_of(sent + body.end(broken=False))
    return value if isinstance(value, dict) and "{" not in behind else None


def text_of(value: Any) -> str:
    """Arguments that are no string: pieces of the text, or a value. None and `{}` may be followed by the real ones."""
    if isinstance(value, list) and all(isinstance(piece, str) for piece in value):
        return "".join(value)
    return json_text.dumps(value) if value not in (None, {}) else ""
