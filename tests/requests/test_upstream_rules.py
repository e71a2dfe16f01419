"""What providers document and their users report of models and hosts, against what a translated request holds.

The tables are written from those sources, apart from models_overlay.toml and request_limits.py: a fact that is wrong there fails here.
"""

import json
import re
from typing import Any

import pytest

from toolmend.requests import RequestError, translate

ASK = [{"role": "user", "content": "hi"}]
FUNCTION = {"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}
TOOL = {"name": "get", "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}}
FORCED: dict[str, Any] = {"tools": [TOOL], "tool_choice": {"type": "any"}}


def sent(client: str, api: str, host: str, model: str, **request: Any) -> Any:
    """The upstream's request. Raises RequestError."""
    given = {"model": "m", "max_tokens": 1000, "messages": ASK} if client == "messages" else {"model": "m", "messages": ASK}
    given = {"model": "m", "input": "hi"} if client == "responses" else given
    return json.loads(json.dumps(translate({**given, **request}, client, api, host=host, model=model).request))


def thinking(effort: str = "") -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}} | ({"output_config": {"effort": effort}} if effort else {})


# Claude: output limit, kinds of thinking (Enabled, Adaptive, Disabled, Between_tools), thinks unasked, effort words,
# sampling, prefill, forced tools, system messages inside; None: not known
CLAUDE: dict[str, tuple[int, str, bool, str, str, bool, bool | None, bool | None]] = {
    "claude-3-5-haiku-20241022": (8192, "", False, "", "all", True, True, False),
    "claude-3-7-sonnet-20250219": (64_000, "ED", False, "", "all", True, True, False),
    "claude-opus-4-20250514": (32_000, "ED", False, "", "all", True, True, False),
    "claude-opus-4-1-20250805": (32_000, "ED", False, "", "one", True, True, False),
    "claude-sonnet-4-20250514": (64_000, "ED", False, "", "all", True, True, False),
    "claude-sonnet-4-5": (64_000, "ED", False, "", "one", True, True, False),
    "claude-haiku-4-5": (64_000, "ED", False, "", "one", True, True, False),
    "claude-opus-4-5": (64_000, "ED", False, "lmh", "one", True, True, False),
    "claude-opus-4-6": (128_000, "EAD", False, "lmhM", "one", False, True, False),
    "claude-opus-4-7": (128_000, "AD", False, "lmhxM", "none", False, True, False),
    "claude-opus-4-8": (128_000, "AD", False, "lmhxM", "none", False, True, True),
    "claude-sonnet-5": (128_000, "AD", True, "lmhxM", "none", False, True, None),
    "claude-opus-5": (128_000, "AD", True, "lmhxM", "none", False, True, True),
    "claude-haiku-5-5": (128_000, "AD", True, "lmhxM", "none", False, True, True),
    "claude-sonnet-5-5": (128_000, "AB", True, "lmhxM", "none", False, False, True),
    "claude-opus-5-5": (128_000, "A", True, "lmhxM", "none", False, False, True),
    "claude-fable-5": (128_000, "A", True, "lmhxM", "none", False, True, True),
    "claude-mythos-5-2": (128_000, "A", True, "lmhxM", "none", False, False, True),
    "claude-opus-9": (128_000, "A", True, "lmhxM", "none", False, False, None),
}
LETTERS = {"l": "low", "m": "medium", "h": "high", "x": "xhigh", "M": "max"}


def claude(model: str, **request: Any) -> Any:
    return sent("chat", "messages", "api.anthropic.com", model, **request)


@pytest.mark.parametrize("model", CLAUDE)
def test_a_claude_gets_what_it_takes(model: str) -> None:
    most, kinds, thinks, letters, sampling, prefill, forced, inside = CLAUDE[model]
    assert claude(model)["max_tokens"] == claude(model, max_tokens=10**6)["max_tokens"] == most
    kept = {"all": {"temperature", "top_p"}, "one": {"temperature"}, "none": set()}[sampling]
    assert {"temperature", "top_p"} & claude(model, temperature=0.3, top_p=0.5).keys() == kept
    assert (claude(model, messages=[*ASK, {"role": "assistant", "content": "It is"}])["messages"][-1]["role"] == "assistant") == prefill
    choice = claude(model, tools=[FUNCTION], tool_choice="required").get("tool_choice", {}).get("type")
    assert forced is None or (choice == "any") == forced
    late = claude(model, messages=[*ASK, {"role": "assistant", "content": "a"}, *ASK, {"role": "system", "content": "s"}])["messages"]
    assert inside is None or (late[-1]["role"] == "system") == inside
    for effort in LETTERS.values():
        request = claude(model, reasoning_effort=effort, temperature=0.3)
        word, thought = request.get("output_config", {}).get("effort"), request.get("thinking", {})
        assert word in [LETTERS[letter] for letter in letters] if letters else word is None
        assert thought.get("type") == ("adaptive" if "A" in kinds else "enabled" if "E" in kinds else None)
        assert thought.get("type") != "enabled" or 1024 <= thought["budget_tokens"] < request["max_tokens"]
        assert not thought or "temperature" not in request
    off = claude(model, reasoning_effort="none").get("thinking", {}).get("type")
    assert off in (("between_tools",) if "B" in kinds else ("disabled",) if thinks and "D" in kinds else ("disabled", "adaptive", None))


