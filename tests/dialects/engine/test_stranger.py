"""A model of which nothing is known: what it surely calls is a call, what only looks like one stays as it is, byte for byte."""

import json
from typing import Any

import pytest

from tests.support.judges.chat import read
from tests.support.streams import request, stream
from toolmend.config.settings import Settings, parse
from toolmend.pipeline.dialect_choice import MAX_SEEN, SeenDialects, armed
from toolmend.pipeline.pipeline import Pipeline
from toolmend.providers.model_profiles import profile_for

READ = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["path"]}
TOOLS = [
    {"type": "function", "function": {"name": "read_file", "parameters": {**READ, "additionalProperties": False}}},
    {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}},
]
ENVELOPE = '{"name": "read_file", "arguments": {"path": "a.md"}}'
CODER = "<function=read_file>\n<parameter=path>\na.md\n</parameter>\n</function>"

CALLS = {
    "hermes": f"<tool_call>\n{ENVELOPE}\n</tool_call>",
    "hermes, behind text": f"Let me see.\n<tool_call>{ENVELOPE}</tool_call>\nDone.",
    "hermes, fenced within": f"<tool_call>\n```json\n{ENVELOPE}\n```\n</tool_call>",
    "hermes without its opener": f"Let me see.\n{ENVELOPE}\n</tool_call>",
    "qwen3_coder": f"Let me see.\n<tool_call>\n{CODER}\n</tool_call>",
    "qwen3_coder, bare": CODER,
    "qwen3_named": '<tool_call><function name="read_file"><parameter name="path">a.md</parameter></function></tool_call>',
    "glm": "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.md</arg_value>\n</tool_call>",
    "function": '<function=read_file>{"path": "a.md"}</function>',
    "tools": f"<tools>\n{ENVELOPE}\n</tools>",
    "object": ENVELOPE,
    "object, parameters": '{"name": "read_file", "parameters": {"path": "a.md"}}\n',
    "array": f"[{ENVELOPE}]",
    "fence": f"```json\n{ENVELOPE}\n```\n",
    "fence, array": f"```json\n[{ENVELOPE}]\n```",
    "python": '[read_file(path="a.md")]',
    "mistral": f"[TOOL_CALLS][{ENVELOPE}]",
    "mistral, new": '[TOOL_CALLS]read_file[ARGS]{"path": "a.md"}',
    "three blanks in front": f"1. So:\n   <tool_call>{ENVELOPE}</tool_call>",
}
NONE = {
    "within a line": f"Write <tool_call>{ENVELOPE}</tool_call> to call it.",
    "in a fence": f"As in:\n```xml\n<tool_call>{ENVELOPE}</tool_call>\n```\n",
    "in a span": f"`<tool_call>{ENVELOPE}</tool_call>`",
    "indented code": f"As in:\n\n    <tool_call>{ENVELOPE}</tool_call>\n",
    "in a quotation": f"> <tool_call>{ENVELOPE}</tool_call>",
    "in a list": f"- <tool_call>{ENVELOPE}</tool_call>",
    "without its end": f"<tool_call>\n{ENVELOPE}\n",
    "cut off": '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.',
    "qwen3_coder without its end": f"<tool_call>\n{CODER}\n",
    "qwen3_coder, cut off": "<tool_call>\n<function=read_file>\n<parameter=path>\na.md",
    "glm without its end": "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.md</arg_value>\n",
    "a brace is missing": f"<tool_call>{ENVELOPE[:-1]}</tool_call>",
    "an object without its last brace": ENVELOPE[:-1],
    "a name that is not offered": f"<tool_call>{ENVELOPE.replace('read_file', 'delete_file')}</tool_call>",
    "almost the name": f"<tool_call>{ENVELOPE.replace('read_file', 'Read_file')}</tool_call>",
    "a name with a prefix": f"<tool_call>{ENVELOPE.replace('read_file', 'functions.read_file')}</tool_call>",
    "what is required is missing": '<tool_call>{"name": "read_file", "arguments": {"limit": 3}}</tool_call>',
    "what is not declared": '<tool_call>{"name": "read_file", "arguments": {"path": "a", "mode": "r"}}</tool_call>',
    "a schema": '<tool_call>{"name": "get_time", "arguments": {"type": "object", "properties": {}}}</tool_call>',
    "a parameter that is not declared": f"<tool_call>\n{CODER.replace('=path', '=file')}\n</tool_call>",
    "an object, and text": f"{ENVELOPE}\nThat is what I would send.",
    "text, and an object": f"I would send this:\n{ENVELOPE}",
    "text, and a fence": f"I would send this:\n```json\n{ENVELOPE}\n```",
    "a fence, and text": f"```json\n{ENVELOPE}\n```\nThat is what I would send.",
    "a fence without its end": f"```json\n{ENVELOPE}\n",
    "data": '{"name": "read_file", "version": "1.0.0", "files": ["dist"]}',
    "python, and text": '[read_file(path="a.md")] is how it is called.',
}


