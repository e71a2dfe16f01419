"""Searches a text for any of many literals, including the beginning of one at its end.

    openers(("<tool_call>", "<|tool_call_begin|>", …)).search("… <tool_ca")  →  "<tool_ca", as a match

A few literals become one regex. For hundreds, Openings finds the same: compiling a regex of all openers takes a tenth of a
second, during which every stream waits. A regex of their first characters takes a millisecond or two and rarely matches
elsewhere; its matches are checked here. The tests compare it with the regex of all literals.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache

FEW = 32
"""Literals whose regex compiles in a millisecond or two."""

HEAD = 4
"""Characters of a literal that the regex covers."""


@cache
def openers(literals: tuple[str, ...]) -> "re.Pattern[str] | Openings":
    """Returns a search for the first place where a literal stands, or may stand once the text continues.

    A match that is not a literal itself is the beginning of one, at the end of the text.
    """
    return regex(literals) if len(literals) <= FEW else Openings(literals)


SHORT = 64
"""Characters of a text searched directly. In a longer text trying each literal at every place takes four times as long."""


class FoundLiteral:
    """A match with the interface of `re.Match`."""

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
    """Searches for many literals. `begin` finds more: everything that begins like one.

    `words`: literals that do not occur inside a word. `lines`: single characters that count only at the beginning of a line.
    `begin` does not find these elsewhere.
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
        """Returns the first match: the longest literal there, or the beginning of one at the end of the text."""
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
    """Returns a search for the first match of `begin`, which stands where `before` ends."""
    search, skip, match_here = begin.search, before.match, begin.match

    def find(text: str) -> re.Match[str] | None:
        if len(text) < SHORT:
            return search(text)
        match = skip(text)
        return match_here(text, match.end() if match else 0)

    return find


def regex(literals: Iterable[str], words: Iterable[str] = (), lines: Iterable[str] = ()) -> re.Pattern[str]:
    """Returns a pattern that finds `literals`, `words` (not inside a word), and `lines` (at the beginning of a line)."""
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
