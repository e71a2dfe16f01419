"""The judges find every defect of the tables in which SDKs were measured, and none in what is legal.

A defect is a function that breaks a legal list of events, and a part of the fault that must be found.
"""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import legal_streams
from tests.support.judges import chat_strict
from tests.support.judges import messages as messages_judge
from tests.support.judges import responses as responses_judge
from tests.support.legal_streams import (
    MESSAGES,
    RESPONSES,
    call,
    custom,
    messages,
    responses,
    say,
    sse,
    text,
    think,
    thinking,
    tool,
)
from tests.support.streams import chunk, event, stream

type Events = list[dict[str, Any]]
type Defect = Callable[[Events], object]

def fresh(events: Events) -> Events:
    """A copy in which no two events share a part."""
    return [copy.deepcopy(event) for event in events]


def at(index: int, /, **changes: Any) -> Defect:
    """Changes members of an event; a value of ... takes a member away."""

    def change(events: Events) -> None:
        place = events[index]
        for path, value in changes.items():
            *parents, last = path.split("__")
            for parent in parents:
                place = place[parent]
            if value is ...:
                del place[last]
            else:
                place[last] = value
            place = events[index]

    return change


def without(index: int) -> Defect:
    return lambda events: events.pop(index)


def again(index: int) -> Defect:
    return lambda events: events.insert(index, copy.deepcopy(events[index]))


def put(index: int, data: dict[str, Any]) -> Defect:
    return lambda events: events.insert(index, data)


