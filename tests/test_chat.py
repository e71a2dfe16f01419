"""apis/chat.py with chat_shape, chat_write and chat_reports: chunks that are as they should be, and chunks that are not."""

import json
from typing import Any

import pytest

from patterns.irregular import CALL, CITY, REQUEST, first, more
from regular import DONE, HI, choices
from streams import META, chunk, event, play, request, stream, tool
from toolmend import tools
from toolmend.apis.chat import Chat
from toolmend.apis.chat_reports import error_of, usage_of
from toolmend.events import Frame, MessageEnd, MessageStart, StreamError, TextDelta, Usage
from toolmend.pipeline import Pipeline
from toolmend.sse import Decoder

LEGACY = request(functions=[tool("get_weather", city={})["function"]])


def pipeline(asked: dict[str, Any] | None = REQUEST) -> Pipeline:
    numbers = iter(range(1000))
    return Pipeline(asked, new_id=lambda: f"call_{next(numbers)}")


def through(data: list[Any], asked: dict[str, Any] | None = REQUEST) -> tuple[list[Any], list[str]]:
    """What the codec alone makes of events, and the rules that fired."""
    rules: list[str] = []
    offered = tools.UNKNOWN if asked is None else tools.of_chat(asked)
    codec = Chat(offered, lambda: "call_0", lambda rule: None if rule in rules else rules.append(rule))
    out = b"".join(codec.encode(codec.decode(sse)) for sse in Decoder().feed(b"".join(map(event, data))))
    return [json.loads(sse.data) for sse in Decoder().feed(out) if sse.data], rules


ROLE = chunk({"role": "assistant"})

CHUNKS: dict[str, tuple[list[Any], list[Any], list[str]]] = {
    "delta is null": (
        [ROLE, choices({"index": 0, "delta": None, "finish_reason": None})],
        [ROLE, choices({"index": 0, "delta": {}, "finish_reason": None})],
        ["delta"],
    ),
    "no delta, but something else": (
        [ROLE, choices({"index": 0, "content_filter_results": {"hate": {"filtered": False}}}, object="", id="")],
        [
            ROLE,
            choices(
                {"index": 0, "content_filter_results": {"hate": {"filtered": False}}, "delta": {}, "finish_reason": None},
                object="",
                id="",
            ),
        ],
        ["delta"],
    ),
    "a finish and no delta": (
        [ROLE, choices({"index": 0, "finish_reason": "stop", "x": 1})],
        [ROLE, choices({"index": 0, "finish_reason": "stop", "x": 1, "delta": {}})],
        ["delta"],
    ),
    "an empty finish reason": ([chunk(HI, "")], [chunk(HI)], ["finish_reason"]),
    "no index": (
        [choices({"delta": HI}, {"delta": HI})],
        [choices(*({"index": n, "delta": HI, "finish_reason": None} for n in range(2)))],
        ["choice_index"],
    ),
    "no role": ([chunk({"content": "Hi"}), chunk({"content": "!"})], [chunk(HI), chunk({"content": "!"})], ["role"]),
    "a role that is null": ([chunk({"role": None, "content": "Hi"})], [chunk(HI)], ["role"]),
    "fields are taken from the first chunk that has them": (
        [chunk(HI), {"choices": chunk({"content": "!"})["choices"], "provider": "p"}],
        [chunk(HI), {"choices": chunk({"content": "!"})["choices"], "provider": "p", **META}],
        ["chunk_fields"],
    ),
    "fields that are null": (
        [chunk(HI), {**chunk({"content": "!"}), "object": None}],
        [chunk(HI), chunk({"content": "!"})],
        ["chunk_fields"],
    ),
    "fields that no chunk has": (
        [{"choices": chunk(HI)["choices"]}, {"choices": [], "usage": {"prompt_tokens": 1}}],
        [
            {**made, "id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": ""}
            for made in ({"choices": chunk(HI)["choices"]}, {"choices": [], "usage": {"prompt_tokens": 1}})
        ],
        ["chunk_fields"],
    ),
    "function_call": (
        [ROLE, chunk({"content": None, "function_call": {**CALL, "arguments": CITY}, "x": 1}, "function_call")],
        [
            ROLE,
            chunk(
                {
                    "content": None,
                    "x": 1,
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "call_0",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": CITY},
                        }
                    ],
                },
                "tool_calls",
            ),
        ],
        ["function_call", "tool_call_id", "finish_reason"],
    ),
    "a chunk that said nothing but what is dropped": (
        [ROLE, chunk(first(CITY)), chunk(more("")), chunk(more("\n"), usage={"prompt_tokens": 1})],
        [ROLE, chunk(first(CITY)), chunk({}, usage={"prompt_tokens": 1})],
        ["arguments"],
    ),
    "the provider's own fields of a call": (
        [ROLE, chunk(first(CITY, index=3, extra_content={"google": {"thought_signature": "s"}}))],
        [ROLE, chunk(first(CITY, extra_content={"google": {"thought_signature": "s"}}))],
        ["tool_call_index"],
    ),
    "logprobs of text that stays": (
        [{**META, "choices": [{"delta": HI, "logprobs": {"content": []}}]}],
        [choices({"index": 0, "delta": HI, "logprobs": {"content": []}, "finish_reason": None})],
        ["choice_index"],
    ),
    "a custom tool": (
        [ROLE, chunk({"tool_calls": [{"index": 1, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "{"}}]}),
         chunk({"tool_calls": [{"index": 1, "custom": {"input": "} ls"}}]})],
        [ROLE, chunk({"tool_calls": [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "{"}}]}),
         chunk({"tool_calls": [{"index": 0, "custom": {"input": "} ls"}}]})],
        ["tool_call_index"],
    ),
}  # fmt: skip

