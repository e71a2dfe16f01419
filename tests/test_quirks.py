"""quirks.py: what each upstream takes, by API, host and model."""

import re
from dataclasses import fields
from typing import Any

import pytest

from toolmend.requests.efforts import nearest, of_budget
from toolmend.requests.quirks import ROWS, Quirks, quirks_for
from toolmend.requests.tool_ids import STYLES

# API, host, model, what it takes
TABLE: list[tuple[str, str, str, dict[str, Any]]] = [
    ("chat", "", "", {}),
    ("chat", "llm.example.com", "some-model", {"max_tokens_field": "max_tokens", "parts": False, "replay": "reasoning_content", "stops": None}),
    ("chat", "api.openai.com", "gpt-4o", {"stops": 4, "max_tokens_field": "max_tokens", "temperature": True, "replay": "", "thinking": ""}),
    ("chat", "API.OpenAI.com:443", "GPT-4o", {"stops": 4, "parts": True}),
    ("chat", "api.openai.com", "gpt-5-mini", {"max_tokens_field": "max_completion_tokens", "temperature": False, "efforts": ("minimal", "low", "medium", "high")}),
    ("chat", "api.openai.com", "gpt-5-chat-latest", {"temperature": True, "thinking": "", "max_tokens_field": "max_completion_tokens"}),
    ("chat", "api.openai.com", "gpt-5.2", {"efforts": ("none", "low", "medium", "high", "xhigh")}),
    ("chat", "api.openai.com", "o4-mini", {"max_tokens_field": "max_completion_tokens", "can_stop_thinking": False, "thinking": "reasoning_effort", "parallel": False}),
    ("chat", "my.openai.azure.com", "o3", {"max_tokens_field": "max_completion_tokens", "stops": 0}),
    ("chat", "openrouter.ai", "openai/gpt-5", {"max_tokens_field": "max_tokens", "thinking": "reasoning", "replay": "details", "cache_control": False}),
    ("chat", "openrouter.ai", "anthropic/claude-sonnet-4.5", {"cache_control": True, "top_k": True}),
    ("chat", "openrouter.ai", "google/gemini-3-pro", {"cache_control": True}),
    ("chat", "openrouter.ai", "moonshotai/kimi-k2.5", {"tool_id": "kimi", "replay": "details", "placeholder": None, "forced_choice": True}),
    ("chat", "api.moonshot.ai", "kimi-k2.5", {"tool_id": "kimi", "placeholder": " ", "forced_choice": False, "temperature": False, "thinking": "thinking"}),
    ("chat", "api.moonshot.cn", "kimi-k2-0905-preview", {"tool_id": "kimi", "placeholder": None, "forced_choice": True, "temperature": True}),
    ("chat", "api.moonshot.ai", "kimi-k2.7-code", {"can_stop_thinking": False}),
    ("chat", "llm.example.com", "/models/Kimi-K2-Instruct", {"tool_id": "kimi"}),
    ("chat", "api.deepseek.com", "deepseek-chat", {"placeholder": "", "stops": 16, "images": False, "forced_choice": True, "max_tokens": 8192}),
    ("chat", "api.deepseek.com", "deepseek-reasoner", {"forced_choice": False, "efforts": ("low", "high", "max")}),
    ("chat", "dashscope-intl.aliyuncs.com", "qwen3-max", {"thinking": "enable_thinking", "cache_control": True, "top_k": True}),
    ("chat", "api.mistral.ai", "devstral-2512", {"tool_id": "mistral", "replay": "", "user": False, "include_usage": False}),
    ("chat", "api.groq.com", "moonshotai/kimi-k2-instruct", {"tool_id": "kimi", "replay": "reasoning"}),
    ("chat", "localhost:11434", "qwen3:8b", {"replay": "reasoning", "top_k": True}),
    ("chat", "localhost:8000", "openai/gpt-oss-120b", {"thinking": "reasoning_effort", "max_tokens_field": "max_tokens"}),
    ("messages", "api.anthropic.com", "claude-opus-4-6", {"tool_id": "messages", "unsigned": False, "max_temperature": 1, "default_max_tokens": 64000, "one_sampler": True}),
    ("messages", "api.anthropic.com", "claude-sonnet-4-20250514", {"efforts": (), "default_max_tokens": 64000, "one_sampler": False}),
    ("messages", "api.anthropic.com", "claude-opus-4-20250514", {"efforts": (), "max_tokens": 32000}),
    ("messages", "api.anthropic.com", "claude-3-5-sonnet-20241022", {"default_max_tokens": 8192, "max_tokens": None}),
    ("messages", "bedrock-runtime.eu-central-1.amazonaws.com", "anthropic.claude-sonnet-4-5", {"unsigned": False, "system_inside": False}),
    ("messages", "api.moonshot.ai", "kimi-k2.5", {"unsigned": True, "tool_id": "messages", "forced_choice": True, "default_max_tokens": 8192}),
    ("responses", "api.openai.com", "gpt-5", {"custom_tools": True, "tool_id": "64", "temperature": False}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "host", "model", "expected"), TABLE, ids=[" ".join(row[:3]) for row in TABLE])
def test_quirks(api: str, host: str, model: str, expected: dict[str, Any]) -> None:
    quirks = quirks_for(api, host, model)
    assert {key: getattr(quirks, key) for key in expected} == expected


def test_nothing_is_known_of_an_upstream() -> None:
    assert quirks_for("chat", "", "") == Quirks()


def test_the_rows_are_sound() -> None:
    known = {field.name for field in fields(Quirks)}
    for row in ROWS:
        assert row.takes.keys() <= known
        assert set(row.apis) <= {"chat", "messages", "responses"}
        assert row.takes.get("tool_id", "any") in STYLES
        assert re.compile(row.takes.get("tool_name", "x"))
        assert all(glob == glob.lower() for glob in (*row.models, *row.hosts))


EFFORTS = [
    ("high", ("low", "medium", "high"), "high"),
    ("max", ("low", "medium", "high"), "high"),
    ("minimal", ("low", "medium", "high"), "low"),
    ("medium", ("low", "high", "max"), "high"),
    ("xhigh", ("low", "high", "max"), "max"),
    ("none", ("low", "high"), "low"),
    ("low", ("none", "medium"), "medium"),
    ("none", ("none", "low"), "none"),
    ("high", (), ""),
    ("high", ("none",), ""),
    ("extreme", ("low",), ""),
    ("", ("low",), ""),
]


@pytest.mark.parametrize(("effort", "efforts", "expected"), EFFORTS, ids=str)
def test_the_nearest_effort(effort: str, efforts: tuple[str, ...], expected: str) -> None:
    assert nearest(effort, efforts) == expected


def test_the_effort_of_a_budget() -> None:
    assert [of_budget(tokens) for tokens in (0, 2048, 2049, 16384, 16385)] == ["low", "low", "medium", "medium", "high"]
