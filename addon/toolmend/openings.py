"""Where one of many literals stands in a text, or may stand once the text goes on: `scanner.openers`, for hundreds of them.

    Openings(("<tool_call>", "<|tool_call_begin|>", …)).search("… <tool_ca")  →  "<tool_ca", as a Found

A regex of all that a model may begin a call with takes a tenth of a second to compile, and every stream of the proxy waits. One
of their first characters takes a millisecond or two, and finds few places where none of them stands; those are looked at here.

Rule of this file: it finds what the regex of all of them finds. The tests hold one against the other.
"""

from collections.abc import Sequence

from .scanner import openers

HEAD = 4
"""Characters of a literal that the regex knows."""


class Found:
    """A place in a text, told as a `re.Match` tells it."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: str, at: int) -> None:
        self._text, self._at = text, at

    def start(self) -> int:
        return self._at

    def end(self) -> int:
        return self._at + len(self._text)

    def group(self) -> str:
        return self._text


class Openings:
    """What finds some literals. `begin` finds more: whatever looks like one in its first characters."""

    def __init__(self, literals: Sequence[str]) -> None:
        longest_first = sorted(dict.fromkeys(literals), key=len, reverse=True)
        self.begin = openers(tuple(dict.fromkeys(literal[:HEAD] for literal in longest_first))).search
        fitting: dict[str, list[str]] = {}
        for literal in longest_first:
            for size in range(1, min(len(literal), HEAD) + 1):
                fitting.setdefault(literal[:size], []).append(literal)
        for short in (literal for literal in longest_first if len(literal) < HEAD):
            for head, there in fitting.items():
                if head.startswith(short) and head != short:
                    there.append(short)
        self._fitting = {head: tuple(there) for head, there in fitting.items()}

    def search(self, text: str, at: int = 0) -> Found | None:
        """The first place: of the longest literal there, or at the end of the text, of the beginning of one."""
        while head := self.begin(text, at):
            at = head.start()
            fitting = self._fitting[head.group()]
            if len(text) - at < len(fitting[0]):
                rest = text[at:]
                if any(literal.startswith(rest) for literal in fitting):
                    return Found(rest, at)
            if text.startswith(fitting, at):
                return Found(next(literal for literal in fitting if text.startswith(literal, at)), at)
            at += 1
        return None
