"""blocks.py: blocks of a Messages answer, one after another, with bounds for what waits."""

import pytest

from tests.support.judges import messages as judge
from tests.support.messages_events import CALLED, END, STOP, call, streamed, told, writer
from toolmend.apis.messages import blocks
from toolmend.apis.messages.writer import MAX_SILENT
from toolmend.core.events import TextDelta, ToolCallDelta, ToolCallEnd


def test_a_ping_while_much_is_held() -> None:
    silent = [ToolCallDelta(1, " ")] * (MAX_SILENT * 2)
    body = streamed([*call(0, "{", ends=False), *call(1, "{", ends=False), *silent, ToolCallDelta(0, "}"), ToolCallEnd(0), *call(2), ToolCallDelta(1, "}"), CALLED])
    words = told(body)
    assert words.count(".") == 3 and words.index("0 }") > len(words) - words[::-1].index(".") - 1
    assert judge.read(body).faults == []


def test_too_much_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MAX_HELD", 200)
    events = [*call(0, "{", ends=False), *(TextDelta("12345678") for _ in range(20)), ToolCallEnd(0), STOP, END]
    body = streamed(events)
    assert writer().write(events) == body
    assert told(body)[-1] == "api_error: too much of the answer waits for a tool call that does not end"
    assert "1 12345678" in told(body)
    assert judge.read(body).faults == []


def test_arguments_that_are_too_long_to_look_at_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MAX_CHECKED", 4)
    assert told(streamed([*call(0, "{'a':", "1}"), CALLED]))[-2:] == ["tool_use", ")"]
