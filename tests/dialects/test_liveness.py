"""A long argument streams: how many characters of the text may come without anything for the client."""

import json

import pytest

from toolmend.pipeline.pipeline import Pipeline

TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}}}]
LONG = "lorem ipsum < dolor;\nif sit:\n    amet\n" * 60
IN_JSON = json.dumps(LONG)
CALLS = {
    "glm": ("z-ai/glm-4.6", f"<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>{LONG}</arg_value>\n</tool_call>"),
    "qwen3_coder": ("qwen3-coder", f"<tool_call>\n<function=read_file>\n<parameter=path>\n{LONG}\n</parameter>\n</function>\n</tool_call>"),
    "minimax_m2": ("minimax-m2", f'<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">{LONG}</parameter>\n</invoke>\n</minimax:tool_call>'),
    "dsml": ("deepseek-v3.2", f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">{LONG}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'),
    "seed": ("seed-oss-36b", f"<seed:tool_call>\n<function=read_file>\n<parameter=path>{LONG}</parameter>\n</function>\n</seed:tool_call>"),
    "hermes": ("qwen2.5-72b", f'<tool_call>\n{{"name": "read_file", "arguments": {{"path": {IN_JSON}}}}}\n</tool_call>'),
    "kimi_k2": ("kimi-k2", f'<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{{"path": {IN_JSON}}}<|tool_call_end|><|tool_calls_section_end|>'),
    "mistral": ("mistral-large", f'[TOOL_CALLS]read_file[ARGS]{{"path": {IN_JSON}}}'),
    "harmony": ("gpt-oss-120b", f'<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{{"path": {IN_JSON}}}<|call|>'),
}
HOSTS = [(name, host) for name in CALLS for host in ("openrouter.ai", "localhost") if (name, host) != ("minimax_m2", "localhost")]
"""Where nothing says that a host parses thoughts, the text of MiniMax may be one to its end: its template opens a thought."""

MOST = 512
"""Characters: the call's header, and MAX_VALUES of a value that a later one may replace, or DOUBT of a possible thought."""


def silence(model: str, text: str, host: str, step: int) -> int:
    """The most characters that came in a row without output. A call has to come out."""
    pipeline = Pipeline({"model": model, "stream": True, "messages": [{"role": "user", "content": "Go"}], "tools": TOOLS}, host=host)
    longest = quiet = 0
    out = b""
    for at in range(0, len(text), step):
        choice = {"index": 0, "delta": {"content": text[at : at + step]}, "finish_reason": None}
        event = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}
        sent = pipeline.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
        out += sent
        quiet = 0 if sent else quiet + step
        longest = max(longest, quiet)
    out += pipeline.close()
    assert b'"read_file"' in out
    return longest


@pytest.mark.parametrize("step", [4, 7])
@pytest.mark.parametrize("before", ["", "Let me see.\n"])
@pytest.mark.parametrize(("name", "host"), HOSTS)
def test_long_argument_streams(name: str, before: str, host: str, step: int) -> None:
    model, call = CALLS[name]
    assert silence(model, before + call, host, step) <= MOST
