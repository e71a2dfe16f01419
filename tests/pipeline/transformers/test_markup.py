"""markup.py: text of each choice is parsed; frames wait for decisions, and calls get indices and ids of their own."""

import pytest

from toolmend.core.events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from toolmend.core.sse import ServerSentEvent
from toolmend.core.text_state import ANYTHING
from toolmend.core.tools import UNKNOWN
from toolmend.dialects import DIALECTS
from toolmend.dialects.engine.markup_parser import MarkupParser
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.pipeline.transformers.markup import MAX_CALLS, MAX_FRAMES, Markup, TooManyCallsError

BEGIN, MIDDLE, END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
LEAK = f'{BEGIN}functions.f:0{MIDDLE}{{"a":1}}{END}'


def markup(fired: list[str] | None = None) -> Markup:
    numbers = iter(range(10_000))
    index = opener_index((DIALECTS["kimi_k2"],))
    rules = [] if fired is None else fired
    return Markup(lambda choice: MarkupParser(index, UNKNOWN, choice, lambda: f"call_{next(numbers)}", rules.append))


def frame(*events: Event) -> Frame:
    return Frame(ServerSentEvent(b"data: x\n\n", b"x"), events)


def played(made: Markup, *frames: Frame) -> list[Event]:
    out = [out for one in frames for out in made.feed(one)] + list(made.close())
    return [event for one in out for event in one.events]


def text_of(events: list[Event], choice: int = 0) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta) and event.choice == choice)


def test_plain_text_passes_as_the_same_frame() -> None:
    made, given = markup(), frame(TextDelta("Hi"))
    for _ in range(3):
        (out,) = made.feed(given)
        assert out is given
    assert not made.holds


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_leak_becomes_a_call(size: int) -> None:
    text = f"Hi {LEAK}"
    events = played(markup(), *(frame(TextDelta(text[at : at + size])) for at in range(0, len(text), size)))
    assert text_of(events) == "Hi "
    assert [event for event in events if isinstance(event, ToolCallStart)] == [ToolCallStart(0, "functions.f:0", "f", in_text=True)]
    assert "".join(event.arguments for event in events if isinstance(event, ToolCallDelta)) == '{"a":1}'
    assert ToolCallEnd(0) in events


def test_an_opener_is_held_until_it_is_decided() -> None:
    made = markup()
    assert made.feed(frame(TextDelta("a <|tool"))) == []
    assert made.holds
    assert not made.in_call
    later = frame(TextDelta(" is prose"))
    assert [text_of(list(out.events)) for out in made.feed(later)] == ["a <|tool", " is prose"]
    made.feed(frame(TextDelta(BEGIN)))
    assert made.in_call


def test_frames_leave_in_order() -> None:
    made = markup()
    made.feed(frame(TextDelta("<|")))
    other = frame(ReasoningDelta("hm", 1), MessageStart(2))
    assert made.feed(other) == []
    assert played(made) == [TextDelta("<|"), ReasoningDelta("hm", 1), MessageStart(2)]


def test_choices_are_apart() -> None:
    events = played(markup(), frame(TextDelta(LEAK[:30]), TextDelta("b", 1)), frame(TextDelta(LEAK[30:])))
    assert (text_of(events), text_of(events, 1)) == ("", "b")
    assert [event.choice for event in events if isinstance(event, ToolCallStart)] == [0]


def test_native_calls_come_after_those_of_the_text() -> None:
    native = (ToolCallStart(0, "n1", "g"), ToolCallDelta(0, "{}"), ToolCallEnd(0))
    events = played(markup(), frame(TextDelta(LEAK)), frame(*native))
    assert [(event.index, event.name) for event in events if isinstance(event, ToolCallStart)] == [(0, "f"), (1, "g")]
    assert {event.index for event in events if isinstance(event, ToolCallDelta | ToolCallEnd)} == {0, 1}


def test_without_a_leak_native_calls_stay() -> None:
    made, given = markup(), frame(ToolCallStart(0, "n1", "g"), ToolCallDelta(0, "{}"))
    (out,) = made.feed(given)
    assert out is given


def test_no_two_calls_have_one_id() -> None:
    fired: list[str] = []
    events = played(markup(fired), frame(TextDelta(LEAK)), frame(ToolCallStart(0, "functions.f:0", "g")))
    ids = [event.id for event in events if isinstance(event, ToolCallStart)]
    assert len(set(ids)) == len(ids) == 2
    assert "tool_call_id" in fired


@pytest.mark.parametrize(
    ("last", "ended"),
    [(MessageEnd(), True), (Finish("stop"), True), (Finish("length"), False), (StreamError("t", "m"), False), (None, False)],
)
def test_a_call_is_complete_where_the_text_ended_itself(last: Event | None, ended: bool) -> None:
    """Without its end tag, a call of an answer that was cut off is never completed."""
    frames = [frame(TextDelta(LEAK.removesuffix(END)[:-1]))] + ([frame(last)] if last else [])
    events = played(markup(), *frames)
    assert not any(isinstance(event, ToolCallEnd) for event in events) or ended


def test_held_frames_are_bounded() -> None:
    made = markup()
    made.feed(frame(TextDelta(BEGIN)))
    out = [released for _ in range(MAX_FRAMES + 1) for released in made.feed(frame(MessageStart(1)))]
    assert text_of([event for one in out for event in one.events]) == BEGIN


def test_calls_are_bounded() -> None:
    made = markup()
    for at in range(MAX_CALLS):
        made.feed(frame(ToolCallStart(at, f"c{at}", "f")))
    with pytest.raises(TooManyCallsError):
        made.feed(frame(ToolCallStart(MAX_CALLS, "last", "f")))


def test_the_state_of_text() -> None:
    made = markup()
    made.feed(frame(TextDelta("Hi ")))
    state = made.text_state(TextDelta, 0)
    assert state is not None
    assert state.is_safe_after([], b"more text")
    assert not state.is_safe_after([], b"<|tool_call_begin|>")
    assert made.text_state(ToolCallDelta, 0) == ANYTHING
    made.feed(frame(TextDelta("<|")))
    assert made.text_state(ToolCallDelta, 0) is None
