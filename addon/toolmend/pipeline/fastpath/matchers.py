"""Matches chunks that contain only further deltas of a run, and returns their output. Most chunks do. See delta_run.py.

    one delta     head text tail                             each part is compared at its place
    several       head text tail head text tail …            their texts are extracted, and checked as one

Written for speed. What a matcher does not recognise is left to `DeltaRun.run`, which gives the same result.
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
from ..chunk_reader import Matcher
from .output_template import Renderer

MOST = 512
"""Deltas of a run before it is decoded. Decoding a run costs as much as one delta, so a few hundred make it cost nothing."""

LONGEST = 512
"""Bytes of text in a chunk that are accepted without being counted: MOST of them are within ROOM."""

ROW = 24
"""Deltas that are checked together. If their texts are not safe, that many were extracted for nothing."""

WORD, WORDS = 16, 2048
"""Bytes of a text that is remembered, and the number of them: a model repeats the same words."""

BEGINNING = 64
"""Bytes that vary in an event whose text, of at most WORD bytes, may be a beginning."""

type RowOfEvents = tuple[Sequence[bytes], Sequence[bytes], int, int]
"""The texts and all varying values of events in a row; start and end of the last event."""

type Last = deque[bytes]
"""The last event, if more than the text varies; at most one."""

type Wait = Callable[[bytes, bytes], bytes]
"""Keeps an event until the next chunk; returns the output for the events before it."""

type Join = Callable[[], bool]
"""Joins the texts of a run to make room for MOST. Returns whether it did."""

type RowMatcher = Callable[[bytes, int], RowOfEvents]
"""Finds the safe events from a place in a chunk on."""


@lru_cache(maxsize=16)
def _known(_quiet: re.Pattern[bytes]) -> set[bytes]:
    """Texts that the pattern is known to match."""
    return set()


def match_plain(shape: DeltaTemplate, state: TextState, several: Matcher, run: list[bytes], join: Join) -> Matcher:
    """A matcher for one event in which only the text varies, and which passes unchanged. `several` matches other chunks."""
    head, tail = shape.head, shape.rest[0][1]
    start, length, most = len(head), len(tail), shape.least + LONGEST
    match, known, cuts = state.safe.match, _known(state.safe), state.splits_escapes

    def is_safe(text: bytes) -> bool:
        if not text or not (found := match(text + b'"')) or found.end() != len(text) or not (text.isascii() or is_utf8(text)):
            return False
        if len(text) <= WORD:
            if len(known) == WORDS:
                known.clear()
            known.add(text)
        return True

    def is_safe_after(text: bytes) -> bool:
        return text != b"" and state.is_safe_after(run, text) and (text.isascii() or is_utf8(text))

    def match_chunk(data: bytes) -> bytes | None:
        if len(data) < most and data.endswith(tail) and data.startswith(head) and (len(run) < MOST or join()):
            text = data[start:-length]
            if is_safe_after(text) if cuts and run and run[-1].endswith(HALF) else text in known or is_safe(text):
                run.append(text)
                return data
        return several(data)

    return match_chunk


def match_varying(
    shape: DeltaTemplate,
    state: TextState,
    several: Matcher,
    run: list[bytes],
    last: Last,
    join: Join,
    render: Renderer | None = None,
    *,
    once: bool = False,
) -> Matcher:
    """A matcher for one event in which more than the text varies. It passes unchanged, or is rendered by `render`.

    The last event is put into `last`. `once`: a repetition of it is dropped.

    The pattern skips the literals; what the event would be with its values is compared with the chunk. It is compiled when a
    run begins, because templates may differ for each event.
    """
    form, place, again, start, most = shape.form, shape.place, shape.again, len(shape.head), shape.least + 2 * LONGEST
    cuts = state.splits_escapes
    match: Match | None = None

    def match_chunk(data: bytes) -> bytes | None:
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
                output = render(parts, len(run) + 1) if render else data
                run.append(text)
                last.append(data)
                return output
        return several(data)

    return match_chunk


def match_several(
    shape: DeltaTemplate, row: RowMatcher, run: list[bytes], last: Last, join: Join, render: Renderer | None = None
) -> Matcher:
    """A matcher for several events that pass unchanged, or for any number that are rendered by `render`.

    The last event is put into `last`.
    """
    least = shape.least if render else 2 * shape.least
    most, tail = ROW * (shape.least + LONGEST), shape.rest[-1][1]

    def match_chunk(data: bytes) -> bytes | None:
        if not least < len(data) < most or not data.endswith(tail) or not (len(run) < MOST or join()):
            return None
        texts, parts, first, end = row(data, 0)
        if end != len(data):
            return None
        output = render(parts, len(run) + 1) if render else data
        run.extend(texts)
        last.append(data[first:])
        return output

    return match_chunk


def match_joined(shape: DeltaTemplate, state: TextState, run: list[bytes], last: Last, join: Join, *, counts: bool) -> Matcher:
    """As `match_several`, for texts that may be safe only together.

    They are added to `run` as one text, unless it `counts` them.
    """
    tail, form, varies = shape.rest[-1][1], shape.form, shape.varies
    place, again = shape.place, shape.again
    least, most = 2 * shape.least, ROW * (shape.least + LONGEST)
    cut: RecordTemplate | None = None

    def match_chunk(data: bytes) -> bytes | None:
        nonlocal cut
        if not least < len(data) < most or not run or not data.endswith(tail) or not (len(run) < MOST or join()):
            return None
        if cut is None:  # not before a run has begun: templates may differ for each event
            cut = RecordTemplate(shape.head, shape.rest)
        parts = cut.whole(data)
        texts = parts[place :: cut.width] if varies else parts
        joined = b"".join(texts)
        if again > place and parts[again :: cut.width] != texts:
            return None
        if not joined or b"" in texts or not (joined.isascii() or is_utf8(b" ".join(texts))):
            return None
        if not state.is_safe_after(run, joined):
            return None
        if len(joined) > LONGEST and len(max(texts, key=len)) > LONGEST:
            return None
        run.extend([joined] if len(joined) <= LONGEST and not counts else texts)
        if varies:
            last.append(form % tuple(parts[-cut.width :]))
        return data

    return match_chunk


def with_output(take: Matcher, run: list[bytes], join: Join, render: Renderer) -> Matcher:
    """A matcher that takes chunks like `take`, and renders their output by `render`."""

    def match_chunk(data: bytes) -> bytes | None:
        before = 1 if len(run) >= MOST and join() else len(run)
        if take(data) is None:
            return None
        return render(run[before:], before + 1) if len(run) > before else b""

    return match_chunk


def match_beginning(shape: DeltaTemplate, state: TextState, several: Matcher, wait: Wait) -> Matcher:
    """A matcher for one event whose text may be the beginning of what ends the run: it waits for the next chunk."""
    span, most = shape.span, shape.least + BEGINNING
    known = _known_beginnings(state)

    def match_chunk(data: bytes) -> bytes | None:
        if len(data) < most and (found := span(data)) and found[2] == len(data):
            text = data[found[0] : found[1]]
            begins = known.get(text)
            if begins is None and len(text) <= WORD:
                if len(known) == WORDS:
                    known.clear()
                begins = known[text] = _begins(state, text)
            if begins:
                return wait(data, b"")  # nothing can fail after this
        return several(data)

    return match_chunk


@lru_cache(maxsize=16)
def _known_beginnings(_text_state: TextState) -> dict[bytes, bool]:
    """Short texts, and whether each may be such a beginning."""
    return {}


def _begins(state: TextState, text: bytes) -> bool:
    decoded = text_of(text)
    stop = state.find_stop(decoded) if decoded and decoded.isascii() else None
    return decoded is not None and stop is not None and 0 <= state.pending_at(decoded, stop) < len(decoded)


def safe_rows(shape: DeltaTemplate, state: TextState, run: Sequence[bytes], last: Last | None, *, alone: bool) -> RowMatcher:
    """Returns a function that finds about ROW safe events after a run.

    Args:
        shape: The events' template.
        state: The lexical state of their text.
        run: The texts so far.
        last: The event before them, if no event may repeat the one before.
        alone: Each text must be safe without the others.
    """
    safe, moves = state.safe, state.defers_backslash
    place, again, most = shape.place, shape.again, ROW * shape.least + LONGEST
    cut: RecordTemplate | None = None

    def row(data: bytes, at: int) -> RowOfEvents:
        nonlocal cut
        if cut is None:
            cut = RecordTemplate(
                shape.head, [(safe if hole is ANY_TEXT and alone else hole, literal) for hole, literal in shape.rest]
            )
        parts, end = cut.row(data, at, at + most)
        texts = parts[place :: cut.width]
        number = len(texts)
        if again > place and (others := parts[again :: cut.width]) != texts:
            number = next(n for n, text in enumerate(texts) if others[n] != text)
        if moves and HALF in texts:  # it has no output
            number = min(number, texts.index(HALF))
        if last is not None:
            number = min(number, _first_repetition(shape, parts, cut.width, last[-1]))
        texts = texts[:number]
        joined = b"".join(texts)
        if b"" in texts or len(joined) > LONGEST * number or not (joined.isascii() or is_utf8(b" ".join(texts))):
            number = next(n for n, text in enumerate(texts) if not 0 < len(text) <= LONGEST or not is_utf8(text))
            joined = b"".join(texts[:number])
        before = cut_off(run) if state.splits_escapes else b""
        while (match := safe.match(before + joined + b'"')) and (size := match.end() - len(before)) < len(joined):
            number = bisect(list(accumulate(map(len, texts[:number]))), size)
            joined = b"".join(texts[:number])
        if number * cut.width < len(parts):
            parts = parts[: number * cut.width]
            end = at + cut.size(parts)
        return texts[:number], parts, end - cut.size(parts[-cut.width :]), end

    return row


def _first_repetition(shape: DeltaTemplate, parts: Sequence[bytes], width: int, last: bytes) -> int:
    """The index of the first event that repeats the one before; the number of events if none does."""
    events = [shape.parts(last), *batched(parts, width)]
    return next((n for n, (one, other) in enumerate(pairwise(events)) if one == other), len(events) - 1)


def is_utf8(text: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
