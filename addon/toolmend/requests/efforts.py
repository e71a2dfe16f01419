"""Converts reasoning effort: from the client's word or token budget to a word of the upstream.

Where the upstream lacks a word, `minimal` becomes low, and `max` becomes xhigh or high. Any other word becomes the nearest one,
the higher of two, and never `none`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .conversation import Reasoning
from .fields import add_note

if TYPE_CHECKING:
    from .request_limits import Quirks

WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

_BUDGETS = ((2048, "low"), (16384, "medium"))
"""Budgets in tokens up to which a word applies; a larger budget is `high`. From the comparison in OpenAI's guides."""

_OF_WORD = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 24576, "xhigh": 32768, "max": 48000}
"""The budget in tokens for a word, for upstreams that only take budgets."""


def nearest(effort: str, efforts: Sequence[str]) -> str:
    """The upstream's word for a client's; empty if the upstream has no words, or `effort` is not one of WORDS."""
    known = [word for word in efforts if word in WORDS and word != "none"]
    if effort in efforts or not known or effort not in WORDS:
        return effort if effort in efforts else ""
    rank = WORDS.index(effort)
    if effort in ("xhigh", "max"):  # the client must not pay for more than it asked for
        return max((word for word in known if WORDS.index(word) <= rank), key=WORDS.index, default=known[0])
    return min(known, key=lambda word: (abs(WORDS.index(word) - rank), -WORDS.index(word)))


def of_budget(tokens: int) -> str:
    """The word for a budget."""
    return next((word for most, word in _BUDGETS if tokens <= most), "high")


def budget_of(effort: str) -> int:
    """The budget in tokens for a word; the budget of `medium` for an unknown one."""
    return _OF_WORD.get(effort, _OF_WORD["medium"])


def effort_of(reasoning: Reasoning, quirks: "Quirks", notes: list[str]) -> str:
    """The upstream's effort word; empty if the client sets none, or the upstream has no such words."""
    if reasoning.enabled is False or reasoning.effort == "none":
        least = quirks.efforts[0] if quirks.efforts else ""
        if least != "none":
            add_note(notes, "Thinking is not disabled" + f", but {least}" * bool(least) + ": this upstream knows nothing less")
        return least
    word = reasoning.effort or ("" if reasoning.budget is None else of_budget(reasoning.budget))
    rests = quirks.default_effort == "none" or (quirks.efforts[:1] == ("none",) and not (quirks.thinks or quirks.default_effort))
    if not word and reasoning.enabled and rests:  # without a word, the model would not reason
        return nearest("medium", quirks.efforts)
    effort = nearest(word, quirks.efforts)
    if word and not effort:
        add_note(notes, f"The effort {word} is left out: this upstream does not know it")
    elif reasoning.effort not in ("", effort):
        add_note(notes, f"The effort is {effort} instead of {word}: this upstream does not know it")
    return effort
