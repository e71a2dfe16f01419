"""event_summary.py: an event in a few words."""

import json

import pytest

from tests.support.recordings import in_events
from tests.support.streams import chunk, event
from tests.support.upstream_answers import APIS, Asked, Text, Thought, speak
from toolmend.recordings.read.event_summary import Summary

SAID = {
    "text": (chunk({"content": "Hel\nlo"}), "text “Hel⏎lo”"),
    "long": (chunk({"content": "x" * 100}), "text “" + "x" * 60 + "…”"),
    "reasoning": (chunk({"reasoning_content": "Hm"}), "reasoning “Hm”"),
    "call": (chunk({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}), "call f, arguments “{}”, end of call"),
    "finish": (chunk({}, "length"), "finish length"),
    "usage": ({"choices": [], "usage": {"prompt_tokens": 1200, "completion_tokens": 3}}, "usage 1,200 → 3"),
    "end": ("[DONE]", "end"),
    "error": ({"error": {"type": "overloaded", "message": "x"}}, "error overloaded"),
    "no JSON": ("hm", "data “hm”"),
    "of another kind": ({"type": "vendor.thing"}, "vendor.thing"),
    "without a kind": ({"x": 1}, "nothing for the response"),
}


@pytest.mark.parametrize("name", SAID)
def test_summary(name: str) -> None:
    data, said = SAID[name]
    reading = Summary("chat", stream=True)
    assert reading.of(event(chunk({"role": "assistant"}))) == "start"
    assert reading.of(event(data)) == said


@pytest.mark.parametrize(("raw", "said"), [(b": hi\n\n", "comment"), (b"\n", "no data"), (b"event: x\n\n", "no data"), (b"", "")])
def test_summary_of_what_has_no_data(raw: bytes, said: str) -> None:
    assert Summary("chat", stream=True).of(raw) == said


@pytest.mark.parametrize("api", APIS)
def test_a_summary_is_a_line(api: str) -> None:
    reading = Summary(api, stream=True)
    parts = [Thought("a\tb\n" * 50), Text("c\nd" * 80), Asked("c1", "f", json.dumps({"x": "y" * 300}))]
    for raw in in_events(speak(api, parts, "tool_calls")):
        said = reading.of(raw)
        assert said
        assert len(said) <= 90
        assert "\n" not in said
