"""events.py: events are values, of choice 0 unless they name another, and each can be told from the others."""

import typing
from typing import Any

import pytest

from toolmend.core import events
from toolmend.core.events import Event, Finish, Frame, MessageEnd, StreamError, TextDelta, TextStart, ToolCallStart, Usage
from toolmend.core.fastclass import replace
from toolmend.core.reasoning_state import ReasoningState
from toolmend.core.sse import ServerSentEvent

KINDS = typing.get_args(Event.__value__)
VALUES: dict[str, Any] = {
    "ReasoningSeal": {"seal": ReasoningState("s")},
    "LogProbs": {"tokens": ({"token": "a"},)},
    "Citation": {"url": "u"},
    "WebSearch": {"id": "w"},
    "Compaction": {"summary": "s"},
    "ToolCallStart": {"index": 0, "id": "c", "name": "n"},
    "ToolCallDelta": {"index": 0, "arguments": "{"},
    "ToolCallEnd": {"index": 0},
    "Finish": {"finish_reason": "stop"},
    "StreamError": {"type": "t", "message": "m"},
} | {name: {"text": "t"} for name in ("TextDelta", "ReasoningDelta", "RefusalDelta")}
WITHOUT_CHOICE = (MessageEnd, Usage, StreamError)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_is_a_value(kind: Any) -> None:
    given = VALUES.get(kind.__name__, {})
    event = kind(**given)
    assert event == kind(**given)
    if kind not in WITHOUT_CHOICE:
        assert event.choice == 0
        assert replace(event, choice=1) != event
    assert not any(event == other(**VALUES.get(other.__name__, {})) for other in KINDS if other is not kind)


def test_every_event_class_is_in_the_union() -> None:
    parts = {"Frame", "Source"}
    made = {name for name, it in vars(events).items() if isinstance(it, type) and it.__module__ == events.__name__}
    assert made - parts == {kind.__name__ for kind in KINDS}


def test_a_call_is_a_function_that_was_sent_natively() -> None:
    start = ToolCallStart(0, "call_1", "get_weather")
    assert (start.kind, start.extra, start.in_text, start.in_reasoning) == ("function", None, False, False)


def test_a_frame_is_untouched_and_may_be_empty() -> None:
    sse = ServerSentEvent(b"data: {}\n\n", b"{}")
    assert Frame(sse) == Frame(sse, (), touched=False)
    assert Frame(None, (TextDelta("a"),)).sse is None


def test_a_text_part_belongs_to_its_message() -> None:
    assert not TextStart().apart


def test_a_finish_is_of_no_stop_sequence_unless_named() -> None:
    assert Finish("stop") == Finish("stop", 0, None, "", "")
