"""usage.py: token counts of Chat Completions."""

import pytest

from toolmend.apis.chat.usage import read_usage
from toolmend.core.events import Usage

USAGE = {
    "openai": ({"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 1}}, Usage(9, 3, 4, 2, 1)),
    "deepseek": ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(9, 0, 4)),
    "moonshot": ({"prompt_tokens": 9, "cached_tokens": 4}, Usage(9, 0, 4)),
    "openrouter": ({"cache_write_tokens": 2}, Usage(cache_write_tokens=2)),
    "nonsense": ({"prompt_tokens": "9", "completion_tokens": -3, "prompt_tokens_details": 7, "completion_tokens_details": {"reasoning_tokens": True}}, Usage()),
}  # fmt: skip


@pytest.mark.parametrize("name", USAGE)
def test_usage(name: str) -> None:
    given, expected = USAGE[name]
    assert read_usage(given) == expected
