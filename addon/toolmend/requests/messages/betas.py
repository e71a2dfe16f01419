"""The values of the header `anthropic-beta` that members of a Messages request need.

"context_management": {"edits": [{"type": "compact_20260112"}]}                      compact-2026-01-12
"thinking": {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}            thinking-binding-controls-2026-08-01
"""

from collections.abc import Mapping
from typing import Any

from ..compaction import COMPACT_EDIT

BINDING = {"prefix_mismatch_behavior": "drop_block"}
"""Makes the upstream drop thinking blocks that are bound to another conversation, instead of refusing the request."""


def needed_betas(request: Mapping[str, Any]) -> list[str]:
    """Returns the values of the header for the members of a request."""
    managed, thinking = request.get("context_management"), request.get("thinking")
    edits = managed.get("edits") if isinstance(managed, Mapping) else None
    compacts = any(isinstance(edit, Mapping) and edit.get("type") == COMPACT_EDIT for edit in edits or ())
    binds = isinstance(thinking, Mapping) and "block_binding" in thinking
    return ["compact-2026-01-12"] * compacts + ["thinking-binding-controls-2026-08-01"] * binds
