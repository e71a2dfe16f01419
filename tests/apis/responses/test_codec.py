"""The codec of OpenAI Responses: what it makes of streams, regular or not, and what the client gets of those that are mended."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns.kimi import CITY, ONE, B, S
from tests.support.answers import Answer, Call
from tests.support.judges.responses import read, whole
from tests.support.responses_streams import (
    DONE,
    FAILED,
    GET,
    HALVES,
    INCOMPLETE,
    LEAK,
    REQUEST,
    RESPONSE,
    SEARCH,
    TEXT,
    USAGE,
    WEATHER,
    accumulate,
    body_of,
    call,
    counted_from,
    item,
    mended,
    message,
    parts,
    pipeline,
    reasoning,
    reply,
    said,
    sent,
    turn,
    wires,
    without,
)
from tests.support.streams import pieces
from toolmend.apis.responses import codec as responses
from toolmend.apis.responses import decode
from toolmend.apis.responses.codec import Responses
from toolmend.config.off import Off
from toolmend.config.settings import Settings
from toolmend.core.events import Event, Finish, MessageEnd, StreamError, Usage
from toolmend.core.fold import Message, fold
from toolmend.core.json_text import NotJSON
from toolmend.core.sse import SseDecoder
from toolmend.pipeline.pipeline import Pipeline

# what runs them


def events_of(events: Sequence[dict[str, Any] | str], fired: list[str] | None = None) -> list[Event]:
    codec, decoder = Responses(reply(fired)), SseDecoder()
    return [event for sse in [*decoder.feed(body_of(events)), *decoder.close()] for event in codec.decode(sse).events]


def folded(events: Sequence[dict[str, Any] | str], fired: list[str] | None = None) -> Message:
    return fold(events_of(events, fired))


def test_calls_in_turns_that_are_told_by_their_places_alone() -> None:
    one, two = (call(place, ['{"a":', f"{place}}}"]) for place in (0, 1))
    mixed = [one[0], two[0], one[1], two[1], one[2], two[2], *one[3:], *two[3:]]
    bare = [{key: value for key, value in event.items() if key != "item_id"} for event in mixed]
    told = folded(turn(bare))
    assert [each.arguments for each in told.calls.values()] == ['{"a":0}', '{"a":1}']


def calls_of(told: Message) -> list[tuple[str, str, str, str, bool]]:
    return [(one.id, one.name, one.arguments, one.kind, one.complete) for one in told.calls.values()]


def judged(body: bytes) -> Answer:
    told = read(body)
    assert told.faults == []
    return told


# decoding

GOOD = ("call_0", "task", '{"city": 1}', "function", True)
ANNOUNCED, *REST = call(0, HALVES)
DELTAS, ARGS_DONE, ITEM_DONE = REST[:2], REST[2], REST[3]


def at_the_end(*output: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.completed", "response": {**DONE, "output": [*output]}}


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        (turn([ANNOUNCED, *REST]), [GOOD]),
        (turn([ANNOUNCED, *DELTAS, ARGS_DONE]), [GOOD]),
        (turn([ANNOUNCED, *DELTAS, ITEM_DONE]), [GOOD]),
        (turn([ANNOUNCED, *DELTAS]), [GOOD]),
        (turn([ANNOUNCED, *DELTAS, ANNOUNCED, *DELTAS, ARGS_DONE]), [GOOD]),  # said twice
        (turn([ANNOUNCED, ARGS_DONE]), [GOOD]),
        (turn([ANNOUNCED, ITEM_DONE]), [GOOD]),
        (turn([ITEM_DONE]), [GOOD]),
        (turn(REST), [GOOD]),
        (turn([ANNOUNCED, DELTAS[0], ARGS_DONE, ITEM_DONE]), [GOOD]),
        ([*turn(end={**DONE, "output": []})[:-1], at_the_end(ITEM_DONE["item"])], [GOOD]),
        ([at_the_end(ITEM_DONE["item"])], [GOOD]),
        (turn([{**ANNOUNCED, "item": {**ANNOUNCED["item"], "arguments": '{"city": 1}'}}]), [GOOD]),
        (turn([{**ANNOUNCED, "item": {**ANNOUNCED["item"], "name": ""}}, *REST]), [GOOD]),
        (turn(without([ANNOUNCED, *REST], "item_id")), [GOOD]),
        (turn(without([ANNOUNCED, *DELTAS], "item_id")), [GOOD]),
        (turn(without([ANNOUNCED, *REST], "output_index")), [GOOD]),
        (turn(without([ANNOUNCED, *REST], "item_id", "output_index")), [GOOD]),
        (turn([ANNOUNCED, *({**event, "item_id": f"other{n}"} for n, event in enumerate(REST))]), [GOOD]),
        (turn([ANNOUNCED, *without(({**event, "item_id": "other"} for event in DELTAS), "output_index"), *REST]), [GOOD]),  # of no known call
        (turn([ANNOUNCED, DELTAS[0], {**ARGS_DONE, "arguments": {"city": 1}}]), [("call_0", "task", '{"city":1}', "function", True)]),
        (turn([ANNOUNCED, {**ARGS_DONE, "arguments": {"city": 1}}]), [("call_0", "task", '{"city":1}', "function", True)]),
        (turn([ANNOUNCED, *DELTAS, {**ARGS_DONE, "arguments": '{"city":1}'}]), [GOOD]),  # the same, spelt otherwise
        (turn([ANNOUNCED, *DELTAS, {**ARGS_DONE, "arguments": "{}"}]), [GOOD]),  # for want of better knowledge
        *((turn([{**ANNOUNCED, "item": {**ANNOUNCED["item"], "arguments": first}}, *REST[at:]]), [GOOD])
          for first, at in (('{"ci', 1), ('{"city": 1}', 0), ("{}", 0), ('{"ci', 0), ('{"city": 1', 0), ('{"city": 1', 2))),
        (turn([ANNOUNCED, DELTAS[1], ARGS_DONE]), [("call_0", "task", 'ty": 1}', "function", False)]),
        (turn([ANNOUNCED, *DELTAS, {**ARGS_DONE, "arguments": '{"city":2}'}]), [("call_0", "task", '{"city": 1}', "function", False)]),
        (turn(call(0, [])), [("call_0", "task", "{}", "function", True)]),
        (turn([{**ITEM_DONE, "item": {**ITEM_DONE["item"], "arguments": None}}]), [("call_0", "task", "{}", "function", True)]),
        (turn([{**ITEM_DONE, "item": {**ITEM_DONE["item"], "call_id": [1]}}]), [("fc_0", *GOOD[1:])]),
        (  # at the end its id and its place are others
            [*turn([ANNOUNCED, *REST])[:-1], at_the_end({"type": "unheard_of"}, {**ITEM_DONE["item"], "id": "other"})],
            [GOOD],
        ),
        (turn(call(0, [], custom=True)), [("call_0", "task", "", "custom", True)]),
        (turn(call(0, ["*** Begin", ' "x"\n'], custom=True)), [("call_0", "task", '*** Begin "x"\n', "custom", True)]),
        (turn([*call(0, ["a"], custom=True)[:2], call(0, ["b"], custom=True)[2]]), [("call_0", "task", "a", "custom", False)]),
        (turn([ANNOUNCED, DELTAS[0]], end={**DONE, "status": "incomplete"}), [("call_0", "task", '{"ci', "function", False)]),
        (
            turn([ANNOUNCED, DELTAS[0], {**ITEM_DONE, "item": {**ITEM_DONE["item"], "arguments": '{"ci', "status": "incomplete"}}]),
            [("call_0", "task", '{"ci', "function", False)],
        ),
        (
            turn([ANNOUNCED, *call(1, [])[:1], DELTAS[0], *call(1, ["{", "}"])[1:2], DELTAS[1], *call(1, ["{", "}"])[2:], ARGS_DONE, ITEM_DONE]),
            [GOOD, ("call_1", "task", "{}", "function", True)],
        ),
        (  # all at one place
            turn([ANNOUNCED, *REST], [{**event, "output_index": 0} for event in call(1, ["{}"])]),
            [GOOD, ("call_1", "task", "{}", "function", True)],
        ),
     ],
)  # fmt: skip
def test_calls(events: list[dict[str, Any]], calls: list[tuple[str, str, str, str, bool]]) -> None:
    told = folded(events)
    assert calls_of(told) == calls
    assert told.finish
    assert told.finish.finish_reason in ("tool_calls", "length")
    assert told.ended


@pytest.mark.parametrize("said", [DELTAS, [*DELTAS, ARGS_DONE], [*DELTAS, *call(1, ["{", "}"])[1:3]]], ids=["deltas", "done", "another's"])
@pytest.mark.parametrize("more", [[], [("call_1", "task", "{}", "function", True)]], ids=["one", "two"])
def test_arguments_of_which_only_the_end_tells_whose_they_are(said: list[dict[str, Any]], more: list[tuple[str, str, str, str, bool]]) -> None:
    *_, last = turn([ITEM_DONE], call(1, ["{}"]) if more else [])
    told = folded([*turn(without(said, "item_id", "output_index"), end=None), last])
    assert (calls_of(told), told.text) == ([GOOD, *more], "")


def test_a_call_id_falls_back_to_the_items_id() -> None:
    fired: list[str] = []
    events = turn([{**event, "item": {**event["item"], "call_id": None}} if "item" in event else event for event in [ANNOUNCED, *REST]])
    assert calls_of(folded(events, fired)) == [("fc_0", *GOOD[1:])]
    assert fired == ["tool_call_id"]
    answer = judged(mended(body_of(events)))
    assert answer.calls == [Call("fc_0", "task", '{"city": 1}')]


def one_tool() -> Pipeline:
    return Pipeline({**REQUEST, "tools": [WEATHER]}, source="responses", target="responses", new_id=lambda: "call_new")


@pytest.mark.parametrize(
    ("arguments", "calls", "text"),
    [(HALVES, [Call("call_0", "get_weather", '{"city": 1}')], ""), (['{"town"', ": 1}"], [], '{"town": 1}')],
)
@pytest.mark.parametrize("kept", [5, 4, 3])  # of its events: all, no item.done, no done at all
def test_a_call_without_a_name(arguments: list[str], calls: list[Call], text: str, kept: int) -> None:
    """As in Chat: it is of the one tool that its arguments fit, or text."""
    answer = judged(mended(body_of(turn(call(0, arguments, name="")[:kept])), one_tool))
    assert (answer.calls, answer.text) == (calls, text)
    body = json.dumps({**DONE, "output": wires(call(0, arguments, name=""))}).encode()
    answer = whole(one_tool().message(body))
    assert (answer.faults, answer.calls, answer.text) == ([], calls, text)


KEPT = ("", "item", "done", "delta")
"""The events that an upstream has: all; those of items and deltas; what says the whole, and deltas; deltas alone."""


def unplaced(events: list[dict[str, Any]], kept: str) -> list[dict[str, Any]]:
    """Which item a delta is of is not told; the last event has all of them, with ids."""
    bare = [{**event, "item": {**event["item"], "id": None}} if "item" in event else event for event in events]
    bare = [event for event in bare if kept in event["type"] or event["type"].endswith("delta")]
    *begun, last = turn(events)
    return [*begun[:2], *without(bare, "item_id", "output_index"), last]


def renamed(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items have other ids and places in the end."""
    *begun, last = turn(events)
    output = last["response"]["output"] or [TEXT[-1]["item"]]
    at_the_end = [{**wire, "id": f"other_{place}"} for place, wire in enumerate(output)]
    return [*begun, {**last, "response": {**last["response"], "output": [{"type": "unheard_of"}] * 2 + at_the_end}}]


