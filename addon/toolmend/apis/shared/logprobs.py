"""Log probabilities of tokens, in the form that Chat Completions and Responses share.

{"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": [{"token": "Hi", "logprob": -0.1, "bytes": [72, 105]}]}
"""

from collections.abc import Mapping
from typing import Any

INCLUDED = "message.output_text.logprobs"
"""The value of `include` that requests them from Responses."""


def wants_logprobs(request: Mapping[str, Any]) -> bool:
    """Whether a request of Chat Completions or Responses asks for log probabilities."""
    include = request.get("include")
    return request.get("logprobs") is True or (isinstance(include, list) and INCLUDED in include)


def tokens_in(value: Any) -> tuple[Mapping[str, Any], ...]:
    """The tokens in a list of an answer; other entries are skipped."""
    return tuple(token for token in value if isinstance(token, dict)) if isinstance(value, list) else ()
