"""whole_calls.py: calls up to their end; what is no object is text, and nothing is lost."""

import pytest

from toolmend.apis.shared.whole_calls import WholeCall, WholeCalls
from toolmend.core.events import Event, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart

START, OTHER = ToolCallStart(0, "", "read"), ToolCallStart(1, "", "now")


def fed(events: list[Event]) -> tuple[WholeCalls, list[WholeCall]]:
    calls = WholeCalls()
    return calls, [call for event in events if (call := calls.feed(event))]


@pytest.mark.parametrize(
    ("pieces", "arguments", "text"),
    [
        (['{"a": ', "1}"], {"a": 1}, ""),
        ([], {}, ""),
        ([" "], {}, ""),
        (["[1]"], None, "read [1]"),
        (["{'a': 1}"], None, "read {'a': 1}"),
        (["\ud83d"], None, "read \ud83d"),
    ],
    ids=["object", "nothing", "blank", "list", "no-json", "half-a-character"],
)
def test_a_call(pieces: list[str], arguments: object, text: str) -> None:
    _, told = fed([START, *(ToolCallDelta(0, piece) for piece in pieces), TextDelta("x"), ToolCallEnd(0)])
    assert told == [WholeCall(START, arguments, text)]  # type: ignore[arg-type]


def test_calls_side_by_side_and_one_that_breaks_off() -> None:
    calls, told = fed([START, OTHER, ToolCallDelta(0, '{"a'), ToolCallDelta(1, "{}"), ToolCallEnd(1)])
    assert told == [WholeCall(OTHER, {})]
    assert calls.choices == [0]
    assert calls.rest(1) == []
    assert calls.rest(0) == [WholeCall(START, None, 'read {"a')]
    assert calls.choices == []


def test_one_that_is_too_long_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.apis.shared.whole_calls.MAX_HELD", 10)
    calls, told = fed([START, *(ToolCallDelta(0, "12345") for _ in range(4)), ToolCallEnd(0), ToolCallDelta(0, "x")])
    assert "".join(call.text for call in told) == "read 12345123451234512345"
    assert {call.arguments for call in told} == {None}
    _, told = calls, [call for event in (START, ToolCallDelta(0, "{}"), ToolCallEnd(0)) if (call := calls.feed(event))]
    assert told == [WholeCall(START, {})]
