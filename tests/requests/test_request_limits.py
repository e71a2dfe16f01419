"""request_limits.py: what each upstream takes, by API, host and model."""

import re
from dataclasses import fields
from typing import Any

import pytest

from toolmend.requests.request_limits import HOSTS, MODELS, Quirks, quirks_for
from toolmend.requests.tool_ids import STYLES

# API, host, model, what it takes
TABLE: list[tuple[str, str, str, dict[str, Any]]] = [
    ("chat", "", "", {}),
    ("chat", "llm.example.com", "some-model", {"max_tokens_field": "max_tokens", "parts": False, "replay": "reasoning_content", "stops": None}),
    ("chat", "api.openai.com", "gpt-4o", {"stops": 4, "max_tokens_field": "max_completion_tokens", "sampling": "all", "replay": "", "thinking": "", "max_tokens": 16384, "ends": "2027-01-14"}),
    ("chat", "API.OpenAI.com:443", "GPT-4o", {"stops": 4, "parts": True}),
    ("chat", "api.openai.com", "gpt-5-mini", {"max_tokens_field": "max_completion_tokens", "sampling": "none", "efforts": ("minimal", "low", "medium", "high"), "effort_with_tools": "any"}),
    ("chat", "api.openai.com", "gpt-5-chat-latest", {"sampling": "all", "thinking": "", "max_tokens_field": "max_completion_tokens"}),
    ("chat", "api.openai.com", "gpt-5.2", {"efforts": ("none", "low", "medium", "high", "xhigh"), "sampling": "at_none", "default_effort": "none"}),
    ("chat", "api.openai.com", "gpt-5.4", {"effort_with_tools": "omit"}),
    ("chat", "api.openai.com", "gpt-5.5-2026-04-01", {"effort_with_tools": "none", "default_effort": "medium"}),
    ("chat", "api.openai.com", "gpt-6-sol", {"efforts": ("none", "low", "medium", "high", "xhigh")}),
    ("responses", "api.openai.com", "gpt-6-sol", {"efforts": ("none", "low", "medium", "high", "xhigh", "max")}),
    ("responses", "api.openai.com", "gpt-9-new", {"efforts": ("low", "medium", "high", "xhigh", "max"), "sampling": "none", "max_tokens": 128000}),  # the newest member's
    ("chat", "api.openai.com", "gpt-9-new", {"efforts": ("low", "medium", "high", "xhigh"), "effort_with_tools": "never"}),
    ("chat", "api.openai.com", "o4-mini", {"max_tokens_field": "max_completion_tokens", "can_stop_thinking": False, "thinking": "reasoning_effort", "parallel": False}),
    ("chat", "my.openai.azure.com", "o3", {"max_tokens_field": "max_completion_tokens", "stops": 0}),
    ("chat", "openrouter.ai", "openai/gpt-5", {"max_tokens_field": "max_tokens", "thinking": "reasoning", "replay": "details", "cache_control": False}),
    ("chat", "openrouter.ai", "anthropic/claude-sonnet-4.5", {"cache_control": True, "top_k": True, "prefill": "yes"}),
    ("chat", "openrouter.ai", "google/gemini-3-pro", {"cache_control": True}),
    ("chat", "openrouter.ai", "moonshotai/kimi-k2.5", {"tool_id": "kimi", "replay": "details", "placeholder": "", "forced_choice": "always"}),
    ("chat", "api.moonshot.ai", "kimi-k2.5", {"tool_id": "kimi", "placeholder": " ", "forced_choice": "unless_thinking", "sampling": "none", "thinking": "thinking"}),
    ("chat", "api.moonshot.cn", "kimi-k2-0905-preview", {"tool_id": "kimi", "placeholder": "", "forced_choice": "always", "sampling": "all"}),
    ("chat", "api.moonshot.ai", "kimi-k2.7-code", {"can_stop_thinking": False, "forced_choice": "never"}),
    ("chat", "api.moonshot.ai", "kimi-k4", {"thinking": "reasoning_effort", "efforts": ("low", "high", "max")}),
    ("chat", "llm.example.com", "/models/Kimi-K2-Instruct", {"tool_id": "kimi"}),
    ("chat", "api.deepseek.com", "deepseek-chat", {"stops": 16, "images": False, "forced_choice": "always", "max_tokens": 8192}),
    ("chat", "api.deepseek.com", "deepseek-v4-pro", {"forced_choice": "unless_thinking", "efforts": ("low", "high", "max"), "needs_replay": True, "max_tokens": 393216}),
    ("chat", "dashscope-intl.aliyuncs.com", "qwen3-max", {"thinking": "enable_thinking", "cache_control": True, "top_k": True}),
    ("chat", "api.mistral.ai", "devstral-2512", {"tool_id": "mistral", "replay": "", "user": False, "include_usage": False}),
    ("chat", "api.groq.com", "moonshotai/kimi-k2-instruct", {"tool_id": "kimi", "replay": ""}),
    ("chat", "api.groq.com", "openai/gpt-oss-120b", {"replay": "reasoning", "thinking": "reasoning_effort"}),
    ("chat", "localhost:11434", "qwen3:8b", {"replay": "reasoning", "top_k": True}),
    ("chat", "localhost:8000", "openai/gpt-oss-120b", {"thinking": "reasoning_effort", "max_tokens_field": "max_tokens"}),
    ("messages", "api.anthropic.com", "claude-opus-4-6", {"tool_id": "messages", "unsigned": False, "max_temperature": 1, "default_max_tokens": 128000, "sampling": "one", "prefill": ""}),
    ("messages", "api.anthropic.com", "claude-sonnet-4-20250514", {"efforts": (), "default_max_tokens": 64000, "sampling": "all", "json_schema": False}),
    ("messages", "api.anthropic.com", "claude-opus-4-20250514", {"efforts": (), "max_tokens": 32000}),
    ("messages", "api.anthropic.com", "claude-3-5-sonnet-20241022", {"default_max_tokens": 8192, "max_tokens": 8192, "thinking_kinds": ()}),
    ("messages", "api.anthropic.com", "claude-sonnet-4-5", {"ends": "2026-11-30", "thinking_kinds": ("enabled", "disabled")}),
    ("messages", "api.anthropic.com", "claude-newest-9", {"thinking_kinds": ("adaptive",), "sampling": "none", "prefill": "", "forced_choice": "never", "max_tokens": 128000, "system_inside": True}),
    ("messages", "llm.example.com", "claude-opus-4-8", {"system_inside": False, "thinking_kinds": ("adaptive", "disabled")}),
    ("messages", "bedrock-runtime.eu-central-1.amazonaws.com", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", {"unsigned": False, "system_inside": False, "body": "bedrock"}),
    ("messages", "bedrock-runtime.eu-central-1.amazonaws.com", "anthropic.claude-opus-5", {"efforts": ("low", "medium", "high", "xhigh"), "strict": False}),
    ("messages", "us-east5-aiplatform.googleapis.com", "claude-opus-4-5@20251101", {"efforts": (), "body": "vertex", "strict": False}),
    ("messages", "api.moonshot.ai", "kimi-k2.5", {"unsigned": True, "tool_id": "messages", "default_max_tokens": 32000, "breakpoints": False}),
    ("messages", "api.minimax.io", "MiniMax-M3", {"default_max_tokens": 128000}),
    ("responses", "api.openai.com", "gpt-5", {"custom_tools": True, "tool_id": "64", "sampling": "none"}),
    ("responses", "chatgpt.com", "gpt-5.5", {"body": "codex", "developer": "only"}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "host", "model", "expected"), TABLE, ids=[" ".join(row[:3]) for row in TABLE])
def test_quirks(api: str, host: str, model: str, expected: dict[str, Any]) -> None:
    quirks = quirks_for(api, host, model)
    assert {key: getattr(quirks, key) for key in expected} == expected


def test_nothing_is_known_of_an_upstream() -> None:
    assert quirks_for("chat", "", "") == Quirks()


def test_the_rows_are_sound() -> None:
    known = {field.name for field in fields(Quirks)}
    for row in (*HOSTS, *MODELS):
        assert row.facts.keys() <= known
        assert set(row.apis) <= {"chat", "messages", "responses"}
        assert row.facts.get("tool_id", "any") in STYLES
        assert re.compile(row.facts.get("tool_name", "x"))
        assert all(glob == glob.lower() for glob in (*row.models, *row.hosts))