@pytest.mark.parametrize(
    ("events", "text", "thoughts"),
    [
        (turn(TEXT), "Hi you", ""),
        *((turn(counted_from(first, [*reasoning(0, ["Hm", "!"]), *message(1, ["a"])])), "a", "Hm!") for first in (1, -1, 10**20)),
        *((turn(parts("a", "b", "a", "a", first=first)), "abaa", "") for first in (0, 1, 2, -1)),
        (turn([counted_from(1, [each])[0] if "delta" in each["type"] else each for each in parts("a", "b", "a", "a")]), "abaa", ""),
        (turn([each for each in parts("a", "b", "a", first=1) if "delta" not in each["type"]]), "aba", ""),
        *((turn([each for each in parts("a", "a", first=first) if "delta" not in each["type"]]), "aa", "") for first in (0, 1)),
        (turn(TEXT[:-4]), "Hi", ""),
        (turn([event for event in TEXT if not event["type"].endswith("delta")]), "Hi you", ""),
        (turn([TEXT[0], TEXT[1], TEXT[2], TEXT[4]]), "Hi you", ""),
        (turn([TEXT[0], TEXT[5]]), "Hi you", ""),
        (turn([TEXT[-1]]), "Hi you", ""),
        (turn([TEXT[2], TEXT[3]]), "Hi you", ""),
        ([turn(TEXT)[-1]], "Hi you", ""),
        (turn([*TEXT[:2], {**TEXT[2], "delta": "Ho"}, *TEXT[3:]]), "Ho you", ""),  # what was told stands
        (turn(message(0, ["a"]), message(1, ["b"])), "ab", ""),
        (turn(reasoning(0, ["Hm", "!"]), message(1, ["a"])), "a", "Hm!"),
        (turn(reasoning(0, ["Hm", "!"], "thought"), message(1, ["a"])), "a", "Hm!"),
        (turn(SEARCH, message(1, ["a"])), "a", ""),
        (turn(TEXT, numbered=False), "Hi you", ""),
        (turn([{**TEXT[-1], "item": {**TEXT[-1]["item"], "content": [7, {"type": "hologram"}, *TEXT[-1]["item"]["content"]]}}]), "Hi you", ""),
        *((unplaced(TEXT, kept), "Hi you", "") for kept in KEPT),
        *((unplaced([*reasoning(0, ["Hm", "!"]), *TEXT], kept), "Hi you", "Hm!") for kept in KEPT),
        *((unplaced([*TEXT, *message(1, ["a", "b"])], kept), "Hi youab", "") for kept in KEPT),
        *((unplaced([*TEXT, *message(1, ["Hi", " you"])], kept), "Hi youHi you", "") for kept in KEPT),
        (turn([*without(TEXT[2:4], "item_id", "output_index"), *TEXT[4:]]), "Hi you", ""),
        (turn([*without(TEXT[2:4], "item_id", "output_index"), TEXT[-1]]), "Hi you", ""),
        (turn([*without(TEXT[2:4], "item_id", "output_index"), message(1, ["Ho"])[-1]]), "Hi youHo", ""),  # it is of another one
        (renamed([*reasoning(0, ["Hm", "!"]), *TEXT]), "Hi you", "Hm!"),
        (renamed(without([*reasoning(0, ["Hm", "!"]), *TEXT], "output_index")), "Hi you", "Hm!"),
        (renamed(TEXT[:-4]), "Hi you", ""),  # the end has more
    ],
)
def test_texts(events: list[dict[str, Any]], text: str, thoughts: str) -> None:
    told = folded(events)
    assert (told.text, told.reasoning, told.calls) == (text, thoughts, {})
    assert told.finish == Finish("stop")
    assert told.usage == Usage(10, 5, 4, 1, 2)
    assert sum(type(event).__name__ == "MessageStart" for event in events_of(events)) == 1


