"""The `input` of a tool_use block: an object where all other APIs have JSON text.

Broken text has no object: none is made up for it (docs/dev/wire-apis.md, invariant 4).
"""

import re
from typing import Any

from ...core import json_text

_HALVES = re.compile("[\ud800-\udfff]")


def escape_surrogates(arguments: str) -> str:
    """Escapes surrogate halves in JSON text: clients that encode each piece cannot encode them."""
    return _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", arguments)


def input_of(arguments: str, *, complete: bool) -> dict[str, Any] | None:
    """Parses arguments. Returns None if they are not a JSON object; empty arguments are one if `complete`."""
    if not arguments.strip():
        return {} if complete else None
    try:
        # a character may be split into two surrogates: as escapes they are joined again
        value = json_text.loads(escape_surrogates(arguments).encode())
    except json_text.NotJSON:
        return None
    return value if isinstance(value, dict) else None
