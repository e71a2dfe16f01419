"""Log probabilities between Chat Completions and Responses: the request's options, and the answer's tokens, streamed and whole."""

import json
from itertools import count
from typing import Any

from tests.support.cuts import cuts
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests import translate

ASK = [{"role": "user", "content": "hi"}]
CHAT: dict[str, Any] = {"model": "m", "messages": ASK, "logprobs": True, "stream": True}
RESPONSES: dict[str, Any] = {"model": "m", "input": "hi", "include": ["message.output_text.logprobs"], "stream": True}
WORDS = ["Hel", "lo", " <to", "ol"] + ["!"] * 20


def token(text: str) -> dict[str, Any]:
    return {"token": text, "logprob": -0.5, "bytes": list(text.encode()), "top_logprobs": []}


def sent(client: str, upstream: str, host: str, model: str, **request: Any) -> Any:
    given = {"model": "m", "messages": ASK} if client == "chat" else {"model": "m", "input": "hi"}
    return translate({**given, **request}, client, upstream, host=host, model=model)


def pipeline(source: str, target: str, request: dict[str, Any]) -> Pipeline:
    numbers = count(1)
    return Pipeline(request, source=source, target=target, new_id=lambda: f"call_{next(numbers):032x}")


def sse(*data: Any) -> bytes:
    named = (f"event: {one['type']}\n" if "type" in one else "" for one in data)
    return "".join(f"{name}data: {json.dumps(one)}\n\n" for name, one in zip(named, data, strict=True)).encode()


def events(body: bytes) -> list[Any]:
    return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]


def chat_stream() -> bytes:
    choices = [{"index": 0, "delta": {"content": word}, "logprobs": {"content": [token(word)]}, "finish_reason": None} for word in WORDS]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    return sse(*({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice]} for choice in choices))


def responses_stream() -> bytes:
    part = {"type": "output_text", "text": "".join(WORDS), "annotations": [], "logprobs": [token(word) for word in WORDS]}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return sse(
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        *({"type": "response.output_text.delta", **place, "delta": word, "logprobs": [token(word)]} for word in WORDS),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item]}},
    )


def test_options_are_translated() -> None:
    request = sent("chat", "responses", "api.openai.com", "gpt-4.1", logprobs=True, top_logprobs=3).request
    assert request["include"] == ["message.output_text.logprobs"] and request["top_logprobs"] == 3 and "logprobs" not in request
    request = sent("responses", "chat", "api.openai.com", "gpt-4.1", include=["message.output_text.logprobs"], top_logprobs=3).request
    assert request["logprobs"] is True and request["top_logprobs"] == 3 and "include" not in request
    request = sent("chat", "responses", "api.openai.com", "gpt-4.1", logprobs=False).request
    assert "include" not in request


def test_a_model_that_thinks_gives_none() -> None:
    asked = {"logprobs": True, "top_logprobs": 3}
    translated = sent("chat", "responses", "api.openai.com", "gpt-5.5", **asked)
    assert "top_logprobs" not in translated.request and any("logprobs" in note for note in translated.notes)
    assert "top_logprobs" in sent("chat", "responses", "api.openai.com", "gpt-5.5", reasoning_effort="none", **asked).request
    assert any("logprobs" in note for note in sent("responses", "chat", "api.z.ai", "glm-4.7", include=["message.output_text.logprobs"]).notes)


def test_cache_options_are_translated() -> None:
    cache = {"mode": "auto", "ttl": "30m"}
    assert sent("chat", "responses", "api.openai.com", "gpt-5.6-sol", prompt_cache_options=cache).request["prompt_cache_options"] == cache
    request = sent("responses", "chat", "api.openai.com", "gpt-5.6-sol", prompt_cache_options={"mode": "auto", "ttl": "12h", "prewarm": True}).request
    assert request["prompt_cache_options"] == {"mode": "auto"}
    older = sent("chat", "responses", "api.openai.com", "gpt-5.4", prompt_cache_options=cache)
    assert "prompt_cache_options" not in older.request and any("prompt_cache_options" in note for note in older.notes)


def test_tokens_reach_responses() -> None:
    for chunks in cuts(chat_stream()):
        made = pipeline("chat", "responses", RESPONSES)
        found = events(b"".join(map(made.feed, chunks)) + made.close())
        deltas = [each["logprobs"] for each in found if each["type"] == "response.output_text.delta"]
        (done,) = [each["logprobs"] for each in found if each["type"] == "response.output_text.done"]
        (part,) = found[-1]["response"]["output"][0]["content"]
        assert [each for delta in deltas for each in delta] == done == part["logprobs"] == [token(word) for word in WORDS]
        assert part["text"] == "".join(WORDS)


def test_tokens_reach_chat() -> None:
    for chunks in cuts(responses_stream()):
        made = pipeline("responses", "chat", CHAT)
        choices = [choice for each in events(b"".join(map(made.feed, chunks)) + made.close()) for choice in each["choices"]]
        assert [each for choice in choices for each in (choice.get("logprobs") or {}).get("content", ())] == [token(word) for word in WORDS]
        assert "".join(choice["delta"].get("content", "") for choice in choices) == "".join(WORDS)


def test_whole_answers_have_them() -> None:
    answer = {"role": "assistant", "content": "Hi"}
    body = {"id": "x", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": answer, "logprobs": {"content": [token("Hi")]}, "finish_reason": "stop"}]}
    made = json.loads(pipeline("chat", "responses", {**RESPONSES, "stream": False}).message(json.dumps(body).encode()))
    assert made["output"][0]["content"][0]["logprobs"] == [token("Hi")]
    back = json.loads(pipeline("responses", "chat", {**CHAT, "stream": False}).message(json.dumps({**made, "status": "completed"}).encode()))
    assert back["choices"][0]["logprobs"] == {"content": [token("Hi")], "refusal": None}


def test_a_client_that_asks_for_none_gets_none() -> None:
    made = pipeline("responses", "chat", {key: given for key, given in CHAT.items() if key != "logprobs"})
    assert b"logprobs" not in made.feed(responses_stream()) + made.close()
