"""undelivered.py: at any moment the bytes that nothing answers for are known, and each once. See pipeline/test_faults.py."""

import re
from collections import deque
from collections.abc import Sequence
from itertools import cycle, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolmend.core.sse import ServerSentEvent, SseDecoder
from toolmend.pipeline import undelivered as module
from toolmend.pipeline.undelivered import TooManyCommentsError, UndeliveredInput

A, B, C, COMMENT = (ServerSentEvent(b"data: %b\n\n" % name, name) for name in (b"a", b"b", b"c", b":"))


def begun(*events: ServerSentEvent) -> tuple[UndeliveredInput, list[bytes]]:
    """A chunk of these came, and all of them are inside."""
    ledger, out = UndeliveredInput(), list[bytes]()
    ledger.begin(b"".join(event.raw for event in events), out)
    for event in events:
        ledger.enter(event)
    return ledger, out


def test_nothing_went_out() -> None:
    ledger, _ = begun(A, B)
    assert b"".join(ledger.take_rest()) == A.raw + B.raw


def test_what_went_out_is_answered_for() -> None:
    ledger, out = begun(A, B)
    out.append(b"A")
    ledger.leave(A, out, has_output=True)
    out.append(b"half")  # it is not known what for
    assert ledger.recover(out, b"") == [b"A", B.raw]


def test_what_left_and_gave_nothing_waits_for_what_comes() -> None:
    ledger, out = begun(A, B)
    ledger.leave(A, out, has_output=False)
    assert b"".join(ledger.take_rest()) == A.raw + B.raw
    ledger, out = begun(A, B, C)
    ledger.leave(A, out, has_output=False)
    out.append(b"AB")
    ledger.leave(B, out, has_output=True)
    assert ledger.recover(out, b"") == [b"AB", C.raw]


def test_a_chunk_that_was_not_begun_follows() -> None:
    ledger, _ = begun(A)
    assert b"".join(ledger.recover([], B.raw)) == A.raw + B.raw


def test_a_comment_that_went_ahead_does_not_come_again() -> None:
    ledger, out = begun(A)
    out = []
    ledger.begin(COMMENT.raw + B.raw, out)
    out.append(COMMENT.raw)
    ledger.comment_sent(COMMENT.raw, out)
    ledger.enter(B)
    ledger.begin(C.raw, [])
    assert b"".join(ledger.take_rest()) == A.raw + B.raw + C.raw


def test_comment_that_went_ahead_stays() -> None:
    ledger, _ = begun(A)
    ledger.begin(B.raw + COMMENT.raw, out := [COMMENT.raw])
    ledger.enter(B)
    ledger.comment_sent(COMMENT.raw, out)
    ledger.begin(C.raw, out := [b"A"])
    ledger.enter(C)
    ledger.leave(A, out, has_output=True)
    ledger.begin(b"", [])
    assert b"".join(ledger.take_rest()) == B.raw + C.raw


def test_a_comment_goes_ahead_of_what_left_and_gave_nothing() -> None:
    ledger, out = begun(A)
    ledger.leave(A, out, has_output=False)
    ledger.begin(COMMENT.raw, out := [COMMENT.raw])
    ledger.comment_sent(COMMENT.raw, out)
    ledger.begin(B.raw, out := [])
    assert b"".join(ledger.take_rest()) == A.raw + B.raw


def test_a_comment_of_the_call_that_fails_is_not_lost() -> None:
    """What it was put into does not go out, unless that is sure."""
    for sure in (False, True):
        ledger, _ = begun(A)
        out = [COMMENT.raw]
        ledger.begin(COMMENT.raw + B.raw, out)
        ledger.comment_sent(COMMENT.raw, out)
        if sure:
            ledger.mark_sent(out)
        ledger.enter(B)
        expected = [COMMENT.raw, A.raw, B.raw] if sure else [A.raw + COMMENT.raw + B.raw]
        assert ledger.recover(out, b"") == expected


def test_what_is_answered_for_is_forgotten() -> None:
    ledger, out = UndeliveredInput(), list[bytes]()
    for _ in range(100):
        ledger.begin(A.raw, out := [])
        ledger.enter(A)
        out.append(b"A")
        ledger.leave(A, out, has_output=True)
    ledger.begin(B.raw, [])
    assert ledger.take_rest() == [B.raw]


