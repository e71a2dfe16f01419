"""What goes out for a chunk that is one more delta of a run, told at a glance: most chunks are. See lane.py.

Rule of this file: it is written for speed. What it does not know at once it leaves to `Lane.run`, which finds the same.
"""

from collections.abc import Callable

from .apis.shape import Match, Shape, text_of
from .wrap import Wrap

MOST = 256
"""Deltas that wait to be read: reading them costs as much as one, so a few hundred make it cost nothing."""

LONGEST = 1024
"""Bytes of an event that is taken in without being counted: so many of them are within ROOM as well."""

type Glance = Callable[[bytes], bytes | None]
"""What goes out for a chunk, which has been taken in then; None where it is not told."""


def nothing(_: bytes) -> bytes | None:
    """Nothing is told."""
    return None


def same(shape: Shape, quiet: Match, run: list[bytes]) -> Glance:
    """Of events in which nothing but the text varies, and that pass as they are."""
    head, tail = shape.head, shape.rest[0][1]
    start, length = len(head), len(tail)
    least = start + length

    def glance(data: bytes) -> bytes | None:
        size = len(data)
        if (
            least < size < LONGEST
            and (match := quiet(data, start))
            and match.end() + length == size
            and data.endswith(tail)
            and data.startswith(head)
            and (data.isascii() or is_utf8(data))
            and len(run) < MOST
        ):
            run.append(data)
            return data
        return None

    return glance


def wrapped(shape: Shape, quiet: Match, run: list[bytes], wrap: Wrap, *, escapes: bool) -> Glance:
    """Of such events, where something else goes out around the text."""
    take = same(shape, quiet, run)
    start, length = len(shape.head), len(shape.rest[0][1])
    quotes = [b'"%b"' % part for part in wrap.parts]
    parts = (quotes[0][1:], *quotes[1:-1], quotes[-1][:-1])

    def glance(data: bytes) -> bytes | None:
        if take(data) is None:
            return None
        text = data[start : len(data) - length]
        if text.find(b"\\") >= 0 or not text.isascii():
            return wrap.around(text_of(text) or "", len(run), escapes=escapes)
        out = text.join(parts)
        return out if wrap.number < 0 else out + b"%d" % (wrap.number + len(run)) + wrap.end

    return glance


def is_utf8(text: bytes) -> bool:
    """Whether no character in it is cut or wrong."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
