"""How much a model is to think, in words: from those of one upstream, or from a count of tokens, to those of another.

Rule of this file: least first, and where a word is not to be had, the nearest; rather more than less.
"""

from collections.abc import Sequence

from .conversation import Reasoning
from .fields import tell
from .quirks import Quirks

WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

_BUDGETS = ((2048, "low"), (16384, "medium"))
"""Tokens up to which a budget is a word's; more is high. As OpenAI's own guides compare them."""


def nearest(effort: str, efforts: Sequence[str]) -> str:
    """The word of an upstream's for a client's; empty where the upstream has none, or the client's is no word at all."""
    known = [word for word in efforts if word != "none"]
    if effort in efforts or not known or effort not in WORDS:
        return effort if effort in efforts else ""
    rank = WORDS.index(effort)
    return min(known, key=lambda word: (abs(WORDS.index(word) - rank), -WORDS.index(word)))


def of_budget(tokens: int) -> str:
    """The word for a budget."""
    return next((word for most, word in _BUDGETS if tokens <= most), "high")


def effort_of(reasoning: Reasoning, quirks: Quirks, notes: list[str]) -> str:
    """The upstream's word for how much to think; empty where the client does not say, or the upstream cannot be told."""
    if reasoning.enabled is False or reasoning.effort == "none":
        least = quirks.efforts[0] if quirks.efforts else ""
        if least != "none":
            tell(notes, "Thinking is not disabled" + f", but {least}" * bool(least) + ": this upstream knows nothing less")
        return least
    word = reasoning.effort or ("" if reasoning.budget is None else of_budget(reasoning.budget))
    effort = nearest(word, quirks.efforts)
    if word and not effort:
        tell(notes, f"The effort {word} is left out: this upstream does not know it")
    elif reasoning.effort not in ("", effort):
        tell(notes, f"The effort is {effort} instead of {word}: this upstream does not know it")
    return effort
