"""Ids for calls without one: `call_` and a UUIDv7 in hex (RFC 9562 §5.7).

Sortable by time, and 37 characters: OpenAI allows 40. The standard library has UUIDv7 only from Python 3.14.
"""

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from itertools import count

_CREATED = re.compile(rb'"created(?:_at)?"\s*:\s*(\d{9,11})\b')


def new_call_id() -> str:
    """Returns a new id."""
    return _id(time.time_ns() // 1_000_000, secrets.randbits(74))


def ids_for(body: bytes) -> Callable[[], str]:
    """Returns a function that makes the ids for a stored stream, always the same ones, with the stream's own time."""
    created = _CREATED.search(body)
    milliseconds = int(created[1]) * 1000 if created else 0
    seed = hashlib.sha256(body).digest()
    numbers = count()

    def new_id() -> str:
        digest = hashlib.sha256(seed + next(numbers).to_bytes(8)).digest()
        return _id(milliseconds, int.from_bytes(digest) & (1 << 74) - 1)

    return new_id


def with_prefix(prefix: str, id_: str) -> str:
    """Returns a new id for another kind of object: `call_0190…` with `toolu_` is `toolu_0190…`."""
    return prefix + id_.removeprefix("call_")


def _id(milliseconds: int, random: int) -> str:
    """`random`: 74 bits."""
    value = (milliseconds & (1 << 48) - 1) << 80 | 7 << 76 | (random >> 62) << 64 | 2 << 62 | random & (1 << 62) - 1
    return f"call_{value:032x}"


def seconds(id_: str) -> int:
    """Returns when an id was created, in seconds since 1970; 0 for any other id."""
    digits = id_.rpartition("_")[2]
    try:
        return (int(digits, 16) >> 80) // 1000 if len(digits) == 32 else 0
    except ValueError:
        return 0