def play(text: str, size: int, *, model: str = "my-model", host: str = "llm.example", **more: Any) -> tuple[Pipeline, bytes, bytes]:
    body = stream([text[at : at + size] for at in range(0, len(text), size)])
    pipeline = Pipeline(request(*TOOLS, model=model), host=host, **more)
    return pipeline, body, pipeline.feed(body) + pipeline.close()


@pytest.mark.parametrize("size", [1, 9, 1000])
@pytest.mark.parametrize("name", CALLS)
def test_certain_calls_are_made(name: str, size: int) -> None:
    for model, host in (("coder", ""), ("claude-sonnet-4-5", "localhost:4000")):
        pipeline, _, out = play(CALLS[name], size, model=model, host=host)
        assert pipeline.error is None
        calls = read(out).only.calls
        assert [(call.name, json.loads(call.arguments)) for call in calls] == [("read_file", {"path": "a.md"})]
        assert "call>" not in read(out).only.content


@pytest.mark.parametrize("size", [1, 9, 1000])
@pytest.mark.parametrize("name", NONE)
def test_near_misses_stay_byte_for_byte(name: str, size: int) -> None:
    pipeline, body, out = play(NONE[name], size)
    assert (out, pipeline.rules) == (body, [])


@pytest.mark.parametrize(("model", "host"), [("gpt-5.5", "api.openai.com"), ("claude-sonnet-4-5", "api.anthropic.com")])
def test_makers_are_left_as_they_were(model: str, host: str) -> None:
    _, body, out = play(CALLS["hermes"], 9, model=model, host=host)
    assert out == body
    _, body, out = play(CALLS["hermes"], 9, model=model, host="gateway.example")
    assert out != body


def test_known_leaves_strangers_alone() -> None:
    settings = parse({"flows": "off", "dialects": "known"})
    assert (settings.dialects, settings.strangers) == (None, False)
    _, body, out = play(CALLS["hermes"], 9, settings=settings)
    assert out == body
    assert Settings().strangers
    names = [dialect.name for dialect in armed(None, profile_for("my-model", ""), known=True)]
    assert "hermes" not in names
    assert "kimi_k2" in names


def test_what_was_seen_is_looked_for_as_of_a_known_model() -> None:
    _, body, out = play(NONE["within a line"], 9)
    assert out == body
    _, _, out = play(NONE["without its end"], 9, seen=["hermes"])
    assert len(read(out).only.calls) == 1


def test_seen_dialects_are_kept_and_bounded() -> None:
    seen = SeenDialects()
    seen.learn("Host", "Model", ["kimi_k2", "finish_reason"])
    assert seen.of("host", "model") == ()
    seen.learn("Host", "Model", ["hermes"])
    seen.learn("host", "model", ["glm", "hermes"])
    assert seen.of("HOST", "model") == ("hermes", "glm")
    for number in range(MAX_SEEN):
        seen.learn("host", f"{number}", ["glm"])
    assert seen.of("host", "model") == ()


def test_calls_without_arguments() -> None:
    for text in (
        "<tool_call>\n<function=get_time>\n</function>\n</tool_call>",
        '<tool_call>{"name": "get_time", "arguments": {}}</tool_call>',
        "<tool_call>get_time\n</tool_call>",
    ):
        _, _, out = play(text, 7)
        assert [(call.name, call.arguments) for call in read(out).only.calls] == [("get_time", "{}")]


def test_two_calls_in_one_wrapper() -> None:
    second = CODER.replace("a.md", "b.md")
    _, _, out = play(f"<tool_call>\n{CODER}\n{second}\n</tool_call>", 7)
    assert [json.loads(call.arguments)["path"] for call in read(out).only.calls] == ["a.md", "b.md"]
