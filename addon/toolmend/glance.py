"""What goes out for a chunk that is nothing but more deltas of a run, told at a glance: most chunks are. See lane.py.

    one delta     head text tail                             each part is compared where it must stand
    several       head text tail head text tail …            their texts are cut out, and looked at as one

Rule of this file: it is written for speed. What it does not know at once it leaves to `Lane.run`, which finds the same.
"""

import re
from bisect import bisect
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any

from .apis.shape import ANY_TEXT, Match, Shape, text_of
from .course import KNOWN, Escapes
from .wrap import Wrap

MOST = 512
"""Deltas that wait to be read: reading them costs as much as one, so a few hundred make it cost nothing."""

LONGEST = 512
"""Bytes of text in a chunk that is taken in without being counted: so many of them are within ROOM as well."""

ROW = 24
"""Deltas that are looked at together. Where their texts turn out not to be quiet, so many were cut out in vain."""

WORD, WORDS = 16, 2048
"""Bytes of a text that is remembered, and how many are: a model says the same words again and again."""

type Glance = Callable[[bytes], bytes | None]
"""What goes out for a chunk, which has been taken in then; None where it is not told."""

type Around = Callable[[list[bytes], int], bytes]
"""What goes out for texts, as they stand in JSON, the first of them of the delta that is the next but so many."""

type Texts = tuple[list[bytes], int, int]
"""Of events that stand in a row; where the last of them begins, and ends."""

type Last = deque[bytes]
"""The last event, where more than the text varies; at most this one."""

type Row = Callable[[bytes, int], Texts]
"""The quiet events from a place of a chunk on."""

_BACKSLASH = b"\\"[0]


@lru_cache(maxsize=16)
def _known(_quiet: re.Pattern[bytes]) -> set[bytes]:
    """Texts that the pattern was seen to match."""
    return set()


def nothing(_: bytes) -> bytes | None:
    """Nothing is told."""
    return None


def same(shape: Shape, quiet: re.Pattern[bytes], several: Glance, run: list[bytes]) -> Glance:
    """Of events in which nothing but the text varies, and that pass as they are. Their texts go into `run`."""
    head, tail = shape.head, shape.rest[0][1]
    start, length, most = len(head), len(tail), shape.least + LONGEST
    match, known = quiet.match, _known(quiet)

    def is_quiet(text: bytes) -> bool:
        if not text or not (found := match(text + b'"')) or found.end() < len(text) or not (text.isascii() or is_utf8(text)):
            return False
        if len(text) <= WORD:
            if len(known) == WORDS:
                known.clear()
            known.add(text)
        return True

    def glance(data: bytes) -> bytes | None:
        if (
            len(data) < most
            and data.endswith(tail)
            and data.startswith(head)
            and ((text := data[start:-length]) in known or is_quiet(text))
            and len(run) < MOST
        ):
            run.append(text)
            return data
        return several(data)

    return glance


def varying(shape: Shape, quiet: re.Pattern[bytes], several: Glance, run: list[bytes], last: Last) -> Glance:
    """Of events in which more than the text varies, and that pass as they are. The last one becomes the `last`.

    The pattern skips what stands between, and what they would be put together is compared with what came. It is made where a
    run has begun: shapes may be others in each event.
    """
    form, place, start, most = shape.form, shape.place, len(shape.head), shape.least + LONGEST
    match: Match | None = None

    def glance(data: bytes) -> bytes | None:
        nonlocal match
        if len(data) < most and 0 < len(run) < MOST:
            if match is None:
                match = re.compile(shape.pattern(quiet)).match
            if (
                (found := match(data, start))
                and form % (parts := found.groups()) == data
                and (text := parts[place])
                and (text.isascii() or is_utf8(text))
            ):
                run.append(text)
                last.append(data)
                return data
        return several(data)

    return glance


def passing(shape: Shape, row: Row, run: list[bytes], last: Last) -> Glance:
    """Of several events that pass as they are. The last one becomes the `last`."""
    least, most, tail = 2 * shape.least, ROW * (shape.least + LONGEST), shape.rest[-1][1]

    def glance(data: bytes) -> bytes | None:
        if not least < len(data) < most or len(run) >= MOST or not data.endswith(tail):
            return None
        texts, first, end = row(data, 0)
        if end != len(data):
            return None
        run.extend(texts)
        last.append(data[first:])
        return data

    return glance


