"""Which recordings are deleted because there are too many or they are too old.

    keep = parse("toolmend_keep", "500MB 14d")         expired([Stored(..), ..], keep, now)  →  those to delete, oldest first

It only decides; pruning.py reads and deletes. Recordings kept by hand or still open (`held`) are neither deleted nor counted.
"""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path

from ..core.fastclass import value
from .checks import SettingsError, words

_UNITS = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "h": 3600, "d": 86400, "w": 604800}
"""Bytes and seconds."""

_LIMIT = re.compile(r"([1-9][0-9]{0,6})([kmgt]b|[hdw])", re.IGNORECASE | re.ASCII)
"""At most seven digits: as weeks, they fit into a timedelta."""


@value
class Keep:
    """`size` in bytes; None: no limit."""

    size: int | None = None
    age: timedelta | None = None


DEFAULT = Keep(500 * 10**6, timedelta(days=14))


@value
class Stored:
    """A recording on disk; `size` in bytes."""

    folder: Path
    at: datetime
    size: int
    held: bool = False


def parse(where: str, text: str) -> Keep:
    """Parses a size, an age, or both; `all` or `off` for no limit. Raises SettingsError."""
    given = [word.lower() for word in words(text)]
    if not given:
        return DEFAULT
    if given in (["all"], ["off"]):
        return Keep()
    limits: dict[str, int] = {}
    for word in given:
        found = _LIMIT.fullmatch(word)
        if not found:
            raise SettingsError(f"{where}: {word!r} is neither a size nor an age, write both as in 500MB 14d, or write all")
        kind = "size" if found[2].endswith("b") else "age"
        if kind in limits:
            raise SettingsError(f"{where}: {text!r} names the {kind} twice, write both as in 500MB 14d, or write all")
        limits[kind] = int(found[1]) * _UNITS[found[2]]
    age = limits.get("age")
    return Keep(limits.get("size"), None if age is None else timedelta(seconds=age))


def expired(stored: Iterable[Stored], keep: Keep, now: datetime) -> list[Stored]:
    """Returns the recordings to delete, oldest first: those over the age, and those over the size, counted from the newest."""
    newest = sorted((entry for entry in stored if not entry.held), key=lambda entry: (entry.at, entry.folder), reverse=True)
    sums = accumulate(entry.size for entry in newest)
    return [
        entry
        for entry, total in zip(newest, sums, strict=True)
        if (keep.size is not None and total > keep.size) or (keep.age is not None and now - entry.at > keep.age)
    ][::-1]
