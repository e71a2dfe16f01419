"""Answers that break off, or end in an error: all that had come of them goes out, however they are cut.

Rule of this file: nothing is asked of how the end is told; that is the matter of the APIs' own tests.
"""

import json
from typing import Any

import pytest

from tests.patterns.kimi import ONE
from tests.support import legal_streams
from tests.support.cuts import cuts
from tests.support.streams import chunk, event, pieces, play
from tests.support.upstream_answers import APIS, WEATHER, asked
from toolmend.apis.messages.blocks import Blocks
from toolmend.core.events import ToolCallDelta, ToolCallEnd, ToolCallStart
from toolmend.core.ids import ids_for
from toolmend.pipeline.pipeline import Pipeline


def heard(api: str, body: bytes) -> bytes:
    """What a client of the same API gets, the same for every cut."""
    outs = {play(lambda: Pipeline(asked(api, *WEATHER), source=api, target=api, new_id=ids_for(b"")), parts) for parts in cuts(body)}
    assert len(outs) == 1
    return outs.pop()


@pytest.mark.parametrize("end", [None, "stop", "length"])
@pytest.mark.parametrize("target", APIS)
def test_a_value_that_was_held_in_frames_that_have_left(target: str, end: str | None) -> None:
    """Of a value without quotes nothing is told before its end, and its frames do not wait for it."""
    deltas = pieces("<|tool_call>call:task{description:so many words of it", 1, (3, 5))
    body = b"".join(event(each) for each in (chunk({"role": "assistant"}), *(chunk({"content": each}) for each in deltas)))
    body += event(chunk({}, end)) if end else b""
    request = {**asked(target, *WEATHER), "model": "gemma-4-31b-it"}
    for parts in cuts(body):
        out = play(lambda: Pipeline(request, source="chat", target=target, new_id=ids_for(b"")), parts)
        assert json.dumps('"so many words of it')[1:-1].encode() in out


def entry(**more: Any) -> dict[str, Any]:
    return chunk({"tool_calls": [{"type": "function", **more}]})


GIVEN = {"arguments": '{"zz": "so many words of it"}'}
WAITING = {  # for what may still come: a name, an id
    "no name": [entry(index=0, id="call_a", function=GIVEN)],
    "neither name nor id": [entry(index=0, function=GIVEN)],
    "a name that may go on": [entry(index=0, id="call_a", function={"name": "tas"}), entry(index=0, function=GIVEN)],
    "no id": [entry(index=0, function={"name": "task", **GIVEN})],
    "an empty id, and no index": [entry(id="", function={"name": "task", **GIVEN})],
}


@pytest.mark.parametrize("end", [[], [{"error": {"message": "Gone.", "code": 500}}]], ids=["cut", "error"])
@pytest.mark.parametrize("name", WAITING)
@pytest.mark.parametrize("target", APIS)
def test_a_call_of_chat_that_waits(target: str, name: str, end: list[Any]) -> None:
    body = b"".join(event(each) for each in (chunk({"role": "assistant", "content": "Hi"}), *WAITING[name], *end))
    for parts in cuts(body):
        out = play(lambda: Pipeline(asked(target, *WEATHER), source="chat", target=target, new_id=ids_for(b"")), parts)
        assert b"so many words of it" in out
        assert not end or out.rindex(b"Gone.") > out.index(b"so many words of it")


SAME = chunk({"content": ONE.replace("Beijing", "Bonn")})
NATIVE = [entry(index=0, id="call_a", function={"name": "get_weather", "arguments": ""}), entry(index=0, function={"arguments": '{"city": "Oslo'})]


@pytest.mark.parametrize("target", APIS)
def test_a_call_that_may_come_twice(target: str) -> None:
    """It waits for its end, to be compared with the one in the text."""
    body = b"".join(event(each) for each in (chunk({"role": "assistant"}), SAME, *NATIVE, {"error": {"message": "Gone.", "code": 500}}))
    for parts in cuts(body):
        out = play(lambda: Pipeline(asked(target, *WEATHER), source="chat", target=target, new_id=ids_for(b"")), parts)
        assert out.index(b"Bonn") < out.index(b"Oslo") < out.rindex(b"Gone.")


