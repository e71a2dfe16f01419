"""Which dialects are looked for in an answer: those the user names, or what the profile of the model says."""

from collections.abc import Sequence

from ..dialects import DIALECTS, OPEN_JSON, STRICT
from ..dialects.engine.dialect import Dialect
from ..dialects.engine.strict_dialect import FOR_UNKNOWN_MODELS
from ..providers.model_profiles import Profile


def armed(
    names: Sequence[str] | None, profile: Profile, *, prompted: bool = False, known: bool = False
) -> list[Dialect]:
    """The dialects to look for: those named, or where none are, all that cannot be mistaken and the profile's.

    The other ambiguous ones are looked for too, and asked for more, unless the maker of the model serves it, or only what is
    `known` is wanted. A model that was `prompted` to write its calls as JSON does so, whatever the names.
    """
    asked = OPEN_JSON if prompted else ()
    strict = () if profile.name == "claude" else STRICT
    if names is not None:
        return [*(DIALECTS[name] for name in names), *(dialect for dialect in asked if dialect.name not in names)]
    strangers = {} if known or profile.first_party else FOR_UNKNOWN_MODELS
    certain = {*profile.dialects, *(dialect.name for dialect in (*asked, *strict))}
    looked_for = [dialect for name, dialect in DIALECTS.items() if not dialect.ambiguous or name in certain]
    # last, for a call that one of those has may go out as it comes
    return looked_for + [strangers[name] for name in DIALECTS if name in strangers and DIALECTS[name] not in looked_for]
