"""stop_sequences.py: the answer ends where the client said, whatever the upstream takes."""

import pytest

from toolmend.core.events import Event, Finish, Frame, MessageEnd, ReasoningDelta, TextDelta, ToolCallStart, Usage
from toolmend.pipeline.transformers.stop_sequences import StopSequences

STOPS = ("END", "\n\nHuman:", "E")[:2]
CASES: dict[str, tuple[str, str, str | None]] = {
    # name: the text, what is left of it, the sequence that was met
    "none": ("no more", "no more", None),
    "in the middle": ("a END b", "a ", "END"),
    "first": ("END", "", "END"),
    "the first of two": ("a\n\nHuman: END", "a", "\n\nHuman:"),
    "only begun": ("a EN", "a EN", None),
    "begun twice": ("a EENEND", "a EEN", "END"),
    "nearly": ("\n\nHumans\n\nHuma", "\n\nHumans\n\nHuma", None),
}


def told(text: str, size: int) -> tuple[str, list[Event], list[str]]:
    rules: list[str] = []
    stops = StopSequences(STOPS, rules.append)
    events: list[Event] = [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]
    out: list[Event] = []
    for event in (*events, Finish("stop"), Usage(1, 2), MessageEnd()):
        for frame in stops.feed(Frame(None, (event,))):
            out += frame.events
    assert not stops.close()
    return "".join(event.text for event in out if isinstance(event, TextDelta)), out, rules


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("name", CASES)
def test_the_answer_ends_there(name: str, size: int) -> None:
    text, left, met = CASES[name]
    said, events, rules = told(text, size)
    assert said == left
    assert [event for event in events if isinstance(event, Finish)] == [Finish("stop", stop_sequence=met)]
    assert events[-2:] == [Usage(1, 2), MessageEnd()]
    assert rules == (["stop_sequence"] if met else [])


def test_what_is_held_comes_before_what_follows() -> None:
    stops = StopSequences(STOPS, lambda _: None)
    assert stops.feed(Frame(None, (TextDelta("a E"),)))[0].events == (TextDelta("a "),)
    start = ToolCallStart(0, "a", "b")
    assert stops.feed(Frame(None, (start,)))[0].events == (TextDelta("E"), start)
    assert stops.feed(Frame(None, (TextDelta("EN"), Usage(1, 1))))[0].events == (Usage(1, 1),)
    assert stops.close()[0].events == (TextDelta("EN"),)


def test_nothing_is_told_behind_it() -> None:
    stops = StopSequences(STOPS, lambda _: None)
    stops.feed(Frame(None, (TextDelta("END"),)))
    behind = (TextDelta("x"), ReasoningDelta("y"), ToolCallStart(0, "a", "b"), Finish("length"))
    assert stops.feed(Frame(None, behind))[0].events == ()


@pytest.mark.parametrize("size", [4096, 4097, 70_000])
def test_a_long_sequence_costs_no_more_than_its_length(size: int) -> None:
    """One that no text has is not looked for; the others are."""
    rules: list[str] = []
    stops = StopSequences(("a" * size, "END"), rules.append)
    events = [event for _ in range(20) for event in stops.feed(Frame(None, (TextDelta("a" * 100),)))[0].events]
    events += stops.feed(Frame(None, (TextDelta("END"),)))[0].events
    assert events[-1] == Finish("stop", stop_sequence="END")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "a" * 2000
