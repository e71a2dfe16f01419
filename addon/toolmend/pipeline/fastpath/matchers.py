"""What goes out for a chunk that is nothing but more deltas of a run, told at a glance: most chunks are. See delta_run.py.

    one delta     head text tail                             each part is compared where it must stand
    several       head text tail head text tail …            their texts are cut out, and looked at as one

Rule of this file: it is written for speed. What it does not know at once it leaves to `Lane.run`, which finds the same.
"""

import re
from bisect import bisect
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, batched, pairwise

from ...apis.shared.delta_template import DeltaTemplate, Match, text_of
from ...apis.shared.json_spans import ANY_TEXT
from ...core.record_template import RecordTemplate
from ...core.text_state import HALF, TextState, cut_off
from .output_template import Around

MOST = 512
"""Deltas that wait to be read: reading them costs as much as one, so a few hundred make it cost nothing."""

LONGEST = 512
"""Bytes of text in a chunk that is taken in without being counted: so many of them are within ROOM as well."""

ROW = 24
"""Deltas that are looked at together. Where their texts turn out not to be quiet, so many were cut out in vain."""

WORD, WORDS = 16, 2048
"""Bytes of a text that is remembered, and how many are: a model says the same words again and again."""

BEGINNING = 64
"""Bytes that vary in an event whose text, of WORD bytes at most, may be the beginning of something."""

type Glance = Callable[[bytes], bytes | None]
"""What goes out for a chunk, which has been taken in then; None where it is not told."""

type Texts = tuple[Sequence[bytes], Sequence[bytes], int, int]
"""Of events that stand in a row, and all that varies in them; where the last of them begins, and ends."""

type Last = deque[bytes]
"""The last event, where more than the text varies; at most this one."""

type Wait = Callable[[bytes, bytes], bytes]
"""Has an event wait for what comes behind it; gives back what goes out for those in front of it."""

type Join = Callable[[], bool]
"""Makes one text of those of a run, and room for MOST; whether it did."""

type Row = Callable[[bytes, int], Texts]
"""The quiet events from a place of a chunk on."""


@lru_cache(maxsize=16)
def _known(_quiet: re.Pattern[bytes]) -> set[bytes]:
    """Texts that the pattern was seen to match."""
    return set()


def nothing(_: bytes) -> bytes | None:
    """Nothing is told."""
    return None


def same(shape: DeltaTemplate, state: TextState, several: Glance, run: list[bytes], join: Join) -> Glance:
    """Of events in which nothing but the text varies, and that pass as they are. Their texts go into `run`."""
    head, tail = shape.head, shape.rest[0][1]
    start, length, most = len(head), len(tail), shape.least + LONGEST
    match, known, cuts = state.safe.match, _known(state.safe), state.splits_escapes

    def is_quiet(text: bytes) -> bool:
        if not text or not (found := match(text + b'"')) or found.end() != len(text) or not (text.isascii() or is_utf8(text)):
            return False
        if len(text) <= WORD:
            if len(known) == WORDS:
                known.clear()
            known.add(text)
        return True

    def is_quiet_behind(text: bytes) -> bool:
        return text != b"" and state.is_safe_after(run, text) and (text.isascii() or is_utf8(text))

    def glance(data: bytes) -> bytes | None:
        if len(data) < most and data.endswith(tail) and data.startswith(head) and (len(run) < MOST or join()):
            text = data[start:-length]
            if is_quiet_behind(text) if cuts and run and run[-1].endswith(HALF) else text in known or is_quiet(text):
                run.append(text)
                return data
        return several(data)

    return glance


def varying(
    shape: DeltaTemplate,
    state: TextState,
    several: Glance,
    run: list[bytes],
    last: Last,
    join: Join,
    around: Around | None = None,
    *,
    once: bool = False,
) -> Glance:
    """Of events in which more than the text varies: they pass as they are, or all that does goes out `around` as it varies.

    The last one becomes the `last`; `once`: that one again is dropped.

    The pattern skips what stands between, and what they would be put together is compared with what came. It is made where a
    run has begun: shapes may be others in each event.
    """
    form, place, again, start, most = shape.form, shape.place, shape.again, len(shape.head), shape.least + 2 * LONGEST
    cuts = state.splits_escapes
    match: Match | None = None

    def glance(data: bytes) -> bytes | None:
        nonlocal match
        if once and data == last[-1]:
            return b""
        if len(data) < most and run and (len(run) < MOST or join()):
            if match is None:
                match = re.compile(shape.pattern(ANY_TEXT if cuts else state.safe)).match
            if (
                (found := match(data, start))
                and form % (parts := found.groups()) == data
                and (text := parts[place])
                and (again == place or parts[again] == text)
                and (not cuts or (text.find(b"\\") < 0 and not run[-1].endswith(HALF)) or state.is_safe_after(run, text))
                and (text.isascii() or is_utf8(text))
            ):
                given = around(parts, len(run) + 1) if around else data
                run.append(text)
                last.append(data)
                return given
        return several(data)

    return glance


def passing(shape: DeltaTemplate, row: Row, run: list[bytes], last: Last, join: Join, around: Around | None = None) -> Glance:
    """Of several events that pass as they are, or of any where more than the text goes out `around` as it varies.

    The last one becomes the `last`.
    """
    least = shape.least if around else 2 * shape.least
    most, tail = ROW * (shape.least + LONGEST), shape.rest[-1][1]

    def glance(data: bytes) -> bytes | None:
        if not least < len(data) < most or not data.endswith(tail) or not (len(run) < MOST or join()):
            return None
        texts, parts, first, end = row(data, 0)
        if end != len(data):
            return None
        given = around(parts, len(run) + 1) if around else data
        run.extend(texts)
        last.append(data[first:])
        return given

    return glance


