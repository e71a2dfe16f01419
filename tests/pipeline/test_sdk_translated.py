"""anthropic's and openai's own accumulators read what we translate: they must find what the judges find.

Rule of this file: no client is asked what is legal; that is the judges' matter.
"""

import json
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.patterns import all_patterns, recorded_patterns
from tests.support import legal_streams
from tests.support.answers import Answer, Call
from tests.support.cuts import DEEP
from tests.support.streams import body_of, pieces, play, stream
from tests.support.upstream_answers import JUDGES, PAIRS, WEATHER, Asked, Counts, Part, Text, Thought, asked, speak
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests import translate

QUESTION: Any = [{"role": "user", "content": "x"}]


def pipeline(source: str, target: str, request: dict[str, Any]) -> Pipeline:
    numbers = iter(range(1, 1000))
    return Pipeline(request, source=source, target=target, new_id=lambda: f"call_{next(numbers):032x}")


def client_of(body: bytes, bits: int | None = None) -> httpx2.Client:
    """A client that gets the body, whole or in pieces of so many bytes."""
    parts = iter([body] if bits is None else [body[at : at + bits] for at in range(0, len(body), bits)])
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=parts)
    return httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))


def by_anthropic(http: Any) -> Answer:
    sdk = anthropic.Anthropic(api_key="none", base_url="http://test", http_client=http, max_retries=0)
    with sdk.messages.stream(model="m", max_tokens=9, messages=QUESTION) as events:
        for _ in events:
            pass
        message = events.get_final_message().model_dump()
    found = Answer(stop_reason=message["stop_reason"], usage=message["usage"])
    for block in message["content"]:
        found.text += block.get("text") or ""
        found.reasoning += block.get("thinking") or ""
        if "thinking" in block["type"]:
            found.seals.append(block.get("signature") or block["data"])
        if block["type"] == "tool_use":
            found.calls.append(Call(block["id"], block["name"], json.dumps(block["input"])))
    return found


def by_openai_chat(http: Any) -> Answer:
    sdk = openai.OpenAI(api_key="none", base_url="http://test", http_client=http, max_retries=0)
    with sdk.chat.completions.stream(model="m", messages=QUESTION) as events:
        for _ in events:
            pass
        completion = events.get_final_completion().model_dump()
    choice = completion["choices"][0]
    message = choice["message"]
    calls = [Call(each["id"], each["function"]["name"], each["function"]["arguments"]) for each in message["tool_calls"] or ()]
    return Answer(text=message["content"] or "", calls=calls, stop_reason=choice["finish_reason"], usage=completion["usage"])


def by_openai_responses(http: Any) -> Answer:
    sdk = openai.OpenAI(api_key="none", base_url="http://test", http_client=http, max_retries=0)
    with sdk.responses.stream(model="m", input="x") as events:
        for _ in events:
            pass
        response = events.get_final_response().model_dump()
    found = Answer(stop_reason=response["status"], usage=response["usage"])
    for item in response["output"]:
        found.text += "".join(part.get("text") or "" for part in item.get("content") or ())
        found.reasoning += "".join(part["text"] for part in item.get("summary") or ())
        if item["type"] == "reasoning":
            found.seals.append(item["encrypted_content"] or "")
        if "call_id" in item:
            found.calls.append(Call(item["call_id"], item["name"], item["arguments"]))
    return found


SDKS = {"messages": by_anthropic, "responses": by_openai_responses, "chat": by_openai_chat}


def agree(target: str, body: bytes, bits: int | None = None) -> Answer:
    """The SDK of an API finds in a stream what the judge does."""
    judged: Answer = JUDGES[target].read(body)
    found = SDKS[target](client_of(body, bits))
    assert judged.faults == []
    assert (found.text, found.stop_reason) == (judged.text, judged.stop_reason)
    assert [(each.id, each.name, each.value) for each in found.calls] == [(each.id, each.name, each.value) for each in judged.calls]
    if target != "chat":  # whose SDK does not know reasoning
        assert (found.reasoning, found.seals) == (judged.reasoning, judged.seals)
    told = judged.usage or {}
    assert {name: (found.usage or {}).get(name) for name in told if not isinstance(told[name], dict)} == {
        name: count for name, count in told.items() if not isinstance(count, dict)
    }
    return judged


