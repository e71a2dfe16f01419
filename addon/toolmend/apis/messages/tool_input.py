"""The `input` of a tool_use block: an object, where all other APIs have JSON text.

Rule of this file: it is what the text says, or nothing: no object is made up for a broken text (wire-apis.md, invariant 4).
"""

import re
from typing import Any

from ...core import json_text

_HALVES = re.compile("[\ud800-\udfff]")


def escape_surrogates(arguments: str) -> str:
    """JSON text in which half a character is told by its number: clients that encode their pieces cannot encode that."""
    return _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", arguments)


def input_of(arguments: str, *, complete: bool) -> dict[str, Any] | None:
    """The `input` that arguments are; None where they are no JSON object. Nothing is one if that is complete."""
    if not arguments.strip():
        return {} if complete else None
    try:
        # a character may have come in two halves: as escapes they are one again
        value = json_text.loads(escape_surrogates(arguments).encode())
    except json_text.NotJSON:
        return None
    return value if isinstance(value, dict) else None
