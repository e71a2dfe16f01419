"""Removes what models put around the input of Codex's freeform tools: JSON or shell syntax.

    {"patch":"*** Begin Patch…"}   {"command":["apply_patch","*** Begin Patch…"]}   apply_patch <<'EOF'\\n*** Begin Patch…\\nEOF
    ```\\n*** Begin Patch…\\n```     {"code":"text(1)"} of exec                         →     *** Begin Patch…      text(1)

Codex refuses all of them, and models retry forever (codex#35361).

1. Something is removed only if the tool can read the rest, and could not read the whole.
2. A bare patch streams from its first line on; a wrapped one is read as a whole.
"""

import re
from typing import Any

from ...core import json_text
from .freeform import Unwrap

BEGIN = "*** Begin Patch"

PATCH, SCRIPT = "apply_patch", "exec"
"""The freeform tools of Codex 0.169."""

SCRIPT_KEYS = frozenset({"code", "content", "input", "javascript", "js", "script", "source", "text"})
"""Members in which models put a script. A script is JavaScript, which an object with one string is not."""

MAX_HELD = 1024 * 1024
"""Characters held to find what surrounds a patch; longer input is sent unchanged."""

_DEPTH = 3
_MEMBER = re.compile(r'\s*\{\s*"(\w{1,32})"\s*:\s*"((?:\\[nrt]|\s)*)')
_FENCED = re.compile(r"```\w*\n(.*)\n```", re.DOTALL)
_HEREDOC = re.compile(r"(?:apply_patch\s*)?<<-?\s*(['\"]?)(\w+)\1\s*\n(.*)\n\2", re.DOTALL)


class PatchReader:
    """Converts arguments, or bare input, of `apply_patch` to the patch."""

    def __init__(self) -> None:
        self._held = ""
        self._unwrap: Unwrap | None = None

    def feed(self, arguments: str) -> str:
        """Takes the next piece."""
        if self._unwrap:
            return self._unwrap.feed(arguments)
        self._held += arguments
        if len(self._held) > MAX_HELD:
            return self._switch(Unwrap())
        member = _MEMBER.match(self._held)
        begun = self._held[member.end() :] if member else self._held.lstrip()
        key = member[1] if member else "input"
        streams = bool(begun) and not _may_be_wrapped(begun) if key == "input" else begun.startswith(BEGIN)
        return self._switch(Unwrap(key)) if streams else ""

    def end(self, *, broken: bool = False) -> str:
        """Returns the rest."""
        if self._unwrap:
            return self._unwrap.end(broken=broken)
        found = patch_in(self._held)
        if found is not None:
            self._held = ""
            return found
        return self._switch(Unwrap()) + (self._unwrap.end(broken=broken) if self._unwrap else "")

    def _switch(self, unwrap: Unwrap) -> str:
        held, self._held, self._unwrap = self._held, "", unwrap
        return unwrap.feed(held)


class ScriptReader:
    """Converts arguments, or bare input, of `exec` to the script."""

    def __init__(self) -> None:
        self._held = ""
        self._unwrap: Unwrap | None = None

    def feed(self, arguments: str) -> str:
        """Takes the next piece."""
        if self._unwrap:
            return self._unwrap.feed(arguments)
        self._held += arguments
        begun = self._held.lstrip()
        if begun and (not begun.startswith("{") or len(begun) > len(self._held[:100].lstrip()) or _MEMBER.match(self._held)):
            return self._switch()
        return ""

    def end(self, *, broken: bool = False) -> str:
        """Returns the rest."""
        out = "" if self._unwrap else self._switch()
        assert self._unwrap
        return out + self._unwrap.end(broken=broken)

    def _switch(self) -> str:
        member = _MEMBER.match(self._held)
        self._unwrap = Unwrap(member[1] if member and member[1] in SCRIPT_KEYS else "input")
        return self._unwrap.feed(self._held)


def patch_in(text: str) -> str | None:
    """Removes what surrounds a patch; None if the text is not a wrapped patch."""
    for _ in range(_DEPTH):
        inner = _inner(text.strip())
        if inner is None:
            return None
        if inner.lstrip().startswith(BEGIN):
            return inner
        text = inner
    return None


def _inner(text: str) -> str | None:
    """The content of one wrapper."""
    for pattern, group in ((_FENCED, 1), (_HEREDOC, 3)):
        if match := pattern.fullmatch(text):
            return match[group]
    try:
        value: Any = json_text.loads(text.encode(errors="surrogatepass"))
    except json_text.NotJSON:
        return None
    if isinstance(value, dict):
        value = value.get("input") or (next(iter(value.values())) if len(value) == 1 else None)
    if isinstance(value, list):
        value = value[-1] if len(value) > 1 and all(isinstance(word, str) for word in value) else None
    return value if isinstance(value, str) else None


def _may_be_wrapped(begun: str) -> bool:
    """Whether a text may begin with something that surrounds a patch."""
    return begun[0] in "{[`<\\" or PATCH.startswith(begun[: len(PATCH)])


def freeform_reader(name: str) -> Unwrap | PatchReader | ScriptReader:
    """Returns a reader that converts the arguments of a freeform tool to its input."""
    if name == PATCH:
        return PatchReader()
    return ScriptReader() if name == SCRIPT else Unwrap()
