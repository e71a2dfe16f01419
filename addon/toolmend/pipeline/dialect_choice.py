"""Chooses the dialects that are searched for in an answer: the user's, or those of the model's profile and those seen before.

    armed(None, profile)                             all unambiguous dialects, the profile's, and the rest in strict form
    seen.of(host, "my-model")                        ("hermes",)
    seen.learn(host, "my-model", ["hermes", "finish_reason"])

What was seen is kept in memory, for the life of the process. A recording has the value that its answer was decoded with
(`seen_dialects` in meta.json), so a replay does not depend on it.
"""

from collections.abc import Iterable, Sequence

from ..dialects import DIALECTS, OPEN_JSON, STRICT
from ..dialects.engine.dialect import Dialect
from ..dialects.engine.strict_dialect import FOR_UNKNOWN_MODELS
from ..providers.model_profiles import Profile

MAX_SEEN = 256
"""Pairs of host and model that are kept, the last ones."""


def armed(
    names: Sequence[str] | None, profile: Profile, *, prompted: bool = False, known: bool = False
) -> list[Dialect]:
    """Returns the dialects to search for.

    Without names, these are all unambiguous dialects and the profile's. The other ambiguous ones are searched with stricter
    conditions, unless the maker of the model serves it.

    Args:
        names: The user's choice; None for automatic.
        profile: The profile of the model.
        prompted: The model was prompted to write calls as JSON, so that form is always searched for.
        known: Only the profile's ambiguous dialects are wanted.
    """
    asked = OPEN_JSON if prompted else ()
    strict = () if profile.name == "claude" else STRICT
    if names is not None:
        return [*(DIALECTS[name] for name in names), *(dialect for dialect in asked if dialect.name not in names)]
    strangers = {} if known or profile.first_party else FOR_UNKNOWN_MODELS
    certain = {*profile.dialects, *(dialect.name for dialect in (*asked, *strict))}
    looked_for = [dialect for name, dialect in DIALECTS.items() if not dialect.ambiguous or name in certain]
    # last, so that a call of the dialects before them is theirs
    return looked_for + [strangers[name] for name in DIALECTS if name in strangers and DIALECTS[name] not in looked_for]


class SeenDialects:
    """The ambiguous dialects in which a model at a host wrote calls: from then on they count as the profile's."""

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
        if len(self._seen) > MAX_SEEN:
            del self._seen[next(iter(self._seen))]
