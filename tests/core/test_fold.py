"""Events → a message, however they are cut."""

import pytest

from toolmend.core.events import (
    Event,
    Finish,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    ReasoningSeal,
    RefusalDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from toolmend.core.fold import MAX_CHOICES, OVERHEAD, Answer, Call, Message, Thinking, fold
from toolmend.core.reasoning_state import ReasoningState

SEAL = ReasoningState("signature", "abc")
ERROR = StreamError("overloaded_error", "busy", 529)

MESSAGES: dict[str, tuple[list[Event], Message]] = {
    "nothing": ([], Message()),
    "text": ([MessageStart(), TextDelta("a"), TextDelta(""), TextDelta("\r\n\ud83d"), TextDelta("\ude00")], Message("a\r\n\ud83d\ude00")),
    "refusal": ([RefusalDelta("I "), RefusalDelta("can't")], Message(refusal="I can't")),
    "reasoning": ([ReasoningDelta("a"), ReasoningDelta("b")], Message(thinking=[Thinking("ab")])),
    "two runs, sealed": (
        [ReasoningDelta("a"), ReasoningSeal(SEAL), ReasoningDelta("b"), TextDelta("x"), ReasoningDelta("c")],
        Message("x", thinking=[Thinking("a", SEAL), Thinking("bc")]),
    ),
    "a seal alone": ([ReasoningSeal(SEAL), ReasoningSeal(SEAL)], Message(thinking=[Thinking("", SEAL)] * 2)),
    "calls that are interleaved": (
        [
            *(ToolCallStart(1, "b", "two", kind="custom"), ToolCallStart(0, "a", "one"), ToolCallDelta(0, '{"x"'), ToolCallDelta(1, "*")),
            *(ToolCallDelta(0, ": 1}"), ToolCallEnd(0), ToolCallDelta(1, "*")),
        ],
        Message(calls={1: Call(1, "b", "two", "custom", "**"), 0: Call(0, "a", "one", "function", '{"x": 1}', complete=True)}),
    ),
    "deltas of no call": ([ToolCallDelta(3, "x"), ToolCallEnd(3)], Message()),
    "the end": (
        [TextDelta("a"), Finish("stop", stop_sequence="X"), Usage(1, 2), Usage(3, 4), MessageEnd()],
        Message("a", finish=Finish("stop", stop_sequence="X"), usage=Usage(3, 4), ended=True),
    ),
    "an error": ([TextDelta("a"), ERROR], Message("a", error=ERROR)),
    "another choice": ([TextDelta("a"), TextDelta("b", 1), Finish("stop", 1), Usage(1), ToolCallStart(0, "a", "f", 1)], Message("a", usage=Usage(1))),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_fold(name: str) -> None:
    events, message = MESSAGES[name]
    assert fold(events) == message
    answer = Answer(1000_000)
    for event in events:
        answer.feed(event)
    assert answer.known()[0] == message
    assert message.reasoning == "\n\n".join(run.text for run in message.thinking if run.text)


def test_a_message_can_be_read_while_it_grows() -> None:
    message = Message()
    seen = []
    for letter in "abc":
        message.feed(TextDelta(letter))
        seen.append(message.text)
    message.text = "x"
    message.feed(TextDelta("y"))
    assert (seen, message.text) == (["a", "ab", "abc"], "xy")


def test_another_choice() -> None:
    events = [TextDelta("a"), TextDelta("b", 1), Finish("stop", 1), Usage(1)]
    assert fold(events, 1) == Message("b", finish=Finish("stop", 1), usage=Usage(1))
    answer = Answer(100)
    concerned = [len(answer.feed(event)) for event in events]
    assert concerned == [1, 1, 1, 2]
    assert answer.known() == [fold(events, 0), fold(events, 1)]


BEYOND: dict[str, tuple[int, list[Event], Message]] = {
    "text, up to the last character": (3, [TextDelta("ab"), TextDelta("c")], Message("abc")),
    "text has no holes": (3, [TextDelta("ab"), TextDelta("cd"), TextDelta("e"), Finish("stop")], Message("ab", finish=Finish("stop"), omitted=3)),
    "arguments": (OVERHEAD + 4, [ToolCallStart(0, "a", "f"), ToolCallDelta(0, "{}"), ToolCallDelta(0, "x"), ToolCallEnd(0)],
        Message(calls={0: Call(0, "a", "f", "function", "{}", complete=True)}, omitted=1)),
    "a call": (OVERHEAD, [ToolCallStart(0, "a", "f"), ToolCallDelta(0, "{}"), ToolCallEnd(0)], Message(omitted=OVERHEAD + 4)),
    "a seal": (OVERHEAD, [ReasoningDelta("a"), ReasoningSeal(SEAL)], Message(thinking=[Thinking("a")], omitted=OVERHEAD + 3)),
    "what adds nothing": (0, [MessageStart(), Usage(1), ERROR, MessageEnd()], Message(usage=Usage(1), error=ERROR, ended=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", BEYOND)
def test_what_is_beyond_the_limit_is_counted(name: str) -> None:
    limit, events, message = BEYOND[name]
    answer = Answer(limit)
    for event in events:
        answer.feed(event)
    assert answer.known() == [message]


def test_the_limit_is_one_for_all_choices() -> None:
    answer = Answer(3)
    for choice in range(3):
        answer.feed(TextDelta("ab", choice))
    assert [(message.text, message.omitted) for message in answer.known()] == [("ab", 0), ("", 2), ("", 2)]


def test_choices_are_bounded() -> None:
    answer = Answer(1000_000)
    concerned = [len(answer.feed(TextDelta("a", choice))) for choice in range(MAX_CHOICES + 2)]
    assert concerned == [1] * MAX_CHOICES + [0, 0]
    assert len(answer.known()) == MAX_CHOICES
