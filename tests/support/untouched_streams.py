"""Streams that need nothing: each byte stays."""

from typing import Any

from tests.support.streams import META, chunk, event, stream, wrapped


def native(*deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"tool_calls": entries} for entries in deltas]


UNTOUCHED = {
    "prose": stream(["Hello ", "world"]),
    "almost markers": stream(["a <", "b>", " <|tool_", "call", " <|", "<", "|tool_call_begin|> x", "<|tool_calls_section_beg"]),
    "a lone marker at the end": stream(["so: <|tool_call_begin"]),
    "crlf": stream(["a <", "b"], newline="\r\n"),
    "cr": stream(["a <", "b"], newline="\r"),
    "unknown fields, key order, odd spacing": b'data:  {"choices" : [ {"delta":{"content":"x <","role":"assistant", "x":1e400},'
    b'"index":0 , "y":{"z":[1.10]}}],"id":"1","object":"o","model":"m","created":1}\n\n' * 2,
    "comments": b": OPENROUTER PROCESSING\n\n" + stream(["a"]) + b": bye\n\n",
    "no JSON": event("oops") + stream(["a"]) + event("[1, 2]") + event('"x"') + event("{"),
    "events with names and ids": b"event: message\nid: 3\n" + stream(["a"]),
    "no blank lines": stream(["a <", "b"]).replace(b"\n\n", b"\n"),
    "events in events": wrapped(stream(["a <", "b"])),
    "an event without end": stream(["a"]) + b"data: {",
    "native calls": stream(
        native(
            [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": ""}}],
            [{"index": 0, "function": {"arguments": '{"city": '}}],
            [{"index": 0, "function": {"arguments": '"<|tool_call_begin|>"}'}}],
            [{"index": 1, "id": "call_2", "type": "function", "function": {"name": "task", "arguments": "{}"}, "x": 1}],
        ),
        finish="tool_calls",
    ),
    "nulls that many providers send": stream(
        [
            {"content": None, "reasoning_content": "thinking <", "tool_calls": None},
            {"content": "", "reasoning_content": None, "function_call": None, "tool_calls": []},
            {"content": "x", "reasoning": "", "refusal": None},
        ]
    ),
    "an error": stream([]) + event({"error": {"message": "overloaded", "code": 529}}),
    "usage on each chunk": b"".join(event({**chunk({"role": "assistant", "content": c}), "usage": {"prompt_tokens": 1}}) for c in "ab<c"),
    "no choices, nothing": event({**META, "choices": []}) + event({}),
    "deep and huge": event("[" * 100_000) + event('{"a":' + "9" * 5000 + "}"),
    "bytes that are no utf-8": event(chunk({"role": "assistant", "content": "~"})).replace(b"~", b"\xff\xfe"),
}
