"""Streams in any order of everything that was ever seen."""

import json
from typing import Any

from tests.patterns.kimi import ONE
from tests.patterns.qwen import H
from tests.support import legal_streams
from tests.support.streams import META, chunk, event


def entry(index: Any, id_: Any, name: Any, arguments: Any) -> dict[str, Any]:
    return chunk({"tool_calls": [{"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}]})


CHAT: list[Any] = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Hi "}),
    chunk({"content": "日本"}),
    chunk({"content": ONE}),
    chunk({"content": ONE[:40]}),
    chunk({"content": ONE[40:]}),
    chunk({"content": H}),
    chunk({"content": "<think>"}),
    chunk({"content": "</think>"}),
    chunk({"reasoning_content": "Hm"}),
    chunk({"reasoning": "So"}),
    chunk({"reasoning_details": [{"type": "reasoning.text", "text": "Oh", "index": 0}]}),
    chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "blob", "index": 1}]}),
    chunk({"refusal": "No."}),
    entry(0, "call_a", "get_weather", ""),
    entry(0, None, None, '{"city":'),
    entry(0, None, None, '"Beijing"}'),
    entry(0, None, None, "{}"),
    entry(1, "call_b", "task", "{}"),
    entry(1, "call_b", "task", ""),
    entry(1, "call_a", "task", "{}"),
    entry(None, "call_c", "task", {"a": 1}),
    entry(3, "", "get_", None),
    entry(3, None, "weather", ""),
    chunk({"function_call": {"name": "task", "arguments": "{"}}),
    chunk({"function_call": {"arguments": "}"}}),
    chunk({}, "stop"),
    chunk({}, "tool_calls"),
    chunk({}, "length"),
    chunk({"content": "x"}, "eos"),
    {**META, "choices": []},
    {**META, "choices": [{"index": 0, "delta": None}]},
    chunk({"content": "other"}, index=1),
    {**META, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 20}}},
    {**META, "choices": [], "usage": {"prompt_tokens": None}},
    {"error": {"message": "gone"}},
    "[DONE]",
    "nothing",
    {"object": "ping"},
    [],
    None,
]
MESSAGES: list[Any] = [
    *legal_streams.messages(legal_streams.thinking("Hm", signature="s"), legal_streams.text("Hi ", "there"), legal_streams.tool("call_a", "task", "{", "}"), stop="tool_use"),
    *({**each, "index": 1} for each in legal_streams.tool("call_a", "get_weather", '{"city":', '"x"}')),
    *({**each, "index": 0} for each in legal_streams.text(ONE[:50], ONE[50:], H)),
    *({**each, "index": 7} for each in legal_streams.redacted("blob")),
    {"type": "content_block_delta", "index": 2, "delta": None},
    {"type": "content_block_start", "index": None, "content_block": {}},
    {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": None},
    legal_streams.broken(),
    {"type": "what"},
    "nothing",
]
RESPONSES: list[Any] = [
    *legal_streams.responses(legal_streams.think("Hm", encrypted="s"), legal_streams.say("Hi ", "there"), legal_streams.call("call_a", "task", "{", "}"), legal_streams.refuse("No.")),
    *legal_streams.responses(legal_streams.call("call_a", "get_weather", '{"city":', '"x"}'), legal_streams.say(ONE[:50], ONE[50:]), status="incomplete"),
    *legal_streams.responses(legal_streams.custom("call_p", "task", "***", "x"), status="failed"),
    {"type": "response.output_item.added", "output_index": 0, "item": None},
    {"type": "response.output_text.delta", "delta": None},
    {"type": "error", "message": "gone"},
    {"type": "what"},
    "nothing",
]
WILD = {"chat": CHAT, "messages": MESSAGES, "responses": RESPONSES}


def body_of(source: str, order: list[Any]) -> bytes:
    if source == "chat":
        return b"".join(event(each) for each in order)
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() if isinstance(each, dict) else event(each) for each in order)