@pytest.mark.parametrize("name", CHUNKS)
def test_chunks(name: str) -> None:
    given, expected, rules = CHUNKS[name]
    assert through(given) == (expected, rules)


FUNCTION_CALL = stream(
    [{"function_call": CALL}, {"function_call": {"arguments": CITY}}, chunk({}, "function_call")], finish=None
)


@pytest.mark.parametrize("asked", [LEGACY, None])
def test_a_client_that_may_wait_for_a_function_call_gets_it(asked: dict[str, Any] | None) -> None:
    assert play(lambda: pipeline(asked), [FUNCTION_CALL]) == FUNCTION_CALL
    body = json.dumps(whole({"function_call": {**CALL, "arguments": CITY}}, "function_call")).encode()
    assert pipeline(asked).message(body) is body


def whole(message: dict[str, Any], finish: str | None = "tool_calls") -> dict[str, Any]:
    """A response that is no stream."""
    message = {"role": "assistant", "content": None, **message}
    return {**META, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def entry(arguments: Any = CITY, **more: Any) -> dict[str, Any]:
    return {"id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": arguments}, **more}


MESSAGES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, list[str]]] = {
    "regular": (whole({"tool_calls": [entry(), entry(id="call_b")]}), None, []),
    "text": (whole({"content": "Hi"}, "stop"), None, []),
    "finish": (whole({"tool_calls": [entry()]}, "stop"), whole({"tool_calls": [entry()]}), ["finish_reason"]),
    "phantom": (whole({"content": "Hi"}), whole({"content": "Hi"}, "stop"), ["finish_reason"]),
    "function_call": (
        whole({"function_call": {**CALL, "arguments": CITY}}, "function_call"),
        whole({"tool_calls": [entry(id="call_0")]}),
        ["function_call", "tool_call_id", "finish_reason"],
    ),
    "arguments": (whole({"tool_calls": [entry({"a": 1})]}), whole({"tool_calls": [entry('{"a":1}')]}), ["arguments_type"]),
    "no arguments": (whole({"tool_calls": [entry("")]}), whole({"tool_calls": [entry("{}")]}), ["arguments"]),
    "no arguments, cut off": (whole({"tool_calls": [entry("")]}, "length"), None, []),
    "no finish": (whole({"tool_calls": [entry("")]}, None), whole({"tool_calls": [entry("{}")]}, None), ["arguments"]),
    "fence": (
        whole({"tool_calls": [entry(f"```\n{CITY}\n```")]}), whole({"tool_calls": [entry()]}), ["arguments"],
    ),
    "equal ids": (
        whole({"tool_calls": [entry(), entry()]}), whole({"tool_calls": [entry(), entry(id="call_0")]}), ["tool_call_id"],
    ),
    "no type, no id": (
        whole({"tool_calls": [{"function": entry()["function"], "x": 1}]}),
        whole({"tool_calls": [entry(id="call_0", x=1)]}),
        ["tool_call_id", "tool_call_type"],
    ),
    "no role, no index": (
        {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]},
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]},
        ["choice_index", "role"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    given, expected, rules = MESSAGES[name]
    body = json.dumps(given).encode()
    made = pipeline()
    out = made.message(body)
    assert (json.loads(out), made.rules) == (expected or given, rules)
    assert expected or out is body


@pytest.mark.parametrize("body", [b"[]", b"oops", b'"x"', b'{"choices": 3}', b'{"choices": [null, 3]}', b'{"error": "x"}'])
def test_what_is_no_message_passes(body: bytes) -> None:
    assert pipeline().message(body) is body


def test_events_of_a_chunk() -> None:
    codec = Chat(tools.UNKNOWN, lambda: "call_0", lambda _: None)
    (sse,) = Decoder().feed(event({**chunk(HI), "usage": {"prompt_tokens": 1}, "error": "bad"}))
    assert codec.decode(sse).events == (MessageStart(), TextDelta("Hi"), Usage(1), StreamError("error", "bad"))
    (sse,) = Decoder().feed(DONE)
    assert codec.decode(sse) == Frame(sse, (MessageEnd(),))
    assert codec.encode(Frame(None, (MessageEnd(),), touched=True)) == DONE


USAGE = {
    "openai": ({"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 1}}, Usage(9, 3, 4, 2, 1)),
    "deepseek": ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(9, 0, 4)),
    "moonshot": ({"prompt_tokens": 9, "cached_tokens": 4}, Usage(9, 0, 4)),
    "openrouter": ({"cache_write_tokens": 2}, Usage(cache_write_tokens=2)),
    "nonsense": ({"prompt_tokens": "9", "completion_tokens": -3, "prompt_tokens_details": 7}, Usage()),
}  # fmt: skip


@pytest.mark.parametrize("name", USAGE)
def test_usage(name: str) -> None:
    given, expected = USAGE[name]
    assert usage_of(given) == expected


def test_errors() -> None:
    assert error_of("overloaded") == StreamError("error", "overloaded")
    assert error_of({"type": "t", "message": "m", "code": 529}) == StreamError("t", "m", 529)
    assert error_of({"code": "rate_limited"}) == StreamError("error", "")
