"""What was done to a stream, as data."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.patterns.kimi import PATTERNS
from tests.support.paths import FLOWS
from tests.support.streams import WEATHER, body_of, stream
from toolmend.recordings.read import replay
from toolmend.recordings.read.explanation import MAX_TEXT, Change, changes
from toolmend.recordings.read.replay import Recording

LEAK = "".join(PATTERNS["no-section"].deltas)
WENT = "text 'Now: '; call 0 get_weather (functions.get_weather:0) {\"city\": \"Beijing\"}; finish reason tool_calls"


def recording(*chunks: bytes, streams: bool = True, request: dict[str, Any] = WEATHER, **meta: Any) -> Recording:
    return Recording(FLOWS, {"api": "chat", **meta}, request, chunks, tuple(range(len(chunks))), b"", stream=streams)


def test_nothing() -> None:
    assert list(changes(recording(stream(["Hello."])))) == []
    assert list(changes(recording(b""))) == []


@pytest.mark.parametrize("name", [str(folder.relative_to(FLOWS)) for folder in replay.find(FLOWS)])
def test_every_rule_has_its_place(name: str) -> None:
    recorded = replay.load(FLOWS / name)
    found = list(changes(recorded))
    assert sorted({rule for change in found for rule in change.rules}) == sorted(recorded.meta["rules"])
    spans = [(change.first, change.last) for change in found]
    assert spans == sorted(spans)
    assert all(len(text) <= MAX_TEXT + 5 for change in found for text in (change.came, change.went))
    assert all(change.came != change.went for change in found)


def test_the_cuts_do_not_matter() -> None:
    body = body_of(PATTERNS["no-section"])
    whole = list(changes(recording(body)))
    cut = list(changes(recording(*(body[at : at + 9] for at in range(0, len(body), 9)))))
    assert [replace(change, time=0) for change in cut] == [replace(change, time=0) for change in whole]
    assert whole[0].went == WENT


def test_the_time_is_that_of_the_first_event() -> None:
    parts = [part + b"\n\n" for part in stream(["Hi. ", LEAK]).split(b"\n\n")[:-1]]
    (change,) = changes(recording(*parts))
    assert (change.first, change.last, change.time) == (3, 4, 2)


def test_what_is_said_behind_the_last_event() -> None:
    body = stream(["Hi.", LEAK[:-20]], finish=None).removesuffix(b"data: [DONE]\n\n")
    found = list(changes(recording(body)))
    assert found[-1].rules[:1] == ("kimi_k2",)


def test_a_whole_response() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": LEAK}, "finish_reason": "stop"}
    body = json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}).encode()
    (change,) = changes(recording(body, streams=False))
    assert change == Change(1, 1, 0.0, ("kimi_k2", "finish_reason"), f"text {LEAK!r}; finish reason stop", WENT)


def test_a_translated_stream() -> None:
    tool = {"name": "get_weather", "input_schema": {"type": "object"}}
    asked = {"model": "claude-x", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "?"}], "tools": [tool]}
    (change,) = changes(recording(stream(["Hi. ", LEAK]), request=asked, client_api="messages", route="x"))
    assert change.rules == ("kimi_k2", "finish_reason")
    assert change.came.startswith("text 'Now: <|tool_call_begin|>")
    assert "call 0 get_weather (functions" in change.went
