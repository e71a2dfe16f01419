"""Whether a request turns the model's thinking off, in any API's or server's form."""

from collections.abc import Mapping
from typing import Any

_OFF: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("reasoning_effort",), "none"),
    (("reasoning", "effort"), "none"),
    (("reasoning", "enabled"), False),
    (("thinking", "type"), "disabled"),
    (("enable_thinking",), False),
    (("chat_template_kwargs", "enable_thinking"), False),
    (("chat_template_kwargs", "thinking"), False),
    (("think",), False),
    (("generationConfig", "thinkingConfig", "thinkingBudget"), 0),
)
"""Members of a request, and their value that disables thinking: OpenAI, OpenRouter, Anthropic and DeepSeek, DashScope, vLLM and
SGLang (Qwen, GLM; DeepSeek, Kimi), Ollama, Gemini.
"""


def is_off(request: Mapping[str, Any]) -> bool:
    """Whether a request disables thinking."""
    return any(_member(request, path) == (type(off), off) for path, off in _OFF)


def _member(value: Any, path: tuple[str, ...]) -> tuple[type, Any]:
    """Returns type and value of a member: in Python, False equals 0."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return type(value), value