def delta(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


# 0 message_start, 1 ping, thinking: 2 start, 3 delta, 4 signature, 5 stop, text: 6 start, 7 delta, 8 stop,
# tool: 9 start, 10 delta, 11 delta, 12 stop, 13 message_delta, 14 message_stop
WHOLE = messages(thinking("Hm", signature="s"), text("Let me."), tool("t1", "f", '{"a":', "1}"), stop="tool_use")

MESSAGES_DEFECTS: dict[str, tuple[Defect, str]] = {
    "no message_start": (without(0), "in front of message_start"),
    "duplicate message_start": (again(0), "message_start twice"),
    "late message_start": (lambda e: e.insert(1, e.pop(0)), "ping in front of message_start"),
    "no message_stop": (without(14), "neither message_stop nor error"),
    "cut stream": (lambda e: e.__delitem__(slice(8, None)), "neither message_stop nor error"),
    "delta without block start": (without(6), "a delta for block 1"),
    "stop without block start": (lambda e: e.__delitem__(slice(6, 8)), "a stop for block 1"),
    "index gap": (lambda e: [event.update(index=4) for event in e[9:13]], "block 4 where 2 is next"),
    "reused index": (lambda e: [event.update(index=1) for event in e[9:13]], "block 1 where 2 is next"),
    "index from 1": (lambda e: [event.update(index=event["index"] + 1) for event in e[2:13]], "block 1 where 0 is next"),
    "no index": (at(7, index=...), "content_block_delta without index"),
    "overlapping blocks": (lambda e: e.insert(9, e.pop(8)), "block 2 begins inside another"),
    "missing block stop": (without(5), "block 1 begins inside another"),
    "missing last block stop": (without(12), "message_delta while a block is open"),
    "missing block stop at the end": (lambda e: e.__delitem__(slice(12, 14)), "message_stop while a block is open"),
    "block stop twice": (again(8), "a stop for block 1"),
    "thinking delta in text": (put(7, delta(1, type="thinking_delta", thinking="Hm")), "a thinking_delta in a text block"),
    "text delta in tool": (put(10, delta(2, type="text_delta", text="\n")), "a text_delta in a tool_use block"),
    "arguments in text": (put(7, delta(1, type="input_json_delta", partial_json="{}")), "a input_json_delta in a text block"),
    "signature in text": (put(7, delta(1, type="signature_delta", signature="s")), "a signature_delta in a text block"),
    "thinking behind the signature": (put(5, delta(0, type="thinking_delta", thinking="x")), "behind the signature"),
    "signature twice": (again(4), "behind the signature"),
    "delta after stop": (lambda e: e.insert(8, e.pop(7)), "a delta for block 1"),
    "truncated tool JSON": (without(11), "no JSON object"),
    "non-JSON arguments": (at(10, delta__partial_json="a="), "no JSON object"),
    "doubled arguments": (put(12, delta(2, type="input_json_delta", partial_json='{"a":1}')), "no JSON object"),
    "arguments a list": (lambda e: (e.pop(11), e[10]["delta"].update(partial_json="[1]")), "no JSON object"),
    "arguments in start block": (at(9, content_block__input={"a": 1}), "begins with input"),
    "arguments null in start block": (at(9, content_block__input=None), "begins with input"),
    "text in start block": (at(6, content_block__text="Let"), "begins with text"),
    "no signature in start block": (at(2, content_block__signature=...), "begins with signature"),
    "usage missing in start": (at(0, message__usage=...), "message_start: no usage"),
    "usage missing in delta": (at(13, usage=...), "message_delta: no usage"),
    "usage empty in start": (at(0, message__usage={}), "message_start: input_tokens None"),
    "usage negative": (at(13, usage__input_tokens=-3), "message_delta: input_tokens -3"),
    "usage null": (at(13, usage__output_tokens=None), "message_delta: output_tokens None"),
    "usage a float": (at(13, usage__output_tokens=9.5), "message_delta: output_tokens 9.5"),
    "no estimate of the input": (at(0, message__usage={"input_tokens": 0, "output_tokens": 0}), "no input tokens"),
    "usage not cumulative": (at(13, usage__output_tokens=0), "not cumulative"),
    "null text delta": (at(7, delta__text=None), "a text_delta of None"),
    "null arguments": (at(10, delta__partial_json=None), "a input_json_delta of None"),
    "delta null": (at(7, delta=None), "unknown delta None"),
    "unknown event": (put(2, {"type": "metadata"}), "unknown event metadata"),
    "unknown delta": (put(7, delta(1, type="refusal_delta", refusal="x")), "unknown delta"),
    "unknown block": (at(6, content_block__type="reasoning"), "unknown block reasoning"),
    "no stop_reason": (at(13, delta__stop_reason=None), "stop_reason None"),
    "stop_reason outside the enum": (at(13, delta__stop_reason="tool_calls"), "stop_reason 'tool_calls'"),
    "end_turn with tools": (at(13, delta__stop_reason="end_turn"), "end_turn with a tool_use block"),
    "tool_use without tools": (lambda e: e.__delitem__(slice(9, 13)), "tool_use without a tool_use block"),
    "stop_sequence missing": (at(13, delta__stop_sequence=...), "no stop_sequence"),
    "a sequence without the reason": (at(13, delta__stop_sequence="END"), "stop_sequence 'END'"),
    "stop_reason at the start": (at(0, message__stop_reason="end_turn"), "stop_reason that is not null"),
    "message_delta twice": (again(13), "message_delta twice"),
    "no message_delta": (without(13), "message_stop without message_delta"),
    "block behind message_delta": (lambda e: e.insert(9, e.pop(13)), "content_block_start behind message_delta"),
    "ping behind message_stop": (put(15, {"type": "ping"}), "ping behind the end"),
    "error behind message_stop": (put(15, legal_streams.broken()), "error behind the end"),
    "message_stop behind an error": (put(13, legal_streams.broken()), "message_delta behind the end"),
    "error behind message_delta": (lambda e: e.__setitem__(14, legal_streams.broken()), "error behind message_delta"),
    "OpenAI's error": (lambda e: e.__setitem__(slice(13, None), [{"type": "error", "message": "x"}]), "an error that says"),
    "unknown error": (lambda e: e.__setitem__(slice(13, None), [legal_streams.broken("server_error")]), "type 'server_error'"),
    "empty text block": (without(7), "a text block of ''"),
    "empty thinking block": (lambda e: e.__delitem__(slice(3, 5)), "a thinking block of"),
    "id of Chat Completions": (at(0, message__id="chatcmpl-1"), "id 'chatcmpl-1'"),
    "no model": (at(0, message__model=""), "model ''"),
    "no role": (at(0, message__role=...), "role None"),
    "content null at the start": (at(0, message__content=None), "content that is not []"),
    "call without id": (at(9, content_block__id=""), "a call without id"),
    "call without name": (at(9, content_block__name=...), "a call without name"),
    "one id twice": (lambda e: e.__setitem__(slice(6, 9), [{**each, "index": 1} for each in copy.deepcopy(e[9:13])]), "two calls"),
}

# 0 created, 1 in_progress, reasoning: 2 added, 3 part, 4 delta, 5 text done, 6 part done, 7 done, message: 8 added, 9 part,
# 10 delta, 11 delta, 12 text done, 13 part done, 14 done, call: 15 added, 16 delta, 17 delta, 18 arguments done, 19 done,
# 20 completed
ITEMS = responses(think("Hm"), say("Let ", "me."), call("c1", "f", '{"a":', "1}"))

RESPONSES_DEFECTS: dict[str, tuple[Defect, str]] = {
    "no created": (without(0), "response.in_progress at begin"),
    "no in_progress": (without(1), "at created"),
    "created twice": (again(0), "response.created at created"),
    "no item.added": (without(15), "in no item"),
    "no content_part.added": (without(9), "without its part"),
    "no summary_part.added": (without(3), "without its part"),
    "no text.done": (without(12), "part without its done"),
    "no part.done": (without(13), "output_item.done while a part is open"),
    "no arguments.done": (without(18), "without arguments.done"),
    "no output_item.done for a call": (without(19), "completed while an item is open"),
    "no output_item.done between": (without(14), "begins inside another"),
    "no completed": (without(20), "no completed, incomplete, failed or error"),
    "cut": (lambda e: e.__delitem__(slice(11, None)), "no completed, incomplete, failed or error"),
    "delta for unknown item": (at(16, item_id="other"), "for item other"),
    "wrong output_index": (at(16, output_index=1), "at 1"),
    "output_index gap": (lambda e: [each.update(output_index=5) for each in e[15:20]], "item 5 where 2 is next"),
    "wrong content_index": (at(10, content_index=1), "at part 1"),
    "wrong content_index at the part": (at(9, content_index=1), "part 1 where 0 is next"),
    "wrong summary_index": (at(4, summary_index=1), "at part 1"),
    "no item_id": (at(10, item_id=...), "for item None"),
    "item ids twice": (at(15, item__id="item_1"), "the id of another item"),
    "text.done that is not the deltas": (at(12, text="Let"), "is not the deltas"),
    "part.done that is not the deltas": (at(13, part__text="Let"), "is not the deltas"),
    "arguments.done that is not the deltas": (at(18, arguments="{}"), "is not the deltas"),
    "item.done that is not the deltas": (at(19, item__arguments="{}"), "is not the deltas"),
    "item.done that is not its parts": (at(14, item__content=[]), "is not its parts"),
    "summary that is not its parts": (at(7, item__summary=[]), "is not its parts"),
    "another call_id at the end": (at(19, item__call_id="c2"), "another call_id"),
    "another name at the end": (at(19, item__name="g"), "another name"),
    "delta behind the done": (lambda e: e.insert(18, e.pop(17)), "behind the done"),
    "done twice": (again(18), "behind the done"),
    "empty output at the end": (at(20, response__output=[]), "output that is not the items"),
    "another id at the end": (at(20, response__id="resp_2"), "another id"),
    "another response in progress": (at(1, response__id="resp_2"), "another response than created"),
    "no usage": (at(20, response__usage=None), "no usage"),
    "usage without details": (at(20, response__usage__input_tokens_details=...), "input_tokens_details.cached_tokens"),
    "usage without reasoning": (at(20, response__usage__output_tokens_details={}), "output_tokens_details.reasoning_tokens"),
    "usage without total": (at(20, response__usage__total_tokens=...), "total_tokens None"),
    "usage that does not add up": (at(20, response__usage__total_tokens=7), "total_tokens 7"),
    "unknown event": (put(2, {"type": "response.metadata"}), "unknown event"),
    "no sequence_number": (at(4, sequence_number=...), "sequence_number None"),
    "sequence_number gap": (lambda e: [each.update(sequence_number=each["sequence_number"] + 1) for each in e[5:]], "where 5 is next"),
    "event behind completed": (lambda e: e.append({"type": "response.in_progress", "response": e[0]["response"]}), "behind the end"),
    "null delta": (at(10, delta=None), "of None"),
    "text delta in a call": (put(16, {"type": "response.output_text.delta", "delta": "x", "item_id": "item_2", "output_index": 2}), "without its part"),
    "arguments in the added item": (at(15, item__arguments='{"a":1}'), "begins with arguments"),
    "added item is done": (at(15, item__status="completed"), "begins completed"),
    "item in progress at the end": (at(19, item__status="in_progress"), "ends in_progress"),
    "text in the part": (at(9, part__text="Let"), "begins with text"),
    "part without annotations": (at(9, part__annotations=...), "begins with annotations"),
    "unknown item": (at(8, item__type="text"), "unknown item text"),
    "unknown part": (at(9, part__type="text"), "unknown part text"),
    "arguments no JSON": (lambda e: (e.pop(17), e[17].update(arguments='{"a":'), e[18]["item"].update(arguments='{"a":')), "no JSON object"),
    "empty part": (lambda e: (e.__delitem__(slice(10, 12)), e[10].update(text=""), e[11]["part"].update(text="")), "an empty output_text part"),
    "empty message": (lambda e: (e.__delitem__(slice(9, 14)), e[9]["item"].update(content=[])), "an empty message"),
    "call without call_id": (lambda e: (e[15]["item"].pop("call_id"), e[19]["item"].update(call_id=None)), "a call without id"),
    "incomplete without reason": (lambda e: (e[20].update(type="response.incomplete"), e[20]["response"].update(status="incomplete")), "incomplete_details None"),
    "failed without error": (lambda e: (e[20].update(type="response.failed"), e[20]["response"].update(status="failed")), "error None"),
    "completed that says incomplete": (at(20, response__status="incomplete"), "status 'incomplete'"),
    "error without its members": (lambda e: e.__setitem__(slice(10, None), [{"type": "error", "sequence_number": 10, "message": "x"}]), "an error that says"),
}
for _member in responses_judge.REQUIRED:
    RESPONSES_DEFECTS[f"no {_member} in completed"] = (at(20, **{f"response__{_member}": ...}), f"no {_member}")
    RESPONSES_DEFECTS[f"no {_member} in created"] = (at(0, **{f"response__{_member}": ...}), f"no {_member}")

RENUMBERED = {"no sequence_number", "sequence_number gap", "error without its members"}
"""Whose numbers are the defect, or stand already."""


@pytest.mark.parametrize("name", MESSAGES)
def test_legal_messages_have_no_faults(name: str) -> None:
    assert messages_judge.read(sse(MESSAGES[name])).faults == []


@pytest.mark.parametrize("name", RESPONSES)
def test_legal_responses_have_no_faults(name: str) -> None:
    assert responses_judge.read(sse(RESPONSES[name])).faults == []


@pytest.mark.parametrize("name", MESSAGES_DEFECTS)
def test_every_defect_of_messages_is_found(name: str) -> None:
    break_, fault = MESSAGES_DEFECTS[name]
    events = fresh(WHOLE)
    break_(events)
    faults = messages_judge.read(sse(events)).faults
    assert any(fault in found for found in faults), faults


@pytest.mark.parametrize("name", RESPONSES_DEFECTS)
def test_every_defect_of_responses_is_found(name: str) -> None:
    break_, fault = RESPONSES_DEFECTS[name]
    events = fresh(ITEMS)
    break_(events)
    faults = responses_judge.read(sse(events if name in RENUMBERED else legal_streams.numbered(events))).faults
    assert any(fault in found for found in faults), faults


FRAMING = {
    "no event lines": (lambda body: body.replace(b"event: ", b"x: "), "event: []"),
    "another event line": (lambda body: body.replace(b"event: ", b"event: x", 1), "event: ['x"),
    "broken JSON": (lambda body: body.replace(b"}\n\n", b"\n\n", 1), "data that is no JSON"),
    "[DONE]": (lambda body: body + b"data: [DONE]\n\n", "data that is no JSON: '[DONE]'"),
    "no blank line": (lambda body: body[:-1], "no blank line"),
    "no type": (lambda body: body + b"data: {}\n\n", "data without type"),
}


@pytest.mark.parametrize("name", FRAMING)
@pytest.mark.parametrize(("judge", "events"), [(messages_judge, WHOLE), (responses_judge, ITEMS)])
def test_every_defect_of_the_framing_is_found(judge: Any, events: Events, name: str) -> None:
    break_, fault = FRAMING[name]
    faults = judge.read(break_(sse(events))).faults
    assert any(fault in found for found in faults), faults


@pytest.mark.parametrize(("judge", "events"), [(messages_judge, WHOLE), (responses_judge, ITEMS)])
def test_other_line_ends_and_comments_are_no_fault(judge: Any, events: Events) -> None:
    body = sse(events)
    for other in (body.replace(b"\n", b"\r\n"), body.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + body, b": hello\n\n" + body):
        assert judge.read(other) == judge.read(body)


def test_what_is_read() -> None:
    first, second = messages_judge.read(sse(WHOLE)), responses_judge.read(sse(ITEMS))
    for answer in first, second:
        assert (answer.reasoning, answer.text, answer.asked) == ("Hm", "Let me.", [("f", {"a": 1})])
    assert (first.stop_reason, first.seals, first.order) == ("tool_use", ["s"], ["thinking", "text", "tool_use"])
    assert (second.stop_reason, second.order) == ("completed", ["reasoning", "message", "function_call"])
    assert (first.calls[0].id, second.calls[0].id) == ("t1", "c1")
    assert first.usage == {**legal_streams.INPUT, "output_tokens": 9}
    assert second.usage == legal_streams.USAGE
    assert messages_judge.read(sse(MESSAGES["error in a block"])).calls[0].arguments == '{"a":'
    assert responses_judge.read(sse(RESPONSES["failed in an item"])).text == "x"
    assert responses_judge.read(sse(RESPONSES["length"])).stop_reason == "incomplete/max_output_tokens"


def test_what_only_a_responses_stream_can_say_twice_is_compared() -> None:
    """A custom call's bare input, told four times."""
    events = responses(custom("c1", "patch", "*** ", "x"))
    assert responses_judge.read(sse(events)).calls[0].value == "*** x"
    for place, member in ((-3, "input"), (-2, "item__input")):
        broken = copy.deepcopy(events)
        at(place, **{member: '{"input":"*** x"}'})(broken)
        assert any("is not the deltas" in fault for fault in responses_judge.read(sse(broken)).faults)


# whole messages

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "text", "text": "Let me."},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {**legal_streams.INPUT, "output_tokens": 9},
}
RESPONSE = ITEMS[-1]["response"]
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1760000000,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Let me.",
                "reasoning_content": "Hm",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29},
}

