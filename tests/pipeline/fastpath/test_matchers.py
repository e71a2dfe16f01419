"""matchers.py, and delta_run.py for itself: what is told at a glance is right, and what is plainly quiet is told."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.example_counts import examples
from toolmend.apis.shared.delta_template import DeltaTemplate, text_of
from toolmend.apis.shared.delta_template_learner import learn, plain
from toolmend.core.events import TextDelta
from toolmend.core.sse import parse
from toolmend.core.text_state import ANYTHING, IN_LEAKED_STRING, IN_STRING, TextState
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.pipeline.dialect_choice import armed
from toolmend.pipeline.fastpath import matchers
from toolmend.pipeline.fastpath.delta_run import MOST_JOINED, DeltaRun
from toolmend.pipeline.fastpath.matchers import LONGEST, MOST, ROW
from toolmend.pipeline.fastpath.output_template import TEXT, OutputTemplate
from toolmend.providers.model_profiles import profile_for

FORMS = {
    "a text": b'data: {"id":"c%%","delta":"%(text)b"}\n\n',
    "one that stands twice": b'data: {"delta":"%(text)b","again":"%(text)b"}\n\n',
    "a number and filler": b'event: d\ndata: {"sequence_number":%(n)d,"delta":"%(text)b","obfuscation":"%(filler)b"}\n\n',
    "all of that": b'data: {"obfuscation":"%(filler)b","delta":"%(text)b","again":"%(text)b","sequence_number":%(n)d}\r\n\r\n',
}
WRAPS = {
    "as it came": None,
    "once": OutputTemplate((), (b'data: {"arguments":', b"}\n\n"), (TEXT,)),
    "twice": OutputTemplate((), (b'data: {"a":', b',"b":', b"}\n\n"), (TEXT, TEXT)),
    "numbered": OutputTemplate((), (b'data: {"a":', b',"sequence_number":'), (TEXT,), 7, b"}\n\n"),
}
COURSES = {
    "anything": ANYTHING,
    "openers": opener_index(tuple(armed(None, profile_for("gpt-oss-20b", "")))).text_state,
    "in a string": IN_STRING,
    "in markup": IN_LEAKED_STRING,
}
WORDS = [b"a", b" look", b"oo", b"%b", b"\\n", b"\\\\n", b'\\"', b"\\u4f60", "é天".encode(), b"x" * 60]
ODD = [b"", b"<", b"f", b"<|tool", b"\xff", b"\xc3", b"\xa9", b"\\ud83c", b"\\", b"\\x", b"\x01", b'"', b"x" * (LONGEST - 1), b"x" * LONGEST, b"x" * (LONGEST + 1)]
TEXTS = st.lists(st.sampled_from(WORDS) | st.sampled_from([*WORDS, *ODD]), min_size=1, max_size=40)


def said(form: bytes, text: bytes, n: int) -> bytes:
    """An event with a text, as it stands in JSON."""
    return form % {b"text": text, b"n": n, b"filler": b"x8Zr"[: n % 5]}


def shape_of(form: bytes) -> DeltaTemplate:
    raw = said(form, b"Hi", 0)
    event = parse(raw, raw)
    assert event.data
    shape = learn(event.data, "Hi", ("delta",), TextDelta, again=("again",))
    whole = shape.raw(event) if shape else None
    assert whole
    return whole


def is_quiet(text: bytes, state: TextState) -> bool:
    match = state.safe.match(text + b'"')
    return 0 < len(text) < LONGEST and matchers.is_utf8(text) and match is not None and match.end() == len(text)


def right(texts: list[bytes], events: list[bytes], wrap: OutputTemplate | None, state: TextState, given_: bytes) -> None:
    """Whether these may be taken in, and this goes out for them, behind a first one."""
    told = [text_of(text) or "" for text in texts]
    assert all(told)
    assert not state.find_stop("".join(told))
    parts = [wrap.render(text, (), at, escapes=state.escapes) for at, text in enumerate(told, 2)] if wrap else events
    assert given_ == b"".join(parts)


@examples(0.25)
@pytest.mark.parametrize("state", COURSES)
@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("form", FORMS)
@given(texts=TEXTS, counts=st.booleans(), other=st.booleans())
@example(texts=[b"a"], counts=False, other=False)
@example(texts=[b"a"], counts=False, other=True)
@example(texts=[b"a", b"\\n"], counts=True, other=False)
@example(texts=[b"f", b"oo"], counts=False, other=False)
@example(texts=[b"a", b"\xc3", b"\xa9"], counts=False, other=False)
@example(texts=[b"a", b"", b"a"], counts=False, other=False)
@example(texts=[b"a"] * ROW, counts=False, other=False)
@example(texts=[b"x" * (LONGEST // 2)] * 5, counts=False, other=False)
def test_at_a_glance(form: str, wrap: str, state: str, *, texts: list[bytes], counts: bool, other: bool) -> None:
    """All of a chunk or nothing; `run` finds the same, and goes as far as it can."""
    said_as, around, way = FORMS[form], WRAPS[wrap], COURSES[state]
    events = [said(said_as, text, n) for n, text in enumerate(texts, 1)]
    quiet = [is_quiet(text, way) for text in texts]
    if other:  # the last one has another text beside its own, or another id
        events[-1] = events[-1].replace(b'again":"', b'again":"b').replace(b'"c%', b'"d%')
        quiet[-1] = quiet[-1] and not (b'"again' in events[-1] or b'"id' in events[-1])
    data = b"".join(events)
    first = said(said_as, b"Hi", 0)
    made = [DeltaRun(shape_of(said_as), way, around, counts=counts) for _ in range(2)]
    for lane in made:
        assert lane.run(first, 0, []) == (len(first), False)

    given_ = made[0].try_fast(data)
    taken = texts if given_ is not None else []
    if given_ is not None:
        right(texts, events, around, way, given_)
    else:
        assert not all(quiet) or len(b"".join(texts)) >= LONGEST or len(texts) > 8
    out: list[bytes] = []
    end, _ = made[1].run(data, 0, out)
    whole = [b"".join(events[:n]) for n in range(len(events) + 1)]
    taken_by_run = texts[: [len(each) for each in whole].index(end)]
    assert data.startswith(whole[len(taken_by_run)])
    right(taken_by_run, events[: len(taken_by_run)], around, way, b"".join(out))
    if given_ is not None:
        assert taken_by_run == texts
    else:
        assert len(taken_by_run) >= [*quiet, False].index(False)
    for lane, many in zip(made, (taken, taken_by_run), strict=True):
        sse, count, due = lane.read()
        assert sse.data
        assert json.loads(sse.data)["delta"] == "Hi" + "".join(text_of(text) or "" for text in many)
        assert count == 1 + len(many) or not (counts or around)
        if not around:
            last = said(said_as, b"Hi" + b"".join(many), len(many))
            assert due == sse.raw == last
        else:
            assert due == around.render(json.loads(sse.data)["delta"], (), 1 if around.number < 0 else count, escapes=way.escapes) or around.number >= 0


@pytest.mark.parametrize("state", COURSES)
@given(texts=TEXTS, size=st.integers(1, 9))
def test_what_is_held(state: str, *, texts: list[bytes], size: int) -> None:
    """It is one event then, in the bytes of all of them."""
    way, form = COURSES[state], FORMS["a text"]
    events = [said(form, text, 0) for text in texts]
    lane, at, out = DeltaRun(shape_of(form), way, None, holds=True), 0, list[bytes]()
    while at < len(events):
        data = b"".join(events[at : at + size])
        end, _ = lane.run(data, 0, out)
        at += next(n for n in range(size + 1) if len(b"".join(events[at : at + n])) == end)
        if end < len(data):
            break
    assert not out
    assert at >= [*(is_quiet(text, way) for text in texts), False].index(False)
    told = "".join(text_of(text) or "" for text in texts[:at])
    assert not way.find_stop(told) or not told
    if at:
        held = lane.held()
        assert held.data
        assert (held.raw, json.loads(held.data)["delta"]) == (b"".join(events[:at]), told)


def test_words_that_are_known_are_bounded() -> None:
    """Those of one text state; and what is forgotten is told again."""
    form = FORMS["a text"]
    lane = DeltaRun(shape_of(form), ANYTHING, None)
    known = matchers._known(ANYTHING.safe)
    known.clear()
    for n in range(3 * matchers.WORDS):
        data = said(form, b"%d" % n, 0)
        lane.begin(shape_of(form), ANYTHING)
        assert lane.try_fast(data) is data
        assert 0 < len(known) <= matchers.WORDS
    assert lane.try_fast(said(form, b"y" * (matchers.WORD + 1), 0))
    assert not any(len(word) > matchers.WORD for word in known)


def test_beginnings_that_are_known_are_bounded() -> None:
    shape, openers = shape_of(FORMS["a text"]), COURSES["openers"]
    known = matchers._known_beginnings(openers)
    known.clear()  # other tests have the same state
    lane = DeltaRun(shape, openers, None, wait=lambda _, given: given)
    for n in range(matchers.WORDS + 9):
        assert lane.try_fast(said(FORMS["a text"], b"%d<" % n, 0)) == b"", "it waits"
        assert min(n, 1) < len(known) <= matchers.WORDS or n == matchers.WORDS


def test_an_event_that_comes_again_while_one_is_in_doubt() -> None:
    """It is dropped behind one that is told; here it is not."""
    form, openers = FORMS["a number and filler"], COURSES["openers"]
    first, doubt = said(form, b"Hi", 0), said(form, b"<", 1)
    lane = DeltaRun(shape_of(form), openers, OutputTemplate((), (b'data: {"arguments":', b"}\n\n"), (TEXT,)), last_sent=first)
    assert lane.run(first + doubt * 2, 0, []) == (len(first), False)
    assert lane.empty


@pytest.mark.parametrize("many", [1, 3])
def test_numbers_go_on_where_more_than_the_text_goes_out_as_it_varies(many: int) -> None:
    form = FORMS["a number and filler"]
    wrap = OutputTemplate((), (b'data: {"a":', b',"o":"', b'","sequence_number":'), (TEXT, 2), 7, b"}\n\n")
    lane, out = DeltaRun(plain(shape_of(form)), ANYTHING, wrap), list[bytes]()
    lane.run(said(form, b"a", 1), 0, out)
    for at in range(2, 14, many):
        out.append(lane.try_fast(b"".join(said(form, b"a", n) for n in range(at, at + many))) or b"")
    told = [b'data: {"a":"a","o":"%b","sequence_number":%d}\n\n' % (b"x8Zr"[: n % 5], 7 + n) for n in range(1, 14)]
    assert b"".join(out) == b"".join(told)


@pytest.mark.parametrize("form", FORMS)
def test_a_full_run_becomes_one_text(form: str) -> None:
    lane, data = DeltaRun(shape_of(FORMS[form]), ANYTHING, None, counts=True), said(FORMS[form], b"ab", 3)
    assert lane.run(data, 0, []) == (len(data), False)
    for n in range(3 * MOST):
        assert lane.try_fast(data) is data, n
        assert len(lane._run) <= MOST
    many = 2 * (MOST + 1)  # where it is full again
    assert all(lane.try_fast(data * 2) for _ in range(many))
    sse, count, _ = lane.read()
    assert count == 1 + 3 * MOST + 2 * many
    assert lane._shape.text(sse.raw) == "ab" * (1 + 3 * MOST + 2 * many)


@pytest.mark.parametrize("form", FORMS)
def test_of_a_full_run_of_long_texts_nothing_more_is_told(form: str) -> None:
    text = b"a" * (MOST_JOINED // MOST + 1)
    lane, data = DeltaRun(shape_of(FORMS[form]), ANYTHING, None), said(FORMS[form], text, 3)
    assert lane.run(data, 0, []) == (len(data), False)
    for _ in range(MOST - 1):
        assert lane.try_fast(data) is data
    for many in (1, 2):
        assert lane.try_fast(data * many) is None
    assert lane.read()[1] == MOST


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("many", [0, 2, 20])
def test_what_is_cut_waits(many: int, form: str) -> None:
    """Wherever an event behind others is cut: those pass, and it waits; it does not where it is over."""
    waits: list[bytes] = []
    data = said(FORMS[form], b"Hi", 1)
    for cut in range(1, len(data)):
        lane = DeltaRun(shape_of(FORMS[form]), ANYTHING, None, wait=lambda rest, given: (waits.append(rest), given)[1])
        assert lane.run(data, 0, []) == (len(data), False)
        given = lane.try_fast(data * many + data[:cut])
        assert (given, waits) == ((None, []) if data[:cut].endswith(b"\n") else (data * many, [data[:cut]])), cut
        waits.clear()
        assert lane.try_fast(data * many + data[:cut] + b"x") is None or waits.pop() == data[:cut] + b"x"
