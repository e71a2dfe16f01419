"""A provider of Kimi K2 that speaks Chat Completions and nothing else, and leaks its calls as text.

To a request whose last message is no tool result it answers with a call of the agent's shell, as markup in the content;
to a tool result with a sentence that quotes it. It keeps every request.
"""

import json
from collections.abc import Mapping
from typing import Any

from toolmend.upstream import Request, Script

KEY = "sk-the-providers-own-key"
"""What the route has for this provider."""

COMMAND = "echo mended > proof.txt && cat proof.txt"
"""What the agent is to run in its working directory."""

SHELLS: Mapping[str, Mapping[str, Any]] = {
    "Bash": {"command": COMMAND, "description": "Write the proof"},
    "exec_command": {"cmd": COMMAND},
    "shell_command": {"command": COMMAND},
    "shell": {"command": ["bash", "-c", COMMAND]},
}
"""The shells of the agents, by name, with the arguments of a call."""


def answer(request: Request) -> Script:
    """The next answer of the conversation."""
    if not request.path.endswith("/v1/chat/completions"):
        return Script(((0, b'{"error": {"message": "only chat is spoken here"}}'),), 404, (("content-type", "application/json"),))
    body = json.loads(request.body)
    names = [tool["function"]["name"] for tool in body.get("tools", ()) if tool.get("type") == "function"]
    shell = next((name for name in SHELLS if name in names), None)
    last = body["messages"][-1]
    results = [message for message in body["messages"] if message["role"] == "tool"]
    if results:
        result = results[-1]["content"]
        text = result if isinstance(result, str) else "".join(part.get("text", "") for part in result)
        return say(f"The shell says {'mended' if 'mended' in text else 'nothing'}, and that is all.", body)
    if shell is None or last["role"] != "user":
        return say("A title", body)
    call = (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{shell}:0<|tool_call_argument_begin|>"
        f"{json.dumps(SHELLS[shell])}<|tool_call_end|><|tool_calls_section_end|>"
    )
    return say(f"I will write the proof.{call}", body)


def say(text: str, body: Mapping[str, Any]) -> Script:
    """A text in small deltas, or a whole message where no stream is asked for."""
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "prompt_tokens_details": {"cached_tokens": 40}}
    meta = {"id": "chatcmpl-1", "created": 1760000000, "model": body.get("model", "")}
    if not body.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        whole = {**meta, "object": "chat.completion", "choices": [choice], "usage": usage}
        return Script(((0, json.dumps(whole).encode()),), headers=(("content-type", "application/json"),))
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces), {}]
    chunks = [
        {**meta, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}]}
        for delta in deltas
    ]
    chunks.append({**meta, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    data = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
    return Script(tuple((0.0, f"data: {line}\n\n".encode()) for line in data))
