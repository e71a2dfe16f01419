"""Finish reasons of all providers in the terms of Chat Completions: stop, length, tool_calls, content_filter; else error.

A word is listed if a provider documents or sends it with that meaning; any other word passes unchanged. Besides words of
Anthropic, Cohere and Gemini, which gateways pass on, there are those of DeepSeek (insufficient_system_resource), GLM
(sensitive, network_error), Mistral (model_length), Together (eos), TGI (eos_token), local servers (end: pi#2116), vLLM and
SGLang (abort).
"""

_WORDS = {
    "stop": ("complete", "end", "end_turn", "eos", "eos_token", "pause_turn", "stop_sequence"),
    "length": ("max_output_tokens", "max_tokens", "model_context_window_exceeded", "model_length"),
    "tool_calls": ("tool_call", "tool_use"),
    "content_filter": ("prohibited_content", "recitation", "refusal", "safety", "sensitive"),
    "error": ("abort", "insufficient_system_resource", "network_error"),
}
_REASONS = {word: reason for reason, words in _WORDS.items() for word in (reason, *words)}


def standard_reason(word: str) -> str | None:
    """The reason that a word of any case means; None if the word is unknown."""
    return _REASONS.get(word.lower())