WHOLE_DEFECTS: list[tuple[Any, dict[str, Any], dict[str, Any], str]] = [
    (messages_judge, MESSAGE, {"id": "chatcmpl-1"}, "id 'chatcmpl-1'"),
    (messages_judge, MESSAGE, {"type": ...}, "type None"),
    (messages_judge, MESSAGE, {"role": ...}, "role None"),
    (messages_judge, MESSAGE, {"usage": ...}, "no usage"),
    (messages_judge, MESSAGE, {"usage__output_tokens": ...}, "output_tokens None"),
    (messages_judge, MESSAGE, {"stop_sequence": ...}, "no stop_sequence"),
    (messages_judge, MESSAGE, {"stop_reason": "end_turn"}, "end_turn with a tool_use block"),
    (messages_judge, MESSAGE, {"content": []}, "tool_use without a tool_use block"),
    (messages_judge, MESSAGE, {"content": None}, "no content"),
    (messages_judge, MESSAGE, {"content__2__input": '{"a":1}'}, "input that is no object"),
    (messages_judge, MESSAGE, {"content__1__text": ""}, "a text block of ''"),
    (messages_judge, MESSAGE, {"content__0__signature": ...}, "a thinking block of"),
    (responses_judge, RESPONSE, {"object": ...}, "object None"),
    (responses_judge, RESPONSE, {"status": "in_progress"}, "status 'in_progress'"),
    (responses_judge, RESPONSE, {"tools": ...}, "no tools"),
    (responses_judge, RESPONSE, {"usage": None}, "no usage"),
    (responses_judge, RESPONSE, {"usage__total_tokens": ...}, "total_tokens None"),
    (responses_judge, RESPONSE, {"output__2__arguments": {"a": 1}}, "no JSON object"),
    (responses_judge, RESPONSE, {"output__2__call_id": ...}, "a call without id"),
    (responses_judge, RESPONSE, {"output__1__content": []}, "an empty message"),
    (chat_strict, COMPLETION, {"created": ...}, "a completion with"),
    (chat_strict, COMPLETION, {"object": "chat.completion.chunk"}, "a completion with"),
    (chat_strict, COMPLETION, {"choices": []}, "not one choice"),
    (chat_strict, COMPLETION, {"choices__0__message__content": ...}, "without content"),
    (chat_strict, COMPLETION, {"choices__0__finish_reason": "stop"}, "stop with a call"),
    (chat_strict, COMPLETION, {"choices__0__finish_reason": None}, "finish_reason None"),
    (chat_strict, COMPLETION, {"choices__0__message__tool_calls": []}, "without a call"),
    (chat_strict, COMPLETION, {"choices__0__message__tool_calls__0__type": ...}, "a call of type None"),
    (chat_strict, COMPLETION, {"choices__0__message__tool_calls__0__function__arguments": "{"}, "no JSON object"),
    (chat_strict, COMPLETION, {"usage": ...}, "no usage"),
    (chat_strict, COMPLETION, {"usage__total_tokens": 1}, "total_tokens 1"),
]


