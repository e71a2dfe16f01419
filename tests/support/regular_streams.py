"""Regular streams, each as one provider writes it: there is nothing to mend in them, so they must pass byte for byte.

The order of members, the nulls, the empty strings and the extra fields are what counts here.
"""

import json
from typing import Any

from tests.patterns.irregular import CITY, first, more
from tests.support.streams import META, chunk, event, stream


def choices(*given: Any, **common: Any) -> dict[str, Any]:
    """A chunk of whole choices."""
    return {**META, "choices": list(given), **common}


HI = {"role": "assistant", "content": "Hi"}
CALLED = {"id": "call_1", "type": "function", "function": {"name": "task", "arguments": "{}"}}
ARGUMENTS = ('{"description": ', '"a \\"b\\" ', "\\n<x> {", "}", '"}')


def spoken(*given: Any, head: str = "{", tail: str = "") -> bytes:
    """Chunks of one choice as a provider writes them: `head` and `tail` around the choices."""
    return b"".join(event(f'{head}"choices":[{json.dumps(choice)}]{tail}}}') for choice in given)


def choice(delta: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"index": 0, "delta": delta, **rest}


def called(*entries: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return choice({"tool_calls": list(entries)}, **rest)


IDS = '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m",'
DONE = event("[DONE]")
NAME = {"name": "task", "arguments": ""}
OPENING = {"index": 0, "id": "call_1", "type": "function", "function": NAME}
NULL: dict[str, Any] = {"finish_reason": None}

REGULAR = {
    "openai": spoken(
        choice({"role": "assistant", "content": None, "refusal": None}, logprobs=None, **NULL),
        called(OPENING, **NULL),
        *(called({"index": 0, "function": {"arguments": part}}, **NULL) for part in ARGUMENTS),
        called({**OPENING, "index": 1, "id": "call_2"}, **NULL),
        called({"index": 1, "function": {"arguments": "{}"}}, **NULL),
        choice({}, finish_reason="tool_calls"),
        head=IDS, tail=',"usage":null,"obfuscation":"x8Zr"',
    ) + event(IDS + '"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}') + DONE,
    "azure": event(
        '{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}'
    ) + spoken(
        choice({"content": "", "refusal": None, "role": "assistant"}, content_filter_results={}, logprobs=None, **NULL),
        choice({"content": "Hi"}, content_filter_results={"hate": {"filtered": False}}, logprobs=None, **NULL),
        called(OPENING, content_filter_results={}, **NULL),
        *(called({"function": {"arguments": part}, "index": 0}, content_filter_results={}, **NULL) for part in ARGUMENTS),
        choice({}, content_filter_results={}, finish_reason="tool_calls"),
        head=IDS,
    ) + DONE,
    "vllm": spoken(
        choice({"role": "assistant", "content": ""}, logprobs=None, **NULL),
        choice({"reasoning_content": "Hm <"}, logprobs=None, **NULL),
        called(OPENING, logprobs=None, **NULL),
        *(called({"index": 0, "function": {"arguments": part}}, logprobs=None, **NULL) for part in ARGUMENTS),
        choice({"content": ""}, logprobs=None, finish_reason="tool_calls", stop_reason=None),
        head=IDS,
    ) + event(IDS + '"choices":[],"usage":{"prompt_tokens":9,"total_tokens":12,"completion_tokens":3}}') + DONE,
    "sglang": spoken(
        choice({"role": "assistant", "content": "", "reasoning_content": None, "tool_calls": None}, matched_stop=None, **NULL),
        called(OPENING, logprobs=None, matched_stop=None, **NULL),
        *(
            choice(
                {"role": None, "content": None, "tool_calls": [
                    {"id": None, "index": 0, "type": "function", "function": {"name": None, "arguments": part}}]},
                matched_stop=None, **NULL,
            )
            for part in ARGUMENTS
        ),
        choice({"role": None, "content": None, "tool_calls": None}, finish_reason="tool_calls", matched_stop=None),
        head=IDS, tail=',"usage":null',
    ) + DONE,
    "openrouter": b": OPENROUTER PROCESSING\n\n" + spoken(
        choice({"role": "assistant", "content": "", "reasoning": "Hm"}, native_finish_reason=None, logprobs=None, **NULL),
        choice({"role": "assistant", "content": "", "reasoning": " <", "reasoning_details": [
            {"type": "reasoning.text", "text": " <", "index": 0}]}, native_finish_reason=None, **NULL),
        choice({"role": "assistant", "content": None, "tool_calls": [OPENING]}, native_finish_reason=None, **NULL),
        *(
            choice({"role": "assistant", "content": None, "tool_calls": [
                {"index": 0, "type": "function", "function": {"arguments": part}}]}, native_finish_reason=None, **NULL)
            for part in ARGUMENTS
        ),
        choice({"role": "assistant", "content": ""}, finish_reason="tool_calls", native_finish_reason="tool_calls"),
        head='{"id":"gen-1","provider":"P","model":"m","object":"chat.completion.chunk","created":1760000000,',
    ) + b": OPENROUTER PROCESSING\n\n" + spoken(
        choice({"role": "assistant", "content": ""}, native_finish_reason=None, **NULL),
        head='{"id":"gen-1","provider":"P","model":"m","object":"chat.completion.chunk","created":1760000000,',
        tail=',"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"cost":0.00012}',
    ) + DONE,
    "groq": spoken(
        choice({"role": "assistant", "content": None}, logprobs=None, **NULL),
        called({**CALLED, "index": 0}, {**CALLED, "index": 1, "id": "call_2"}, logprobs=None, **NULL),
        choice({}, logprobs=None, finish_reason="tool_calls"),
        head=IDS, tail=',"x_groq":{"id":"req_1"}',
    ) + DONE,
    "together": spoken(
        choice({"token_id": 4, "role": "assistant", "content": "", "tool_calls": None}, text="", seed=None, **NULL),
        choice({"token_id": 5, "role": "assistant", "content": "Hi"}, text="Hi", logprobs=None, **NULL),
        choice({"role": "assistant", "content": "", "tool_calls": [{**CALLED, "index": 0}]}, text="", **NULL),
        choice({"role": "assistant", "content": ""}, finish_reason="tool_calls", text="", seed=7),
        head=IDS, tail=',"usage":null',
    ) + DONE,
    "fireworks": spoken(
        choice({"role": "assistant"}, **NULL),
        called(OPENING, **NULL),
        *(called({"index": 0, "function": {"arguments": part}}, **NULL) for part in ARGUMENTS),
        choice({}, finish_reason="tool_calls"),
        head=IDS, tail=',"usage":{"prompt_tokens":9,"total_tokens":12,"completion_tokens":3}',
    ) + DONE,
    "gemini": spoken(
        choice({"role": "assistant", "content": "Hi"}),
        choice({"role": "assistant", "tool_calls": [
            {"extra_content": {"google": {"thought_signature": "CiQB"}}, "index": 0, "id": "call_1", "type": "function",
             "function": {"arguments": '{"description":"x"}', "name": "task"}}]}),
        choice({"role": "assistant"}, finish_reason="tool_calls"),
        head='{"created":1760000000,"id":"x","model":"m","object":"chat.completion.chunk",',
        tail=',"usage":{"completion_tokens":3,"prompt_tokens":9,"total_tokens":12}',
    ) + DONE,
    "deepseek": spoken(
        choice({"role": "assistant", "content": None, "reasoning_content": ""}, logprobs=None, **NULL),
        choice({"content": None, "reasoning_content": "Hm"}, logprobs=None, **NULL),
        choice({"content": "Hi", "reasoning_content": None}, logprobs=None, **NULL),
        called(OPENING, logprobs=None, **NULL),
        *(called({"index": 0, "function": {"arguments": part}}, logprobs=None, **NULL) for part in ARGUMENTS),
        choice({"content": "", "reasoning_content": None}, logprobs=None, finish_reason="tool_calls"),
        head=IDS, tail=',"system_fingerprint":"fp"',
    ) + b": keep-alive\n\n" + DONE,
    "mistral": spoken(
        choice({"role": "assistant", "content": ""}, **NULL),
        choice({"content": "", "tool_calls": [
            {"id": "VvvODy9mT", "function": {"name": "task", "arguments": '{"description": "x"}'}, "index": 0, "type": "function"},
            {"id": "WvvODy9mT", "function": {"name": "task", "arguments": "{}"}, "index": 1, "type": "function"}]},
            finish_reason="tool_calls"),
        head=IDS, tail=',"p":"abcdef"',
    ) + DONE,
    "dashscope": spoken(
        choice({"content": "", "role": "assistant"}, **NULL),
        called({"function": {"arguments": "", "name": "task"}, "index": 0, "id": "call_1", "type": "function"}, **NULL),
        *(called({"function": {"arguments": p}, "index": 0, "type": "function"}) for p in ARGUMENTS),
        choice({"content": ""}, finish_reason="tool_calls"),
        head=IDS, tail=',"service_tier":null',
    ) + DONE,
    "interleaved calls": stream([
        {"tool_calls": [OPENING, {**OPENING, "index": 1, "id": "call_2"}]},
        more('{"a', 1), more('{"b'), {"tool_calls": [*more('": 1}')["tool_calls"], *more('": 2}', 1)["tool_calls"]]},
    ], finish="tool_calls"),
    "two choices": b"".join(
        event(choices(*({"index": n, "delta": delta, "finish_reason": None} for n in range(2))))
        for delta in (HI, {"tool_calls": [OPENING]}, *(more(part) for part in ARGUMENTS))
    ) + event(chunk({}, "tool_calls", 1)) + event(chunk({}, "tool_calls", 0)) + DONE,
    "text and finish in one chunk": event(chunk(HI, "stop")) + DONE,
    "an unknown reason": event(chunk(HI)) + event(chunk({}, "enough")) + DONE,
    "an error in a choice": event(chunk(HI)) + event(choices(choice({}, finish_reason="error", error={"code": 502}))),
    "completions of the older kind": spoken({"index": 0, "text": "Hi", "finish_reason": None}, head='{"id":"c",') + DONE,
    "blanks around arguments": stream([first(f"\n{CITY}\n")], finish="tool_calls"),
    "arguments that are broken JSON": stream([first('{"city": Beijing'), more(" }")], finish="length"),
    "a call that is cut off": stream([first('{"city": "Bei')], finish="length"),
    "a cut stream": stream([first('{"city": "Bei')], finish=None).removesuffix(DONE),
}  # fmt: skip


