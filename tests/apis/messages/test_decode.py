"""decode.py: Messages' events in, neutral events out, with bounds for what is held."""

import pytest

from tests.support.legal_streams import messages, sse, tool
from tests.support.messages_streams import decoded
from toolmend.apis.messages import decode
from toolmend.core.events import TextDelta, ToolCallDelta


def test_the_arguments_of_a_call_without_a_name_are_held_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MAX_NAMELESS", 9)
    events, rules = decoded(sse(messages(tool("t0", "", '{"city"', ': "B', 'onn"}'))))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ['{"city": "B', 'onn"}']
    assert set(rules) == {"tool_call_name", "hold_limit"}


def test_long_arguments_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """To know them if they are said again; they are told all the same."""
    monkeypatch.setattr(decode, "MAX_KEPT", 9)
    events, rules = decoded(sse(messages(tool("t0", "f", '{"city"', ': "B', "on", 'n"}'))))
    assert [event.arguments for event in events if isinstance(event, ToolCallDelta)] == ['{"city"', ': "B', "on", 'n"}']
    assert rules == []
