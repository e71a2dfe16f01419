"""What models put around the input of Codex's freeform tools, where they have to write JSON or think of a shell.

    {"patch":"*** Begin Patch…"}   {"command":["apply_patch","*** Begin Patch…"]}   apply_patch <<'EOF'\\n*** Begin Patch…\\nEOF
    ```\\n*** Begin Patch…\\n```     {"code":"text(1)"} of exec                         →     *** Begin Patch…      text(1)

Codex refuses all of them, and models loop on that (codex#35361).

Rule of this file: something is taken off only where the tool can read what remains, and could not read what was there. A patch is
sent live from its first line on; what is around it is read as a whole.
"""

import re
from typing import Any

from ...core import json_text
from .freeform import Unwrap

BEGIN = "*** Begin Patch"

PATCH, SCRIPT = "apply_patch", "exec"
"""The freeform tools of Codex 0.169."""

SCRIPT_KEYS = frozenset({"code", "content", "input", "javascript", "js", "script", "source", "text"})
"""Members that models have for a script, which is JavaScript: an object with one string is none."""

MAX_HELD = 1024 * 1024
"""Characters that are held to see what is around a patch; what is longer is given as it stands."""

_DEPTH = 3
_MEMBER = re.compile(r'\s*\{\s*"(\w{1,32})"\s*:\s*"((?:\\[nrt]|\s)*)')
_FENCED = re.compile(r"```\w*\n(.*)\n```", re.DOTALL)
_HEREDOC = re.compile(r"(?:apply_patch\s*)?<<-?\s*(['\"]?)(\w+)\1\s*\n(.*)\n\2", re.DOTALL)


class Patch:
    """Arguments, or bare input, of `apply_patch` → the patch."""

    def __init__(self) -> None:
        self._held = ""
        self._then: Unwrap | None = None

    def feed(self, arguments: str) -> str:
        """The next piece."""
        if self._then:
            return self._then.feed(arguments)
        self._held += arguments
        if len(self._held) > MAX_HELD:
            return self._go_on(Unwrap())
        member = _MEMBER.match(self._held)
        begun = self._held[member.end() :] if member else self._held.lstrip()
        key = member[1] if member else "input"
        goes_on = bool(begun) and not _may_be_wrapped(begun) if key == "input" else begun.startswith(BEGIN)
        return self._go_on(Unwrap(key)) if goes_on else ""

    def end(self, *, broken: bool = False) -> str:
        """The rest."""
        if self._then:
            return self._then.end(broken=broken)
        found = patch_in(self._held)
        if found is not None:
            self._held = ""
            return found
        return self._go_on(Unwrap()) + (self._then.end(broken=broken) if self._then else "")

    def _go_on(self, then: Unwrap) -> str:
        held, self._held, self._then = self._held, "", then
        return then.feed(held)


class Script:
    """The same of `exec`."""

    def __init__(self) -> None:
        self._held = ""
        self._then: Unwrap | None = None

    def feed(self, arguments: str) -> str:
        """The next piece."""
        if self._then:
            return self._then.feed(arguments)
        self._held += arguments
        begun = self._held.lstrip()
        if begun and (not begun.startswith("{") or len(begun) > len(self._held[:100].lstrip()) or _MEMBER.match(self._held)):
            return self._go_on()
        return ""

    def end(self, *, broken: bool = False) -> str:
        """The rest."""
        out = "" if self._then else self._go_on()
        assert self._then
        return out + self._then.end(broken=broken)

    def _go_on(self) -> str:
        member = _MEMBER.match(self._held)
        self._then = Unwrap(member[1] if member and member[1] in SCRIPT_KEYS else "input")
        return self._then.feed(self._held)


def patch_in(text: str) -> str | None:
    """The patch that all of a text is, with what is around it taken off; None where it is another text."""
    for _ in range(_DEPTH):
        inner = _inner(text.strip())
        if inner is None:
            return None
        if inner.lstrip().startswith(BEGIN):
            return inner
        text = inner
    return None


def _inner(text: str) -> str | None:
    """What is in a wrapper."""
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
    """Whether a text may begin with something around a patch."""
    return begun[0] in "{[`<\\" or PATCH.startswith(begun[: len(PATCH)])


def reader_of(name: str) -> Unwrap | Patch | Script:
    """What makes the input of a call to a freeform tool of its arguments."""
    if name == PATCH:
        return Patch()
    return Script() if name == SCRIPT else Unwrap()
