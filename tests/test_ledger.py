"""ledger.py: at any moment the bytes that nothing answers for are known, and each once. That no fault changes it: test_torture.py."""

from toolmend.ledger import Ledger
from toolmend.sse import ServerSentEvent

A, B, C, COMMENT = (ServerSentEvent(b"data: %b\n\n" % name, name) for name in (b"a", b"b", b"c", b":"))


def begun(*events: ServerSentEvent) -> tuple[Ledger, list[bytes]]:
    """A chunk of these came, and all of them are inside."""
    ledger, out = Ledger(), list[bytes]()
    ledger.begin(b"".join(event.raw for event in events), out)
    for event in events:
        ledger.enter(event)
    return ledger, out


def test_nothing_went_out() -> None:
    ledger, _ = begun(A, B)
    assert b"".join(ledger.rest()) == A.raw + B.raw


def test_what_went_out_is_answered_for() -> None:
    ledger, out = begun(A, B)
    out.append(b"A")
    ledger.leave(A, out, given=True)
    out.append(b"half")  # it is not known what for
    assert ledger.instead(out, b"") == [b"A", B.raw]


def test_what_left_and_gave_nothing_waits_for_what_comes() -> None:
    ledger, out = begun(A, B)
    ledger.leave(A, out, given=False)
    assert b"".join(ledger.rest()) == A.raw + B.raw
    ledger, out = begun(A, B, C)
    ledger.leave(A, out, given=False)
    out.append(b"AB")
    ledger.leave(B, out, given=True)
    assert ledger.instead(out, b"") == [b"AB", C.raw]


def test_a_chunk_that_was_not_begun_follows() -> None:
    ledger, _ = begun(A)
    assert b"".join(ledger.instead([], B.raw)) == A.raw + B.raw


def test_a_comment_that_went_ahead_does_not_come_again() -> None:
    ledger, out = begun(A)
    out = []
    ledger.begin(COMMENT.raw + B.raw, out)
    out.append(COMMENT.raw)
    ledger.went_ahead(COMMENT.raw, out)
    ledger.enter(B)
    ledger.begin(C.raw, [])
    assert b"".join(ledger.rest()) == A.raw + B.raw + C.raw


def test_a_comment_goes_ahead_of_what_left_and_gave_nothing() -> None:
    ledger, out = begun(A)
    ledger.leave(A, out, given=False)
    ledger.begin(COMMENT.raw, out := [COMMENT.raw])
    ledger.went_ahead(COMMENT.raw, out)
    ledger.begin(B.raw, out := [])
    assert b"".join(ledger.rest()) == A.raw + B.raw


def test_a_comment_of_the_call_that_fails_is_not_lost() -> None:
    """What it was put into does not go out, unless that is sure."""
    for sure in (False, True):
        ledger, _ = begun(A)
        out = [COMMENT.raw]
        ledger.begin(COMMENT.raw + B.raw, out)
        ledger.went_ahead(COMMENT.raw, out)
        if sure:
            ledger.goes(out)
        ledger.enter(B)
        expected = [COMMENT.raw, A.raw, B.raw] if sure else [A.raw + COMMENT.raw + B.raw]
        assert ledger.instead(out, b"") == expected


def test_what_is_answered_for_is_forgotten() -> None:
    ledger, out = Ledger(), list[bytes]()
    for _ in range(100):
        ledger.begin(A.raw, out := [])
        ledger.enter(A)
        out.append(b"A")
        ledger.leave(A, out, given=True)
    ledger.begin(B.raw, [])
    assert ledger.rest() == [B.raw]


def test_what_settles_all() -> None:
    """Bytes that waited, and went out in no `out`; what comes behind them is answered for on its own."""
    ledger, out = Ledger(), list[bytes]()
    ledger.begin(A.raw + B.raw, out)
    ledger.goes(out, len(A.raw))
    ledger.settles()
    assert b"".join(ledger.rest()) == b""
    ledger.begin(C.raw, [])
    assert b"".join(ledger.instead([], B.raw)) == C.raw + B.raw


def test_what_is_read_elsewhere_was_sure_before() -> None:
    ledger, out = Ledger(), list[bytes]()
    ledger.begin(A.raw + B.raw, out)
    out.append(A.raw)
    ledger.goes(out, len(A.raw))
    ledger.enter(C)
    ledger.leave(C, [C.raw], given=True)
    ledger.was_read()
    assert ledger.instead(out, b"") == [A.raw, B.raw]