CALLS = [Asked("call_a", "get_weather", '{"city":"Beijing"}'), Asked("call_b", "task", '{"description":"日本"}')]
ANSWERS: dict[str, tuple[list[Part], str]] = {
    "text": ([Text("Hi 日本")], "stop"),
    "everything": ([Thought("Hm"), Text("Let me."), *CALLS], "tool_calls"),
    "between": ([Thought("Hm"), CALLS[0], Thought("So"), CALLS[1]], "tool_calls"),
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_sdks_read_what_is_translated(source: str, target: str, name: str) -> None:
    parts, stop = ANSWERS[name]
    body = play(lambda: pipeline(source, target, asked(target, *WEATHER)), [speak(source, parts, stop, Counts(100, 50, 20))])
    judged = agree(target, body)
    assert len(judged.calls) == (2 if stop == "tool_calls" else 0)
    assert agree(target, body, 1) == judged


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_character_in_two_halves_breaks_no_sdk(source: str, target: str) -> None:
    """A server in JavaScript may cut its strings anywhere."""
    halves = ('{"city":"\ud83d', '\ude42"}')
    deltas = [{"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": ""}}]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": half}}]} for half in halves]
    bodies = {
        "chat": stream(deltas, finish="tool_calls"),
        "messages": legal_streams.sse(legal_streams.messages(legal_streams.tool("call_a", "get_weather", *halves), stop="tool_use")),
        "responses": legal_streams.sse(legal_streams.responses(legal_streams.call("call_a", "get_weather", *halves))),
    }
    judged = agree(target, play(lambda: pipeline(source, target, asked(target, *WEATHER)), [bodies[source]]))
    assert [call.value["city"].encode("utf-16", "surrogatepass").decode("utf-16") for call in judged.calls] == ["🙂"]


PATTERNS = all_patterns() if DEEP else recorded_patterns()
LEAKS = [name for name, pattern in PATTERNS.items() if name.startswith(("kimi/", "qwen/", "deepseek/")) and pattern.expected_finish == "tool_calls"]


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("target", ["messages", "responses"])
def test_the_sdks_read_what_was_a_leak(target: str, name: str) -> None:
    pattern = PATTERNS[name]
    request = translate(pattern.request, client="chat", upstream=target).request
    judged = agree(target, play(lambda: pipeline("chat", target, request), [body_of(pattern)]))
    assert len(judged.calls) == len(pattern.calls)


# what fails: every SDK raises


def failing(target: str, body: bytes) -> bytes:
    return play(lambda: pipeline("chat", target, asked(target, *WEATHER)), [body])


CUT = stream(pieces("Hi there, and then", 1), finish=None).replace(b"data: [DONE]\n\n", b"")
ERROR = CUT + b'data: {"error": {"message": "slow down", "code": 429}}\n\n'


@pytest.mark.parametrize("body", [CUT, ERROR, b""])
def test_a_failure_is_one_to_the_sdks(body: bytes) -> None:
    with pytest.raises(anthropic.APIStatusError):
        by_anthropic(client_of(failing("messages", body)))
    with pytest.raises((openai.APIError, RuntimeError)):
        by_openai_responses(client_of(failing("responses", body)))


@pytest.mark.parametrize("source", ["messages", "responses"])
def test_a_stream_that_is_cut_off_is_an_error_to_the_sdk_of_chat(source: str) -> None:
    body = play(lambda: pipeline(source, "chat", asked("chat", *WEATHER)), [speak(source, [Text("Hi")])[:-250]])
    with pytest.raises(openai.APIError):
        by_openai_chat(client_of(body))
