"""What a Chat Completions chunk reports beside its choices: token counts, errors.

Rule of this file: providers agree on little here, so nothing is taken for granted; what is missing counts 0.
"""

from collections.abc import Mapping
from typing import Any

from ..events import StreamError, Usage


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """The token counts, by whichever names a provider has for them."""
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    prompt = prompt if isinstance(prompt, dict) else {}
    completion = completion if isinstance(completion, dict) else {}
    cached = prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    return Usage(
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _count(cached),
        _count(prompt.get("cache_write_tokens") or usage.get("cache_write_tokens")),
        _count(completion.get("reasoning_tokens")),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def error_of(error: Any) -> StreamError:
    """An `error` member of a chunk: an object, or whatever a provider puts there."""
    if not isinstance(error, dict):
        return StreamError("error", str(error))
    status = error.get("code")
    return StreamError(
        str(error.get("type") or "error"), str(error.get("message") or ""), status if isinstance(status, int) else 0
    )