# OpenAI: words for effort on Responses; what a request with tools has on Chat
OPENAI = {
    "gpt-4.1": ("", ""),
    "o3": ("low medium high", "any"),
    "gpt-5": ("minimal low medium high", "any"),
    "gpt-5-pro": ("high", ""),
    "gpt-5.1": ("none low medium high", "any"),
    "gpt-5.1-codex-max": ("low medium high xhigh", ""),
    "gpt-5.1-chat-latest": ("medium", ""),
    "gpt-5.4": ("none low medium high xhigh", "omit"),
    "gpt-5.5": ("none low medium high xhigh", "none"),
    "gpt-5.6-sol": ("none low medium high xhigh max", "none"),
    "gpt-6-astra": ("low medium high xhigh max", ""),
    "gpt-6.2-luna": ("low medium high xhigh max", ""),
}


@pytest.mark.parametrize("model", OPENAI)
def test_an_openai_model_gets_what_it_takes(model: str) -> None:
    words, beside = OPENAI[model][0].split(), OPENAI[model][1]
    for effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max"):
        word = sent("chat", "responses", "api.openai.com", model, reasoning_effort=effort).get("reasoning", {}).get("effort")
        assert word in words if word else not words or effort == "none"
        chat = sent("messages", "chat", "api.openai.com", model, **thinking(effort)).get("reasoning_effort")
        assert chat in (*words, None) and chat != "max"
    request = sent("messages", "chat", "api.openai.com", model, tools=[TOOL], **thinking("high"))
    effort = request.get("reasoning_effort")
    assert {"any": effort is not None, "omit": effort in ("none", None), "none": effort == "none"}.get(beside, True)
    assert "max_tokens" not in request
    assert bool(words and "none" not in words) <= ("temperature" not in sent("messages", "responses", "api.openai.com", model, temperature=0.3))


