"""The ambiguous dialects that a model at a host has written calls in: from then on they are looked for as for a known model.

    seen.of(host, "my-model")                        ("hermes",)
    seen.learn(host, "my-model", ["hermes", "finish_reason"])

It is kept in memory for as long as the process runs. A recording holds the value that its answer was read with (`seen_dialects`
in meta.json), so a replay does not depend on it.
"""

from collections.abc import Iterable

from ..dialects.engine.strict_dialect import FOR_UNKNOWN_MODELS

MOST = 256
"""Pairs of host and model that are kept: the last ones that answered so."""


class SeenDialects:
    """What the answers of one process showed."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[str, ...]] = {}

    def of(self, host: str, model: str) -> tuple[str, ...]:
        return self._seen.get((host.lower(), model.lower()), ())

    def learn(self, host: str, model: str, rules: Iterable[str]) -> None:
        """Keeps those of the `rules` that fired which are such dialects."""
        more = [rule for rule in rules if rule in FOR_UNKNOWN_MODELS]
        if not more:
            return
        pair = host.lower(), model.lower()
        self._seen[pair] = tuple(dict.fromkeys((*self._seen.pop(pair, ()), *more)))
        if len(self._seen) > MOST:
            del self._seen[next(iter(self._seen))]