def test_refusals_and_seals() -> None:
    wire = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    told = folded(turn(reasoning(0, ["Hm"]), item(1, wire, said("msg_1", 1, "refusal", ["I ", "can't"]))))
    assert told.refusal == "I can't"
    assert [(run.text, run.seal and (run.seal.kind, json.loads(run.seal.data))) for run in told.thinking] == [
        ("Hm", ("encrypted", {"id": "rs_0", "encrypted_content": "gAAA"}))
    ]


@pytest.mark.parametrize(
    ("last", "event"),
    [
        ({"type": "response.completed", "response": DONE}, Finish("stop")),
        ({"type": "response.completed", "response": {}}, Finish("stop")),
        ({"type": "response.incomplete", "response": {**INCOMPLETE, "incomplete_details": {"reason": "max_output_tokens"}}}, Finish("length")),
        ({"type": "response.incomplete", "response": {**INCOMPLETE, "incomplete_details": {"reason": "content_filter"}}}, Finish("content_filter")),
        ({"type": "response.incomplete", "response": {**INCOMPLETE, "incomplete_details": {"reason": "steered"}}}, Finish("stop")),
        ({"type": "response.incomplete", "response": INCOMPLETE}, Finish("length")),
        ({"type": "response.completed", "response": INCOMPLETE}, Finish("length")),
        ({"type": "response.completed", "response": {**DONE, "status": "cancelled"}}, StreamError("cancelled", "The upstream's answer is cancelled.")),
        ({"type": "response.cancelled", "response": {}}, StreamError("cancelled", "The upstream's answer is cancelled.")),
        ({"type": "response.done", "response": DONE}, Finish("stop")),
        ({"type": "response.done", "response": INCOMPLETE}, Finish("length")),
        ({"type": "response.failed", "response": FAILED}, StreamError("rate_limit_exceeded", "Slow down.", 429)),
        ({"type": "response.failed", "error": {"message": "no"}}, StreamError("error", "no")),
        ({"type": "response.failed", "response": {}}, StreamError("failed", "The upstream's answer is failed.")),
        ({"type": "error", "code": "server_error", "message": "no", "param": None}, StreamError("server_error", "no", 500)),
        ({"type": "error", "error": {"type": "overloaded", "message": "no", "code": 503}}, StreamError("overloaded", "no", 503)),
        ({"type": "response.error", "message": "no"}, StreamError("response.error", "no")),
        ({"error": {"message": "no"}, "type": ""}, StreamError("error", "no")),
    ],
)
def test_ends(last: dict[str, Any], event: Event) -> None:
    events = events_of([*turn(TEXT, end=None), last, *turn(TEXT)])  # nothing counts behind the end
    assert event in events
    assert isinstance(events[-1], StreamError if isinstance(event, StreamError) else MessageEnd)