def together(shape: Shape, quiet: re.Pattern[bytes], run: list[bytes], last: Last, *, counts: bool) -> Glance:
    """`passing`, where texts need not be quiet without those behind them. They go into `run` as one, unless it `counts` them.

    It is done as in `varying`.
    """
    head, tail, form, place, varies = shape.head, shape.rest[-1][1], shape.form, shape.place, shape.varies
    start, between, match = len(head), tail + head, quiet.match
    least, most = 2 * shape.least, ROW * (shape.least + LONGEST)
    cut: Callable[[bytes, int], list[Any]] | None = None

    def glance(data: bytes) -> bytes | None:
        nonlocal cut
        if not least < len(data) < most or not 0 < len(run) < MOST or not data.endswith(tail):
            return None
        if cut is None:
            cut = re.compile(shape.pattern(ANY_TEXT) + rb"(?s:.{%d})" % len(between)).findall
        found = cut(data + head, start)
        if (form * len(found) % tuple(chain.from_iterable(found)) if varies else head + between.join(found) + tail) != data:
            return None
        texts: list[bytes] = [parts[place] for parts in found] if varies else found
        said = b"".join(texts)
        if b"" in texts or not (said.isascii() or is_utf8(b" ".join(texts))):
            return None
        if (quiet_ := match(said + b'"', 0)) is None or quiet_.end() < len(said):
            return None
        if len(said) > LONGEST and len(max(texts, key=len)) > LONGEST:
            return None
        run.extend([said] if len(said) <= LONGEST and not counts else texts)
        if varies:
            last.append(form % found[-1])
        return data

    return glance


def wrapped(take: Glance, run: list[bytes], around: Around) -> Glance:
    """Of events that `take` takes in, where something else goes out around the text."""

    def glance(data: bytes) -> bytes | None:
        before = len(run)
        return around(run[before:], before + 1) if take(data) is not None else None

    return glance


def around(wrap: Wrap, *, escapes: Escapes | None) -> Around:
    """What goes out for a text, and around it."""
    quotes = [b'"%b"' % part for part in wrap.parts]
    parts = (quotes[0][1:], *quotes[1:-1], quotes[-1][:-1])
    between, number, end = parts[-1] + parts[0], wrap.number, wrap.end

    def put(texts: list[bytes], count: int) -> bytes:
        said = b"".join(texts)
        if said.find(b"\\") >= 0 or not said.isascii():
            return b"".join([wrap.around(text_of(text) or "", at, escapes=escapes) for at, text in enumerate(texts, count)])
        if number >= 0:
            return b"".join([text.join(parts) + b"%d" % (number + at) + end for at, text in enumerate(texts, count)])
        if len(parts) > 2:
            return b"".join([text.join(parts) for text in texts])
        return parts[0] + between.join(texts) + parts[1]

    return put


def rows(shape: Shape, quiet: re.Pattern[bytes], *, alone: bool) -> Row:
    """Finds quiet events, at most ROW; `alone`: each text is quiet without those behind it."""
    head, match_text = shape.head, quiet.match
    holes = shape.holes(match_text)
    start, tail, length = len(head), holes[-1][1], holes[-1][2]
    between, step = tail + head, length + start

    def end_of(data: bytes, at: int, quote: int) -> int:
        """Where a text ends that is quiet, or may be with those behind it; somewhere else where it is surely not."""
        match = match_text(data, at)
        end = match.end() if match else -1
        begins = not alone and end >= quote - KNOWN - 1 and data[quote - 1] != _BACKSLASH
        return quote if begins else end

    def alike(data: bytes, at: int, most: int) -> Texts:
        """Of events in which nothing else varies."""
        texts = list[bytes]()
        find, startswith, take = data.find, data.startswith, texts.append
        escapes = alone or find(b"\\", at) >= 0
        at += start
        end = end_of(data, at, find(b'"', at))
        for _ in range(most - 1):
            if not startswith(between, end):
                break
            take(data[at:end])
            at = end + step
            end = find(b'"', at)
            if escapes and (alone or data[end - 1] == _BACKSLASH):
                end = end_of(data, at, end)
        if startswith(tail, end):
            take(data[at:end])
            return texts, at - start, end + length
        return texts, at - step - len(texts[-1]) - start if texts else at - start, at - start

    def apart(data: bytes, at: int, most: int) -> Texts:
        """Of events in which more varies."""
        texts, first, last, text = list[bytes](), at, at, b""
        while data.startswith(head, at) and len(texts) < most:
            at += start
            for hole, literal, length in holes:
                if hole is match_text:
                    end = data.find(b'"', at)
                    if alone or not texts or data[end - 1] == _BACKSLASH:
                        end = end_of(data, at, end)
                else:
                    match = hole(data, at)
                    end = match.end() if match else -1
                if not data.startswith(literal, end):
                    return texts, first, last
                if hole is match_text:
                    text = data[at:end]
                at = end + length
            texts.append(text)
            first, last = last, at
        return texts, first, last

    cut = apart if shape.varies else alike

    def row(data: bytes, at: int) -> Texts:
        if not data.startswith(head, at):
            return [], at, at
        found = texts, _, _ = cut(data, at, ROW)
        many, said = len(texts), b"".join(texts)
        if b"" in texts or len(said) > LONGEST * many or not (said.isascii() or is_utf8(b" ".join(texts))):
            many = next(n for n, text in enumerate(texts) if not 0 < len(text) <= LONGEST or not is_utf8(text))
            said = b"".join(texts[:many])
        while (match := match_text(said + b'"', 0)) and match.end() < len(said):
            many = bisect(list(accumulate(map(len, texts[:many]))), match.end())
            said = b"".join(texts[:many])
        if many == len(texts):
            return found
        return cut(data, at, many) if many else ([], at, at)

    return row


def is_utf8(text: bytes) -> bool:
    """Whether no character in it is cut or wrong."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
