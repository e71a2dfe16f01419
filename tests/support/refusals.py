"""Refusals of upstreams."""

from typing import Any

from toolmend.requests.refusal_rules import RefusedRequest
from toolmend.requests.request_limits import quirks_for

TOOL: dict[str, Any] = {"type": "function", "function": {"name": "get", "description": "d", "strict": True, "parameters": {"type": "object", "properties": {"a": {"type": "array", "minItems": 1, "items": {}}}}}}
CHAT: dict[str, Any] = {
    "model": "m-1",
    "messages": [
        {"role": "system", "content": "be short"},
        {"role": "user", "name": "ann", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ],
    "tools": [TOOL],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "max_tokens": 128000,
    "temperature": 0.2,
    "top_p": 0.9,
    "stop": ["a", "b", "c", "d", "e"],
    "seed": 7,
    "store": False,
    "user": "u" * 80,
    "metadata": {"k": "v"},
    "reasoning_effort": "xhigh",
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {"type": "object"}}},
    "stream": True,
    "stream_options": {"include_usage": True},
    "service_tier": "flex",
    "presence_penalty": 3.5,
    "logprobs": True,
}
MESSAGES: dict[str, Any] = {
    "model": "claude-x",
    "max_tokens": 128000,
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "1h", "scope": "global"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "tool_use", "id": "t1", "name": "get", "input": {"seed": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}]},
    ],
    "tools": [{"name": "get", "input_schema": {"type": "object", "properties": {"seed": {"type": "string", "format": "x"}}}, "strict": True, "defer_loading": True}],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 500},
    "output_config": {"effort": "max"},
    "temperature": 0.5,
    "top_k": 5,
    "service_tier": "auto",
    "context_management": {"edits": []},
    "metadata": {"user_id": "u"},
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-x",
    "instructions": "be short",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e", "status": None},
        {"type": "function_call", "call_id": "c1", "name": "get", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ],
    "tools": [{"type": "function", "name": "get", "parameters": {"type": "object", "properties": {}}, "strict": True}],
    "reasoning": {"effort": "minimal", "summary": "auto"},
    "text": {"verbosity": "low"},
    "max_output_tokens": 4,
    "truncation": "auto",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "k" * 80,
    "temperature": 1,
}
OF = {"chat": CHAT, "messages": MESSAGES, "responses": RESPONSES}


def asked(api: str, *, translated: bool = True) -> RefusedRequest:
    return RefusedRequest(OF[api], api, quirks_for(api, "", OF[api]["model"]), translated=translated)
