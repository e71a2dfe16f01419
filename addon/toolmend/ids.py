"""Ids for calls that the upstream gave none: `call_` and a UUIDv7 in hex, RFC 9562 §5.7.

Sortable by time, and 37 characters: OpenAI allows 40. The standard library has UUIDv7 from Python 3.14 on only.
"""

import secrets
import time


def new_call_id() -> str:
    """A new id."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (1 << 48) - 1) << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return f"call_{value:032x}"


def seconds(id_: str) -> int:
    """When an id was made, in seconds since 1970; 0 for one that is none of ours."""
    digits = id_.rpartition("_")[2]
    try:
        return (int(digits, 16) >> 80) // 1000 if len(digits) == 32 else 0
    except ValueError:
        return 0
