"""Streams made of deltas."""

import json
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

META = {"id": "c1", "object": "chat.completion.chunk", "created": 1760000000, "model": "kimi-k2.5"}


def tool(name: str, **properties: Any) -> dict[str, Any]:
    """A tool of a request."""
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


def request(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request that streams and offers tools."""
    messages = [{"role": "user", "content": "What is the weather in Beijing?"}]
    return {"model": META["model"], "stream": True, "messages": messages, "tools": list(tools), **more}


WEATHER = request(tool("get_weather", city={"type": "string"}), tool("task", description={"type": "string"}))


def event(data: Any, newline: str = "\n") -> bytes:
    """A server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"data: {text}{newline}{newline}".encode()


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    """A chat.completion.chunk of one choice."""
    return {**META, "choices": [{"index": index, "delta": delta or {}, "finish_reason": finish}], **more}


def stream(
    deltas: Iterable[dict[str, Any] | str], *, finish: str | None = "stop", field: str = "content", newline: str = "\n"
) -> bytes:
    """A whole stream: role, a chunk per delta (a string is `field`'s; with choices it is the chunk), finish, usage, [DONE]."""
    usage = {**META, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}
    chunks: list[Any] = [chunk({"role": "assistant", "content": ""})]
    for delta in deltas:
        if isinstance(delta, str):
            chunks.append(chunk({field: delta}))
        else:
            chunks.append(delta if "choices" in delta else chunk(delta))
    if finish:
        chunks.append(chunk({}, finish))
    return b"".join(event(data, newline) for data in [*chunks, usage, "[DONE]"])


def body_of(pattern: Any, newline: str = "\n") -> bytes:
    """The stream of a pattern."""
    return stream(pattern.deltas, finish=pattern.finish, field=pattern.field, newline=newline)


def pieces(text: str, seed: int, sizes: Sequence[int] = (2, 8, 13, 21, 40)) -> list[str]:
    """The text in deltas of random sizes."""
    dice = random.Random(seed)
    out, at = [], 0
    while at < len(text):
        size = dice.choice(sizes)
        out.append(text[at : at + size])
        at += size
    return out


def play(make: Callable[[], Any], chunks: Iterable[bytes]) -> bytes:
    """What a pipeline makes of the chunks."""
    pipeline = make()
    out = b"".join([pipeline.feed(data) for data in chunks]) + pipeline.close()
    assert pipeline.error is None, pipeline.error
    return out


def wrapped(body: bytes) -> bytes:
    """Events whose data are events, as frameworks make them that are given whole ones."""
    events = body.removesuffix(b"\n\n").split(b"\n\n")
    return b"".join(b"".join(b"data: " + line + b"\r\n" for line in (*event.split(b"\n"), b"", b"")) + b"\r\n" for event in events)
