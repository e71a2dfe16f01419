"""Finds the recording that answers a request: by its API, its model, and its new messages.

    {"model": "kimi-k2.5", "stream": true, "messages": [system, user, assistant, tool, tool]}
                                                                                 └── new ──┘
    a recording answers it        if its request has the same API, model, form (stream or not) and new messages
    the best of several           shares more of the earlier messages, then has the same number of them, then the same tools
    of equal ones                 each is played once, in order of recording, and then again from the first

So a retry gets the recorded retry, and an agent that is started again gets the same answers. In order (`Shelf(…, order=True)`)
only API and form are compared, and each recording is played once: repeating them would be a loop.

request_fingerprint.py defines what of a request is compared. The only state is what was played.
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
    """A playable recording. `asks`: the requests it answers. `whole`: it has the upstream's end.

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
    """No recording matches. `words`: the nearest one and the difference; `excerpt`: the differing texts, for a log."""

    words: str
    excerpt: str = ""


class Shelf:
    """Recordings in order, and how often each was played."""

    def __init__(self, takes: Sequence[Take], *, order: bool = False) -> None:
        self.takes, self.order = takes, order
        self._played = [0] * len(takes)

    def find(self, asked: Ask) -> Take | Miss:
        """Returns the recording that answers, and counts it as played."""
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
            return Miss(f"all recordings of {asked.api} that are {_form(asked)} were played, in order")
        nearest = max(
            ((_nearness(asked, ask), -at, take.name, ask) for at, take in enumerate(self.takes) for ask in take.asks),
            key=lambda row: row[:2],
            default=None,
        )
        if nearest is None:
            return Miss("no recording answers this request: the folder has none")
        _, _, name, ask = nearest
        different, excerpt = _differences(asked, ask)
        return Miss(f"no recording answers this request; the nearest is {name}, but {', and '.join(different)}", excerpt)


def _same_form(asked: Ask, ask: Ask) -> bool:
    return (asked.api, asked.stream) == (ask.api, ask.stream)


def _answers(ask: Ask, asked: Ask) -> bool:
    return bool(asked.last) and asked.last == ask.last and _same_form(asked, ask) and _same_model(asked, ask)


def _same_model(asked: Ask, ask: Ask) -> bool:
    return asked.model.lower() == ask.model.lower()


def _common(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Returns the length of the common prefix."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (here, there) in pairs if here != there), min(len(first), len(second)))


def _rank(asked: Ask, ask: Ask, take: Take) -> tuple[int, bool, bool, bool]:
    """Ranks a recording that answers."""
    return _common(asked.before, ask.before), len(asked.turns) == len(ask.turns), asked.tools == ask.tools, take.whole


def _nearness(asked: Ask, ask: Ask) -> tuple[bool, int, int, int]:
    """Ranks a recording that does not answer."""
    same = (asked.stream == ask.stream) + _same_model(asked, ask) + 2 * (asked.last == ask.last)
    alike = sum(_common(here, there) for here, there in zip(asked.shown, ask.shown, strict=False))
    return asked.api == ask.api, same, _common(asked.before, ask.before), alike


def _differences(asked: Ask, ask: Ask) -> tuple[list[str], str]:
    """Returns the differences in words, and the differing texts."""
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
        at = next(at for at, (new, old) in enumerate(zip(asked.last, ask.last, strict=True)) if new != old)
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
    """Returns a text around a place."""
    piece = text[max(0, at - AROUND) : at + AROUND]
    return f"{'…' if at > AROUND else ''}{piece}{'…' if at + AROUND < len(text) else ''}"
