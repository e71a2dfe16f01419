"""missing_events.py, and what the client of the same API gets where its upstream leaves out events."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.answers import Call
from tests.support.responses_streams import (
    DONE,
    FAILED,
    HALVES,
    INCOMPLETE,
    SEARCH,
    accumulate,
    body_of,
    call,
    mended,
    message,
    pipeline,
    reasoning,
    reply,
    sent,
    turn,
)
from tests.support.responses_streams import without as bare
from tests.support.upstream_answers import JUDGES, asked
from toolmend.apis.responses.codec import Responses
from toolmend.config.off import Off
from toolmend.config.settings import Settings
from toolmend.core.fold import fold
from toolmend.core.sse import SseDecoder
from toolmend.pipeline.pipeline import Pipeline

type Events = list[dict[str, Any]]

TASK = Call("call_2", "task", '{"city": 1}')
PATCH = Call("call_3", "task", "*** x", "custom")
ALL = [reasoning(0, ["H", "m"]), message(1, ["Hi", " you"]), call(2, HALVES), call(3, ["***", " x"], custom=True)]
ITEMS = ["reasoning", "message", "function_call", "custom_tool_call"]
TOLD = {"text": "Hi you", "reasoning": "Hm", "seals": ["gAAA"], "calls": [TASK, PATCH], "order": ITEMS, "stop_reason": "completed"}


def less(*gone: str, parts: list[Events] = ALL, end: dict[str, Any] | None = DONE, output: Any = ...) -> Events:
    """The turn without the events whose type ends so. The last one holds all, or this `output`."""
    events = [event for event in turn(*parts, end=end) if not event["type"].endswith(gone or ("nothing",))]
    if output is not ...:
        response = {**events[-1]["response"], "output": output}
        events[-1] = {**events[-1], "response": {name: value for name, value in response.items() if value != "nothing"}}
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def saying(type_: str, **members: Any) -> Events:
    """The turn whose ends of items say something else."""
    events = turn(*ALL)
    return [
        {**event, "item": {**event["item"], **members}} if event["type"].endswith("item.done") and event["item"]["type"] == type_ else event
        for event in events
    ]


LACKING: dict[str, tuple[Events, dict[str, Any], list[str]]] = {
    # name: the events, what the client hears where that is not TOLD, the rules
    "item.done": (less("item.done"), {"seals": ["gAAA"]}, ["item_done"]),
    "item.done, and the output is empty": (less("item.done", output=[]), {"seals": [""]}, ["item_done", "response_output"]),
    "item.done and arguments.done": (less("item.done", "arguments.done", "input.done"), {}, ["item_done"]),
    "every done": (less(".done"), {}, ["item_done"]),
    "every done, and the output is empty": (less(".done", output=[]), {"seals": [""]}, ["item_done", "response_output"]),
    "every done, and no output": (less(".done", output="nothing"), {"seals": [""]}, ["item_done", "response_output"]),
    "arguments.done": (less("arguments.done", "input.done"), {}, ["item_done"]),
    "text.done": (less("text.done"), {}, ["item_done"]),
    "part.done": (less("part.done"), {}, ["item_done"]),
    "text.done and part.done": (less("text.done", "part.done"), {}, ["item_done"]),
    "part.added": (less("part.added"), {}, ["item_added"]),
    "parts": (less("part.added", "part.done"), {}, ["item_added", "item_done"]),
    "item.added": (less("item.added"), {}, ["item_added"]),
    "every added": (less(".added"), {}, ["item_added"]),
    "every added, and the output is empty": (less(".added", output=[]), {}, ["item_added", "response_output"]),
    "all but deltas and the end": (
        less(".added", ".done", ".created", ".in_progress"),
        {"seals": ["", "gAAA"], "order": ["reasoning", "message", "reasoning", *ITEMS[2:]]}, ["response_fields", "item_added", "item_done"],
    ),
    "all but the items' ends": (
        less(".added", ".delta", "text.done", "part.done", "arguments.done", "input.done"), {}, ["item_added", "item_done"],
    ),
    "all but texts and the end": (
        less(".added", ".delta", "part.done", "item.done", parts=[message(0, ["Hi you"])]),
        {"text": "Hi you", "reasoning": "", "seals": [], "calls": [], "order": ["message"]}, ["item_added", "item_done"],
    ),
    "all but the last": ([turn(*ALL)[-1] | {"sequence_number": 0}], {}, ["item_added"]),
    "all between": (less(".added", ".delta", ".done"), {}, ["item_added"]),
    "the output": (less(output=[]), {}, ["response_output"]),
    "the output, null": (less(output=None), {}, ["response_output"]),
    "the output, none": (less(output="nothing"), {}, ["response_output"]),
    "calls in the output": (less(output=[turn(*ALL)[-1]["response"]["output"][1]]), {}, ["response_output"]),
    "a call in the stream": (
        less(parts=ALL[:2], output=turn(*ALL)[-1]["response"]["output"]), {}, ["item_added"],
    ),
    "the end of a message": (
        [event for event in less() if event.get("output_index") != 1 or not event["type"].endswith("item.done")],
        {}, ["item_done"],
    ),
    "the rest of the arguments": (
        [event for event in less("item.done", "arguments.done") if event.get("delta") != HALVES[1]], {}, ["item_done"],
    ),
    "the rest of the text": (
        [event for event in less("part.done", "item.done", "text.done", parts=ALL[:2]) if event.get("delta") != " you"],
        {"calls": [], "order": ITEMS[:2]}, ["item_done"],
    ),
    "the name, in the end": (saying("function_call", name=""), {}, ["item_done"]),
    "the arguments, in the end": (saying("function_call", arguments=""), {}, ["item_done"]),
    "the call_id, in the end": (saying("custom_tool_call", call_id=None), {}, ["item_done"]),
    "the text, in the end": (saying("message", content=[]), {}, ["item_done"]),
    "numbers": (bare(less("item.done"), "sequence_number"), {}, ["item_done"]),
    "ids": (bare(less("item.done"), "item_id"), {"seals": ["", "gAAA"], "order": [*ITEMS, "reasoning"]}, ["item_id", "item_done"]),
    "parts and ids": (bare(less("part.added"), "item_id"), {}, ["item_id", "item_added"]),
    "too long": (
        less(".done", parts=[message(0, ["Hi"])], end={**INCOMPLETE, "incomplete_details": {"reason": "max_output_tokens"}}, output=[]),
        {"text": "Hi", "reasoning": "", "seals": [], "calls": [], "order": ["message"], "stop_reason": "incomplete/max_output_tokens"}, ["item_done", "response_output"],
    ),
    "too long in a call": (
        less(".done", parts=[message(0, ["Hi"]), call(1, HALVES[:1])], end={**INCOMPLETE, "incomplete_details": {"reason": "max_output_tokens"}}, output=[]),
        {"text": "Hi", "reasoning": "", "seals": [], "calls": [Call("call_1", "task", '{"ci')], "order": ["message", "function_call"], "stop_reason": "incomplete/max_output_tokens"}, ["item_done", "response_output"],
    ),
}  # fmt: skip


def heard(body: bytes) -> dict[str, Any]:
    """What a client hears that takes items from their ends alone, as Codex does. Each has one, that says all of it."""
    events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]
    added: dict[int, dict[str, Any]] = {}
    done: dict[int, dict[str, Any]] = {}
    said: dict[tuple[int, str], str] = {}
    open_: dict[tuple[int, str], int] = {}
    for event in events:
        type_, id_ = event["type"], event.get("item_id") or event.get("item", {}).get("id")
        place = event.get("output_index", next((at for at, item in added.items() if item["id"] == id_), len(added)))
        stem, _, end = type_.removeprefix("response.").rpartition(".")
        assert place not in done or "response" in event, event
        if stem == "output_item":
            assert (place in added) == (end == "done"), event
            (done if end == "done" else added)[place] = event["item"]
            assert event["item"]["id"] == added[place]["id"]
            assert not any(count for (at, _), count in open_.items() if at == place), event
        elif stem == "content_part" and added[place]["type"] == "message":
            open_[place, stem] = open_.get((place, stem), 0) + (1 if end == "added" else -1)
            assert open_[place, stem] in (0, 1), event
        elif end == "delta":
            assert id_ in (None, added[place]["id"]), event
            said[place, stem] = said.get((place, stem), "") + event["delta"]
    last = events[-1]["response"]
    assert last["output"] == [done[place] for place in sorted(added)]
    for (place, _), text in said.items():
        wire = done[place]
        parts = [*wire.get("content", ()), *wire.get("summary", ())]
        assert text == (wire.get("arguments") or wire.get("input") or "".join(part["text"] for part in parts))
    answer = JUDGES["responses"].whole(json.dumps(last).encode())
    assert [fault for fault in answer.faults if fault != "an empty message item"] == []
    return {member: getattr(answer, member) for member in TOLD}


@pytest.mark.parametrize("name", LACKING)
def test_what_is_missing_is_there(name: str) -> None:
    events, expected, rules = LACKING[name]
    fired: list[list[str]] = []

    def make() -> Pipeline:
        made = pipeline()
        fired.append(made.rules)
        return made

    body = mended(body_of(events), make)
    assert all(each == rules for each in fired), fired[0]
    told = heard(body)
    assert told == {**TOLD, **expected}
    if told["stop_reason"] == "completed" and b"response.created" in body:
        final = accumulate(iter([body]))
        assert final.output_text == told["text"]
        assert [wire.call_id for wire in final.output if hasattr(wire, "call_id")] == [each.id for each in told["calls"]]


def told(place: int, events: Events) -> bool:
    """Whether these events say all of an item."""
    kinds = [event["type"] for event in events if event.get("output_index") == place]
    named = place < 2 or any(kind.endswith("item.added") for kind in kinds)
    said = any(kind.endswith(("delta", "text.done", "arguments.done", "input.done", "part.done")) for kind in kinds)
    return any(kind.endswith("item.done") for kind in kinds) or (named and said)


KINDS = ("item.added", "part.added", "delta", "text.done", "arguments.done", "input.done", "part.done", "item.done")


@given(
    st.sets(st.tuples(st.integers(0, 3), st.sampled_from(KINDS))) | st.sets(st.sampled_from(KINDS)),
    st.sampled_from(["all", "nothing", [], None, "calls"]), st.booleans(), st.integers(1, 400),
)  # fmt: skip
def test_any_kinds_of_events_may_be_missing(gone: set[Any], output: Any, ids: bool, at: int) -> None:
    """In one item, or in all; as long as the rest says everything once."""
    kinds = {(place, kind) for each in gone for place, kind in ([each] if isinstance(each, tuple) else [(n, each) for n in range(4)])}
    *begun, last = turn(*ALL)
    events = [event for event in begun if not any(event.get("output_index") == place and event["type"].endswith(kind) for place, kind in kinds)]
    wires = last["response"]["output"]
    if output == "all" or not all(told(place, events) for place in range(4)):
        output = wires
    response = {**last["response"], "output": wires[2:] if output == "calls" else output}
    events.append({**last, "response": {name: value for name, value in response.items() if value != "nothing"}})
    events = [{**event, "sequence_number": number} for number, event in enumerate(events if ids else bare(events, "item_id"))]
    body = body_of(events)
    made = pipeline()
    out = made.feed(body) + made.close()
    assert made.error is None, made.error
    found = heard(out)
    calls = sorted(found["calls"], key=lambda each: each.id)  # one whose name is told in the end alone comes there
    assert (found["text"], found["reasoning"], calls) == ("Hi you", "Hm", [TASK, PATCH])
    made = pipeline()
    assert b"".join(made.feed(body[n : n + at]) for n in range(0, len(body), at)) + made.close() == out


def test_what_is_off_leaves_as_it_came() -> None:
    off = Settings(off=Off(frozenset({"item_added", "item_id", "item_done", "item_index", "response_fields", "response_output"})))
    for name, (events, _, _) in LACKING.items():
        body = body_of(events)
        assert mended(body, lambda: pipeline(settings=off)) == body, name


def test_citations_stay() -> None:
    """Of a text whose end is all that tells them."""
    cited = {"type": "url_citation", "url": "https://example.org"}
    text = message(0, ["Hi"])
    content = [{**text[-1]["item"]["content"][0], "annotations": [cited]}]
    for events in ([*text[:3], {**text[-1], "item": {**text[-1]["item"], "content": content}}], text[:3]):
        *begun, last = turn(events)
        last["response"] = {**last["response"], "output": [{**text[-1]["item"], "content": content}]}
        out = sent([*begun, last])
        assert out[-1]["response"]["output"][0]["content"][0]["annotations"] == [cited]
        assert [event["item"]["content"][0]["annotations"] for event in out if event["type"].endswith("item.done")] == [[cited]]


# for a client of another API, and in a recording


@pytest.mark.parametrize("name", LACKING)
@pytest.mark.parametrize("target", ["chat", "messages"])
def test_what_is_missing_in_another_api(name: str, target: str) -> None:
    events, expected, _ = LACKING[name]
    stop = {"chat": {"completed": "tool_calls", "incomplete/max_output_tokens": "length"}, "messages": {"completed": "tool_use", "incomplete/max_output_tokens": "max_tokens"}}[target]
    whole = {**TOLD, **expected}
    request = asked(target, ("task", {"city": {"type": "integer"}, "input": {"type": "string"}}))
    numbers = iter(range(10_000))
    made = Pipeline(request, source="responses", target=target, new_id=lambda: f"call_{next(numbers)}")
    answer = JUDGES[target].read(made.feed(body_of(events)) + made.close())
    assert answer.faults == []
    assert (answer.text, answer.reasoning) == (whole["text"], whole["reasoning"])
    assert [(each.id, each.name) for each in answer.calls] == [(each.id, each.name) for each in whole["calls"]]
    called = whole["calls"] or "incomplete" in whole["stop_reason"]
    assert answer.stop_reason == (stop[whole["stop_reason"]] if called else {"chat": "stop", "messages": "end_turn"}[target])
    assert not set(made.rules) & {"item_added", "item_done", "response_output"}


@pytest.mark.parametrize("name", LACKING)
def test_what_a_recording_holds(name: str) -> None:
    """Folded, both ends say the same, and both calls are complete."""
    events, expected, _ = LACKING[name]
    whole = {**TOLD, **expected}
    for body in (body_of(events), mended(body_of(events))):
        codec = Responses(reply())
        decoder = SseDecoder()
        found = fold([event for sse in [*decoder.feed(body), *decoder.close()] for event in codec.decode(sse).events])
        assert (found.text, found.reasoning) == (whole["text"], whole["reasoning"])
        assert [(each.id, each.name, each.arguments) for each in found.calls.values()] == [(each.id, each.name, each.arguments) for each in whole["calls"]]
        assert all(each.complete for each in found.calls.values()) == (whole["stop_reason"] == "completed" or not whole["calls"])


# what has all


def moved(parts: list[Events], *places: int) -> list[Events]:
    return [[{**event, "output_index": place} for event in part] for part, place in zip(parts, places, strict=True)]


def renamed(events: Events) -> Events:
    """vLLM: the last event has other ids for all."""
    *begun, last = events
    output = [{**wire, "id": f"x_{n}", **({"call_id": f"chatcmpl-tool-{n}"} if "call_id" in wire else {})} for n, wire in enumerate(last["response"]["output"])]
    return [*begun, {**last, "response": {**last["response"], "output": output}}]


def output_of(events: Events) -> Events:
    """The items of the last event."""
    output: Events = events[-1]["response"]["output"]
    return output


def changing(events: Events) -> Events:
    """Copilot: an item has another id in each event."""
    given = [{**event, "item_id": f"id_{n}"} if "item_id" in event else event for n, event in enumerate(events)]
    return [{**event, "item": {**event["item"], "id": f"id_{n}"}} if "item" in event else event for n, event in enumerate(given)]


def changed(member: str, change: Callable[[int], Any], of: str = "") -> Events:
    """The turn with another value in a member of events whose type ends so."""
    events = turn(*ALL)
    return [{**event, member: change(event[member])} if member in event and event["type"].endswith(of) else event for event in events]


def item_changed(of: str, **members: Any) -> Events:
    """The turn with other members in the items of events whose type ends so; ... is none."""
    def other(item: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in {**item, **members}.items() if value is not ...}

    return [{**event, "item": other(event["item"])} if "item" in event and event["type"].endswith(of) else event for event in turn(*ALL)]


def at_last(place: int, **members: Any) -> Events:
    """The turn whose last event has other members in an item of its output."""
    *events, last = turn(*ALL)
    output = [{**wire, **members} if at == place else wire for at, wire in enumerate(last["response"]["output"])]
    return [*events, {**last, "response": {**last["response"], "output": output}}]


def response_changed(*names: str, **members: Any) -> Events:
    """The turn with other members in the response of the events of this name; ... is none."""
    events = turn(*ALL)
    for event in events:
        if event["type"].endswith(names):
            event["response"] = {name: value for name, value in {**event["response"], **members}.items() if value is not ...}
    return events


def untyped(of: str = "") -> list[str]:
    """The turn, as text, with the type in the event line alone."""
    turned = [(event["type"], bare([event], "type")[0] if event["type"].endswith(of) else event) for event in turn(*ALL)]
    return [f"event: {name}\ndata: {json.dumps(event)}\n\n" for name, event in turned]


CALLED = turn(*ALL)[-1]["response"]["output"][2:]
BEGIN = (".created", ".in_progress")
COUNTS = {"input_tokens": 25, "output_tokens": 9, "total_tokens": 34}
USED = {**COUNTS, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
ODD: dict[str, tuple[list[Any], dict[str, Any], list[str]]] = {
    # as LACKING
    "changing ids": (changing(turn(*ALL)), {}, ["item_id"]),
    "changing ids, and no end": (
        changing(less("item.done")), {"seals": ["", "gAAA"], "order": [*ITEMS, "reasoning"]}, ["item_id", "item_done"],
    ),
    "no ids in events": (bare(turn(*ALL), "item_id"), {}, ["item_id"]),
    "no ids of items": (item_changed(".added", id=...), {}, ["item_id"]),
    "null ids of items": (item_changed("item.added", id=None), {}, ["item_id"]),
    "no ids at the end of items": (item_changed("item.done", id=..., item_id="x", output_index=0), {}, ["item_id"]),
    "no places but of items": (
        [bare([event], "output_index")[0] if "item_id" in event else event for event in turn(*ALL)], {}, ["item_index"],
    ),
    "no reasoning in parts": ([event for event in turn(*ALL) if "summary_part" not in event["type"]], {}, ["item_added"]),
    "no place of a summary": (bare(turn(*ALL), "summary_index"), {}, ["item_index"]),
    "vLLM's reasoning": (
        [{**event, "type": event["type"].replace("content_part", "reasoning_part")} if event.get("output_index") == 0 else event
         for event in turn(reasoning(0, ["H", "m"], "thought"), *ALL[1:])],
        {}, ["event_name"],
    ),
    "no content to begin with": (item_changed("item.added", content=..., summary=None, arguments=..., input=None), {}, ["item_added"]),
    "parts without a text": (
        [{**event, "part": {"type": event["part"]["type"]}} if event["type"].endswith("part.added") else event for event in turn(*ALL)], {}, ["item_added"],
    ),
    "a text, empty at its end": (changed("text", lambda _: "", "text.done"), {}, ["item_done"]),
    "no text at its end": (bare(turn(*ALL), "text"), {}, ["item_done"]),
    "no arguments at their end": (bare(turn(*ALL), "arguments", "input"), {}, ["item_done"]),
    "no place of the end of a text": (
        [bare([event], "content_index")[0] if event["type"].endswith(("text.done", "part.done")) else event for event in turn(*ALL)], {}, ["item_index"],
    ),
    "a part that ends as nothing": (
        [{**event, "part": {**event["part"], "type": None}} if event["type"].endswith("content_part.done") else event for event in turn(*ALL)], {}, ["item_done"],
    ),
    "no status in the end": (item_changed("item.done", status=...), {}, ["item_done"]),
    "no arguments in the end, but an empty object": (saying("function_call", arguments="{}"), {}, ["item_done"]),
    "no arguments at the end of all, but an empty object": (at_last(2, arguments="{}"), {}, ["response_output"]),
    "no arguments at all in the end, but an empty object": (
        [{**event, **({"arguments": "{}"} if event["type"].endswith("arguments.done") else {})} for event in saying("function_call", arguments="{}")],
        {}, ["item_done"],
    ),
    "no name at the end of all": (at_last(2, name=""), {}, ["response_output"]),
    "no text at the end of all": (at_last(1, content=[{"type": "output_text", "text": "", "annotations": []}]), {}, ["response_output"]),
    "no content at the end of all": (at_last(1, content=[]), {}, ["response_output"]),
    "response.done": ([*turn(*ALL)[:-1], {**turn(*ALL)[-1], "type": "response.done"}], {}, ["event_name"]),
    "places from 1": ([{**event, "output_index": event["output_index"] + 1} if "output_index" in event else event for event in turn(*ALL)], {}, ["item_index"]),
    "places with a gap": (changed("output_index", lambda at: at + (at > 1)), {}, ["item_index"]),
    "no role in the end": (saying("message", role=None), {}, ["item_done"]),
    "no summary in the end": (saying("reasoning", summary=None), {}, ["item_done"]),
    "types in the event lines alone": (untyped(), {}, ["event_name"]),
    "one type in the event line alone": (untyped("arguments.done"), {}, ["event_name"]),
    "no created": (less(".created"), {}, ["response_fields"]),
    "no beginning": (less(".created", ".in_progress"), {}, ["response_fields"]),
    "a response without members": ([*({**event, "response": {}} for event in turn(*ALL)[:2]), *turn(*ALL)[2:]], {}, ["response_fields"]),
    "a response that is none": ([*({**event, "response": None} for event in turn(*ALL)[:2]), *turn(*ALL)[2:]], {}, ["response_fields"]),
    "a response in the event": ([{**event, **event.get("response", {}), "response": None} for event in turn(*ALL)], {}, ["response_fields"]),
    "no output to begin with": (response_changed(*BEGIN, output=None), {}, ["response_fields"]),
    "no time and no model to begin with": (response_changed(*BEGIN, created_at=..., model=...), {}, ["response_fields"]),
    "another id of a call at the end of all": (at_last(2, id="x_2"), {}, ["item_id"]),
    "another id in the last event": (response_changed(".completed", id="resp_2"), {}, ["response_output"]),
    "another id in the second event": (response_changed(".in_progress", id="resp_2"), {}, ["response_fields"]),
    "no details of usage": (response_changed(".completed", usage=COUNTS), {}, ["usage"]),
    "no counts in the details of usage": (
        response_changed(".completed", usage={**COUNTS, "input_tokens_details": {"text_tokens": 1}, "output_tokens_details": {"reasoning_tokens": None}}), {}, ["usage"],
    ),
    "no total of usage": (response_changed(".completed", usage={name: count for name, count in USED.items() if name != "total_tokens"}), {}, ["usage"]),
    "usage as in Chat Completions": (
        response_changed(".completed", usage={"prompt_tokens": 25, "completion_tokens": 9, "prompt_tokens_details": None}), {}, ["usage"],
    ),
    "usage of nothing": (response_changed(".completed", usage={}), {}, ["usage"]),
    "no place": (bare(turn(*ALL), "output_index"), {}, ["item_index"]),
    "no place, and no end": (
        bare(less("item.done"), "output_index"), {"seals": ["", "gAAA"], "order": [*ITEMS, "reasoning"]}, ["item_index", "item_done"],
    ),
    "the same place": (turn(*moved(ALL, 0, 0, 0, 0)), {}, ["item_index"]),
    "the same place, other ids at the end": (renamed(turn(*moved(ALL, 0, 0, 0, 0))), {}, ["item_index"]),
    "the same place as one before": (turn(*moved(ALL, 0, 1, 2, 1)), {}, ["item_index"]),
    "a place that is text": (changed("output_index", str), {}, ["item_index"]),
    "the same place, and the same id": (
        json.loads(re.sub(r'"(item_id|id)": "(fc|ctc)_\d"', r'"\1": "item"', json.dumps(turn(*moved(ALL, 0, 0, 0, 0))))), {}, ["item_index"],
    ),
    "no place of a part": (bare(turn(*ALL), "content_index"), {}, ["item_index"]),
    "the places of parts from 1": (changed("content_index", lambda at: at + 1), {}, ["item_index"]),
    "the places of deltas from 1": (changed("content_index", lambda at: at + 1, ".delta"), {}, ["item_index"]),
    "no place in a delta": (changed("content_index", lambda _: None, ".delta"), {}, ["item_index"]),
    "a null delta": (
        [*turn(*ALL)[:9], {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1, "content_index": 0, "delta": None}, *turn(*ALL)[9:]],
        {}, ["block_text"],
    ),
    "the arguments, in the end, an object": (saying("function_call", arguments={"city": 1}), {}, ["arguments_type"]),
    "no id, in the end": (
        [*turn(*ALL)[:-1], {**turn(*ALL)[-1], "response": {**turn(*ALL)[-1]["response"], "id": None}}], {}, ["response_output"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_put_right(name: str) -> None:
    events, expected, rules = ODD[name]
    fired: list[list[str]] = []

    def make() -> Pipeline:
        made = pipeline()
        fired.append(made.rules)
        return made

    body = mended(body_of(events), make)
    assert heard(body) == TOLD | expected
    assert all(names == rules for names in fired), fired[0]
    final = accumulate(iter([body]))
    assert final.output_text == TOLD["text"]
    assert [wire.call_id for wire in final.output if hasattr(wire, "call_id")] == [each.id for each in TOLD["calls"]]


def test_what_is_said_twice_is_told_once_in_the_end() -> None:
    """The last piece of the arguments; and nobody says that they are over."""
    twice = [each for event in less("arguments.done") for each in [event] * (1 + (event.get("delta") == HALVES[1]))]
    final = accumulate(iter([mended(body_of(twice))]))
    assert [wire.arguments for wire in final.output if wire.type == "function_call"] == [TASK.arguments]


def at_the_end(*parts: Events) -> Events:
    """All items are ended once all is said, as by who makes them of Chat Completions."""
    return turn([event for part in parts for event in part[:-1]], [part[-1] for part in parts])


EMPTY = message(0, [])
NO_WORD = [EMPTY[0], {**EMPTY[-1], "item": {**EMPTY[-1]["item"], "content": []}}]
EQUAL = turn(call(0, HALVES), call(1, HALVES))
STRANGE = [{"type": f"response.output_item.{event}", "output_index": 0, "item": {"type": "dream"}} for event in ("added", "done")]
STRAY = {"type": "response.output_text.delta", "output_index": 0, "item_id": "rs_0", "content_index": 0, "delta": ""}
WHOLE: dict[str, Events] = {
    "all": turn(*ALL),
    "text around a call": turn([*message(0, ["Hi"])[:3]], call(1, HALVES), message(0, ["Hi"])[3:]),
    "ended at the end": at_the_end(*ALL),
    "ended at the end, backwards": turn([event for part in ALL for event in part[:-1]], [part[-1] for part in ALL[::-1]]),
    "in turns": turn([event for pair in zip(call(0, HALVES), call(1, HALVES), strict=True) for event in pair]),
    "other ids at the end": renamed(turn(*ALL)),
    "other ids at the end, equal calls": renamed(EQUAL),
    "other ids at the end, the second of equal calls": [*renamed(EQUAL)[:-1], {"type": "response.completed", "response": {**DONE, "output": [output_of(EQUAL)[0], output_of(renamed(EQUAL))[1]]}}],
    "no numbers": bare(turn(*ALL), "sequence_number"),
    "numbers from 1": [{**event, "sequence_number": n} for n, event in enumerate(turn(*ALL), 1)],
    "each twice": [event for each in turn(*ALL) for event in (each, each)],
    "from the middle on": turn(*ALL)[5:],
    "sealed without a word": turn([reasoning(0, ["Hm"])[0], {**reasoning(0, ["Hm"])[-1], "item": {"id": "rs_0", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}}]),
    "a message without a word": turn(NO_WORD, call(1, HALVES)),
    "a message without a word, which the output has not": [*turn(NO_WORD)[:-1], {"type": "response.completed", "response": DONE}],
    "a search": turn(SEARCH, message(1, ["Hi"])),
    "a search that the output has not": [*turn(SEARCH)[:-1], {"type": "response.completed", "response": DONE}],
    "an item that nobody knows, without an id": turn(STRANGE, message(1, ["Hi"])),
    "an empty delta of another kind": turn([reasoning(0, ["Hm"])[0], STRAY, *reasoning(0, ["Hm"])[1:]]),
    "no arguments": turn(call(0, []), call(1, [], custom=True)),
    "failed": less("item.done", end=FAILED),
    "failed, and no output": less(output=[], end=FAILED),
    "an error": [*less("item.done")[:-1], {"type": "error", "code": "server_error", "message": "no", "param": None}],
    "nothing": turn(),
    "not in_progress": less(".in_progress"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_what_has_all_passes(name: str) -> None:
    body = body_of(WHOLE[name])
    assert mended(body) == body


@pytest.mark.parametrize("output", [[], None, "nothing"])
def test_an_end_without_items_passes_where_clients_do_without(output: Any) -> None:
    """Of ChatGPT's own backend, to Codex: of each item that has its end. What was left open is ended there, too."""
    bare = body_of(less(output=output))
    assert mended(bare, lambda: pipeline(host="chatgpt.com")) == bare
    assert mended(bare) != bare
    made = pipeline(host="chatgpt.com")
    open_ = body_of(less("item.done", output=output))
    assert heard(made.feed(open_) + made.close())["calls"] == TOLD["calls"]
    assert made.rules == ["item_done", "response_output"]


