"""items.py: events of any upstream as events of items; the order of a Responses stream, written as short words."""

import json
from typing import Any

import pytest

from toolmend.apis.responses.items import Output
from toolmend.core.events import (
    Event,
    ReasoningDelta,
    ReasoningSeal,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from toolmend.core.reasoning_state import ReasoningState

CALL = (ToolCallStart(0, "call_1", "f"), ToolCallDelta(0, '{"a":1}'), ToolCallEnd(0))


def output() -> Output:
    numbers = iter(range(100))
    return Output(lambda: f"call_{next(numbers)}")


def written(made: Output) -> list[dict[str, Any]]:
    return [json.loads(block.partition(b"data: ")[2]) for block in made.take().split(b"\n\n") if block]


def fed(made: Output, *events: Event) -> list[str]:
    """The types of events, without `response.`."""
    for event in events:
        made.feed(event)
    return [data["type"].removeprefix("response.") for data in written(made)]


TEXT = ["output_item.added", "content_part.added", "output_text.delta"]
TEXT_END = ["output_text.done", "content_part.done", "output_item.done"]


def test_a_text() -> None:
    made = output()
    assert fed(made, TextDelta("a")) == TEXT
    assert fed(made, TextDelta("b")) == TEXT[2:]
    made.close("completed")
    assert fed(made) == TEXT_END
    (item,) = made.output()
    assert (item["type"], item["role"], item["status"], item["content"][0]["text"]) == ("message", "assistant", "completed", "ab")
    assert item["id"].startswith("msg_")


def test_a_call() -> None:
    made = output()
    assert fed(made, *CALL) == ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"]
    (item,) = made.output()
    assert (item["call_id"], item["name"], item["arguments"], item["status"]) == ("call_1", "f", '{"a":1}', "completed")


def test_one_item_is_open_at_a_time() -> None:
    made = output()
    fed(made, ReasoningDelta("hm"))
    assert fed(made, TextDelta("a"))[:3] == ["reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"]
    assert fed(made, RefusalDelta("no"))[-1] == "refusal.delta"
    assert [item["type"] for item in made.output()] == ["reasoning", "message"]
    assert [part["type"] for part in made.output()[1]["content"]] == ["output_text", "refusal"]


def test_content_waits_for_an_open_call() -> None:
    made = output()
    fed(made, *CALL[:2])
    assert fed(made, TextDelta("a")) == []
    assert (made.has_open_call, made.holds_content) == (True, True)
    assert fed(made, ToolCallEnd(0)) == ["function_call_arguments.done", "output_item.done", *TEXT]
    assert (made.has_open_call, made.holds_content) == (False, False)


def test_numbers_and_places_go_on() -> None:
    made = output()
    for event in (TextDelta("a"), *CALL):
        made.feed(event)
    made.close("completed")
    events = written(made)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["output_index"] for event in events if event["type"] == "response.output_item.added"] == [0, 1]


@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_an_open_call_is_incomplete(status: str) -> None:
    made = output()
    fed(made, *CALL[:2])
    made.close(status)
    (item,) = made.output()
    assert (item["status"], item["arguments"]) == ("incomplete", '{"a":1}')


def test_after_a_failure_what_was_held_is_written() -> None:
    made = output()
    fed(made, *CALL[:2], TextDelta("held"))
    made.break_off()
    assert [item["type"] for item in made.output()] == ["function_call", "message"]
    assert made.output()[1]["content"][0]["text"] == "held"


def test_a_seal_ends_its_reasoning() -> None:
    made = output()
    fed(made, ReasoningDelta("hm"), ReasoningSeal(ReasoningState("encrypted", '{"encrypted_content":"e"}')), TextDelta("a"))
    reasoning, _ = made.output()
    assert (reasoning["encrypted_content"], reasoning["summary"][0]["text"]) == ("e", "hm")


@pytest.mark.parametrize(("kind", "arguments", "member"), [("custom", "raw", ("input", "raw")), ("local_shell", '{"command":["ls"]}', ("action", {"type": "exec", "env": {}, "command": ["ls"]}))])
def test_calls_of_other_kinds(kind: Any, arguments: str, member: tuple[str, Any]) -> None:
    made = output()
    fed(made, ToolCallStart(0, "call_1", "f", kind=kind), ToolCallDelta(0, arguments), ToolCallEnd(0))
    (item,) = made.output()
    assert item[member[0]] == member[1]


def test_two_calls_in_turn() -> None:
    made = output()
    fed(made, ToolCallStart(0, "c1", "f"), ToolCallStart(1, "c2", "g"), ToolCallDelta(1, "{}"), ToolCallDelta(0, "[]"), ToolCallEnd(1), ToolCallEnd(0))
    assert [(item["call_id"], item["arguments"], item["status"]) for item in made.output()] == [("c1", "[]", "completed"), ("c2", "{}", "completed")]