def together(shape: DeltaTemplate, state: TextState, run: list[bytes], last: Last, join: Join, *, counts: bool) -> Glance:
    """`passing`, where texts need not be quiet without those behind them. They go into `run` as one, unless it `counts` them."""
    tail, form, varies = shape.rest[-1][1], shape.form, shape.varies
    place, again = shape.place, shape.again
    least, most = 2 * shape.least, ROW * (shape.least + LONGEST)
    cut: RecordTemplate | None = None

    def glance(data: bytes) -> bytes | None:
        nonlocal cut
        if not least < len(data) < most or not run or not data.endswith(tail) or not (len(run) < MOST or join()):
            return None
        if cut is None:  # not before a run has begun: shapes may be others in each event
            cut = RecordTemplate(shape.head, shape.rest)
        parts = cut.whole(data)
        texts = parts[place :: cut.width] if varies else parts
        said = b"".join(texts)
        if again > place and parts[again :: cut.width] != texts:
            return None
        if not said or b"" in texts or not (said.isascii() or is_utf8(b" ".join(texts))):
            return None
        if not state.is_safe_after(run, said):
            return None
        if len(said) > LONGEST and len(max(texts, key=len)) > LONGEST:
            return None
        run.extend([said] if len(said) <= LONGEST and not counts else texts)
        if varies:
            last.append(form % tuple(parts[-cut.width :]))
        return data

    return glance


def wrapped(take: Glance, run: list[bytes], join: Join, around: Around) -> Glance:
    """Of events that `take` takes in, where something else goes out around the text."""

    def glance(data: bytes) -> bytes | None:
        before = 1 if len(run) >= MOST and join() else len(run)
        if take(data) is None:
            return None
        return around(run[before:], before + 1) if len(run) > before else b""

    return glance


def waiting(shape: DeltaTemplate, state: TextState, several: Glance, wait: Wait) -> Glance:
    """Of an event whose text is no more than the beginning of what may stop the run: it waits for the next."""
    span, most = shape.span, shape.least + BEGINNING
    known = _beginnings(state)

    def glance(data: bytes) -> bytes | None:
        if len(data) < most and (found := span(data)) and found[2] == len(data):
            text = data[found[0] : found[1]]
            begins = known.get(text)
            if begins is None and len(text) <= WORD:
                if len(known) == WORDS:
                    known.clear()
                begins = known[text] = _begins(state, text)
            if begins:
                return wait(data, b"")  # nothing can fail behind it
        return several(data)

    return glance


@lru_cache(maxsize=16)
def _beginnings(_text_state: TextState) -> dict[bytes, bool]:
    """Short texts, and whether each was seen to begin something."""
    return {}


def _begins(state: TextState, text: bytes) -> bool:
    said = text_of(text)
    stop = state.find_stop(said) if said and said.isascii() else None
    return said is not None and stop is not None and 0 <= state.pending_at(said, stop) < len(said)


def rows(shape: DeltaTemplate, state: TextState, run: Sequence[bytes], last: Last | None, *, alone: bool) -> Row:
    """Finds quiet events, about ROW, behind a run; `alone`: each text is quiet without the others.

    `last`: in front of them, where none may come that is the same as the one before.
    """
    quiet, moves = state.safe, state.defers_backslash
    place, again, most = shape.place, shape.again, ROW * shape.least + LONGEST
    cut: RecordTemplate | None = None

    def row(data: bytes, at: int) -> Texts:
        nonlocal cut
        if cut is None:
            cut = RecordTemplate(
                shape.head, [(quiet if hole is ANY_TEXT and alone else hole, literal) for hole, literal in shape.rest]
            )
        parts, end = cut.row(data, at, at + most)
        texts = parts[place :: cut.width]
        many = len(texts)
        if again > place and (others := parts[again :: cut.width]) != texts:
            many = next(n for n, text in enumerate(texts) if others[n] != text)
        if moves and HALF in texts:  # nothing goes out for it
            many = min(many, texts.index(HALF))
        if last is not None:
            many = min(many, _again(shape, parts, cut.width, last[-1]))
        texts = texts[:many]
        said = b"".join(texts)
        if b"" in texts or len(said) > LONGEST * many or not (said.isascii() or is_utf8(b" ".join(texts))):
            many = next(n for n, text in enumerate(texts) if not 0 < len(text) <= LONGEST or not is_utf8(text))
            said = b"".join(texts[:many])
        before = cut_off(run) if state.splits_escapes else b""
        while (match := quiet.match(before + said + b'"')) and (size := match.end() - len(before)) < len(said):
            many = bisect(list(accumulate(map(len, texts[:many]))), size)
            said = b"".join(texts[:many])
        if many * cut.width < len(parts):
            parts = parts[: many * cut.width]
            end = at + cut.size(parts)
        return texts[:many], parts, end - cut.size(parts[-cut.width :]), end

    return row


def _again(shape: DeltaTemplate, parts: Sequence[bytes], width: int, last: bytes) -> int:
    """Which of some events is the first that is the same as the one before; how many there are, if none is."""
    events = [shape.parts(last), *batched(parts, width)]
    return next((n for n, (one, other) in enumerate(pairwise(events)) if one == other), len(events) - 1)


def is_utf8(text: bytes) -> bool:
    """Whether no character in it is cut or wrong."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