def test_what_settles_all() -> None:
    """Bytes that waited, and went out in no `out`; what comes behind them is answered for on its own."""
    ledger, out = UndeliveredInput(), list[bytes]()
    ledger.begin(A.raw + B.raw, out)
    ledger.mark_sent(out, len(A.raw))
    ledger.mark_all_sent()
    assert b"".join(ledger.take_rest()) == b""
    ledger.begin(C.raw, [])
    assert b"".join(ledger.recover([], B.raw)) == C.raw + B.raw


def test_what_is_read_elsewhere_was_sure_before() -> None:
    ledger, out = UndeliveredInput(), list[bytes]()
    ledger.begin(A.raw + B.raw, out)
    out.append(A.raw)
    ledger.mark_sent(out, len(A.raw))
    ledger.enter(C)
    ledger.leave(C, [C.raw], has_output=True)
    ledger.ignore_reread()
    assert ledger.recover(out, b"") == [A.raw, B.raw]
    ledger.begin(b"", out := [])
    out.append(B.raw)
    ledger.mark_sent(out, len(B.raw))  # and what comes behind is answered for on its own
    ledger.begin(A.raw, [])
    assert ledger.take_rest() == [A.raw]


def sent(chunks: Sequence[bytes], choices: Sequence[int], steps: int) -> list[bytes]:
    """What a client gets where all fails behind so many steps, and the rest passes; what is worked out is bytes as they came."""
    made, decoder, picks, step = UndeliveredInput(), SseDecoder(), cycle(choices), iter(range(steps))
    got, left, inside = list[bytes](), b"", deque[ServerSentEvent]()
    for at, data in enumerate(chunks):
        out: list[bytes] = []
        try:
            next(step)
            made.begin(data, out)
            for sse in decoder.feed(data):
                next(step)
                if sse.data is None:
                    out.append(sse.raw)
                    next(step)
                    made.comment_sent(sse.raw, out)
                else:
                    made.enter(sse)
                    inside.append(sse)
                for _ in range(min(next(picks), len(inside))):
                    first, given_ = inside.popleft(), next(picks) > 1
                    left += first.raw
                    if given_:
                        out.append(left)
                        left = b""
                    next(step)
                    made.leave(first, out, has_output=given_)
                if next(picks) > 1:  # nothing is kept back of what left
                    out.append(left)
                    left = b""
                    next(step)
                    made.mark_sent(out)
            next(step)
        except StopIteration:
            return [*got, *made.recover(out, data), *chunks[at + 1 :]]
        got += out
    return [*got, *made.take_rest()]


@given(
    comments=st.lists(st.booleans(), min_size=1, max_size=12),
    ends=st.sets(st.integers(1, 90)),
    choices=st.lists(st.integers(0, 3), min_size=1, max_size=20),
)
@example(comments=[False, True, False], ends={20}, choices=[1, 0, 0, 0, 0])  # a comment, behind what left and is kept back
def test_each_byte_goes_out_once(comments: list[bool], ends: set[int], choices: list[int]) -> None:
    """Whenever it fails, and whatever was inside, had left, or went ahead by then. What is no comment keeps its order."""
    said = [b"%b %d\n\n" % (b":" if comment else b"data:", at) for at, comment in enumerate(comments)]
    body = b"".join(said)
    chunks = [body[first:last] for first, last in pairwise(sorted({0, *ends, len(body)})) if first < len(body)]
    for steps in range(6 * len(said) + 2 * len(chunks) + 1):
        found = re.findall(rb"(?:data)?: \d+\n\n", out := b"".join(sent(chunks, choices, steps)))
        assert b"".join(found) == out
        assert sorted(found) == sorted(said)
        assert [each for each in found if each.startswith(b"d")] == [each for each in said if each.startswith(b"d")]


def test_comments_that_go_ahead_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """In number, and the bytes they are with what is held: with the last of them there is one too much."""
    for name, most, count in (("MAX_AHEAD", 3, 3), ("MAX_WITHIN", len(A.raw) + 2 * len(COMMENT.raw), 3)):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, most)
            ledger, out = begun(A)
            for _ in range(count):
                ledger.begin(COMMENT.raw, out := [COMMENT.raw])
                ledger.comment_sent(COMMENT.raw, out)
                ledger.mark_sent(out)
            ledger.begin(COMMENT.raw, out)
            with pytest.raises(TooManyCommentsError):
                ledger.comment_sent(COMMENT.raw, out)
            assert b"".join(ledger.recover([], b"")) == A.raw + COMMENT.raw
