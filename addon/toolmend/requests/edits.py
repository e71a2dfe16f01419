"""Edits of a finished request, as data: members that a host refuses are dropped, renamed or limited by path.

    Edit("stream_options")                              drops the member
    Edit("messages[].name")                             in every message
    Edit("**.cache_control.scope")                      in every `cache_control`, at any depth
    Edit("max_tokens", "rename", "max_completion_tokens")
    Edit("reasoning_effort", "one_of", ("low", "high")) replaces by the nearest of these words
    Edit("max_tokens", "at_most", 8192)

Paths are dotted; `[]` stands for every entry of a list. An edit never removes the conversation, the tools or the model: see KEPT.
`edit_of` parses the text form, which the upstream fact `refuses` uses, and `text_of` writes it:

    stream_options    max_tokens -> max_completion_tokens    reasoning_effort in low high    store = false
    max_tokens <= 8192    max_output_tokens >= 16    stop[:4]    messages[].content - thinking redacted_thinking
    messages: user_last no_blank
    tools[].function.parameters ~ valid root -minItems
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Literal

from ..core.fastclass import value
from . import message_rules, schemas
from .efforts import nearest
from .fields import add_note, words

KEPT = words("model messages input system instructions contents tools prompt")
"""Members of a request that no edit removes, nor any of their entries."""

WORDS = words(
    "role content text type id call_id tool_call_id tool_use_id tool_calls function function_call arguments input output "
    "thinking image image_url url source data file file_data input_audio query"
)
OF_TOOLS = words("name description function parameters input_schema custom format")
"""WORDS, OF_TOOLS: members inside those that hold the content of messages, calls and tools."""

CHOICES = words("role detail phase status")
"""Members inside those whose value is one of a fixed set of words."""

INSIDE = words("arguments input parameters input_schema")
"""Members with only user data inside: arguments of calls, and schemas (schemas.py edits these)."""

SCHEMAS = words("parameters input_schema schema")

THOUGHTS = words("thinking redacted_thinking reasoning")
"""Types of entries that may be removed from a list: reasoning of earlier turns."""

HOSTED_TOOLS = r"(?:web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?|file_search|code_interpreter|image_generation)"
SERVER_TOOLS = re.compile(rf"(?:web_search|web_fetch|code_execution|advisor|tool_search_tool_\w+)_\d{{8}}|{HOSTED_TOOLS}")
"""Types of tools that the providers of Messages and Responses run: none of the client's own tools is among them."""

_ROLES = {"developer": "system", "system": "developer", "function": "tool"}
_USUAL = ("auto", "default")
"""Replacements for a word without a near one."""

ANYWHERE = "**"
_MAX_DEPTH = 100


@value
class Edit:
    """One edit.

    `with_`: the new name (rename; a dotted one is a path inside), the value (set), the limit (at_most, at_least), the words
    (one_of), the number of entries or characters to keep (cut), the types of entries to remove (without), or the rules of
    `schemas.changed` (schema).
    """

    path: str
    do: Literal["drop", "rename", "set", "at_most", "at_least", "one_of", "cut", "without", "schema", "rules"] = "drop"
    with_: Any = None
    why: str = "this upstream refuses it"

    @property
    def allowed(self) -> bool:
        """Whether the edit keeps the conversation, the roles, the tools and the model."""
        names = _names(self.path)
        if not names:
            return False
        root, last = names[0], names[-1]
        of_kept = root in (*KEPT, ANYWHERE)
        named = of_kept and last == "name" and self.path != "messages[].name"  # of a tool, or of a call
        content = of_kept and (last in WORDS or (root == "tools" and last in OF_TOOLS) or not INSIDE.isdisjoint(names[1:-1]))
        whole = (len(names) == 1 or last == "[]") and root in KEPT
        match self.do:
            case "at_most" | "at_least":
                return True
            case "one_of":
                return not (whole or named) and (not of_kept or last in CHOICES)
            case "without":
                if self.path == "tools":
                    return all(map(SERVER_TOOLS.fullmatch, self.with_))
                return self.path in ("messages[].content", "input") and THOUGHTS.issuperset(self.with_)
            case "schema":
                return last in SCHEMAS
            case "rules":
                return self.path in ("messages", "input") and all(map(message_rules.is_rule, self.with_))
            case "rename" if self.with_ in WORDS or _names(self.with_)[0] in KEPT:
                return False
        return not (whole or named or content)


_NAME = r"(?:\*\*|[A-Za-z_$][\w$-]*)(?:\[\])?"
_PATH = rf"{_NAME}(?:\.{_NAME})*"
_TEXT = re.compile(
    rf"(?P<path>{_PATH})(?: -> (?P<rename>{_PATH})| in (?P<one_of>[\w.-]+(?: [\w.-]+)*)| = (?P<set>\S.*)"
    rf"| <= (?P<at_most>-?[\d.]+)| >= (?P<at_least>-?[\d.]+)|\[:(?P<cut>\d+)\]| - (?P<without>\w+(?: \w+)*)"
    rf"| ~ (?P<schema>-?[\w$]+(?: -?[\w$]+)*)|: (?P<rules>\w+(?: \w+)*))?"
)


