"""Token counts, errors and stop sequences of Chat Completions: reading and writing them.

    {"error": {"message": "…", "type": "…", "param": null, "code": 429}}          instead of choices, or next to them
    {"choices": [{"error": {"code": 502, "message": "…"}, "finish_reason": "error", …}]}     OpenRouter

Providers agree on little here; what is missing counts as 0.
"""

from collections.abc import Mapping
from typing import Any

from ...core.events import Event, Finish, StreamError, Usage
from ..shared.error_words import error_in, stream_error
from ..shared.numbers import count
from .chunk_form import usage_of_types


def chunk_usage(chunk: Mapping[str, Any]) -> Usage | None:
    """The token counts of a chunk: at its top, in a choice (Moonshot) or in `x_groq` (Groq)."""
    choices = chunk.get("choices")
    places = [choice.get("usage") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    if isinstance(own := chunk.get("x_groq"), dict):
        places.append(own.get("usage"))
    counts = (usage_of_types(usage) for usage in (chunk.get("usage"), *places))
    return next((read_usage(usage) for usage in counts if usage), None)


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Reads token counts by any of the names that providers use."""
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    prompt = prompt if isinstance(prompt, dict) else {}
    completion = completion if isinstance(completion, dict) else {}
    cached = prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    written = prompt.get("cache_write_tokens") or usage.get("cache_write_tokens") or usage.get("cache_creation_input_tokens")
    return Usage(
        count(usage.get("prompt_tokens")),
        count(usage.get("completion_tokens")),
        count(cached or usage.get("cache_read_input_tokens")),  # LiteLLM adds Anthropic's names
        count(written),
        count(completion.get("reasoning_tokens")),
        _searches(usage),
    )


def _searches(usage: Mapping[str, Any]) -> int:
    """Web searches, as OpenRouter, xAI and Perplexity count them."""
    named = (("server_tool_use_details", "web_search_requests"), ("server_side_tool_usage_details", "web_search_calls"))
    counts = [of.get(name) for member, name in named if isinstance(of := usage.get(member), dict)]
    return next(filter(None, map(count, (*counts, usage.get("num_search_queries")))), 0)


def errors_of(chunk: Mapping[str, Any], *, named: bool = False) -> list[StreamError]:
    """The errors of a chunk, in its choices or at its top. `named`: the SSE event is called `error`, so its data is one."""
    choices = chunk.get("choices")
    errors = [choice.get("error") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    errors = [error for error in errors if error] or [error_in(chunk) or (chunk if named else None)]
    return [stream_error(error, chunk) for error in errors if error]


def insert_errors(chunk: Mapping[str, Any], events: list[Event], *, failed: bool, named: bool) -> bool:
    """Inserts the errors of a chunk into its events: before a finish reason "error", otherwise at the end.

    A finish reason "error" without an error gets a generic one.

    Args:
        chunk: The chunk.
        events: Its events, changed in place.
        failed: An error was found in an earlier chunk.
        named: As for `errors_of`.

    Returns:
        Whether an error was found so far.
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
    """The stop sequence that ended the answer: vLLM's `stop_reason`, SGLang's `matched_stop`. A number there is a token id."""
    found = (choice.get(name) for name in ("stop_sequence", "stop_reason", "matched_stop"))
    return next((text for text in found if isinstance(text, str) and text), None)


def write_usage(usage: Usage) -> dict[str, Any]:
    """Token counts in OpenAI's form, and web searches in OpenRouter's."""
    searches = {"server_tool_use_details": {"web_search_requests": usage.searches}} if usage.searches else {}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        **searches,
    }
