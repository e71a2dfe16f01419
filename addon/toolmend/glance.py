"""What goes out for a chunk that is nothing but more deltas of a run, told at a glance: most chunks are. See lane.py.

    one delta     head text tail                             each part is compared where it must stand
    several       head text tail head text tail …            their texts are cut out, and looked at as one

Rule of this file: it is written for speed. What it does not know at once it leaves to `Lane.run`, which finds the same.
"""

from bisect import bisect
from collections.abc import Callable
from itertools import accumulate

from .apis.shape import Match, Shape, text_of
from .wrap import Wrap

MOST = 512
"""Deltas that wait to be read: reading them costs as much as one, so a few hundred make it cost nothing."""

LONGEST = 512
"""Bytes of text in a chunk that is taken in without being counted: so many of them are within ROOM as well."""

ROW = 24
"""Deltas that are looked at together. Where their texts turn out not to be quiet, so many were cut out in vain."""

type Glance = Callable[[bytes], bytes | None]
"""What goes out for a chunk, which has been taken in then; None where it is not told."""

type Around = Callable[[bytes, int], bytes]
"""What goes out for a text, as it stands in JSON, of the delta that is the next but so many."""

type Row = Callable[[bytes, int], tuple[list[bytes], list[int]]]
"""The texts of the quiet events that stand in a row from a place of a chunk on, and where each of them begins; then its end."""

_BACKSLASH = b"\\"[0]


def nothing(_: bytes) -> bytes | None:
    """Nothing is told."""
    return None


def same(shape: Shape, quiet: Match, row: Row, run: list[bytes]) -> Glance:
    """Of events in which nothing but the text varies, and that pass as they are. Their texts go into `run`."""
    head, tail = shape.head, shape.rest[0][1]
    start, length = len(head), len(tail)
    least = start + length
    most = least + LONGEST
    several = passing(row, 2 * least, run, [])

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
        return several(data)

    return glance


def varying(shape: Shape, quiet: Match, row: Row, run: list[bytes], last: list[bytes]) -> Glance:
    """Of events in which more than the text varies, and that pass as they are. The last one becomes the `last`."""
    head, holes = shape.head, shape.holes(quiet)
    start = len(head)
    least = start + sum(length for _, _, length in holes)
    most = least + LONGEST
    several = passing(row, 2 * least, run, last)

    def glance(data: bytes) -> bytes | None:
        size = len(data)
        if size < most and len(run) < MOST and data.startswith(head):
            end = start
            for hole, literal, length in holes:
                match = hole(data, end)
                if match is None or not data.startswith(literal, end := match.end()):
                    break
                end += length
                if hole is quiet:
                    text = match[0]
            else:
                if end == size and text and (text.isascii() or is_utf8(text)):
                    run.append(text)
                    last[:] = (data,)
                    return data
        return several(data)

    return glance


def passing(row: Row, least: int, run: list[bytes], last: list[bytes]) -> Glance:
    """Of several events that pass as they are, at least so many bytes. The last one becomes the `last`."""

    def glance(data: bytes) -> bytes | None:
        if len(data) < least or len(run) > MOST - ROW:
            return None
        texts, ends = row(data, 0)
        if ends[-1] != len(data):
            return None
        run.extend(texts)
        last[:] = (data[ends[-2] :],)
        return data

    return glance


def wrapped(take: Glance, run: list[bytes], around: Around) -> Glance:
    """Of events that `take` takes in, where something else goes out around the text."""

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


def rows(shape: Shape, quiet: Match, *, alone: bool) -> Row:
    """Finds quiet events, at most ROW; `alone`: each text is quiet without those behind it."""
    head, holes = shape.head, shape.holes(quiet)
    start = len(head)

    def row(data: bytes, at: int) -> tuple[list[bytes], list[int]]:
        texts, ends = list[bytes](), [at]
        while data.startswith(head, at) and len(texts) < ROW:
            at += start
            text = b""
            for hole, literal, length in holes:
                if alone or hole is not quiet or not texts or data[(end := data.find(b'"', at)) - 1] == _BACKSLASH:
                    match = hole(data, at)
                    end = match.end() if match else -1
                if not data.startswith(literal, end):
                    break
                if hole is quiet:
                    text = data[at:end]
                at = end + length
            else:
                if 0 < len(text) <= LONGEST:
                    texts.append(text)
                    ends.append(at)
                    continue
            break
        said = b"".join(texts)
        if not said.isascii() and not is_utf8(b" ".join(texts)):
            del texts[next(at for at, text in enumerate(texts) if not is_utf8(text)) :]
            said = b"".join(texts)
        while (match := quiet(said + b'"', 0)) and match.end() < len(said):
            del texts[bisect(list(accumulate(map(len, texts))), match.end()) :]
            said = b"".join(texts)
        return texts, ends[: len(texts) + 1]

    return row


def is_utf8(text: bytes) -> bool:
    """Whether no character in it is cut or wrong."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