def changed(whole: dict[str, Any], changes: dict[str, Any]) -> bytes:
    copied: Any = copy.deepcopy(whole)
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = copied
        for parent in parents:
            place = place[int(parent) if isinstance(place, list) else parent]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return json.dumps(copied).encode()


@pytest.mark.parametrize(("judge", "whole"), [(messages_judge, MESSAGE), (responses_judge, RESPONSE), (chat_strict, COMPLETION)])
def test_a_whole_message_is_read(judge: Any, whole: dict[str, Any]) -> None:
    answer = judge.whole(json.dumps(whole).encode())
    assert answer.faults == []
    assert (answer.reasoning, answer.text, answer.asked) == ("Hm", "Let me.", [("f", {"a": 1})])
    assert answer.usage == whole["usage"]


@pytest.mark.parametrize(("judge", "whole", "changes", "fault"), WHOLE_DEFECTS)
def test_every_defect_of_a_whole_message_is_found(judge: Any, whole: dict[str, Any], changes: dict[str, Any], fault: str) -> None:
    faults = judge.whole(changed(whole, changes)).faults
    assert any(fault in found for found in faults), faults


OPENAI_ERROR = {"message": "gone", "type": "server_error", "param": None, "code": None}


def test_bodies_of_errors_are_read() -> None:
    right = messages_judge.whole(json.dumps(legal_streams.broken()).encode())
    assert (right.error, right.faults) == ({"type": "overloaded_error", "message": "Overloaded"}, [])
    for judge in responses_judge, chat_strict:
        right = judge.whole(json.dumps({"error": OPENAI_ERROR}).encode())
        assert (right.error, right.faults) == (OPENAI_ERROR, [])
        assert judge.whole(b'{"error":{"message":"gone"}}').faults


