"""Where one of some literals stands in a text, or may stand once the text goes on.

    openers(("<tool_call>", "<|tool_call_begin|>", …)).search("… <tool_ca")  →  "<tool_ca", as a match

For some of them it is a regex, for hundreds Openings, which finds the same. A regex of all that a model may begin a call with
takes a tenth of a second to compile, and every stream of the proxy waits. One of their first characters takes a millisecond or
two, and finds few places where none of them stands; those are looked at here.

Rule of this file: it finds what the regex of all of them finds. The tests hold one against the other.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache

FEW = 32
"""Literals of which a regex is compiled in a millisecond or two."""

HEAD = 4
"""Characters of a literal that the regex knows."""


@cache
def openers(literals: tuple[str, ...]) -> "re.Pattern[str] | Openings":
    """What finds the first place where one of the literals stands, or may stand once the text goes on.

    A match that is itself no literal is the beginning of one, and lies at the end of the text.
    """
    return regex(literals) if len(literals) <= FEW else Openings(literals)


SHORT = 64
"""Characters of a text that is searched at once. In a longer one it takes four times as long to try each word everywhere."""


class FoundLiteral:
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
    """What finds some literals. `begin` finds more: whatever looks like one in its first characters.

    `words`: those that do not stand within a word, `lines`: those, of one character, that stand at the beginning of a line;
    `begin` finds none of them elsewhere.
    """

    def __init__(self, literals: Sequence[str], words: Collection[str] = (), lines: Collection[str] = ()) -> None:
        longest_first = sorted(dict.fromkeys(literals), key=len, reverse=True)
        self._begin = regex(dict.fromkeys(literal[:HEAD] for literal in longest_first)).search
        anywhere = [literal[:HEAD] for literal in longest_first if literal not in words and literal not in lines]
        begin = regex(dict.fromkeys(anywhere), {literal[:HEAD] for literal in words}, lines)
        firsts = "".join(re.escape(first) for first in sorted({literal[0] for literal in longest_first}))
        before = re.compile(f"[^{firsts}]*+(?:(?!{begin.pattern})[{firsts}][^{firsts}]*+)*+") if firsts else re.compile("(?s:.*)")
        self.begin = _first(before, begin)
        fitting: dict[str, list[str]] = {}
        for literal in longest_first:
            for size in range(1, min(len(literal), HEAD) + 1):
                fitting.setdefault(literal[:size], []).append(literal)
        for short in (literal for literal in longest_first if len(literal) < HEAD):
            for head, there in fitting.items():
                if head.startswith(short) and head != short:
                    there.append(short)
        self._fitting = {head: tuple(there) for head, there in fitting.items()}

    def search(self, text: str, at: int = 0, end: int = sys.maxsize) -> FoundLiteral | None:
        """The first place: of the longest literal there, or at the end of the text, of the beginning of one."""
        if end < len(text):
            text = text[:end]
        while head := self._begin(text, at):
            at = head.start()
            fitting = self._fitting[head.group()]
            if len(text) - at < len(fitting[0]):
                rest = text[at:]
                if any(literal.startswith(rest) for literal in fitting):
                    return FoundLiteral(rest, at)
            if text.startswith(fitting, at):
                return FoundLiteral(next(literal for literal in fitting if text.startswith(literal, at)), at)
            at += 1
        return None


def _first(before: re.Pattern[str], begin: re.Pattern[str]) -> Callable[[str], re.Match[str] | None]:
    """What finds the first place that `begin` matches, where `before` ends."""
    search, in_front, there = begin.search, before.match, begin.match

    def find(text: str) -> re.Match[str] | None:
        if len(text) < SHORT:
            return search(text)
        match = in_front(text)
        return there(text, match.end() if match else 0)

    return find


def regex(literals: Iterable[str], words: Iterable[str] = (), lines: Iterable[str] = ()) -> re.Pattern[str]:
    """A pattern that finds what `openers` is to find, `words`, none of which goes on a word, and `lines`, which begin one."""
    found = [_alternatives(trie) for trie in [_trie(literals)] if trie]
    found += (re.escape(word[0]) + rf"(?<![A-Za-z0-9_]{re.escape(word[0])})" + _rest(_trie([word[1:]])) for word in sorted(words))
    found += (rf"{re.escape(line)}(?<![^\n]{re.escape(line)})" for line in sorted(lines))
    return re.compile("|".join(found) or r"(?!)")


def _trie(literals: Iterable[str]) -> dict[str, dict]:  # type: ignore[type-arg]
    trie: dict[str, dict] = {}  # type: ignore[type-arg]
    for literal in literals:
        node = trie
        for character in literal:
            node = node.setdefault(character, {})
        node[""] = {}
    return trie


def _alternatives(node: dict[str, dict]) -> str:  # type: ignore[type-arg]
    children = [re.escape(character) + _rest(child) for character, child in node.items() if character]
    return children[0] if len(children) == 1 else f"(?:{'|'.join(children)})"


def _rest(node: dict[str, dict]) -> str:  # type: ignore[type-arg]
    """What may follow a character of the trie: the rest of a literal, or the end of the text."""
    if not any(node):
        return ""
    if "" in node:
        return f"(?:{_alternatives(node)})?"
    return rf"(?:{_alternatives(node)}|\Z)"
