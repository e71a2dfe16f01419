"""duplicates.py: the same call sent twice is one call, and two calls are two."""

import json
from typing import Any

import pytest

from tests.patterns.irregular import CITY, REQUEST, ZONE, calls, entry
from tests.patterns.kimi import A, B, C
from tests.support.cuts import cuts
from tests.support.judges.chat import read
from tests.support.streams import chunk, event, pieces, play, stream
from toolmend.core.events import Event, Finish, Frame, MessageEnd, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from toolmend.pipeline.pipeline import Pipeline
from toolmend.pipeline.transformers import duplicates
from toolmend.pipeline.transformers.duplicates import Duplicates

SPACED = json.dumps(json.loads(CITY), indent=1)


def pipeline() -> Pipeline:
    numbers = iter(range(1000))
    return Pipeline(REQUEST, new_id=lambda: f"call_{next(numbers)}")


def markup(arguments: str = CITY, name: str = "get_weather", number: int = 0) -> str:
    return f"{B}functions.{name}:{number}{A}{arguments}{C}"


def text(written: str) -> list[Any]:
    return list(pieces(written, 1))


def thought(written: str) -> list[Any]:
    return [{"reasoning_content": piece} for piece in pieces(written, 2)]


def native(arguments: str = CITY, name: str = "get_weather", index: int = 0) -> list[Any]:
    parts = [arguments[at : at + 4] for at in range(0, len(arguments), 4)]
    return [calls(entry(index, f"native_{index}", name, "")), *({"tool_calls": [{"index": index, "function": {"arguments": p}}]} for p in parts)]


W, T = "get_weather", "get_time"
TWICE: dict[str, tuple[list[Any], list[tuple[str, str]]]] = {
    # name: deltas, the calls that are left
    "markup, native": ([*text(markup()), *native()], [(W, CITY)]),
    "native, markup": ([*native(), *text(markup())], [(W, CITY)]),
    "reasoning, content": ([*thought(markup()), *text(markup())], [(W, CITY)]),
    "content, reasoning": ([*text(markup()), *thought(markup())], [(W, CITY)]),
    "reasoning, native": ([*thought(markup()), *native()], [(W, CITY)]),
    "all three": ([*thought(markup()), *text(markup()), *native()], [(W, CITY)]),
    "spelt otherwise": ([*text(markup(SPACED)), *native()], [(W, SPACED)]),
    "native in one chunk": ([*text(markup()), calls(entry(0, "a", W, CITY))], [(W, CITY)]),
    "two and two": (
        [*text(markup() + markup(ZONE, T, 1)), *native(), *native(ZONE, T, 1)], [(W, CITY), (T, ZONE)],
    ),
    "two and two, otherwise around": (
        [*text(markup() + markup(ZONE, T, 1)), *native(ZONE, T, 0), *native(CITY, W, 1)], [(W, CITY), (T, ZONE)],
    ),
    "two equal ones and two": ([*text(markup() + markup()), *native(), *native(index=1)], [(W, CITY)] * 2),
    "one, and one more": ([*text(markup()), *native(), *native(ZONE, T, 1)], [(W, CITY), (T, ZONE)]),
    "native without arguments": ([*text(markup()), *native("{}")], [(W, CITY)]),
    "native without arguments at all": ([*text(markup()), *native("")], [(W, CITY)]),
    "both without arguments": ([*text(markup("{}")), *native("{}")], [(W, "{}")]),
}  # fmt: skip

APART: dict[str, tuple[list[Any], list[tuple[str, str]]]] = {
    "two equal native ones": ([*native(), *native(index=1)], [(W, CITY)] * 2),
    "two equal ones in the text": (text(markup() + markup(number=1)), [(W, CITY)] * 2),
    "two equal ones in the reasoning": (thought(markup() + markup(number=1)), [(W, CITY)] * 2),
    "two of one tool": ([*text(markup()), *native(ZONE, W)], [(W, CITY), (W, ZONE)]),
    "two of one tool, native first": ([*native(ZONE, W), *text(markup())], [(W, ZONE), (W, CITY)]),
    "two of one tool, interleaved": (
        [*text(markup()), *native('{"city": "Rome"}')[:2], *text("Hm"), *native('{"city": "Rome"}')[2:], *native(ZONE, T, 1)],
        [(W, CITY), (W, '{"city": "Rome"}'), (T, ZONE)],
    ),
    "a call that waits, and one that does not": (
        [*text(markup()), *native(ZONE, W)[:2], *native(ZONE, T, 1), *native(ZONE, W)[2:]], [(W, CITY), (T, ZONE), (W, ZONE)],
    ),
    "markup without arguments": ([*text(markup("{}")), *native()], [(W, "{}"), (W, CITY)]),
    "native without arguments first": ([*native("{}"), *text(markup())], [(W, "{}"), (W, CITY)]),  # XX see the module
    "the second broken off": ([*text(markup()), *native(CITY[:-1])], [(W, CITY), (W, CITY[:-1])]),
    "broken JSON": ([*text(markup()), *native('{"city": Beijing}')], [(W, CITY), (W, '{"city": Beijing}')]),
    "true is not one": ([*text(markup('{"a": true}')), *native('{"a": 1}')], [(W, '{"a": true}'), (W, '{"a": 1}')]),
}  # fmt: skip


