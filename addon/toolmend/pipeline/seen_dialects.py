"""Remembers the ambiguous dialects in which a model at a host wrote calls: from then on they are treated as known.

    seen.of(host, "my-model")                        ("hermes",)
    seen.learn(host, "my-model", ["hermes", "finish_reason"])

It is kept in memory, for the life of the process. A recording has the value that its answer was decoded with (`seen_dialects`
in meta.json), so a replay does not depend on it.
"""

from collections.abc import Iterable

from ..dialects.engine.strict_dialect import FOR_UNKNOWN_MODELS

MOST = 256
"""Pairs of host and model that are kept, the last ones."""


class SeenDialects:
    """The ambiguous dialects seen by one process."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[str, ...]] = {}

    def of(self, host: str, model: str) -> tuple[str, ...]:
        return self._seen.get((host.lower(), model.lower()), ())

    def learn(self, host: str, model: str, rules: Iterable[str]) -> None:
        """Records the ambiguous dialects among the `rules` that fired."""
        more = [rule for rule in rules if rule in FOR_UNKNOWN_MODELS]
        if not more:
            return
        pair = host.lower(), model.lower()
        self._seen[pair] = tuple(dict.fromkeys((*self._seen.pop(pair, ()), *more)))
        if len(self._seen) > MOST:
            del self._seen[next(iter(self._seen))]
