"""Changes of a finished request, as data: what a host refuses is dropped, renamed or limited at its path.

    Edit("stream_options")                              the member is dropped
    Edit("messages[].name")                             of every message
    Edit("**.cache_control.scope")                      wherever a `cache_control` is, at any depth
    Edit("max_tokens", "rename", "max_completion_tokens")
    Edit("reasoning_effort", "one_of", ("low", "high")) the nearest of these words
    Edit("max_tokens", "at_most", 8192)

Paths are dotted; `[]` stands for every entry of a list. An edit never drops what the request is about: see KEPT.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Literal

from ..value import value
from .efforts import nearest
from .fields import tell, words

KEPT = words("model messages input system instructions contents tools prompt")
"""Members of a request that no edit removes as a whole, nor an entry of theirs."""

WORDS = words("role content text type id call_id tool_call_id tool_use_id tool_calls arguments input output")
OF_TOOLS = words("name function parameters input_schema custom")
"""Members inside those, which hold what is said, asked and offered."""

ANYWHERE = "**"
_MAX_DEPTH = 100


@value
class Edit:
    """One change. `with_`: the new name (rename), the value (set), the limit (at_most, at_least) or the words (one_of)."""

    path: str
    do: Literal["drop", "rename", "set", "at_most", "at_least", "one_of"] = "drop"
    with_: Any = None
    why: str = "this upstream refuses it"

    @property
    def allowed(self) -> bool:
        """Whether it leaves the conversation, the tools and the model in the request: what was said, and by whom."""
        names = _names(self.path)
        if not names or self.do in ("at_most", "at_least", "one_of"):
            return bool(names)
        whole = len(names) == 1 or names[-1] == "[]"
        told = names[-1] in WORDS or (names[0] == "tools" and names[-1] in OF_TOOLS)
        return not (whole and names[0] in KEPT) and not (told and names[0] in (*KEPT, ANYWHERE))


def edited(request: Mapping[str, Any], edits: Iterable[Edit], notes: list[str]) -> dict[str, Any]:
    """Returns the request with the edits applied in their order; lists and objects that change are copied."""
    changed: Any = dict(request)
    for edit in edits:
        if edit.allowed and (what := _applied(edit, changed)) is not changed:
            changed = what
            tell(notes, _note(edit))
    return changed  # type: ignore[no-any-return]


def _note(edit: Edit) -> str:
    match edit.do:
        case "drop":
            return f"`{edit.path}` is left out: {edit.why}"
        case "rename":
            return f"`{edit.path}` is called {edit.with_}: {edit.why}"
        case "set":
            return f"`{edit.path}` is {edit.with_}: {edit.why}"
        case "one_of":
            return f"`{edit.path}` is one of {', '.join(edit.with_)}: {edit.why}"
    return f"`{edit.path}` is {edit.do.replace('_', ' ')} {edit.with_}: {edit.why}"


def _names(path: str) -> list[str]:
    """`tools[].function.strict` is tools, [], function, strict."""
    return [name for name in path.replace("[]", ".[]").split(".") if name]


def _applied(edit: Edit, request: Any) -> Any:
    return _at(request, _names(edit.path), edit, 0)


def _at(node: Any, names: Sequence[str], edit: Edit, depth: int) -> Any:
    """The node with the edit made below it; itself where nothing is there to change."""
    first, *rest = names
    if depth > _MAX_DEPTH:
        return node
    if first == ANYWHERE:
        node = _at(node, rest, edit, depth + 1)
        return _each(node, lambda child: _at(child, names, edit, depth + 1))
    if first == "[]":
        return _each(node, lambda child: _at(child, rest, edit, depth + 1)) if isinstance(node, list) and rest else node
    if not isinstance(node, Mapping) or first not in node:
        return node if rest or edit.do != "set" or not isinstance(node, Mapping) else {**node, first: edit.with_}
    if rest:
        child = _at(node[first], rest, edit, depth + 1)
        if child is node[first]:
            return node
        if child == {} and edit.do == "drop":  # `text: {}` says nothing, and some refuse it
            return {name: value for name, value in node.items() if name != first}
        return {**node, first: child}
    return _changed(node, first, edit)


def _each(node: Any, change: Any) -> Any:
    """The entries of a list, or the members of an object, changed; the node itself where none was."""
    pairs: Iterator[tuple[Any, Any]]
    if isinstance(node, list):
        pairs = iter(enumerate(node))
    elif isinstance(node, Mapping):
        pairs = iter(node.items())
    else:
        return node
    new = {key: child for key, old in pairs if (child := change(old)) is not old}
    if not new:
        return node
    made: Any = copy(node)
    for key, child in new.items():
        made[key] = child
    return made


def _changed(node: Mapping[str, Any], name: str, edit: Edit) -> Mapping[str, Any]:
    given = node[name]
    others = {key: item for key, item in node.items() if key != name}
    match edit.do:
        case "drop":
            return others
        case "rename":
            return {edit.with_ if key == name else key: item for key, item in node.items() if key == name or key != edit.with_}
        case "set":
            new = edit.with_
        case "one_of":
            if given in edit.with_:
                return node
            new = nearest(given, edit.with_) if isinstance(given, str) else ""
            if not new:
                return others
        case _:
            if isinstance(given, bool) or not isinstance(given, int | float):
                return node
            new = (min if edit.do == "at_most" else max)(given, edit.with_)
    return node if new == given else {**node, name: new}