@pytest.mark.parametrize("name", [name for name in WHOLE if "other ids" in name])
def test_what_is_called_otherwise_at_the_end_is_told_once(name: str) -> None:
    made = Pipeline(asked("chat", ("task", {})), source="responses", target="chat", new_id=lambda: "call_new")
    answer = JUDGES["chat"].read(made.feed(body_of(WHOLE[name])) + made.close())
    assert [each.id for each in answer.calls] == (["call_0", "call_1"] if "equal" in name else ["call_2", "call_3"])


def test_a_whole_response_has_no_form() -> None:
    body = json.dumps(turn(*ALL)[-1]["response"]).encode()
    made = pipeline()
    assert (made.message(body), made.rules) == (body, [])


def test_a_whole_response_gets_ids_and_counts() -> None:
    response = turn(*ALL)[-1]["response"]
    bare_output = [{name: value for name, value in wire.items() if name != "id"} for wire in response["output"]]
    made = pipeline()
    out = json.loads(made.message(json.dumps({**response, "output": bare_output, "usage": COUNTS}).encode()))
    assert made.rules == ["usage", "item_id"]
    assert out["usage"] == {**USED, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}
    assert all(isinstance(wire["id"], str) and wire["id"] for wire in out["output"])
    assert [{name: value for name, value in wire.items() if name != "id"} for wire in out["output"][2:]] == bare_output[2:]