BEDROCK, VERTEX, FOUNDRY = "bedrock-runtime.us-east-1.amazonaws.com", "us-east5-aiplatform.googleapis.com", "x.services.ai.azure.com"
CACHED = [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]}]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "r"}, IMAGE]}
SEEN = {"type": "thinking", "thinking": "deep", "signature": "toolmend1.plain."}
HISTORY = [*ASK, {"role": "assistant", "content": [SEEN, {"type": "tool_use", "id": "t1", "name": "get", "input": {}}]}, {"role": "user", "content": [RESULT]}]
REF = {"name": "get", "input_schema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}}}

# client, API, host, model, the request's fields, and what is wanted: a path of the upstream's request and its value, ... for absent
HOSTS: list[tuple[str, str, str, str, dict[str, Any], dict[str, Any]]] = [
    ("chat", "messages", BEDROCK, "us.anthropic.claude-opus-5-v1:0", {"stream": True}, {"model": ..., "stream": ..., "anthropic_version": "bedrock-2023-05-31"}),
    ("chat", "messages", BEDROCK, "us.anthropic.claude-opus-4-7-v1:0", {"reasoning_effort": "max"}, {"output_config.effort": "xhigh"}),
    ("chat", "messages", BEDROCK, "us.anthropic.claude-opus-4-5-20251101-v1:0", {"reasoning_effort": "max"}, {"output_config.effort": "high"}),
    ("chat", "messages", BEDROCK, "us.anthropic.claude-opus-4-1-20250805-v1:0", {"messages": CACHED}, {"messages.0.content.0.cache_control": {"type": "ephemeral"}}),
    ("chat", "messages", VERTEX, "claude-opus-4-5@20251101", {"reasoning_effort": "high"}, {"output_config": ..., "anthropic_version": "vertex-2023-10-16"}),
    ("chat", "messages", VERTEX, "claude-opus-5", {"web_search_options": {}}, {"tools.0.type": "web_search_20250305"}),
    ("messages", "chat", "bedrock-mantle.us-east-1.api.aws", "openai.gpt-oss-120b", FORCED, {"tool_choice": "auto"}),
    ("messages", "chat", FOUNDRY, "mistral-large-3", {}, {"max_tokens": 1000, "max_completion_tokens": ...}),
    ("messages", "chat", "api.deepseek.com", "deepseek-v4-pro", thinking("medium"), {"reasoning_effort": "high"}),
    ("messages", "chat", "api.deepseek.com", "deepseek-v4-pro", FORCED, {"thinking.type": "disabled", "tool_choice": "required"}),
    ("messages", "chat", "api.deepseek.com", "deepseek-v4-pro", FORCED | thinking("high"), {"tool_choice": "auto"}),
    ("messages", "chat", "api.moonshot.ai", "kimi-k2.6", FORCED, {"thinking.type": "disabled"}),
    ("messages", "chat", "api.moonshot.ai", "kimi-k2.7-code", FORCED, {"tool_choice": "auto"}),
    ("messages", "chat", "api.moonshot.ai", "kimi-k3", thinking("medium"), {"reasoning_effort": "high", "thinking": ...}),
    ("messages", "chat", "api.z.ai", "glm-4.7", FORCED, {"tool_choice": "auto"}),
    ("messages", "chat", "api.z.ai", "glm-4.7", {"messages": HISTORY}, {"thinking": {"type": "enabled", "clear_thinking": False}, "messages.1.reasoning_content": "deep"}),
    ("messages", "chat", "api.z.ai", "glm-5.3", {"tools": [REF]}, {"tools.0.function.parameters.properties.a": {"type": "integer"}}),
    ("messages", "chat", "api.minimax.io", "MiniMax-M2.5", {}, {"reasoning_split": True}),
    ("messages", "chat", "api.cerebras.ai", "zai-glm-4.7", {"thinking": {"type": "disabled"}}, {"disable_reasoning": True}),
    ("messages", "chat", "api.cerebras.ai", "glm-5.3", thinking("medium"), {"reasoning_effort": "high"}),
    ("messages", "chat", "api.together.xyz", "zai-org/GLM-5", {"messages": HISTORY}, {"chat_template_kwargs": {"clear_thinking": False}}),
    ("messages", "chat", "api.together.xyz", "openai/gpt-oss-120b", {"thinking": {"type": "disabled"}}, {"reasoning_effort": "low"}),
    ("messages", "chat", "localhost:8000", "Qwen/Qwen3.5-27B", {"thinking": {"type": "disabled"}}, {"chat_template_kwargs.enable_thinking": False, "reasoning_effort": ...}),
    ("messages", "chat", "localhost:1234", "qwen3-8b", FORCED | {"tool_choice": {"type": "tool", "name": "get"}}, {"tool_choice": "required"}),
    ("messages", "chat", "dashscope.aliyuncs.com", "qwen3-32b", thinking(), {"enable_thinking": False}),
    ("messages", "chat", "dashscope.aliyuncs.com", "qwen3-32b", {**thinking(), "stream": True}, {"enable_thinking": True}),
    *[("messages", "chat", host, "m", {"messages": HISTORY, "tools": [TOOL]}, {"messages.2.content": "r\n\n[image 1 of those shown below]"}) for host in ("api.mistral.ai", "generativelanguage.googleapis.com", "dashscope.aliyuncs.com")],
]


def at(node: Any, path: str) -> Any:
    """The value at a dotted path; ... where there is none."""
    for name in path.split("."):
        inside = isinstance(node, list) or (isinstance(node, dict) and name in node)
        node = (node[int(name)] if isinstance(node, list) else node[name]) if inside else ...
    return node


@pytest.mark.parametrize(("client", "api", "host", "model", "request_", "wanted"), HOSTS, ids=[f"{row[2]} {row[3]} {row[5]}" for row in HOSTS])
def test_a_host_gets_what_it_takes(client: str, api: str, host: str, model: str, request_: dict[str, Any], wanted: dict[str, Any]) -> None:
    request = sent(client, api, host, model, **request_)
    assert {path: at(request, path) for path in wanted} == wanted


def test_ids_fit_the_host() -> None:
    long = json.loads(json.dumps(HISTORY).replace("t1", "toolu_" + "x" * 90))
    for api, host, pattern in (("chat", "api.openai.com", ".{1,40}"), ("chat", "api.mistral.ai", "[a-zA-Z0-9]{9}"), ("responses", "api.openai.com", ".{1,64}")):
        request = sent("messages", api, host, "m", messages=long, tools=[TOOL])
        calls = [item["call_id"] for item in request.get("input", ()) if "call_id" in item]
        calls += [call["id"] for message in request.get("messages", ()) for call in message.get("tool_calls", ())]
        calls += [message["tool_call_id"] for message in request.get("messages", ()) if message["role"] == "tool"]
        assert len(calls) == 2 and len(set(calls)) == 1 and re.fullmatch(pattern, calls[0])


def test_a_request_that_no_upstream_takes_is_an_error() -> None:
    with pytest.raises(RequestError):
        sent("chat", "messages", "api.anthropic.com", "claude-opus-5", n=2)