@pytest.mark.parametrize("name", [*TWICE, *APART])
def test_calls(name: str) -> None:
    deltas, expected = TWICE.get(name) or APART[name]
    body = stream(deltas, finish="stop")
    made = pipeline()
    client = made.feed(body) + made.close()
    assert made.error is None, made.error
    answer = read(client)
    assert [(call.name, call.arguments) for call in answer.only.calls] == expected
    assert answer.all_faults == []
    assert answer.only.finish_reasons == ["tool_calls"]
    assert ("duplicate_call" in made.rules) is (name in TWICE)
    for chunks in cuts(body):
        assert play(pipeline, chunks) == client


@pytest.mark.parametrize("name", ["markup, native", "two and two", "two of one tool", "native without arguments"])
def test_calls_of_a_whole_message(name: str) -> None:
    deltas, expected = TWICE.get(name) or APART[name]
    folded = read(stream(deltas)).only
    message = {
        "role": "assistant",
        "content": folded.content,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in folded.calls
        ],
    }
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    made = json.loads(pipeline().message(body))["choices"][0]["message"]
    assert [(call["function"]["name"], call["function"]["arguments"]) for call in made["tool_calls"]] == expected


def test_only_a_call_that_may_be_said_again_waits() -> None:
    made = pipeline()
    made.feed(event(chunk({"role": "assistant", "content": markup()})))
    other = event(chunk(native(ZONE, T)[0]))
    assert b'"index":1' in made.feed(other)
    again = native(index=1)
    assert [made.feed(event(chunk(delta))) for delta in again] == [b""] * len(again)
    made = pipeline()
    made.feed(event(chunk({"role": "assistant"})))
    for delta in [*native(), *native(index=1)]:
        assert made.feed(event(chunk(delta))) == event(chunk(delta))


def test_a_stream_that_ends_gives_back_what_waits() -> None:
    for ending in (b"", event(chunk({}, "length")), event("[DONE]"), event(chunk({}, "length")) + event("[DONE]")):
        made = pipeline()
        body = event(chunk({"role": "assistant", "content": markup()})) + b"".join(event(chunk(d)) for d in native(CITY[:9]))
        answer = read(made.feed(body) + made.feed(ending) + made.close())
        assert [call.arguments for call in answer.only.calls] == [CITY, CITY[:9]]
        assert answer.all_faults == []


def start(index: int, *, in_text: bool) -> ToolCallStart:
    return ToolCallStart(index, f"id{index}", "x", in_text=in_text)


def told(events: list[Event]) -> list[Event]:
    transformer = Duplicates(lambda _: None)
    frames = [frame for event in events for frame in transformer.feed(Frame(None, (event,)))]
    return [event for frame in [*frames, *transformer.close()] for event in frame.events]


def test_what_waits_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MAX_KEPT", 100)
    first = [start(0, in_text=True), ToolCallDelta(0, '{"a": "' + "x" * 60 + '"}'), ToolCallEnd(0)]
    second = [start(1, in_text=False), *(ToolCallDelta(1, "x" * 20) for _ in range(5)), ToolCallEnd(1)]
    assert told([*first, *second]) == [*first, *second]


def test_what_passes_has_a_bound_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a call in small pieces too much is kept to tell another one by."""
    monkeypatch.setattr(duplicates, "MAX_KEPT", 100)
    pieces = ['{"a": "', *["x" * 20] * 10, '"}']
    first = [start(0, in_text=True), *(ToolCallDelta(0, piece) for piece in pieces), ToolCallEnd(0)]
    second = [start(1, in_text=False), *(ToolCallDelta(1, piece) for piece in pieces), ToolCallEnd(1)]
    assert told([*first, *second]) == [*first, *second]


def test_what_is_not_a_call_passes_and_unknown_calls_too() -> None:
    events: list[Event] = [ToolCallDelta(3, "{"), TextDelta("x"), ToolCallEnd(3), Finish("stop"), MessageEnd()]
    assert told(events) == events


def test_what_comes_behind_a_call_that_was_dropped_is_dropped() -> None:
    call = [start(0, in_text=True), ToolCallDelta(0, "{}"), ToolCallEnd(0)]
    again = [start(1, in_text=False), ToolCallDelta(1, "{}"), ToolCallEnd(1), ToolCallDelta(1, "\n"), ToolCallEnd(1)]
    assert told([*call, *again, TextDelta("x")]) == [*call, TextDelta("x")]


def test_choices_are_apart() -> None:
    one = [start(0, in_text=True), ToolCallDelta(0, "{}"), ToolCallEnd(0)]
    two = [ToolCallStart(0, "y", "x", 1), ToolCallDelta(0, "{}", 1), ToolCallEnd(0, 1)]
    assert told([*one, *two]) == [*one, *two]
