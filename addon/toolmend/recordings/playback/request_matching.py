"""Which recording answers a request: told by its API, its model, and the messages that are new in it.

    {"model": "kimi-k2.5", "stream": true, "messages": [system, user, assistant, tool, tool]}
                                                                                 └── new ──┘
    a recording answers it        whose request has the same API, model, form (stream or not) and new messages
    the best of several           has more of the messages before in common, then as many of them, then the same tools
    of equal ones                 each is played once, in the order they were recorded, and then again from the first

That is why a retry gets what the retry got, and an agent that is started a second time gets what it got the first time. In
order (`Shelf(…, order=True)`) only the API and the form are compared, and each recording is played once: more would be a loop.

What is compared of a request is told in request_fingerprint.py.

Rule of this file: it is pure; what was played is its only state.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core.fastclass import value
from .request_fingerprint import Ask

AROUND = 40
"""Characters shown on either side of the place where two messages differ."""


@value
class Take:
    """A recording that can be played. `asks`: the requests it answers. `whole`: it ended as its upstream ended it.

    `api` and `client_api`: as in meta.json, but never "".
    """

    folder: Path
    asks: tuple[Ask, ...]
    api: str
    client_api: str
    whole: bool = True

    @property
    def name(self) -> str:
        return self.folder.name


@value
class Miss:
    """No recording answers. `words`: which is the nearest, and what differs; `excerpt`: the texts where they do, for a log."""

    words: str
    excerpt: str = ""


class Shelf:
    """Recordings in the order they were made, and how often each was played."""

    def __init__(self, takes: Sequence[Take], *, order: bool = False) -> None:
        self.takes, self.order = takes, order
        self._played = [0] * len(takes)

    def find(self, asked: Ask) -> Take | Miss:
        """Who answers; a recording that is given is counted as played."""
        rows = list(enumerate(self.takes))
        if self.order:
            fitting = [at for at, take in rows if not self._played[at] and any(_same_form(asked, ask) for ask in take.asks)]
        else:
            ranked = ((at, [_rank(asked, ask, take) for ask in take.asks if _answers(ask, asked)]) for at, take in rows)
            ranks = {at: max(found) for at, found in ranked if found}
            best = max(ranks.values(), default=None)
            fitting = [at for at, rank in ranks.items() if rank == best]
        if not fitting:
            return self._miss(asked)
        at = min(fitting, key=lambda at: (self._played[at], at))
        self._played[at] += 1
        return self.takes[at]

    def _miss(self, asked: Ask) -> Miss:
        if self.order:
            return Miss(f"no recording is left to be played in order: none of {asked.api} that is {_form(asked)}")
        nearest = max(
            ((_nearness(asked, ask), -at, take.name, ask) for at, take in enumerate(self.takes) for ask in take.asks),
            key=lambda row: row[:2],
            default=None,
        )
        if nearest is None:
            return Miss("no recording answers this request: there are none")
        _, _, name, ask = nearest
        different, excerpt = _differences(asked, ask)
        return Miss(f"no recording answers this request; the nearest is {name}, but {', and '.join(different)}", excerpt)


def _same_form(one: Ask, other: Ask) -> bool:
    return (one.api, one.stream) == (other.api, other.stream)


def _answers(ask: Ask, asked: Ask) -> bool:
    return bool(asked.last) and asked.last == ask.last and _same_form(asked, ask) and _same_model(asked, ask)


def _same_model(one: Ask, other: Ask) -> bool:
    return one.model.lower() == other.model.lower()


def _common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How far two sequences are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (here, there) in pairs if here != there), min(len(one), len(other)))


def _rank(asked: Ask, ask: Ask, take: Take) -> tuple[int, bool, bool, bool]:
    """How well a recording fits that answers."""
    return _common(asked.before, ask.before), len(asked.turns) == len(ask.turns), asked.tools == ask.tools, take.whole


def _nearness(asked: Ask, ask: Ask) -> tuple[bool, int, int, int]:
    """How near a recording is that does not answer."""
    same = (asked.stream == ask.stream) + _same_model(asked, ask) + 2 * (asked.last == ask.last)
    alike = sum(_common(here, there) for here, there in zip(asked.shown, ask.shown, strict=False))
    return asked.api == ask.api, same, _common(asked.before, ask.before), alike


def _differences(asked: Ask, ask: Ask) -> tuple[list[str], str]:
    """What differs, in words, and the place in the texts."""
    found, excerpt = [], ""
    if asked.api != ask.api:
        found.append(f"it is of the API {ask.api}, not {asked.api}")
    if not _same_model(asked, ask):
        found.append(f"its model is {ask.model or 'none'!r}, not {asked.model or 'none'!r}")
    if asked.stream != ask.stream:
        found.append(f"it is {_form(ask)}, not {_form(asked)}")
    if asked.new != ask.new:
        found.append(f"it answers {ask.new} new messages, not {asked.new}")
    elif asked.last != ask.last:
        at = next(at for at, (one, other) in enumerate(zip(asked.last, ask.last, strict=True)) if one != other)
        here, there = asked.shown[at], ask.shown[at]
        start = _common(here, there)
        found.append(f"new message {at + 1} of {asked.new} differs from character {start + 1} on")
        excerpt = f"asked: {_around(here, start)}; recorded: {_around(there, start)}"
    elif not asked.last:
        found.append("there is no message to compare")
    return found, excerpt


def _form(ask: Ask) -> str:
    return "a stream" if ask.stream else "a whole message"


def _around(text: str, at: int) -> str:
    """A text around a place."""
    piece = text[max(0, at - AROUND) : at + AROUND]
    return f"{'…' if at > AROUND else ''}{piece}{'…' if at + AROUND < len(text) else ''}"
