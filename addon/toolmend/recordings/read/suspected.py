"""The suspects of a recording, and the setting that would mend each."""

from collections.abc import Mapping
from typing import cast

from ...pipeline.suspects import WHY, Kind, Suspect, remedy
from ...providers.model_profiles import profile_for
from .library import Entry


def remedy_of(suspect: Mapping[str, str], entry: Entry) -> str:
    """Returns the setting that would mend a suspect of a recording; empty for one of another version."""
    kind = suspect.get("kind", "")
    if kind not in WHY:
        return ""
    found = Suspect(
        suspect.get("name", ""), cast("Kind", kind), suspect.get("why", ""), suspect.get("text", ""), suspect.get("dialect", "")
    )
    return remedy(found, entry.model, profile_for(entry.model, entry.settings.get("upstream", entry.host)).dialects)