# what breaks off, or ends with [DONE]


@pytest.mark.parametrize("name", LACKING)
def test_no_end_is_made_up(name: str) -> None:
    """Of a stream that is cut: no call is ended that the upstream did not end, and neither is the response."""
    events = LACKING[name][0]
    for end in range(len(events) - 1):
        made = pipeline()
        out = made.feed(body_of(events[:end])) + made.close() + made._codec.held()
        told = [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: ")]
        assert not any("completed" in event["type"] for event in told)
        ended = {event["item"]["call_id"] for event in told if event["type"].endswith("item.done") and "call_id" in event["item"]}
        theirs = {f"call_{event['output_index']}" if "output_index" in event else "call_2" for event in events[:end] if event["type"].endswith(("arguments.done", "input.done", "item.done"))}
        assert ended <= theirs


DONE_LINE = "data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("events", "expected", "rules"),
    [
        (less()[:-1], {}, ["response_output", "finish_reason", "usage_estimated"]),
        (less("item.done")[:-1], {"seals": [""]}, ["response_output", "finish_reason", "usage_estimated"]),
        (less(".done", parts=ALL[:2])[:-1], {"seals": [""], "calls": [], "order": ITEMS[:2]}, ["response_output", "finish_reason", "usage_estimated"]),
    ],
    ids=["all", "no item.done", "no done"],
)
def test_done_in_place_of_the_last_event(events: Events, expected: dict[str, Any], rules: list[str]) -> None:
    made = pipeline()
    body = made.feed(body_of([*events, DONE_LINE])) + made.close()
    assert body.endswith(DONE_LINE.encode())
    assert heard(body.removesuffix(DONE_LINE.encode())) == {**TOLD, **expected}
    assert made.rules == rules


def test_done_behind_a_call_that_nobody_ended() -> None:
    body = mended(body_of([*less(".done")[:-1], DONE_LINE])).removesuffix(DONE_LINE.encode())
    last = json.loads(body.rpartition(b"data: ")[2])
    assert (last["type"], last["response"]["error"]["message"]) == ("response.failed", "A tool call of the upstream's answer was broken off.")


def test_done_alone_passes() -> None:
    for body in (DONE_LINE.encode(), body_of([*turn(*ALL), DONE_LINE]), body_of([*turn(*ALL, end=FAILED), DONE_LINE])):
        assert mended(body) == body


def test_a_call_that_is_broken_off_when_all_is_over() -> None:
    """It is incomplete, and says what came of it."""
    *_, done, last = sent(less(".done", parts=[call(0, ['{"ci'])], output=[]))
    assert (last["type"], last["response"]["output"]) == ("response.completed", [done["item"]])
    assert (done["item"]["arguments"], done["item"]["status"]) == ('{"ci', "incomplete")
