"""build.py: what a pipeline is made of keeps nothing of the conversation, which may have a million tokens."""

import weakref

import pytest

from toolmend.pipeline.pipeline import Pipeline


class Turns(list[object]):
    """A list that tells when it is gone."""


@pytest.mark.parametrize(
    ("target", "name", "source"),
    [
        ("chat", "messages", "chat"),
        ("messages", "messages", "messages"),
        ("responses", "input", "responses"),
        ("gemini", "contents", "gemini"),
        ("ollama", "messages", "ollama"),
        ("chat", "messages", "messages"),
        ("messages", "messages", "chat"),
        ("responses", "input", "chat"),
    ],
)
def test_the_conversation_is_let_go(target: str, name: str, source: str) -> None:
    turns = Turns([{"role": "user", "parts": [{"text": "x"}]} if name == "contents" else {"role": "user", "content": "x"}])
    gone = weakref.ref(turns)
    tools = [
        {"type": "function", "name": "f", "function": {"name": "f"}, "input_schema": {}, "functionDeclarations": [{"name": "f"}]}
    ]
    request: dict[str, object] = {"model": "kimi-k2", "max_tokens": 9, "stream": True, "tools": tools, name: turns}
    pipeline = Pipeline(request, source=source, target=target)
    del turns, request
    assert gone() is None
    pipeline.feed(b"data: {}\n\n")
