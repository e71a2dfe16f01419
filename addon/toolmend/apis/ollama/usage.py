"""Token counts of Ollama, in the last line of an answer.

{"done": true, "prompt_eval_count": 26, "eval_count": 9}
"""

from collections.abc import Mapping
from typing import Any

from ...core.events import Usage
from ..shared.numbers import count


def read_usage(chunk: Mapping[str, Any]) -> Usage | None:
    """The token counts of a line; None if it has none."""
    if "eval_count" not in chunk and "prompt_eval_count" not in chunk:
        return None
    return Usage(count(chunk.get("prompt_eval_count")), count(chunk.get("eval_count")))
