"""Chooses the dialects that are searched for in an answer: those that the user names, or those of the model's profile."""

from collections.abc import Sequence

from ..dialects import DIALECTS, OPEN_JSON, STRICT
from ..dialects.engine.dialect import Dialect
from ..dialects.engine.strict_dialect import FOR_UNKNOWN_MODELS
from ..providers.model_profiles import Profile


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
