"""Remembers by host and model how the text of earlier responses began: as content, or inside a thought that the prompt opened.

    beginnings.of(pair)              "content", "reasoning", or "" if no response of this process showed it
    beginnings.learn(pair, "content")

Kept in memory for the lifetime of the process. A recording stores the value that its response was decoded with (`text_begins` in
meta.json), so a replay does not depend on it.
"""

from collections.abc import Mapping
from typing import Any

from .thinking import is_off

MOST = 256
"""Pairs of host and model that are kept, the most recent ones."""

type ModelAtHost = tuple[str, str, bool]
"""Host, model, and whether the request turned thinking off: such responses have no reasoning."""


class Beginnings:
    """How the responses of this process began."""

    def __init__(self) -> None:
        self._known: dict[ModelAtHost, str] = {}

    def of(self, pair: ModelAtHost) -> str:
        return self._known.get(pair, "")

    def learn(self, pair: ModelAtHost, began: str) -> None:
        """Stores how a response began; an empty `began` is ignored."""
        if began:
            self._known.pop(pair, None)
            self._known[pair] = began
            if len(self._known) > MOST:
                del self._known[next(iter(self._known))]


def pair_of(host: str, model: str, request: Mapping[str, Any]) -> ModelAtHost:
    """Returns the key by which responses begin alike. `request` is the client's."""
    return host.lower(), model.lower(), is_off(request)
