"""Why an answer ended, in the words of Chat Completions: stop, length, tool_calls, content_filter, and error for none of these.

Rule of this file: a word stands here if a provider has it in its documentation or sends it, and means one of them by it; whatever
else a provider says is its own. Beside Anthropic's, Cohere's and Gemini's words, which gateways pass on, there are those of
DeepSeek (insufficient_system_resource), GLM (sensitive, network_error), Mistral (model_length), Together (eos), TGI (eos_token),
local servers (end: pi#2116), and of vLLM and SGLang (abort).
"""

_WORDS = {
    "stop": ("complete", "end", "end_turn", "eos", "eos_token", "pause_turn", "stop_sequence"),
    "length": ("max_output_tokens", "max_tokens", "model_context_window_exceeded", "model_length"),
    "tool_calls": ("tool_call", "tool_use"),
    "content_filter": ("prohibited_content", "recitation", "refusal", "safety", "sensitive"),
    "error": ("abort", "insufficient_system_resource", "network_error"),
}
_MEANT = {word: reason for reason, words in _WORDS.items() for word in (reason, *words)}


def meant(word: str) -> str | None:
    """What a word means, in whatever case it is written; None where that is not known."""
    return _MEANT.get(word.lower())
