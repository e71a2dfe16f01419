"""Which dialects are looked for."""

from collections.abc import Sequence

from .dialects import DIALECTS
from .dialects.dialect import Dialect


def armed(names: Sequence[str] | None) -> list[Dialect]:
    """The dialects to look for: those named, or where none are, all that cannot be mistaken."""
    return [DIALECTS[name] for name in (DIALECTS if names is None else names)]
