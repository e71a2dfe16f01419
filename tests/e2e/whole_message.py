"""A whole response with a leaked call."""

import json

from tests.support.streams import META


def message(content: str) -> bytes:
    """A whole answer, as a client gets that does not stream."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps(
        {**META, "object": "chat.completion", "choices": [choice], "vendor": {"b": 1.0}}, indent=1
    ).encode()