@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("source", ["messages", "responses"])
def test_a_call_of_another_api_that_may_come_twice(source: str, target: str) -> None:
    leak = ONE.replace("Beijing", "Bonn")
    if source == "messages":
        events = legal_streams.messages(legal_streams.text(leak), legal_streams.tool("t0", "get_weather", '{"city": "Oslo'), stop=None)[:-1]
        events.append(legal_streams.broken(message="Gone."))
    else:
        events = [each for each in legal_streams.responses(legal_streams.say(leak), legal_streams.call("c0", "get_weather", '{"city": "Oslo')) if "done" not in each["type"]][:-1]
        events.append({"type": "error", "code": "server_error", "message": "Gone.", "param": None})
    for parts in cuts(legal_streams.sse(events)):
        out = play(lambda: Pipeline(asked(target, *WEATHER), source=source, target=target, new_id=ids_for(b"")), parts)
        assert out.index(b"Bonn") < out.index(b"Oslo") < out.rindex(b"Gone.")


HALF: dict[str, Any] = {"type": "tool_use", "id": "t0", "name": "task", "input": {}}
IN_TURNS = [  # a text within a call that never ends
    *legal_streams.messages(stop=None),
    {"type": "content_block_start", "index": 0, "content_block": HALF},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a'}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}},
]


@pytest.mark.parametrize("end", [[], [legal_streams.broken()]], ids=["cut", "error"])
def test_messages(end: list[legal_streams.Data]) -> None:
    out = heard("messages", legal_streams.sse(IN_TURNS + end))
    assert b'"text":"Hi"' in out
    assert (out.rindex(b"event: error") > out.index(b'"text":"Hi"')) if end else b"event: error" not in out


CREATED = legal_streams.responses(legal_streams.say("x"))[0]["response"]
FAILED = {**CREATED, "status": "failed", "error": {"code": "server_error", "message": "no"}}


@pytest.mark.parametrize(
    "end",
    [[], [{"type": "error", "code": "server_error", "message": "no", "param": None}], [{"type": "response.failed", "response": FAILED}]],
    ids=["cut", "error", "failed"],
)
def test_responses(end: list[legal_streams.Data]) -> None:
    call, text = legal_streams.call("c0", "task", '{"a'), legal_streams.say("Hi ", ONE)
    events = legal_streams.responses(call, text)
    half = [each for each in events if each.get("output_index") == 0][:2]
    out = heard("responses", legal_streams.sse([*events[:2], *half, *(each for each in events if each.get("output_index") == 1), *end]))
    assert b'"output_text","text":"Hi "' in out
    assert b'"arguments":"{\\"city\\": \\"Beijing\\"}"' in out
    assert out.count(b"event: response.failed") + out.count(b"event: error") == len(end)


PLAIN = b"event: error\ndata: Gone.\n\ndata: [DONE]\n\n"
ENDED = {"chat": (b'"finish_reason":"',), "messages": (b"message_delta", b"message_stop"), "responses": (b"response.completed",)}


@pytest.mark.parametrize("behind", ["", "in the middle"])
@pytest.mark.parametrize("api", APIS)
def test_an_error_in_plain_words(api: str, behind: str) -> None:
    """They go out, also where all is written anew, and nothing that tells of a good end behind them."""
    leak = f"{ONE} so" if not behind else ONE[:-60]
    if api == "chat":
        body = event(chunk({"role": "assistant"})) + event(chunk({"content": leak}))
    elif api == "messages":
        body = legal_streams.sse(legal_streams.messages(legal_streams.text(leak), stop=None)[:-1])
    else:
        body = legal_streams.sse([each for each in legal_streams.responses(legal_streams.say(leak), status=None) if "done" not in each["type"]])
    out = heard(api, body + PLAIN)
    assert b"get_weather" in out
    assert b"Gone." in out[out.rindex(b"event: error") :]
    for word in ENDED[api]:
        assert word not in out


GONE = b'{"type":"error","error":{"type":"upstream_error","message":"Gone."}}'
CUT_BY = {
    "a line of its own": b"\n" + GONE,
    "data of its own": b"\ndata: " + GONE,
    "a name of its own": b"\r\nevent: error\r\ndata:" + GONE,
    "in the same line": b"data: " + GONE,
    "an event of its own": b"\n\ndata: " + GONE,
    "an event with a name": b"\n\nevent: error\ndata: " + GONE,
    "a line without data, in lines": b"\n" + GONE.replace(b",", b",\n "),
}


