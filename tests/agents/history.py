"""What a request of any API repeats of the conversation so far.

Rule of this file: it shares no code with toolmend.
"""

from collections.abc import Iterator, Mapping
from typing import Any


def results(body: Mapping[str, Any]) -> Iterator[str]:
    """The text of each result of a tool, in order."""
    for message in _messages(body):
        if message.get("role") == "tool":
            yield _text(message["content"])
        elif str(message.get("type")).endswith("_call_output"):
            yield _text(message["output"])
        for block in message.get("content") or () if isinstance(message.get("content"), list) else ():
            if block.get("type") == "tool_result":
                yield _text(block["content"])
        for part in message.get("parts") or ():
            if "functionResponse" in part:
                yield _text(list(part["functionResponse"]["response"].values()))


def said(body: Mapping[str, Any]) -> Iterator[str]:
    """The texts and the thoughts of the model, without its calls."""
    for message in _messages(body):
        if message.get("role") not in ("assistant", "model") and message.get("type") != "reasoning":
            continue
        yield from (str(message[name]) for name in ("reasoning_content", "reasoning") if message.get(name))
        for name in ("content", "parts", "summary"):
            value = message.get(name)
            if isinstance(value, str):
                yield value
            for part in value if isinstance(value, list) else ():
                yield from (str(part[word]) for word in ("text", "thinking") if part.get(word))


def _messages(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in ("messages", "input", "contents"):
        value = body.get(name)
        yield from (message for message in (value if isinstance(value, list) else ()) if isinstance(message, dict))


def _text(content: Any) -> str:
    """A text, or parts with one, as one text."""
    if isinstance(content, list):
        return "".join(part if isinstance(part, str) else str(part.get("text", "")) for part in content)
    return str(content)
