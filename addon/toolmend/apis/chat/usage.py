"""What Chat Completions reports beside the answer: token counts, errors, the stop sequence; read, and written.

    {"error": {"message": "…", "type": "…", "param": null, "code": 429}}          instead of choices, or beside them
    {"choices": [{"error": {"code": 502, "message": "…"}, "finish_reason": "error", …}]}     OpenRouter

Rule of this file: providers agree on little here, so nothing is taken for granted; what is missing counts 0.
"""

from collections.abc import Mapping
from typing import Any

from ...core.events import Event, Finish, StreamError, Usage
from ..shared.counts import count
from ..shared.error_words import error_in, stream_error
from .chunk_form import usage_of_types


def usage_in(chunk: Mapping[str, Any]) -> Usage | None:
    """The token counts that a chunk tells, of itself or in a choice, as Moonshot does, or in a member of its own, as Groq."""
    choices = chunk.get("choices")
    told = [choice.get("usage") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    if isinstance(own := chunk.get("x_groq"), dict):
        told.append(own.get("usage"))
    counts = (usage_of_types(usage) for usage in (chunk.get("usage"), *told))
    return next((usage_of(usage) for usage in counts if usage), None)


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """The token counts, by whichever names a provider has for them."""
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    prompt = prompt if isinstance(prompt, dict) else {}
    completion = completion if isinstance(completion, dict) else {}
    cached = prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    written = prompt.get("cache_write_tokens") or usage.get("cache_write_tokens") or usage.get("cache_creation_input_tokens")
    return Usage(
        count(usage.get("prompt_tokens")),
        count(usage.get("completion_tokens")),
        count(cached or usage.get("cache_read_input_tokens")),  # LiteLLM has Anthropic's names beside
        count(written),
        count(completion.get("reasoning_tokens")),
        _searches(usage),
    )


def _searches(usage: Mapping[str, Any]) -> int:
    """Web searches, as OpenRouter, xAI and Perplexity count them."""
    named = (("server_tool_use_details", "web_search_requests"), ("server_side_tool_usage_details", "web_search_calls"))
    told = [of.get(name) for member, name in named if isinstance(of := usage.get(member), dict)]
    return next(filter(None, map(count, (*told, usage.get("num_search_queries")))), 0)


def errors_of(chunk: Mapping[str, Any], *, named: bool = False) -> list[StreamError]:
    """The errors that a chunk tells, in its choices or of itself.

    `named`: its event is called `error`, so it is one.
    """
    choices = chunk.get("choices")
    told = [choice.get("error") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    told = [error for error in told if error] or [error_in(chunk) or (chunk if named else None)]
    return [stream_error(error, chunk) for error in told if error]


def put_errors(chunk: Mapping[str, Any], events: list[Event], *, failed: bool, named: bool) -> bool:
    """Puts the errors of a chunk behind what it says, and in front of a finish reason "error", which is one if none was told.

    `failed`: whether one was told before; `named` as above. Returns whether one is now.
    """
    ends = (at for at, event in enumerate(events) if isinstance(event, Finish) and event.finish_reason == "error")
    at = next(ends, None)
    errors = errors_of(chunk, named=named)
    if at is not None and not (errors or failed):
        errors = [StreamError("error", "The upstream ended with an error.")]
    place = len(events) if at is None else at
    events[place:place] = errors
    return failed or bool(errors)


def stop_sequence_of(choice: Mapping[str, Any]) -> str | None:
    """The stop sequence that was met: vLLM's `stop_reason`, SGLang's `matched_stop`. There, a number is a token."""
    found = (choice.get(name) for name in ("stop_sequence", "stop_reason", "matched_stop"))
    return next((text for text in found if isinstance(text, str) and text), None)


def usage_as(usage: Usage) -> dict[str, Any]:
    """Token counts as OpenAI tells them, and web searches as OpenRouter does."""
    searches = {"server_tool_use_details": {"web_search_requests": usage.searches}} if usage.searches else {}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        **searches,
    }