@pytest.mark.parametrize("cut", CUT_BY)
@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("source", APIS)
def test_an_error_that_cuts_an_event(source: str, target: str, cut: str) -> None:
    """It is told as the error that it is, in place of the event, and no JSON goes out that is none."""
    if source == "chat":
        events = [event(chunk(delta)) for delta in ({"role": "assistant"}, {"content": "Hi"}, {"content": "so it"})]
    else:
        told = legal_streams.messages(legal_streams.text("Hi", "so it")) if source == "messages" else legal_streams.responses(legal_streams.say("Hi", "so it"))
        events = [legal_streams.sse([each]) for each in told]
    events = events[: next(at for at, each in enumerate(events) if b"so it" in each) + 1]
    body = b"".join(events[:-1]) + events[-1][:-20] + CUT_BY[cut] + b"\n\n"
    for parts in cuts(body):
        made = Pipeline(asked(target, *WEATHER), source=source, target=target)
        out = b"".join([*map(made.feed, parts), made.close()])
        assert b"Gone." in out
        assert b"so i" not in out
        told = [json.loads(line[5:]) for line in out.splitlines() if line.startswith(b"data:") and line != b"data: [DONE]"]
        assert "Hi" in json.dumps(told)
        assert "Gone." in json.dumps(told[-1])
        assert "error_form" in made.rules or source != target


@pytest.mark.parametrize("bare", [GONE, GONE + b"\n", GONE + b"\r\n\r\n", GONE + b"\n\ndata: [DONE]\n\n", b'{"detail":"Gone."}\n'])
@pytest.mark.parametrize("api", APIS)
def test_an_error_that_is_no_event(api: str, bare: bytes) -> None:
    """It stands there as it would without a stream: clients read past it, and take the silent end for the answer's."""
    told = legal_streams.messages(legal_streams.text("Hi")) if api == "messages" else legal_streams.responses(legal_streams.say("Hi"))
    events = [event(chunk({"role": "assistant", "content": "Hi"}))] if api == "chat" else [legal_streams.sse([each]) for each in told]
    events = events[: next(at for at, each in enumerate(events) if b"Hi" in each) + 1]
    out = heard(api, b"".join(events) + bare)
    data = [json.loads(line[5:]) for line in out.splitlines() if line.startswith(b"data:") and line != b"data: [DONE]"]
    assert len(data) == len(events) + 1
    assert "Hi" in json.dumps(data[-2])
    assert "Gone." in json.dumps(data[-1])


def test_json_that_is_no_event_and_no_error_passes_as_it_came() -> None:
    for bare in (b'{"a":1}\n\n', b'["Gone."]\n', b'{"choices":[{}],"message":"Gone."}\n\n', b'{"error":null}\n\n', b'{"error":{"message":"Gone."}\n\n'):
        body = event(chunk({"role": "assistant", "content": "Hi"})) + bare
        assert heard("chat", body) == body


def test_an_event_that_is_cut_waits_for_the_next() -> None:
    made = Pipeline(asked("chat", *WEATHER))
    first, cut, said = event(chunk({"role": "assistant"})), b'data: {"choices":[\n\n', event(chunk({"content": "Hi"}))
    assert made.feed(first + cut) == first
    assert made.feed(said) == cut + said
    assert made.feed(cut) == b""
    assert made.feed(cut) == cut
    assert made.feed(b": ping\n\n") == cut + b": ping\n\n"
    assert made.feed(cut) == b""
    assert made.close() == cut
    assert made.rules == []


def test_what_only_looks_like_an_error_behind_a_cut() -> None:
    """Another object, an error that is no JSON, and one within a text: all pass as they came."""
    for behind in (b'\n{"error":null}', b'data: {"choices":[]}', b'\n{"error":{"message":"Gone."}', b"\n" + b'{"a":' * 100 + GONE):
        body = event(chunk({"role": "assistant"})) + b'data: {"choices":[{"delta":{"content":"a' + behind + b"\n\n"
        assert heard("chat", body) == body


def test_a_call_behind_one_that_was_broken_off() -> None:
    """It is left out with it; what it still says ends nothing."""
    blocks = Blocks(lambda: "call_0", 0)
    blocks.feed(ToolCallStart(0, "a", "task"))
    blocks.feed(ToolCallDelta(0, '{"a'))
    blocks.finish(cut=True)
    before = blocks.take()
    for each in (ToolCallStart(1, "b", "task"), ToolCallDelta(1, "{}"), ToolCallEnd(1)):
        blocks.feed(each)
    assert before
    assert blocks.take() == ""
