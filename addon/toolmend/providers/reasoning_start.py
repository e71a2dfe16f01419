"""How the text of earlier answers began, by host and model: as content, or inside a thought that the prompt had opened.

    beginnings.of(pair)              "content", "reasoning", or "" where no answer of this process showed it
    beginnings.learn(pair, "content")

It is kept in memory for as long as the process runs. A recording holds the value that its answer was read with (`text_begins` in
meta.json), so a replay does not depend on it.
"""

from collections.abc import Mapping
from typing import Any

from .thinking import is_off

MOST = 256
"""Pairs of host and model that are kept: the last ones that answered."""

type ModelAtHost = tuple[str, str, bool]
"""Host, model, and whether the request turned thinking off: such answers have no thought."""


class Beginnings:
    """What the answers of one process showed."""

    def __init__(self) -> None:
        self._known: dict[ModelAtHost, str] = {}

    def of(self, pair: ModelAtHost) -> str:
        return self._known.get(pair, "")

    def learn(self, pair: ModelAtHost, began: str) -> None:
        """Keeps what the last answer showed; nothing, if `began` is empty."""
        if began:
            self._known.pop(pair, None)
            self._known[pair] = began
            if len(self._known) > MOST:
                del self._known[next(iter(self._known))]


def pair_of(host: str, model: str, request: Mapping[str, Any]) -> ModelAtHost:
    """What answers are alike by. `request` is the client's."""
    return host.lower(), model.lower(), is_off(request)
