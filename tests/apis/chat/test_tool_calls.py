"""tool_calls.py: entries of `tool_calls` in, events out. The ways calls go wrong: patterns/irregular.py."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns.irregular import CITY, REQUEST, entry
from toolmend.apis.chat import tool_calls
from toolmend.apis.chat.tool_calls import MAX_OPEN, Calls
from toolmend.apis.shared.trailing_json import MAX_OBJECTS
from toolmend.core import tools
from toolmend.core.events import Event, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from toolmend.core.tools import UNKNOWN, Tools

OFFERED = tools.of_chat(REQUEST)


class Told:
    """Calls with all that they told."""

    def __init__(self, offered: Tools = OFFERED, *, patient: bool = False) -> None:
        self.rules: list[str] = []
        numbers = iter(range(100_000))
        self.calls = Calls(offered, 0, lambda: f"call_{next(numbers)}", self.rules.append, patient=patient)
        self.events: list[Event] = []

    def feed(self, *entries: Any) -> bool:
        events, regular = self.calls.feed(list(entries))
        self.events += events
        return regular

    def close(self, reason: str = "tool_calls") -> bool:
        events, regular = self.calls.close(reason)
        self.events += events
        return regular

    def take(self) -> list[Event]:
        events, self.events = self.events, []
        return events


def test_a_regular_call() -> None:
    told = Told()
    assert told.feed(entry(0, "a", "get_weather", ""))
    assert told.feed({"index": 0, "function": {"arguments": '{"city"'}})
    assert told.feed({"index": 0, "function": {"arguments": ": 1} "}})
    assert told.close()
    assert told.events == [
        ToolCallStart(0, "a", "get_weather"),
        ToolCallDelta(0, '{"city"'),
        ToolCallDelta(0, ": 1} "),
        ToolCallEnd(0),
    ]
    assert told.rules == []


def test_a_call_starts_as_soon_as_it_can() -> None:
    """With id and name; without id, with the arguments; with a name that may go on, likewise."""
    told = Told()
    assert told.feed(entry(0, "a", "get_weather"))
    assert told.take() == [ToolCallStart(0, "a", "get_weather")]
    assert told.feed(entry(1, "b", "not_offered"))
    assert told.take() == [ToolCallStart(1, "b", "not_offered")]
    for part in ("get_", "functions.", "func", " get_t"):
        told = Told()
        assert not told.feed(entry(0, "a", part))
        assert told.take() == []
        told.feed(entry(0, arguments="{"))
        assert isinstance(told.take()[0], ToolCallStart)


def test_the_patient_wait_for_an_id_and_for_the_rest_of_a_name() -> None:
    offered = Tools({"read": {}, "read_file": {}})
    told = Told(offered, patient=True)
    told.feed(entry(0, "a", "read", ""), entry(1, None, "read", "{"))
    assert told.take() == []
    told.feed(entry(0, name="_file"), entry(1, arguments="}"), entry(1, "b"))
    assert told.take() == [
        ToolCallStart(0, "a", "read_file"), ToolCallStart(1, "b", "read"), ToolCallDelta(1, "{}"), ToolCallEnd(1),
    ]  # fmt: skip


def test_the_patient_do_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_calls, "MAX_KEPT", 10)
    told = Told(patient=True)
    told.feed(entry(0, None, "task", '{"a"'))
    assert told.take() == []
    told.feed(entry(0, arguments=':"0123456789'))
    assert told.take() == [ToolCallStart(0, "call_0", "task"), ToolCallDelta(0, '{"a":"0123456789')]


def test_a_call_counts_from_when_it_starts() -> None:
    """One that is held does not take the index of one that is not."""
    told = Told()
    told.feed(entry(0, "a"), entry(1, "b", "task", "{}"))
    told.feed(entry(0, name="get_weather"))
    assert [(e.index, e.id) for e in told.events if isinstance(e, ToolCallStart)] == [(0, "b"), (1, "a")]


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "eos", ""])
def test_the_end_completes_calls(reason: str) -> None:
    told = Told()
    told.feed(entry(0, "a", "get_weather"), entry(1, None, "task"), entry(2, "c", "get_time", '{"zone'))
    told.take()
    assert not told.close(reason)
    assert told.take() == [
        ToolCallDelta(0, "{}"), ToolCallEnd(0), ToolCallDelta(1, "{}"), ToolCallEnd(1),
    ]  # fmt: skip
    assert told.close()
    assert told.take() == []


@pytest.mark.parametrize("reason", ["length", "content_filter", "error"])
def test_what_is_broken_off_is_not_completed(reason: str) -> None:
    told = Told()
    told.feed(entry(0, "a", "get_weather"), entry(1, None, "task"), entry(2, "c", "get_time", '{"zone'))
    told.take()
    assert told.close(reason)
    assert told.close("")
    assert told.take() == []


def test_a_call_that_says_nothing_is_none() -> None:
    told = Told()
    told.feed(entry(0, "a"))
    assert told.close()
    assert told.events == []


def test_a_name_that_is_no_text_is_none() -> None:
    told = Told()
    assert not told.feed({"index": 0, "id": "a", "type": "function", "function": {"name": {"x": 1}, "arguments": CITY}})
    told.close()
    assert told.events == [ToolCallStart(0, "a", "get_weather"), ToolCallDelta(0, CITY), ToolCallEnd(0)]
    assert told.rules == ["tool_call_name"] * 3


def test_held_arguments_go_out_when_broken_off() -> None:
    told = Told()
    told.feed(entry(0, "a", "get_weather", "```json"))
    told.take()
    told.close("length")
    assert told.take() == [ToolCallDelta(0, "```json")]


def test_calls_behind_the_end_count_on() -> None:
    told = Told()
    told.feed(entry(0, "a", "get_weather", CITY))
    told.close()
    told.feed(entry(0, "b", "get_weather", CITY), entry(1, "c", "get_weather", '{"ci'))
    told.close()
    told.feed(entry(1, arguments='ty": 1}'))
    starts = [(event.index, event.id) for event in told.events if isinstance(event, ToolCallStart)]
    assert starts == [(0, "a"), (1, "b"), (2, "c")]
    assert told.events[-2:] == [ToolCallDelta(2, 'ty": 1}'), ToolCallEnd(2)]


def test_custom_tools_take_any_text() -> None:
    told = Told()
    custom = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "```{}"}}
    assert told.feed(custom)
    assert told.feed({"index": 0, "custom": {"input": "} x"}})
    assert told.feed({"index": 0, "custom": {"input": ""}})
    assert told.close()
    assert told.events == [
        ToolCallStart(0, "a", "sh", kind="custom"), ToolCallDelta(0, "```{}"), ToolCallDelta(0, "} x"), ToolCallEnd(0),
    ]  # fmt: skip


def test_more_is_as_good_as_an_entry() -> None:
    told = Told()
    told.feed(entry(0, "a", "get_weather"), entry(0, "b", "task"))
    events, regular = told.calls.more(0, "{")
    assert (events, regular) == ([ToolCallDelta(1, "{")], False)
    assert told.calls.more(0, "}") == ([ToolCallDelta(1, "}"), ToolCallEnd(1)], False)
    told = Told()
    told.feed(entry(0, "a", "get_weather"))
    assert told.calls.more(0, "{") == ([ToolCallDelta(0, "{")], True)
    assert told.calls.more(0, "}\n") == ([ToolCallDelta(0, "}\n"), ToolCallEnd(0)], True)
    assert told.calls.more(0, "\n") == ([], False)


def test_without_the_request_names_are_taken_as_they_come() -> None:
    told = Told(UNKNOWN)
    assert told.feed(entry(0, "a", "functions.x"))
    assert told.events == [ToolCallStart(0, "a", "functions.x")]


# bounds


def test_what_is_held_for_a_name_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_calls, "MAX_KEPT", 100)
    told = Told()
    for _ in range(11):
        told.feed(entry(0, "a", None, "[123456789"))
    assert told.events == [TextDelta("[123456789" * 11)]
    told.feed(entry(0, "a", "get_weather", "}"))
    told.close()
    assert told.events == [TextDelta("[123456789" * 11), TextDelta("}")]
    assert "hold_limit" in told.rules


def test_long_arguments_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_calls, "MAX_KEPT", 100)
    told = Told()
    text = json.dumps({"city": "x" * 200})
    told.feed(entry(0, "a", "get_weather", text), entry(0, arguments=text))
    assert told.events == [ToolCallStart(0, "a", "get_weather"), ToolCallDelta(0, text), ToolCallEnd(0)]


def test_many_calls_and_objects_cost_little() -> None:
    told = Told()
    for number in range(20_000):
        told.feed(entry(number, f"id{number}", "task", "{}"))
    assert sum(isinstance(event, ToolCallStart) for event in told.events) == 20_000
    assert len(told.calls._calls) <= MAX_OPEN
    told = Told()
    told.feed(entry(0, "a", "task", "".join(f'{{"a": {n}}}' for n in range(20_000))))
    assert sum(isinstance(event, ToolCallStart) for event in told.events) == 1 + MAX_OBJECTS


# pieces that say all so far

WORDS = st.text('{":a, []}\\', max_size=4)
NESTED = st.recursive(WORDS, lambda inner: st.dictionaries(WORDS, inner, max_size=3) | st.lists(inner, max_size=3), max_leaves=8)


@given(st.dictionaries(WORDS, NESTED, max_size=3), st.lists(st.integers(1, 9), min_size=1), st.booleans())
def test_whether_pieces_say_all_so_far_is_certain(value: dict[str, Any], sizes: list[int], again: bool) -> None:
    """No JSON is taken for such pieces, however it is cut; and of such pieces one is told, but where JSON could go on like that."""
    text, told, end = json.dumps(value), Told(), 0
    told.feed(entry(0, "a", "get_weather", ""))
    for size in itertools.cycle(sizes):
        begun, end = end, end + size
        told.feed({"index": 0, "function": {"arguments": text[:end] if again else text[begun:end]}})
        if end >= len(text):
            break
    told.close()
    arguments = "".join(event.arguments for event in told.events if isinstance(event, ToolCallDelta) and event.index == 0)
    if not again or sizes[0] == 1:  # behind a brace, JSON cannot go on with another
        assert arguments == text
    assert again or told.rules == []