AT = {"item_id": "msg_0", "output_index": 0, "content_index": 0}
ODDITIES: dict[str, list[dict[str, Any]]] = {
    "a delta that is a number": [{"type": "response.output_text.delta", **AT, "delta": 5}],
    "a response that is not there": [{"type": "response.in_progress"}],
    "a response that is a number": [{"type": "response.in_progress", "response": 5}, {"type": "response.queued", "response": 5}],
    "an item of another kind without a place": [{"type": "response.output_item.added", "item": {"type": "x", "id": "x_1"}}],
}


@pytest.mark.parametrize("name", ODDITIES)
@pytest.mark.parametrize("leaks", [False, True])
def test_events_that_say_nothing(name: str, *, leaks: bool) -> None:
    """Whether they stay is all one; what the others say is said."""
    first, *rest = message(0, [*(LEAK if leaks else ()), "Hi", " you"])
    at = len(rest) - 3
    answer = read(mended(body_of(turn([first, *rest[:at], *ODDITIES[name], *rest[at:]]))))
    assert (answer.text, answer.calls) == (("Look: Hi you", [GET]) if leaks else ("Hi you", []))


@pytest.mark.parametrize("kept", [2, 3])
def test_thoughts_whose_part_nobody_announced_are_ended_as_they_began(kept: int) -> None:
    """`kept`: of the events of their item: all but its end, or its `done` as well."""
    added, *rest = without(reasoning(0, ["Hm"]), "nothing")
    bare = [added, *(event for event in rest if "_part." not in event["type"])][:kept]
    answer = read(mended(body_of([*turn(bare, message(1, [*LEAK]), end=None), "data: [DONE]\n\n"])))
    assert (answer.reasoning, answer.text, answer.calls) == ("Hm", "Look: ", [GET])


def test_what_is_said_of_another_part_is_said_beside_it() -> None:
    first, *rest = TEXT
    other = {"type": "response.output_text.done", **AT, "content_index": 3, "text": "Bye"}
    assert folded(turn([first, *rest[:-3], other, *rest[-3:]])).text == "Hi youBye"


def test_done_ends_a_stream_without_a_last_event() -> None:
    assert events_of([*turn(TEXT, end=None), "data: [DONE]\n\n"])[-1] == MessageEnd()
    assert events_of([*turn(TEXT), "data: [DONE]\n\n"]).count(MessageEnd()) == 1


def test_the_type_may_stand_in_the_event_line_alone() -> None:
    events = [f"event: {event['type']}\ndata: {json.dumps({**event, 'type': None})}\n\n" for event in turn(TEXT)]
    assert folded(events).text == "Hi you"


# mending

REGULAR = {
    "text": turn(TEXT),
    "all": turn(reasoning(0, ["Hm"]), message(1, ["I ", "look"]), call(2, HALVES), call(3, ["x"], custom=True)),
    "search": turn(SEARCH, message(1, ["a"])),
    "incomplete": turn(message(0, ["a"]), end=INCOMPLETE),
    "failed": turn(message(0, ["a"]), end=FAILED),
    "cut": turn(message(0, ["a"]), end=None)[:-2],
    "almost": turn(message(0, ["a <|tool", "_calls are x <", "|"])),
    "no numbers": turn(TEXT, numbered=False),
    "comments": [*turn(TEXT)[:3], ": keep-alive\n\n", *turn(TEXT)[3:5], ": x\n\n", *turn(TEXT)[5:], "data: [DONE]\n\n"],
    "an item that is none": turn([{**TEXT[0], "item": None}], TEXT),
    "garbage": ["data: {\n\n", "data: 7\n\n", 'data: {"type": 3}\n\n', *turn(TEXT)],
}


@pytest.mark.parametrize("name", REGULAR)
def test_what_needs_no_mending_is_byte_identical(name: str) -> None:
    body = body_of(REGULAR[name])
    assert mended(body) == body
    crlf = body.replace(b"\n", b"\r\n")
    assert mended(crlf) == crlf


