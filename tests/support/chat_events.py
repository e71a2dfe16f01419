"""Events of Chat Completions chunks."""

from typing import Any

import pytest

from tests.patterns.irregular import CITY
from tests.support.streams import chunk, event
from toolmend.apis.chat.codec import Chat
from toolmend.apis.codec import Reply
from toolmend.core import tools
from toolmend.core.events import Event
from toolmend.core.sse import SseDecoder


def entry(arguments: Any = CITY, **more: Any) -> dict[str, Any]:
    return {"id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": arguments}, **more}


ROLE = chunk({"role": "assistant"})


def told(data: list[Any]) -> list[Event]:
    """The events of a stream, which is regular."""
    codec = Chat(Reply(tools.UNKNOWN, lambda: "call_0", pytest.fail))
    frames = [codec.decode(sse) for sse in SseDecoder().feed(b"".join(map(event, data)))]
    assert b"".join(map(codec.encode, frames)) == b"".join(map(event, data))
    return [each for frame in frames for each in frame.events]


def detail(text: str, **rest: Any) -> dict[str, Any]:
    return {"type": "reasoning.text", "text": text, "index": 0, **rest}


def thought(text: str, **rest: Any) -> dict[str, Any]:
    return {"reasoning_details": [detail(text, **rest)]}
