"""Which agent asks, where an answer has to be another for it."""

from collections.abc import Mapping
from typing import Any


def is_codex(request: Mapping[str, Any]) -> bool:
    """Whether a request of Responses is Codex's: it sends facts of its turn along."""
    told = request.get("client_metadata")
    return isinstance(told, Mapping) and any(str(name).startswith("x-codex-") for name in told)