OTHERS = {"text": "", "reasoning": "", "calls": [GET], "stop_reason": "completed"}
MENDED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "a call behind text": (turn(message(0, LEAK)), {"text": "Look: ", "order": ["message", "function_call"]}),
    "nothing but a call": (turn(message(0, pieces(ONE, 4))), {"order": ["function_call"]}),
    "text on both sides": (turn(message(0, [*LEAK, " so"])), {"text": "Look:  so", "order": ["message", "function_call", "message"]}),
    "in one delta": (turn(message(0, [f"a{ONE}b"])), {"text": "ab", "order": ["message", "function_call", "message"]}),
    "in reasoning": (turn(reasoning(0, LEAK, sealed="")), {"reasoning": "Look: ", "order": ["reasoning", "function_call"]}),
    "in raw reasoning": (turn(reasoning(0, LEAK, "thought", "")), {"reasoning": "Look: ", "order": ["reasoning", "function_call"]}),
    "reasoning in front": (
        turn(reasoning(0, ["Hm"]), message(1, LEAK)), {"reasoning": "Hm", "text": "Look: ", "seals": ["gAAA"], "order": ["reasoning", "message", "function_call"]}
    ),
    "a native call behind": (
        turn(message(0, LEAK), call(1, HALVES), call(2, ["*"], custom=True)),
        {"text": "Look: ", "calls": [GET, Call("call_1", "task", '{"city": 1}'), Call("call_2", "task", "*", "custom")]},
    ),
    "a native call in front": (
        turn(call(0, HALVES), message(1, LEAK), reasoning(2, ["Hm"])),
        {"text": "Look: ", "reasoning": "Hm", "seals": ["gAAA"], "calls": [Call("call_0", "task", '{"city": 1}'), GET],
         "order": ["function_call", "message", "function_call", "reasoning"]},
    ),
    "a native call that is nowhere": (
        turn(message(0, LEAK), without(call(1, HALVES), "output_index")),
        {"text": "Look: ", "calls": [GET, Call("call_1", "task", '{"city": 1}')], "order": ["message", "function_call", "function_call"]},
    ),
    "the same call again": (turn(message(0, LEAK), call(1, [CITY], "get_weather")), {"text": "Look: "}),
    "a native call, with residue in its name": (turn(call(0, [CITY], "get_weather<|channel|>commentary")), {"calls": [Call("call_0", "get_weather", CITY)]}),
    "a native call, with a module in its name": (turn(call(0, [CITY], "functions.get_weather")), {"calls": [Call("call_0", "get_weather", CITY)]}),
    "a native call, its first brace twice": (turn(call(0, ["{", CITY], "get_weather")), {"calls": [Call("call_0", "get_weather", CITY)]}),
    "a custom call, told as a function's": (
        turn([{**event, "type": event["type"].replace("custom_tool_call_input", "function_call_arguments")} for event in call(0, ["*", "x"], custom=True)]),
        {"calls": [Call("call_0", "task", "*x", "custom")]},
    ),
    "done without deltas": (turn([event for event in message(0, LEAK) if not event["type"].endswith("delta")]), {"text": "Look: "}),
    "only the last event": (
        [*turn(end=None), {"type": "response.completed", "sequence_number": 2, "response": {**DONE, "output": [message(0, LEAK)[-1]["item"], ITEM_DONE["item"]]}}],
        {"text": "Look: ", "calls": [GET, Call("call_0", "task", '{"city": 1}')]},
    ),
    "nothing but the last event": (
        [{"type": "response.completed", "sequence_number": 0, "response": {**DONE, "output": [message(0, LEAK)[-1]["item"]]}}],
        {"text": "Look: "},
    ),
    "held to the end": (turn(message(0, ["a", S, B + "functions.get_weather:0", "<|tool_call_argument_begin|>" + CITY])), {"text": "a"}),
    "too long": (
        turn(message(0, [*LEAK, " so"]), end={**INCOMPLETE, "incomplete_details": {"reason": "max_output_tokens"}}),
        {"text": "Look:  so", "stop_reason": "incomplete/max_output_tokens"},
    ),
    "failed": (turn(message(0, LEAK), end=FAILED), {"text": "Look: ", "stop_reason": "failed"}),
    "cancelled, and told as completed": (
        [*turn(message(0, LEAK), end=None), {"type": "response.completed", "sequence_number": 99, "response": {**DONE, "status": "cancelled"}}],
        {"text": "Look: ", "stop_reason": "failed"},
    ),
    "failed before the end of an item": (
        turn(message(0, LEAK), message(1, ["End."])[:-1], end=FAILED), {"text": "Look: End.", "stop_reason": "failed", "order": ["message", "function_call", "message"]},
    ),
    "error": (
        [*turn(message(0, LEAK), end=None), {"type": "error", "sequence_number": 99, "code": "server_error", "message": "no", "param": None}],
        {"text": "Look: ", "stop_reason": "error"},
    ),
    "second message": (turn(message(0, ["One."]), message(1, LEAK), message(2, ["End."])), {"text": "One.Look: End.", "order": ["message", "message", "function_call", "message"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", MENDED)
def test_a_leak_becomes_a_call(name: str) -> None:
    events, expected = MENDED[name]
    body = mended(body_of(events))
    told = judged(body)
    assert {member: getattr(told, member) for member in {**OTHERS, **expected}} == {**OTHERS, **expected}
    last = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")][-1]
    assert told.stop_reason == "error" or last["response"]["provider_field"] == {"kept": 1}
    assert told.stop_reason in ("error", "failed") or told.usage == USAGE
    assert told.stop_reason != "failed" or last["type"] == "response.failed"


@pytest.mark.parametrize("name", REGULAR)
def test_a_stream_that_is_cut_is_all_there(name: str) -> None:
    events = REGULAR[name]
    for end in range(len(events)):
        body = body_of(events[:end])
        made = pipeline()
        assert made.feed(body) + made.close() + made._codec.held() == body


def test_a_leak_in_a_stream_that_is_cut_makes_no_end() -> None:
    body = mended(body_of(turn(message(0, LEAK), end=None)))
    assert read(body).faults == ["no completed, incomplete, failed or error"]
    assert read(body).calls == [GET]


def test_done_in_place_of_the_last_event() -> None:
    """The client gets the last event that the upstream forgot."""
    body = mended(body_of([*turn(message(0, LEAK), end=None), "data: [DONE]\n\n"]))
    assert body.endswith(b"data: [DONE]\n\n")
    told = judged(body.removesuffix(b"data: [DONE]\n\n"))
    assert (told.stop_reason, told.calls, told.usage and told.usage["input_tokens"]) == ("completed", [GET], 0)


def test_an_answer_that_is_incomplete_stays_so_whatever_the_event_says() -> None:
    body = body_of(turn(message(0, LEAK), end={**INCOMPLETE, "incomplete_details": {"reason": "max_output_tokens"}}))
    assert judged(mended(body.replace(b"response.incomplete", b"response.completed"))).stop_reason == "incomplete/max_output_tokens"


def test_the_upstreams_ids_and_fields_stay() -> None:
    events = sent(turn(message(0, [*LEAK, " so"], phase="commentary"), message(1, ["End."], phase="final_answer"), call(2, HALVES, namespace="mcp")))
    output = events[-1]["response"]["output"]
    assert [wire["id"][:6] for wire in output] == ["msg_0", "fc_000", "msg_00", "msg_1", "fc_2"]
    assert [wire.get("phase") for wire in output] == ["commentary", None, "commentary", "final_answer", None]
    assert output[-1]["namespace"] == "mcp"


def test_what_is_not_understood_is_kept_and_renumbered() -> None:
    note = {"type": "response.output_text.annotation.added", "item_id": "msg_0", "output_index": 0, "content_index": 0, "annotation_index": 0, "annotation": {"type": "x"}}
    text = message(0, [*LEAK, " so"])
    moved = [{**event, "output_index": 1} for event in SEARCH]
    events = sent(turn([*text[:-3], note, *text[-3:]], moved, [{"type": "response.strange", "a": [1]}], message(2, ["End."])))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    output = events[-1]["response"]["output"]
    assert [wire["type"] for wire in output] == ["message", "function_call", "message", "web_search_call", "message"]
    assert output[2]["content"][0]["annotations"] == [{"type": "x"}]
    searching = next(event for event in events if event["type"] == "response.web_search_call.searching")
    assert (searching["output_index"], searching["item_id"]) == (3, "ws_1")
    assert next(event for event in events if event["type"] == "response.strange")["a"] == [1]
    annotated = next(event for event in events if "annotation" in event)
    assert (annotated["item_id"], annotated["output_index"]) == (output[2]["id"], 2)


NOTE = {"type": "response.output_text.annotation.added", "item_id": "msg_0", "output_index": 0, "content_index": 0, "annotation_index": 0, "annotation": {"type": "x"}}
ABOUT: dict[str, tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]] = {
    "a text that became a call": (message(0, LEAK), NOTE, []),
    "a text that became a call, and nothing else": (message(0, LEAK), {**NOTE, "output_index": 1, "item_id": "msg_1"}, []),
    "a text that goes on": (message(0, [*LEAK, " so"]), without([NOTE], "content_index")[0], [{"output_index": 2, "annotation_index": 0, "annotation": {"type": "x"}}]),
    "nobody knows what": (
        message(0, [*LEAK, " so"]), {"type": "response.output_text.strange", "output_index": 0, "content_index": 5, "a": [1]}, [{"output_index": 2, "content_index": 0, "a": [1]}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ABOUT)
def test_what_is_said_of_a_text_goes_where_the_text_is(name: str) -> None:
    """It goes with a text that the client has not got, or is told the end of; else it points to where the text is now."""
    text, about, expected = ABOUT[name]
    other = message(1, [ONE])
    events = turn([*text[:-3], about, *text[-3:]]) if about["output_index"] == 0 else turn(text, [*other[:2], about, *other[2:]])
    out = sent(events)
    told = [{key: value for key, value in event.items() if key not in ("type", "item_id", "sequence_number")} for event in out if event["type"] == about["type"]]
    assert told == expected
    assert [event["sequence_number"] for event in out] == list(range(len(out)))


def test_a_response_told_anew_is_what_the_end_is_made_of() -> None:
    again = {"type": "response.in_progress", "response": {**RESPONSE, "provider_field": {"kept": 2}}}
    body = mended(body_of([*turn(message(0, LEAK), [again], end=None), "data: [DONE]\n\n"])).removesuffix(b"data: [DONE]\n\n")
    *_, told, last = (json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: "))
    assert told == {**again, "sequence_number": last["sequence_number"] - 1}
    assert (last["type"], last["response"]["provider_field"], len(last["response"]["output"])) == ("response.completed", {"kept": 2}, 2)


def test_annotations_stay_with_their_text() -> None:
    """Whether they came in front of what is mended, or behind."""
    one, two = ({"type": "url_citation", "url": f"https://example.org/{n}"} for n in (1, 2))
    events = message(0, ["a", *LEAK, "b"])
    at = {"type": "response.output_text.annotation.added", "item_id": "msg_0", "output_index": 0, "content_index": 0}
    places = [n for n, each in enumerate(events) if each["type"].endswith("text.delta")]
    events.insert(places[-1] + 1, {**at, "annotation_index": 1, "annotation": two})
    events.insert(places[0] + 1, {**at, "annotation_index": 0, "annotation": one})
    out = sent(turn(events))
    told = [each["annotations"] for last in out[-1:] for entry in last["response"]["output"] for each in entry.get("content", ()) if each["type"] == "output_text"]
    assert sorted(json.dumps(each) for part in told for each in part) == [json.dumps(one), json.dumps(two)]
    assert [each["annotation"] for each in out if "annotation" in each] == [one, two]


def test_of_its_own_calls_the_upstream_knows_the_arguments_best() -> None:
    odd = call(1, ["{}"])
    odd[2]["arguments"] = odd[3]["item"]["arguments"] = '{"city": "Rome"}'
    odd[1]["delta"] = '{"city": "Rom'
    odd[1] = {**odd[1], "delta": '{"c'}
    odd.insert(2, {**odd[1], "delta": 'x"'})
    events = sent(turn(message(0, LEAK), odd))
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done[-1]["arguments"] == '{"city": "Rome"}'
    assert events[-1]["response"]["output"][-1] == done[-1]


ODD = {
    "a fence": '```json\n{"city": "Rome"}\n```',
    "a string": json.dumps('{"city": "Rome"}'),
    "a raw line end": '{"city": "Ro\nme"}',
    "more behind": '{"city": "Rome"}}',
    "null": "null",
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("told", ["whole stream", "arguments.done", "output_item.done", "the end", "whole response"])
def test_odd_arguments_are_mended_wherever_they_are_told(name: str, told: str) -> None:
    text = ODD[name]
    events = turn(message(0, ["Hi"]), call(1, [text[:9], text[9:]]), message(2, ["Bye"]))
    gone = {"arguments.done": (".delta",), "output_item.done": (".delta", "arguments.done"), "the end": (".delta", ".done", ".added")}
    events = [event for event in events if event.get("output_index") != 1 or not event["type"].endswith(gone.get(told, ()))]
    if told == "the end":  # where the places of the others are as they are told
        events = turn()[:2] + events[-1:]
    if told == "whole response":
        answer = whole(pipeline().message(json.dumps(events[-1]["response"]).encode()))
        assert answer.faults == []
    else:
        answer = judged(mended(body_of([{**event, "sequence_number": at} for at, event in enumerate(events)])))
    value = {"null": {}, "a raw line end": {"city": "Ro\nme"}}.get(name, {"city": "Rome"})
    assert [(each.id, each.name, each.value) for each in answer.calls] == [("call_1", "task", value)]


def test_arguments_twice_in_a_call_whose_name_comes_last() -> None:
    """The second are another call, which begins when the first has its name."""
    late = call(1, ['{"city": 1}', '{"city": 2}'])
    del late[0]["item"]["name"]
    told = judged(mended(body_of(turn(message(0, ["Hi"]), late))))
    assert [(each.name, each.value) for each in told.calls] == [("task", {"city": 1}), ("task", {"city": 2})]


def test_a_state_without_a_response_that_is_let_be_is_no_hindrance() -> None:
    bare = {"type": "response.in_progress"}
    events = turn(message(0, LEAK))
    body = body_of([events[0], *({**event, "sequence_number": at} for at, event in enumerate([bare, *events[2:]], 1))])
    settings = Settings(off=Off(rules=frozenset({"response_fields"})))
    assert read(mended(body, lambda: pipeline(settings=settings))).calls == [GET]


def test_a_policy_that_ends_the_answer_writes_its_end() -> None:
    body = mended(body_of(turn(message(0, [*LEAK, " and much", " more"]))), lambda: pipeline(settings=Settings(policy="first"), let_go=True))
    told = judged(body)
    assert (told.text, told.calls, told.stop_reason) == ("Look: ", [GET], "completed")


def test_what_announces_a_text_is_held_and_can_be_had() -> None:
    codec = Responses(reply())
    raws = [SseDecoder().feed(body_of([event]))[0] for event in turn(TEXT)]
    out = [codec.encode(codec.decode(sse)) for sse in raws[:4]]
    assert out == [raws[0].raw, raws[1].raw, b"", b""]
    assert codec.held() == raws[2].raw + raws[3].raw
    assert codec.held() == b""


def test_what_is_too_long_passes_or_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "MAX_KEPT", 200)
    monkeypatch.setattr(decode, "MAX_KEPT", 1000)
    body = body_of(turn(message(0, ["x" * 50] * 5 + LEAK)))
    assert mended(body) == body
    told = judged(mended(body_of(turn(message(0, [*LEAK, *["x" * 50] * 5])))))
    assert (told.stop_reason, told.calls) == ("failed", [GET])
    assert isinstance(events_of(turn(message(0, ["x" * 501] * 2)))[-1], StreamError)


# whole responses


def test_a_whole_response_is_read() -> None:
    body = json.dumps({**DONE, "output": wires(reasoning(0, ["Hm"]), message(1, ["a"]), call(2, HALVES), SEARCH)}).encode()
    codec = Responses(reply())
    frame = codec.decode_message(body)
    told = fold(frame.events)
    assert (told.text, told.reasoning, calls_of(told)) == ("a", "Hm", [("call_2", *GOOD[1:])])
    assert (told.finish, told.usage, told.ended) == (Finish("tool_calls"), Usage(10, 5, 4, 1, 2), False)
    assert pipeline().message(body) is body


@pytest.mark.parametrize("body", [b'{"error": {"code": "rate_limit_exceeded", "message": "no"}}', json.dumps(FAILED).encode()])
def test_a_whole_response_that_failed(body: bytes) -> None:
    (event,) = Responses(reply()).decode_message(body).events
    assert isinstance(event, StreamError)
    assert event.status == 429
    assert pipeline().message(body) is body


def test_the_parts_of_an_item_stay_apart() -> None:
    texts = ["One.", "".join(LEAK), "End."]
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    summary = [{"type": "summary_text", "text": text} for text in ("Hm", "So")]
    wires_ = [{"id": "rs_0", "type": "reasoning", "summary": summary}, {**message(1, [""])[-1]["item"], "content": content}]
    output = json.loads(pipeline().message(json.dumps({**DONE, "output": wires_}).encode()))["output"]
    assert [[part["text"] for part in wire.get("summary", wire.get("content", ()))] for wire in output] == [["Hm", "So"], ["One.", "Look: "], [], ["End."]]


def test_no_object_is_no_response() -> None:
    for body in (b"[]", b"{"):
        with pytest.raises(NotJSON):
            Responses(reply()).decode_message(body)
        assert pipeline().message(body) == body


# other judges


@pytest.mark.parametrize("name", [name for name, case in MENDED.items() if "stop_reason" not in case[1]])
def test_the_sdk_understands_what_was_mended(name: str) -> None:
    events, expected = MENDED[name]
    final = accumulate(iter([mended(body_of(events))]))
    assert final.output_text == expected.get("text", "")
    calls = [wire for wire in final.output if wire.type in ("function_call", "custom_tool_call")]
    assert [wire.call_id for wire in calls] == [one.id for one in expected.get("calls", [GET])]


@pytest.mark.parametrize("at", range(8))
def test_a_leak_beside_calls_that_are_open(at: int) -> None:
    """The upstream has two calls open at a time; what the leak makes waits until both are complete."""
    one, two = call(0, ['{"a":', "1}"]), call(1, ['{"b":', "2}"])
    steps = [[one[0]], [two[0]], [one[1]], [two[1]], one[2:4], one[4:], [two[2]], two[3:]]
    events = turn(*steps[: at + 1], message(2, LEAK), *steps[at + 1 :])
    final = accumulate(iter([mended(body_of(events))]))
    assert final.output_text == "Look: "
    calls = {wire.call_id: json.loads(wire.arguments) for wire in final.output if wire.type == "function_call"}
    assert calls == {"call_0": {"a": 1}, "call_1": {"b": 2}, GET.id: {"city": "Beijing"}}


def test_what_comes_behind_a_leak_that_breaks_off_is_said() -> None:
    """The call of the leak is told to be incomplete; one of the upstream's own, which waited for it, is whole."""
    leak = message(0, [f'{S}{B}functions.task:0<|tool_call_argument_begin|>{{"a": "'])
    body = mended(body_of(turn(leak, call(1, ['{"b":', "2}"], "get_weather"))))
    final = accumulate(iter([body]))
    told = [(wire.name, wire.arguments, wire.status) for wire in final.output]
    assert told == [("task", '{"a": "', "incomplete"), ("get_weather", '{"b":2}', "completed")]


@pytest.mark.parametrize("odd", [[], {}, ["x"], 7, None, True])
@pytest.mark.parametrize("member", ["id", "call_id", "name", "arguments", "status", "type"])
def test_what_the_last_event_has_of_an_item_is_of_any_type(member: str, odd: Any) -> None:
    *begun, last = turn(call(0, ['{"a":', "1}"]), message(1, ["a"]))
    output = [{**wire, member: odd} for wire in last["response"]["output"]]
    renamed = [{**wire, "id": "other", "call_id": "", member: odd} for wire in output]
    for items in (output, renamed):
        told = folded([*begun, {**last, "response": {**last["response"], "output": items}}])
        assert told.text == "a"
        assert [each.arguments for each in told.calls.values()] == ['{"a":1}']


KEYS = ["type", "item", "output_index", "item_id", "delta", "text", "part", "response", "output", "status", "id", "call_id", "name", "arguments", "content", "summary", "error", "code", "usage", "content_index", "annotation", "encrypted_content"]  # fmt: skip
WORDS = sorted({value for event in turn(reasoning(0, []), TEXT, call(2, []), SEARCH, end=FAILED) for value in (event["type"], (event.get("item") or {}).get("type"), (event.get("part") or {}).get("type")) if value})  # fmt: skip
JSON = st.recursive(
    st.just([]) | st.none() | st.booleans() | st.integers(-1, 3) | st.floats(allow_nan=False) | st.text(max_size=3) | st.sampled_from([*WORDS, "{}", "completed", "incomplete", ONE]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
EVENTS = st.fixed_dictionaries({"type": st.sampled_from(WORDS)}, optional={key: JSON for key in KEYS if key != "type"}) | JSON


@given(st.lists(EVENTS, max_size=8), st.booleans())
def test_garbage_is_never_an_error(values: list[Any], leaks: bool) -> None:
    head = turn(message(0, LEAK), end=None)[:-3] if leaks else []
    blocks = [f"data: {json.dumps(value)}\n\n" for value in values]
    made = pipeline()
    out = made.feed(body_of([*head, *blocks])) + made.close()
    assert made.error is None, made.error
    if not leaks and not made.rules:
        assert out + made._codec.held() == body_of(blocks)


@given(JSON)
def test_a_garbage_response_is_never_an_error(value: Any) -> None:
    for body in (value, {"output": [*wires(message(0, LEAK)), value], "usage": value}, {"output": value, "status": "completed"}):
        made = pipeline()
        made.message(json.dumps(body).encode())
        assert made.error is None, made.error


BLOCKS = st.sampled_from([reasoning, message, call, "custom", "search", "leak", "thought"])


@given(st.lists(st.tuples(BLOCKS, st.lists(st.sampled_from(["a", " b", ONE, "<|", "{}"]), min_size=1, max_size=3)), min_size=1, max_size=5), st.integers(0, 3))
def test_any_regular_stream_is_mended_to_a_legal_one(blocks: list[tuple[Any, list[str]]], seed: int) -> None:
    parts: list[list[dict[str, Any]]] = []
    for place, (kind, deltas) in enumerate(blocks):
        if kind in (reasoning, message):
            parts.append(kind(place, deltas))
        elif kind == "thought":
            parts.append(reasoning(place, deltas, "thought", ""))
        elif kind == "leak":
            parts.append(message(place, pieces("".join(deltas) + ONE, seed)))
        elif kind == "search":
            parts.append([{**event, "output_index": place, **({"item": {**event["item"], "id": f"ws_{place}"}} if "item" in event else {})} for event in SEARCH])
        else:
            parts.append(call(place, deltas if kind == "custom" else ['{"x":', json.dumps(deltas), "}"], custom=kind == "custom"))
    body = body_of(turn(*parts))
    made = pipeline()
    out = made.feed(body) + made.close()
    assert made.error is None, made.error
    told = read(out)
    if not made.rules:
        assert out == body
    assert [fault for fault in told.faults if "web_search" not in fault and fault != "an empty reasoning item"] == []
    assert json.loads(out.rpartition(b"data: ")[2])["type"] == "response.completed"
