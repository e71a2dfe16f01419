"""Finds in a request what a refusal names: `messages.2.assistant.reasoning_content` is messages[].reasoning_content.

Paths have the form of edits.py, without indices. Words of a place that are not members of the request are tags of unions.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.json_access import as_list
from .edits import WORDS

MAX_DEPTH, MAX_ENTRIES, MAX_NODES, MAX_STEPS = 12, 400, 20_000, 5000
"""Bounds of the search: depth, entries of a list, nodes of a request, and steps along a path."""

MAX_FOUND, MAX_PLACE, MAX_DIGITS = 8, 300, 8

SAME = (
    ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens"),
    ("stop", "stop_sequences"),
    ("presence_penalty", "frequency_penalty", "penalty"),
    ("thinking_budget", "budget_tokens"),
    ("reasoning_effort", "effort", "think"),
)
"""Names of one field at several APIs: a gateway's upstream refuses a field under its own name."""

TOKEN = re.compile(r"[A-Za-z_$][\w$-]*|\d+")
_AROUND = frozenset({"body", "request", "root", "$", "json", "__root__", "payload", "properties", "object"})
SCHEMAS = frozenset({"parameters", "input_schema", "schema"})
_LISTS = ("messages", "input", "tools")
_OPAQUE = frozenset({*SCHEMAS, "arguments", "metadata"})
"""Members with the user's own names inside."""


class Places:
    """The paths of one request, indexed by name on first use, since a refusal may name many."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.request = request
        self._paths: dict[str, dict[str, None]] | None = None

    def located(self, place: str) -> str:
        """The path in the request that a place names, without indices; empty if the request has no such path."""
        tokens = TOKEN.findall(place[:MAX_PLACE])
        while tokens and tokens[0] in _AROUND and tokens[0] not in self.request:
            del tokens[0]
        if not tokens:
            return ""
        path = _walked(self.request, tokens, "", [MAX_STEPS])
        if path or tokens[-1] in WORDS:
            return path
        root = tokens[0] if tokens[0] in _LISTS and tokens[0] in self.request else ""
        return next((where for where in self.anywhere(tokens[-1]) if where.startswith(root)), "")

    def named(self, name: str) -> list[str]:
        """The paths that a name may mean: a path or a member of the request, or a member that several entries have."""
        bare = TOKEN.fullmatch(name) and not {name, snake(name)} & self.request.keys()
        found = self.anywhere(name) if bare else []
        return found or [self.located(name)]

    def anywhere(self, name: str) -> list[str]:
        """The paths of members with this name, except inside members with the user's own names."""
        known, word = self.names, snake(name)
        exact = [where for key in dict.fromkeys((name, word)) for where in known.get(key, ())]
        others = next((row for row in SAME if word in row), ())
        return exact or [where for key in others for where in known.get(key, ())]

    @property
    def names(self) -> Mapping[str, Mapping[str, None]]:
        """Member name → its paths."""
        if self._paths is None:
            self._paths = _names(self.request)
        return self._paths


def _names(request: Mapping[str, Any]) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = {}
    waiting: list[tuple[Any, str, int]] = [(request, "", 0)]
    for node, path, depth in waiting:  # the loop appends to the list
        if isinstance(node, list):
            inner = [(entry, f"{path}[]") for entry in node[:MAX_ENTRIES]]
        else:
            inner = [(given, f"{path}.{key}".lstrip(".")) for key, given in node.items()]
            for key, (_, where) in zip(node, inner, strict=True):
                if len(places := found.setdefault(key, {})) < MAX_FOUND:
                    places[where] = None
            inner = [pair for key, pair in zip(node, inner, strict=True) if not _is_opaque(key, pair[0])]
        if depth < MAX_DEPTH and len(waiting) < MAX_NODES:
            waiting += [(entry, where, depth + 1) for entry, where in inner if isinstance(entry, list | Mapping)]
    return found


def _is_opaque(key: str, given: Any) -> bool:
    return key in _OPAQUE or (key == "input" and isinstance(given, Mapping))


def _walked(node: Any, tokens: Sequence[str], path: str, left: list[int]) -> str:
    """The path that the tokens follow; empty if they do not. `left`: the remaining steps, counted down."""
    left[0] -= 1
    if not tokens or left[0] < 0:
        return path if left[0] >= 0 else ""
    first, *rest = tokens
    if isinstance(node, list):
        if first.isdigit() and len(first) < MAX_DIGITS and int(first) < len(node):
            return _walked(node[int(first)], rest, f"{path}[]", left)
        rest = rest if first.isdigit() else [first, *rest]
        return next(filter(None, (_walked(entry, rest, f"{path}[]", left) for entry in node[:MAX_ENTRIES])), "")
    if isinstance(node, Mapping):
        for name in (first, snake(first)):
            if name not in node:
                continue
            if rest and not isinstance(node[name], list | Mapping) and rest[0] in node:
                break  # the tag of a union that is a member's name, too: "text.citations"
            if found := _walked(node[name], rest, f"{path}.{name}".lstrip("."), left):
                return found
        if rest and (path or first not in _LISTS or first not in node):
            # the tag of a union: "assistant", "custom", "function-after[…]"
            return _walked(node, rest, path, left)
        return path if path and (first[0].isupper() or "-" in first) else ""
    return path  # a kind of the value: "str", "literal"


def snake(name: str) -> str:
    """`reasoningEffort` is reasoning_effort."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def at(request: Any, path: str) -> Any:
    """The first value at a path, or None."""
    node = request
    names = [name for name in path.replace("[]", ".[]").split(".") if name]
    for index, name in enumerate(names):
        if name == "[]":
            rest = ".".join(names[index + 1 :])
            entries = as_list(node)[:MAX_ENTRIES]
            return next((given for entry in entries if (given := at(entry, rest)) is not None), None)
        node = node.get(name) if isinstance(node, Mapping) else None
    return node
