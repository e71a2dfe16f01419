"""Arguments that are two objects, of which the first may be `{}`, and such as are a dict of Python's: from each API to each."""

import json
from typing import Any

import pytest

from tests.support import legal_streams
from tests.support.cuts import cuts
from tests.support.judges import chat_strict
from tests.support.judges import messages as messages_judge
from tests.support.judges import responses as responses_judge
from tests.support.streams import chunk, play
from toolmend.pipeline.pipeline import Pipeline

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
REQUESTS: dict[str, dict[str, Any]] = {
    "chat": {"messages": [], "tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]},
    "messages": {"max_tokens": 9, "messages": [], "tools": [{"name": "read", "input_schema": SCHEMA}]},
    "responses": {"input": "hi", "tools": [{"type": "function", "name": "read", "parameters": SCHEMA}]},
}
JUDGES = {"chat": chat_strict.read, "messages": messages_judge.read, "responses": responses_judge.read}

A, B, C = ({"path": name} for name in "abc")
GIVEN: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("{}", '{"path":', '"a"}'): [A],
    ('{}{"path":"a"}',): [A],
    ('{}{"path"', ':"a"}'): [A],
    ("{", "}", '{"path":"a"}'): [A],
    ("{}", " ", '{"path":"a"}'): [A],
    ("{}",): [{}],
    ('{"path":"a"}{"path":"b"}',): [A, B],
    ('{"path":"a"}', '\n{"path"', ':"b"}'): [A, B],
    ('{"path":"a"}{"path"', ':"b"} {"path":"c"', "}"): [A, B, C],
    ('{"path":"a"}{"path": "a"}',): [A],
    ('{"path":"a"}{"path":',): [A],
    ("{'path': 'None } or True'}",): [{"path": "None } or True"}],
    ("{", "'path'", ': "it\'s"}'): [{"path": "it's"}],
    tuple("{'path': {'a': {'b': '{'}}}"): [{"path": '{"a":{"b":"{"}}'}],
}


def chat(pieces: tuple[str, ...]) -> bytes:
    first, *more = pieces
    begun = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "read", "arguments": first}}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": [begun]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in more]
    events = [json.dumps(chunk(delta)) for delta in deltas] + [json.dumps(chunk({}, "tool_calls")), "[DONE]"]
    return "".join(f"data: {event}\n\n" for event in events).encode()


def messages(pieces: tuple[str, ...]) -> bytes:
    return legal_streams.sse(legal_streams.messages(legal_streams.tool("toolu_1", "read", *pieces), stop="tool_use"))


def responses(pieces: tuple[str, ...]) -> bytes:
    """Where it is over, nothing is said of what came in front (LiteLLM)."""
    whole = "".join(pieces)
    told = whole.removeprefix("{}").lstrip() or "{}"
    body = legal_streams.sse(legal_streams.numbered(legal_streams.responses(legal_streams.call("call_1", "read", *pieces))))
    return body.replace(f'"arguments": {json.dumps(whole)}'.encode(), f'"arguments": {json.dumps(told)}'.encode())


BODIES = {"chat": chat, "messages": messages, "responses": responses}


@pytest.mark.parametrize("target", REQUESTS)
@pytest.mark.parametrize("source", REQUESTS)
@pytest.mark.parametrize("pieces", GIVEN)
def test_the_arguments_are_what_was_meant(pieces: tuple[str, ...], source: str, target: str) -> None:
    request = {"model": "m", "stream": True, **REQUESTS[target]}
    for cut in cuts(BODIES[source](pieces)):
        answer = JUDGES[target](play(lambda: Pipeline(request, source=source, target=target), cut))
        assert [(call.name, call.value) for call in answer.calls] == [("read", value) for value in GIVEN[pieces]]
        assert answer.faults == []
        assert answer.error is None


AFTER = {
    '{"path":': ['"a"}', '{"b": 1}}', ' ["a"]}'],
    '{"path": "a': ['b"}', '{"}', '"}'],
    '{"path": {"b"': [": 1}}", ':{"path": 2}}}'],
}


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("first", AFTER)
@pytest.mark.parametrize("target", ["responses", "chat"])
def test_announced_arguments_go_on_or_come_again_in_any_pieces(target: str, first: str, again: bool) -> None:
    request = {"model": "m", "stream": True, **REQUESTS[target]}
    request["tools"] = json.loads(json.dumps(request["tools"]).replace('"type": "string"', '"title": "x"'))
    for rest in AFTER[first]:
        whole = first + rest
        text = whole if again else rest
        for size in (1, 3, len(text)):
            stream = legal_streams.numbered(legal_streams.responses(legal_streams.call("call_1", "read", *(text[at : at + size] for at in range(0, len(text), size)))))
            parts = [{**each, "item": {**each["item"], "arguments": first}} if each["type"].endswith("item.added") else each for each in stream]
            parts = [json.loads(json.dumps(each).replace(f'"arguments": {json.dumps(text)}', f'"arguments": {json.dumps(whole)}')) for each in parts]
            body = legal_streams.sse(parts)
            answer = JUDGES[target](play(lambda: Pipeline(request, source="responses", target=target), [body]))
            assert [call.value for call in answer.calls] == [json.loads(whole)], (rest, size)
            assert answer.error is None


@pytest.mark.parametrize("target", ["responses", "chat", "messages"])
def test_events_that_come_twice_are_read_once(target: str) -> None:
    request = {"model": "m", "stream": True, **REQUESTS[target]}
    request["tools"] = json.loads(json.dumps(request["tools"]).replace('"type": "string"', '"type": "integer"'))
    parts = legal_streams.numbered(legal_streams.responses(legal_streams.say("So"), legal_streams.call("call_1", "read", "{", '"path":', '"7"}'), legal_streams.say("so")))
    body = b"".join(2 * legal_streams.sse([each]) for each in parts)
    answer = JUDGES[target](play(lambda: Pipeline(request, source="responses", target=target), [body]))
    assert [call.value for call in answer.calls] == [{"path": 7}]