# chat

SAID = [chunk({"role": "assistant", "content": ""}), chunk({"content": "Let me."}), chunk({"reasoning_content": "Hm"})]
CALLED = chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}]})
END = [chunk({}, "tool_calls"), {**chunk(), "choices": [], "usage": COMPLETION["usage"]}, "[DONE]"]
CHAT: list[Any] = [*SAID, CALLED, *END]

CHAT_DEFECTS: dict[str, tuple[Callable[[list[Any]], object], str]] = {
    "another id": (lambda e: e[1].update(id="c2"), "several answers"),
    "no object": (lambda e: e[1].pop("object"), "no object"),
    "no role": (lambda e: e.pop(0), "no role"),
    "no choice index": (lambda e: e[1]["choices"][0].pop("index"), "without index"),
    "call without index": (lambda e: e[3]["choices"][0]["delta"]["tool_calls"][0].pop("index"), "a call at index None"),
    "call at 1": (lambda e: e[3]["choices"][0]["delta"]["tool_calls"][0].update(index=1), "a call at index 1"),
    "call without type": (lambda e: e[3]["choices"][0]["delta"]["tool_calls"][0].pop("type"), "a call begins with"),
    "call repeated": (lambda e: e.insert(3, e[3]), "said twice"),
    "delta null": (lambda e: e[1]["choices"][0].update(delta=None), "no delta"),
    "no finish_reason": (lambda e: e.pop(4), "finish reasons: []"),
    "finish_reason twice": (lambda e: e.insert(4, e[4]), "finish reasons: ["),
    "stop with a call": (lambda e: e[4]["choices"][0].update(finish_reason="stop"), "stop with a call"),
    "tool_calls without a call": (lambda e: e.pop(3), "without a call"),
    "unknown word": (lambda e: e[4]["choices"][0].update(finish_reason="eos"), "finish_reason 'eos'"),
    "usage beside choices": (lambda e: e[1].update(usage=COMPLETION["usage"]), "usage in a chunk with choices"),
    "no [DONE]": (lambda e: e.pop(), "neither [DONE] nor error"),
    "behind [DONE]": (lambda e: e.append(e[1]), "behind [DONE]"),
    "[DONE] behind an error": (lambda e: e.__setitem__(slice(4, 6), [{"error": OPENAI_ERROR}]), "or both"),
    "a bare error": (lambda e: e.__setitem__(slice(4, 7), [{"error": "gone"}]), "an error that says"),
}


def test_legal_chat_has_no_faults() -> None:
    answer = chat_strict.read(b"".join(event(data) for data in CHAT))
    assert answer.faults == []
    assert (answer.reasoning, answer.text, answer.asked, answer.stop_reason) == ("Hm", "Let me.", [("f", {"a": 1})], "tool_calls")
    assert chat_strict.read(stream(["x"])).faults == []
    broken = chat_strict.read(b"".join(event(data) for data in [*SAID, {"error": OPENAI_ERROR}]))
    assert (broken.faults, broken.error) == ([], OPENAI_ERROR)


@pytest.mark.parametrize("name", CHAT_DEFECTS)
def test_every_defect_of_chat_is_found(name: str) -> None:
    break_, fault = CHAT_DEFECTS[name]
    chunks = copy.deepcopy(CHAT)
    break_(chunks)
    faults = chat_strict.read(b"".join(event(data) for data in chunks)).faults
    assert any(fault in found for found in faults), faults
