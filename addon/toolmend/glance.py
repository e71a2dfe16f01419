"""What goes out for a chunk that is nothing but more deltas of a run, told at a glance: most chunks are. See lane.py.

    one delta     head text tail                             each part is compared where it must stand
    several       head text tail head text tail …            their texts are cut out, put together again, and looked at as one

Rule of this file: it is written for speed. What it does not know at once it leaves to `Lane.run`, which finds the same.
"""

from collections.abc import Callable

from .apis.shape import Match, Shape, text_of
from .wrap import Wrap

MOST = 512
"""Deltas that wait to be read: reading them costs as much as one, so a few hundred make it cost nothing."""

LONGEST = 512
"""Bytes of text in a chunk that is taken in without being counted: so many of them are within ROOM as well."""

type Glance = Callable[[bytes], bytes | None]
"""What goes out for a chunk, which has been taken in then; None where it is not told."""

type Around = Callable[[bytes, int], bytes]
"""What goes out for a text, as it stands in JSON, of the delta that is the next but so many."""

type Span = Callable[[bytes, int], tuple[bytes, int] | None]
"""Of a quiet event at a place of a chunk: see `spans`."""


def nothing(_: bytes) -> bytes | None:
    """Nothing is told."""
    return None


def same(shape: Shape, quiet: Match, run: list[bytes]) -> Glance:
    """Of events in which nothing but the text varies, and that pass as they are. Their texts go into `run`."""
    head, tail = shape.head, shape.rest[0][1]
    start, length = len(head), len(tail)
    least = start + length
    most = least + LONGEST
    between = tail + head
    # where the text stands: in each line but so many, behind so many of its bytes and before so many
    which, lines, first, last = head.count(b"\n"), between.count(b"\n"), start - head.rfind(b"\n") - 1, -tail.find(b"\n")

    def glance(data: bytes) -> bytes | None:
        size = len(data)
        if (
            least < size < most
            and (match := quiet(data, start))
            and (end := match.end()) + length == size
            and data.endswith(tail)
            and data.startswith(head)
            and (data.isascii() or is_utf8(data))
            and len(run) < MOST
        ):
            run.append(data[start:end])
            return data
        return data if size > 2 * least and several(data) else None

    def several(data: bytes) -> bool:
        texts = [line[first:last] for line in data.split(b"\n")[which:-1:lines]]
        said = b"".join(texts)
        if len(said) > LONGEST or len(run) + len(texts) > MOST or said.find(b"\\") >= 0 or not said.isascii() or b"" in texts:
            return False
        match = quiet(said, 0)
        if match is None or match.end() < len(said) or head + between.join(texts) + tail != data:
            return False
        run.extend(texts)
        return True

    return glance


def wrapped(shape: Shape, quiet: Match, run: list[bytes], around: Around) -> Glance:
    """Of such events, where something else goes out around the text."""
    take = same(shape, quiet, run)

    def glance(data: bytes) -> bytes | None:
        before = len(run)
        if take(data) is None:
            return None
        if len(run) == before + 1:
            return around(run[before], before + 1)
        return b"".join([around(text, count) for count, text in enumerate(run[before:], before + 1)])

    return glance


def around(wrap: Wrap, *, escapes: bool) -> Around:
    """What goes out for a text, and around it."""
    quotes = [b'"%b"' % part for part in wrap.parts]
    parts = (quotes[0][1:], *quotes[1:-1], quotes[-1][:-1])
    number, end = wrap.number, wrap.end

    def put(text: bytes, count: int) -> bytes:
        if text.find(b"\\") >= 0 or not text.isascii():
            return wrap.around(text_of(text) or "", count, escapes=escapes)
        out = text.join(parts)
        return out if number < 0 else out + b"%d" % (number + count) + end

    return put


def varying(span: Span, most: int, run: list[bytes], last: list[bytes]) -> Glance:
    """Of events in which more than the text varies, at most so long, and that pass as they are. The event becomes the last."""

    def glance(data: bytes) -> bytes | None:
        found = span(data, 0) if len(data) < most and len(run) < MOST else None
        if found is None or found[1] != len(data):
            return None
        run.append(found[0])
        last[:] = (data,)
        return data

    return glance


def spans(shape: Shape, quiet: Match) -> Span:
    """The text of a quiet event, and where the event ends; None where no such event stands."""
    head, holes = shape.head, shape.holes(quiet)
    start = len(head)

    def span(data: bytes, at: int) -> tuple[bytes, int] | None:
        if not data.startswith(head, at):
            return None
        end, text = at + start, b""
        for hole, literal, length in holes:
            match = hole(data, end)
            if match is None or not data.startswith(literal, stop := match.end()):
                return None
            if hole is quiet:
                text = data[end:stop]
            end = stop + length
        return (text, end) if text and (text.isascii() or is_utf8(text)) else None

    return span


def is_utf8(text: bytes) -> bool:
    """Whether no character in it is cut or wrong."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