def edit_of(text: str) -> Edit:
    """Parses the text form of an edit. Raises ValueError if it does not parse, or if the edit is not allowed."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not an edit of a request")
    do: Any = found.lastgroup if found.lastgroup != "path" else "drop"
    with_: Any = found[do] if do != "drop" else None
    if do in ("one_of", "without", "schema", "rules"):
        with_ = tuple(with_.split())
    elif do in ("at_most", "at_least", "cut", "set"):
        with_ = json.loads(with_)
    edit = Edit(found["path"], do, with_)
    if not edit.allowed:
        raise ValueError(f"{text!r} would remove content of the request")
    return edit


def is_edit(text: str) -> bool:
    """Whether `edit_of` accepts this text."""
    try:
        edit_of(text)
    except ValueError:
        return False
    return True


def text_of(edit: Edit) -> str:
    """The text form of an edit, for `edit_of`."""
    with_ = edit.with_
    match edit.do:
        case "drop":
            return edit.path
        case "rename":
            return f"{edit.path} -> {with_}"
        case "one_of":
            return f"{edit.path} in {' '.join(with_)}"
        case "set":
            return f"{edit.path} = {json.dumps(with_)}"
        case "cut":
            return f"{edit.path}[:{with_}]"
        case "without":
            return f"{edit.path} - {' '.join(with_)}"
        case "schema":
            return f"{edit.path} ~ {' '.join(with_)}"
        case "rules":
            return f"{edit.path}: {' '.join(with_)}"
    return f"{edit.path} {'<=' if edit.do == 'at_most' else '>='} {with_:g}"


def apply_edits(request: Mapping[str, Any], edits: Iterable[Edit], notes: list[str]) -> dict[str, Any]:
    """Returns the request with the edits applied in their order; lists and objects that change are copied."""
    changed: Any = dict(request)
    for edit in edits:
        if edit.allowed and (new := _applied(edit, changed)) is not changed:
            changed = new
            add_note(notes, _note(edit))
    return changed  # type: ignore[no-any-return]


def _applied(edit: Edit, request: dict[str, Any]) -> Any:
    if edit.do != "rules":
        return _at(request, _names(edit.path), edit, 0)
    kept = message_rules.with_rules(request, edit.with_) if edit.path in request else request
    return kept if kept != request else request


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
        case "cut":
            return f"`{edit.path}` is cut to {edit.with_}: {edit.why}"
        case "without":
            return f"`{edit.path}` is without {' and '.join(edit.with_)}: {edit.why}"
        case "schema":
            return f"`{edit.path}` is changed by the rules {', '.join(edit.with_)}: {edit.why}"
        case "rules":
            return f"`{edit.path}` is changed by the rules {', '.join(edit.with_)}: {edit.why}"
    return f"`{edit.path}` is {edit.do.replace('_', ' ')} {edit.with_}: {edit.why}"


def _names(path: str) -> list[str]:
    """`tools[].function.strict` is tools, [], function, strict."""
    return [name for name in path.replace("[]", ".[]").split(".") if name]


def _at(node: Any, names: Sequence[str], edit: Edit, depth: int) -> Any:
    """Applies the edit at the path `names` below a node; returns the same node if nothing changes."""
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
        if child == {} and edit.do == "drop":  # some hosts refuse an empty object such as `text: {}`
            return {name: value for name, value in node.items() if name != first}
        return {**node, first: child}
    return _changed(node, first, edit)


def _each(node: Any, change: Any) -> Any:
    """Applies `change` to the entries of a list or the members of an object; returns the same node if nothing changes."""
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
    result: Any = copy(node)
    for key, child in new.items():
        result[key] = child
    return result


def _changed(node: Mapping[str, Any], name: str, edit: Edit) -> Mapping[str, Any]:
    given = node[name]
    others = {key: item for key, item in node.items() if key != name}
    match edit.do:
        case "drop":
            return others
        case "rename" if "." in edit.with_:
            return _moved(others, edit.with_.split("."), given)
        case "rename":
            return {edit.with_ if key == name else key: item for key, item in node.items() if key == name or key != edit.with_}
        case "set":
            new = edit.with_
        case "one_of":
            if given in edit.with_:
                return node
            new = _chosen(given, edit.with_)
            if not new:
                return others if name not in WORDS else node
        case "cut":
            new = given[: edit.with_] if isinstance(given, str | list) else given
        case "without":
            new = _without(given, edit.with_)
        case "schema":
            new = schemas.changed(given, edit.with_) if isinstance(given, Mapping) else given
        case _:
            if isinstance(given, bool) or not isinstance(given, int | float):
                return node
            new = (min if edit.do == "at_most" else max)(given, edit.with_)
    return node if new == given else {**node, name: new}


def _chosen(given: Any, words_: Sequence[str]) -> str:
    """The nearest of the accepted words; empty if there is none. A word outside WORDS of efforts.py has no near one."""
    near = nearest(given, words_) if isinstance(given, str) else ""
    usual = (_ROLES.get(str(given), ""), *_USUAL)
    return near or next((word for word in usual if word in words_), "")


def _without(given: Any, kinds: Sequence[str]) -> Any:
    """The list without entries of these types; unchanged if no entry would remain."""
    if not isinstance(given, list):
        return given
    return [entry for entry in given if not (isinstance(entry, Mapping) and entry.get("type") in kinds)] or given


def _moved(node: Mapping[str, Any], names: Sequence[str], given: Any) -> Mapping[str, Any]:
    """The node with a value at the path inside; an existing value is kept."""
    first, *rest = names
    inside = node.get(first)
    if not rest:
        return node if first in node else {**node, first: given}
    if inside is not None and not isinstance(inside, Mapping):
        return node
    return {**node, first: _moved(inside or {}, rest, given)}
