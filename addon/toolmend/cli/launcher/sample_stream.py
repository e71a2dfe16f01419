"""A leaked stream as a provider of Kimi K2 sends it: the demo and the doctor send it through a proxy to see it mended.

    delta.content  "Let me look that up."  "<|tool_calls_section_begin|>"  …      ─►  delta.tool_calls, finish_reason "tool_calls"

The client that folds the response uses the standard library only: toolmend's own decoders would prove nothing about themselves.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

PATH = "/v1/chat/completions"
MODEL = "kimi-k2-instruct"
MESSAGES: Any = [{"role": "user", "content": "What is the weather in Beijing?"}]
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather in a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
REQUEST: dict[str, Any] = {"model": MODEL, "messages": MESSAGES, "tools": TOOLS, "stream": True}

TOKENS = (
    "Let me", " look", " that up.", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", " functions", ".get_weather",
    ":", "0", "<|tool_call_argument_begin|>", ' {"', "city", '": "', "Beijing", '"}', "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
)  # fmt: skip
"""The tokens of a tool call in a model's markup, as a provider that does not parse it sends them in the text."""


@dataclass
class SampleCall:
    """A tool call, folded from its deltas."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class SampleAnswer:
    """What a client has received when the stream ends."""

    content: str = ""
    calls: dict[int, SampleCall] = field(default_factory=dict)
    finish_reason: str | None = None


EXPECTED = SampleAnswer(
    "Let me look that up.", {0: SampleCall("functions.get_weather:0", "get_weather", '{"city": "Beijing"}')}, "tool_calls"
)


def events(tokens: Sequence[str] = TOKENS) -> list[bytes]:
    """Returns the provider's stream: the call is in the text, and the finish reason is that of a text."""
    head = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 1760000000, "model": MODEL}
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": token}, None) for token in tokens]
    deltas += [({}, "stop")]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    usage = {"prompt_tokens": 62, "completion_tokens": len(tokens), "total_tokens": 62 + len(tokens)}
    data = [json.dumps(chunk) for chunk in [*chunks, {**head, "choices": [], "usage": usage}]]
    return [f"data: {text}\n\n".encode() for text in [*data, "[DONE]"]]


def fold(lines: Iterable[bytes]) -> SampleAnswer:
    """Folds the lines of a stream. Raises ValueError, LookupError, TypeError or AttributeError if they are not one."""
    answer = SampleAnswer()
    for line in lines:
        name, _, data = line.strip().partition(b":")
        if name != b"data" or data.strip() == b"[DONE]":
            continue
        for choice in json.loads(data)["choices"]:
            answer.content += choice["delta"].get("content") or ""
            answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
            for delta in choice["delta"].get("tool_calls") or ():
                call, function = answer.calls.setdefault(delta["index"], SampleCall()), delta.get("function") or {}
                call.id += delta.get("id") or ""
                call.name += function.get("name") or ""
                call.arguments += function.get("arguments") or ""
    return answer
