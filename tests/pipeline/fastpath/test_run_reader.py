"""run_reader.py: chunks in runs: what comes between deltas, is cut, or waits."""

from itertools import batched, product
from typing import Any

import pytest

from tests.patterns.irregular import REQUEST
from tests.support.fastpath import run
from tests.support.runs import PROSE
from tests.support.streams import chunk, event
from tests.support.upstream_answers import WEATHER, asked
from toolmend.pipeline.fastpath import delta_run
from toolmend.pipeline.pipeline import Pipeline


@pytest.mark.parametrize(
    "foreign",
    [b'data: {"error":{"message":"x"}}\n\n', b": hi\n\n", b"data: x\n\n", b"event: a\n", b"\n", b"id: 1\ndata: {}\n\n",
     event(chunk({"content": "a"}, index=1)), event(chunk({"content": "a"}, "stop")), event(chunk({"content": ""})),
     event(chunk({"content": "a~"})).replace(b"~", b"\xff"), event(chunk({"content": "a~"})).replace(b"~", b"\\x"),
     event(chunk({"content": "a~"})).replace(b"~", b"\xff\\n"), event(chunk({"content": "a\ud83c"})),
     event(chunk({"content": "a~"})).replace(b"~", b"\\"),
     event(chunk({"content": "a~"})).replace(b"~", b"\\u00"), event(chunk({"content": "a~"})).replace(b"~", b"\\\\\\u")],
    ids=["error", "comment", "no JSON", "name", "blank line", "id", "choice", "finish", "empty", "no UTF-8", "no escape", "neither", "half",
         "a backslash", "half an escape", "less of one"],
)  # fmt: skip
def test_what_comes_in_between(foreign: bytes) -> None:
    some = [event(chunk({"content": f"a{n}"})) for n in range(9)]
    first, among = [event(chunk({"role": "assistant"})), *some], [some[0] + foreign + some[1], *some]
    many = ([*first, foreign, *some, *among], [*first, *among])
    for chunks, (request, target) in product(many, ((REQUEST, "chat"), (asked("responses", *WEATHER), "responses"))):
        plain, _ = run(chunks, request, "chat", target, runs=False)
        quick, read = run(chunks, request, "chat", target, runs=True)
        assert quick == plain
        assert read < 24 or target != "chat"


@pytest.mark.parametrize("end", [b"\r\r", b"\r\n\r\n", b"\n\n"])
@pytest.mark.parametrize("line", [b"", b"id: 7\n"], ids=["no line", "a line"])
@pytest.mark.parametrize("cut", [0, 1, 30])
def test_a_chunk_that_ends_within_an_event(end: bytes, line: bytes, cut: int) -> None:
    """And has others in front of it, behind which a lane might have opened."""
    some = [event(chunk({"content": f"a{n}"})) for n in range(9)]
    first, last = event(chunk({"role": "assistant", "content": "a"}))[:-2] + end, line + some[2]
    at = len(line) + cut
    chunks = [first[:30], first[30:] + some[0] + some[1] + last[:at], last[at:], *some]
    plain, _ = run(chunks, REQUEST, "chat", "chat", runs=False)
    quick, _ = run(chunks, REQUEST, "chat", "chat", runs=True)
    assert quick == plain
    assert b"".join(quick[0]) == b"".join(chunks)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("colon", [b"data: ", b"data:"])
def test_a_chunk_that_ends_behind_an_event_without_its_blank_line(end: bytes, colon: bytes) -> None:
    """The line of data behind it tells that it is over."""
    some = [event(chunk({"content": f"a{n}"})).replace(b"data: ", colon).replace(b"\n", end) for n in range(12)]
    cut = some[8].removesuffix(end) + some[9]
    for at in range(len(some[8]) - 3, len(cut)):
        chunks = [*some[:8], cut[:at], cut[at:], *some[10:]]
        plain, _ = run(chunks, REQUEST, "chat", "chat", runs=False)
        quick, _ = run(chunks, REQUEST, "chat", "chat", runs=True)
        assert quick == plain


def test_the_very_same_bytes_pass() -> None:
    made = Pipeline(REQUEST)
    chunks = [event(chunk({"content": text})) for text in PROSE.split(" ")]
    assert sum(made.feed(data) is data for data in chunks) == len(chunks) - 1  # the first gets a role


def test_error_in_run_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # in each chunk something that is no beginning of a call, as only `run` tells
    events = [event(chunk({"content": f"a{n}" + " <toon" * (n % 4 == 1) + "é" * (n > 8)})) for n in range(36)]
    chunks = [event(chunk({"role": "assistant"})), *map(b"".join, batched(events, 4))]
    for name in ("run", "read", "skip", "join"):
        made, out = Pipeline(REQUEST), []
        for at, data in enumerate(chunks):
            if at == 6:
                monkeypatch.setattr(delta_run.DeltaRun, name, lambda *_: 1 / 0)
            out.append(made.feed(data))
        assert b"".join(out) + made.close() == b"".join(chunks)
        assert made.error
        assert made.error.startswith("ZeroDivisionError")
        monkeypatch.undo()


def test_what_waits_is_told_with_the_next() -> None:
    """At a glance, as what is behind it; it is answered for then: what fails later gives none of it again."""
    made = Pipeline(REQUEST)
    deltas = [{"role": "assistant"}, *({"content": text} for text in ("a", "b", "c", "d <", "e", "f <", "z", "h <"))]
    events = [event(chunk(delta)) for delta in deltas]
    for data in events[:5]:
        made.feed(data)
    for at in (5, 7):
        assert made._reader._waiting == events[at - 1]
        assert made.try_fast(events[at]) == events[at - 1] + events[at]
        assert not made._reader._waiting
        assert made.feed(events[at + 1]) == b""
    assert made.give_up("it is time") == events[8]


@pytest.mark.parametrize("more", [{}, {"obfuscation": "x8"}], ids=str)
def test_what_waits_is_taken_in_at_a_glance(more: dict[str, Any]) -> None:
    """Nothing is read of it; it is told with the next, or passed on where something fails."""
    made = Pipeline(REQUEST)
    deltas = [{"role": "assistant"}, *({"content": text} for text in ("a", "b", "c", "<", "e", " [", "<", "<", "g h", "see what there is <"))]
    events = [event({**chunk(delta), **more}) for delta in deltas]
    for data in events[:4]:
        made.feed(data)
    assert made.try_fast(events[4]) == b""
    assert made.try_fast(events[5]) == events[4] + events[5]
    assert made.try_fast(events[6]) == b""
    assert made.try_fast(events[7]) is None, "it is none of those that wait behind another"
    assert made.feed(events[7]) == events[6]
    assert b"".join(map(made.feed, events[8:11])) + made.give_up("it is time") == b"".join(events[7:11])


@pytest.mark.parametrize("end", ["close", "give_up", "comment", "half", "finish"])
def test_what_waits_is_not_lost(end: str) -> None:
    made = Pipeline(REQUEST)
    events = [event(chunk(delta)) for delta in ({"role": "assistant"}, {"content": "a"}, {"content": "b"}, {"content": "c <"})]
    out = [made.feed(data) for data in events]
    assert made._reader._waiting == events[-1]
    assert out[-1] == b""
    more = {"comment": b": hi\n\n", "half": events[1][:40], "finish": event(chunk({}, "stop"))}.get(end, b"")
    out.append(made.give_up("it is time") if end == "give_up" else made.feed(more) if more else b"")
    assert b"".join(out) + made.close() == b"".join(events) + more
