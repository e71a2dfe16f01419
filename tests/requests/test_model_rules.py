"""What hosts and models accept, rule by rule: a client's request, an upstream, and the members that go there.

Rows of the kinds that public reports show; support/strict_upstream.py holds the same facts as refusals.
"""

from typing import Any

import pytest

from toolmend.requests import translate

HI = [{"role": "user", "content": "Hi"}]
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
A_TOOL = {"name": "read", "input_schema": SCHEMA}
C_TOOL = {"type": "function", "function": {"name": "read", "parameters": SCHEMA}}
NAMED = {"type": "function", "function": {"name": "read"}}
MARK = {"type": "ephemeral"}
CLAUDE, OPENAI = "api.anthropic.com", "api.openai.com"
ADAPTIVE = {"thinking": {"type": "adaptive"}}


def effort(word: str) -> dict[str, Any]:
    return {**ADAPTIVE, "output_config": {"effort": word}}


# what it is, client, upstream, host, model, members of the request, members that go upstream (None: absent)
ROWS: list[tuple[str, str, str, str, str, dict[str, Any], dict[str, Any]]] = [
    # words for effort
    ("max of 5.1", "messages", "responses", OPENAI, "gpt-5.1", effort("max"), {"reasoning": {"effort": "high", "summary": "auto"}}),
    ("max of 6", "messages", "responses", OPENAI, "gpt-6-sol", effort("max"), {"reasoning": {"effort": "max", "summary": "auto"}}),
    ("max on chat", "messages", "chat", OPENAI, "gpt-6-sol", effort("max"), {"reasoning_effort": "xhigh"}),
    ("minimal of 5.1", "chat", "responses", OPENAI, "gpt-5.1", {"reasoning_effort": "minimal"}, {"reasoning": {"effort": "low"}}),
    ("off of astra", "chat", "responses", OPENAI, "gpt-6-astra", {"reasoning_effort": "none"}, {"reasoning": {"effort": "low"}}),
    ("only medium", "messages", "chat", OPENAI, "gpt-5.2-chat-latest", effort("high"), {"reasoning_effort": "medium"}),
    ("no effort to think with", "messages", "chat", OPENAI, "gpt-4.1", effort("high"), {"reasoning_effort": None}),
    ("thinking that is off by default", "messages", "responses", OPENAI, "gpt-5.2", ADAPTIVE, {"reasoning": {"effort": "medium", "summary": "auto"}}),
    ("grok without effort", "messages", "chat", "api.x.ai", "grok-4", effort("high"), {"reasoning_effort": None}),
    ("grok with effort", "messages", "chat", "api.x.ai", "grok-4.5", effort("max"), {"reasoning_effort": "high"}),
    ("gemini 3 pro", "messages", "chat", "generativelanguage.googleapis.com", "gemini-3-pro-preview", effort("medium"), {"reasoning_effort": "high"}),
    ("kimi k3", "messages", "chat", "api.moonshot.ai", "kimi-k3", effort("medium"), {"reasoning_effort": "high", "thinking": None}),
    ("kimi k2.6", "messages", "chat", "api.moonshot.ai", "kimi-k2.6", effort("medium"), {"reasoning_effort": None, "thinking": {"type": "enabled"}}),
    ("mistral", "messages", "chat", "api.mistral.ai", "mistral-medium-latest", ADAPTIVE, {"reasoning_effort": "high"}),
    ("bedrock's ceiling", "chat", "messages", "bedrock-runtime.us-east-1.amazonaws.com", "anthropic.claude-opus-5", {"reasoning_effort": "max"}, {"output_config": {"effort": "xhigh"}}),
    ("max of 5.3-codex", "messages", "responses", OPENAI, "gpt-5.3-codex", effort("max"), {"reasoning": {"effort": "xhigh", "summary": "auto"}}),
    ("low of a pro", "messages", "responses", OPENAI, "gpt-5.4-pro", effort("low"), {"reasoning": {"effort": "medium", "summary": "auto"}}),
    ("none of 5", "responses", "chat", OPENAI, "gpt-5", {"reasoning": {"effort": "none"}}, {"reasoning_effort": "minimal"}),
    ("one that nobody knows yet", "messages", "responses", OPENAI, "gpt-7", {**effort("max"), "temperature": 0.3}, {"reasoning": {"effort": "max", "summary": "auto"}, "temperature": None}),
    ("a Claude that nobody knows yet", "chat", "messages", "bedrock-runtime.eu-west-1.amazonaws.com", "eu.anthropic.claude-opus-9-v1:0", {"reasoning_effort": "max", "temperature": 0.2}, {"output_config": {"effort": "xhigh"}, "temperature": None, "model": None}),
    ("gemini 2.5 flash", "messages", "chat", "generativelanguage.googleapis.com", "gemini-2.5-flash", {"thinking": {"type": "disabled"}}, {"reasoning_effort": "none"}),
    ("qwen at Groq", "messages", "chat", "api.groq.com", "qwen/qwen3-32b", {"thinking": {"type": "disabled"}}, {"reasoning_effort": "none"}),
    ("a preview without its name", "messages", "chat", "generativelanguage.googleapis.com", "gemini-3.1-pro", {"max_tokens": 128000}, {"max_tokens": 65536}),
    ("Grok 4.7 on Responses", "messages", "responses", "api.x.ai", "grok-4.7", effort("xhigh"), {"reasoning": {"effort": "xhigh"}}),
    # effort beside tools
    ("5.4 with tools", "messages", "chat", OPENAI, "gpt-5.4", {**effort("high"), "tools": [A_TOOL]}, {"reasoning_effort": None}),
    ("5.5 with tools", "messages", "chat", OPENAI, "gpt-5.5", {"tools": [A_TOOL]}, {"reasoning_effort": "none"}),
    ("5.5 with tools on Responses", "messages", "responses", OPENAI, "gpt-5.5", {**effort("high"), "tools": [A_TOOL]}, {"reasoning": {"effort": "high", "summary": "auto"}}),
    ("5.2 with tools", "messages", "chat", OPENAI, "gpt-5.2", {**effort("high"), "tools": [A_TOOL]}, {"reasoning_effort": "high"}),
    ("astra with tools", "messages", "chat", OPENAI, "gpt-6-astra", {**effort("high"), "tools": [A_TOOL]}, {"reasoning_effort": None}),
    # thinking of Claude
    ("an effort turns it on", "chat", "messages", CLAUDE, "claude-opus-4-8", {"reasoning_effort": "high"}, {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}}),
    ("an effort is a budget", "chat", "messages", CLAUDE, "claude-haiku-4-5", {"reasoning_effort": "low", "max_tokens": 9000}, {"thinking": {"type": "enabled", "budget_tokens": 2048}, "output_config": None}),
    ("a budget is an effort", "chat", "messages", CLAUDE, "claude-sonnet-5", {"reasoning": {"max_tokens": 20000}}, {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}}),
    ("a budget stays one", "chat", "messages", CLAUDE, "claude-opus-4-6", {"reasoning": {"max_tokens": 2000}, "max_tokens": 9000}, {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
    ("a model that does not think", "chat", "messages", CLAUDE, "claude-3-5-haiku-20241022", {"reasoning_effort": "high"}, {"thinking": None, "output_config": None}),
    ("off", "chat", "messages", CLAUDE, "claude-opus-5", {"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}, "output_config": None}),
    ("off of a model that always thinks", "chat", "messages", CLAUDE, "claude-opus-5-5", {"reasoning_effort": "none"}, {"thinking": None, "output_config": {"effort": "low"}}),
    ("off but between tools", "chat", "messages", CLAUDE, "claude-sonnet-5-5", {"reasoning_effort": "none"}, {"thinking": {"type": "between_tools"}}),
    ("no summary is asked for", "responses", "messages", CLAUDE, "claude-opus-5", {"reasoning": {"effort": "high"}}, {"thinking": {"type": "adaptive"}}),
    ("of an older model", "responses", "messages", CLAUDE, "claude-sonnet-4-6", {"reasoning": {"effort": "high", "summary": "auto"}}, {"thinking": {"type": "adaptive"}}),
    # sampling
    ("none", "chat", "messages", CLAUDE, "claude-opus-4-7", {"temperature": 0, "top_p": 0.5, "top_k": 4}, {"temperature": None, "top_p": None, "top_k": None}),
    ("none of an unknown one", "chat", "messages", CLAUDE, "claude-new-9", {"temperature": 0}, {"temperature": None}),
    ("one of two", "chat", "messages", CLAUDE, "claude-sonnet-4-6", {"temperature": 0.2, "top_p": 0.5}, {"temperature": 0.2, "top_p": None}),
    ("while it thinks", "chat", "messages", CLAUDE, "claude-sonnet-4-5", {"temperature": 0.2, "reasoning_effort": "high"}, {"temperature": None}),
    ("at none", "chat", "responses", OPENAI, "gpt-5.1", {"temperature": 0.2}, {"temperature": 0.2}),
    ("above none", "chat", "responses", OPENAI, "gpt-5.1", {"temperature": 0.2, "reasoning_effort": "low"}, {"temperature": None}),
    ("a default above none", "chat", "responses", OPENAI, "gpt-5.5", {"temperature": 0.2}, {"temperature": None}),
    ("of Mistral", "messages", "chat", "api.mistral.ai", "mistral-large-latest", {"temperature": 1, "top_p": 0}, {"temperature": 1, "top_p": 0.01}),
    ("of MiniMax", "messages", "chat", "api.minimax.io", "MiniMax-M2", {"temperature": 0}, {"temperature": 0.01}),
    ("of Kimi", "messages", "chat", "api.moonshot.ai", "kimi-k2.6", {"temperature": 0.3}, {"temperature": None}),
    # forced tools
    ("of the newest Claude", "chat", "messages", CLAUDE, "claude-opus-5-5", {"tools": [C_TOOL], "tool_choice": NAMED}, {"tool_choice": {"type": "auto"}}),
    ("beside an effort", "chat", "messages", CLAUDE, "claude-sonnet-4-5", {"tools": [C_TOOL], "tool_choice": "required", "reasoning_effort": "high"}, {"tool_choice": {"type": "any"}, "thinking": None}),
    ("beside thinking", "chat", "messages", CLAUDE, "claude-sonnet-4-5", {"tools": [C_TOOL], "tool_choice": "required", "reasoning": {"enabled": True}, "max_tokens": 9000}, {"tool_choice": {"type": "auto"}, "thinking": {"type": "enabled", "budget_tokens": 4500}}),
    ("of Qwen", "messages", "chat", "dashscope.aliyuncs.com", "qwen3.5-plus", {"tools": [A_TOOL], "tool_choice": {"type": "any"}}, {"tool_choice": "required", "enable_thinking": False}),
    ("of Qwen that thinks", "messages", "chat", "dashscope.aliyuncs.com", "qwen3.5-plus", {**ADAPTIVE, "tools": [A_TOOL], "tool_choice": {"type": "any"}}, {"tool_choice": "auto", "enable_thinking": True}),
    ("thinking that is not streamed", "messages", "chat", "dashscope.aliyuncs.com", "qwen3-32b", ADAPTIVE, {"enable_thinking": False}),
    ("thinking that is streamed", "messages", "chat", "dashscope.aliyuncs.com", "qwen3-32b", {**ADAPTIVE, "stream": True}, {"enable_thinking": True}),
    ("JSON while it thinks", "responses", "chat", "dashscope.aliyuncs.com", "qwen3.5-plus", {"text": {"format": {"type": "json_object"}}}, {"enable_thinking": False}),
    ("of DeepSeek", "messages", "chat", "api.deepseek.com", "deepseek-v4-pro", {"tools": [A_TOOL], "tool_choice": {"type": "tool", "name": "read"}}, {"tool_choice": NAMED, "thinking": {"type": "disabled"}}),
    ("of GLM", "messages", "chat", "api.z.ai", "glm-5.2", {"tools": [A_TOOL], "tool_choice": {"type": "any"}}, {"tool_choice": "auto"}),
    ("by no name", "messages", "chat", "localhost:1234", "qwen3-8b", {"tools": [A_TOOL, {"name": "b"}], "tool_choice": {"type": "tool", "name": "read"}}, {"tool_choice": "required"}),
    # limits
    ("the model's own", "responses", "messages", CLAUDE, "claude-sonnet-5", {}, {"max_tokens": 128000}),
    ("of an older one", "responses", "messages", CLAUDE, "claude-opus-4-1-20250805", {}, {"max_tokens": 32000}),
    ("not of the whole context", "chat", "messages", "api.moonshot.ai", "kimi-k3", {}, {"max_tokens": 32000}),
    ("too much", "messages", "chat", OPENAI, "gpt-4o", {"max_tokens": 64000}, {"max_completion_tokens": 16384, "max_tokens": None}),
    ("too little", "messages", "responses", OPENAI, "gpt-5.5", {"max_tokens": 1}, {"max_output_tokens": 16}),
    # caching
    ("at Claude", "responses", "messages", CLAUDE, "claude-opus-5", {"instructions": "Be."}, {"system": [{"type": "text", "text": "Be.", "cache_control": MARK}], "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": MARK}]}]}),
    ("at OpenRouter's Claude", "responses", "chat", "openrouter.ai", "anthropic/claude-opus-5", {}, {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": MARK}]}]}),
    ("not at Kimi", "responses", "messages", "api.moonshot.ai", "kimi-k3", {}, {"messages": [{"role": "user", "content": "Hi"}]}),
    ("a session is the key", "messages", "responses", OPENAI, "gpt-5.5", {"metadata": {"user_id": "user_1_account__session_0b0e7f2c-5a51"}}, {"prompt_cache_key": "0b0e7f2c-5a51"}),
    ("a session in JSON", "messages", "chat", OPENAI, "gpt-4o", {"metadata": {"user_id": '{"session_id":"s-1"}'}}, {"prompt_cache_key": "s-1"}),
    ("elsewhere none", "messages", "chat", "api.groq.com", "llama-3.3-70b-versatile", {"metadata": {"user_id": "u"}}, {"prompt_cache_key": None}),
    # options
    ("there", "responses", "chat", OPENAI, "gpt-5.2", {"text": {"verbosity": "low"}, "prompt_cache_key": "k", "service_tier": "flex", "safety_identifier": "s"}, {"verbosity": "low", "prompt_cache_key": "k", "service_tier": "flex", "safety_identifier": "s", "user": None}),
    ("and back", "chat", "responses", OPENAI, "gpt-5.2", {"verbosity": "low", "prompt_cache_retention": "in_memory", "metadata": {"a": "b"}}, {"text": {"verbosity": "low"}, "prompt_cache_retention": "in_memory", "metadata": {"a": "b"}}),
    ("of a newer model", "chat", "responses", OPENAI, "gpt-5.6-sol", {"prompt_cache_retention": "in_memory"}, {"prompt_cache_retention": None}),
    ("of an older model", "chat", "responses", OPENAI, "gpt-4.1", {"verbosity": "low"}, {"text": None}),
    ("a tier of Claude", "chat", "messages", CLAUDE, "claude-opus-5", {"service_tier": "default"}, {"service_tier": "standard_only"}),
    ("a person's name", "chat", "messages", CLAUDE, "claude-opus-5", {"user": "ann@example.com"}, {"metadata": {"user_id": "71d4f55f72fa128dfb468a1a3901507c804b74316488744d769d7f4b16696476"}}),
    # formats
    ("in words", "chat", "messages", CLAUDE, "claude-sonnet-4-20250514", {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}}, {"output_config": None}),
    ("with tools in words", "responses", "chat", "api.cerebras.ai", "gpt-oss-120b", {"tools": [{"type": "function", "name": "read", "parameters": SCHEMA}], "text": {"format": {"type": "json_object"}}}, {"response_format": None}),
    # clouds
    ("Vertex", "chat", "messages", "us-east5-aiplatform.googleapis.com", "claude-opus-5", {}, {"model": None, "anthropic_version": "vertex-2023-10-16"}),
    ("Bedrock", "chat", "messages", "bedrock-runtime.eu-west-1.amazonaws.com", "anthropic.claude-opus-5", {"stream": True}, {"model": None, "stream": None, "anthropic_version": "bedrock-2023-05-31"}),
    ("the ChatGPT backend", "chat", "responses", "chatgpt.com", "gpt-5.5", {"max_tokens": 99, "user": "u"}, {"stream": True, "store": False, "instructions": "You are a helpful assistant.", "max_output_tokens": None, "user": None}),
    # web search
    ("to Responses", "messages", "responses", OPENAI, "gpt-5.5", {"tools": [{"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["e.com"]}], "tool_choice": {"type": "tool", "name": "web_search"}}, {"tools": [{"type": "web_search", "filters": {"allowed_domains": ["e.com"]}}], "tool_choice": {"type": "web_search"}}),
    ("to Messages", "responses", "messages", CLAUDE, "claude-sonnet-5", {"tools": [{"type": "web_search", "filters": {"allowed_domains": ["e.com"]}}]}, {"tools": [{"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["e.com"]}]}),
    ("not to Bedrock", "responses", "messages", "bedrock-runtime.eu-west-1.amazonaws.com", "anthropic.claude-sonnet-5", {"tools": [{"type": "web_search"}]}, {"tools": None}),
]  # fmt: skip


def test_claude_is_claude_at_a_router() -> None:
    tool = {"type": "function", "name": "go", "parameters": {"anyOf": [SCHEMA, {"type": "object", "properties": {"n": {"type": "number"}}}]}}
    items = [said("user", "a"), {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "\n\n"}]}, said("user", "b")]
    written = translate({"model": "m", "input": items, "tools": [tool]}, "responses", "chat", host="openrouter.ai", model="anthropic/claude-opus-5").request
    assert [message["role"] for message in written["messages"]] == ["user"]
    assert written["tools"][0]["function"]["parameters"].keys() == {"type", "properties", "description"}


def given_by(client: str, fields: dict[str, Any]) -> dict[str, Any]:
    if client == "responses":
        return {"model": "m", "input": [{"type": "message", "role": "user", "content": "Hi"}], **fields}
    return {"model": "m", **({"max_tokens": 8000} if client == "messages" else {}), "messages": HI, **fields}


def test_rules(subtests: pytest.Subtests) -> None:
    for name, client, upstream, host, model, fields, expected in ROWS:
        with subtests.test(name, model=model):
            request = translate(given_by(client, fields), client, upstream, host=host, model=model).request
            assert {key: request.get(key) for key in expected} == expected


def chat(*messages: dict[str, Any], host: str = CLAUDE, model: str = "claude-opus-4-8", **more: Any) -> list[dict[str, Any]]:
    written = translate({"model": "m", "messages": list(messages), **more}, "chat", "messages", host=host, model=model).request
    return [{"role": message["role"], "content": _plain(message["content"])} for message in written["messages"]]


def _plain(content: Any) -> Any:
    if isinstance(content, str):
        return content
    blocks = [{key: value for key, value in block.items() if key != "cache_control"} for block in content]
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def test_the_system_inside_stands_where_it_may() -> None:
    turns = [said("user", "a"), said("assistant", "b"), said("system", "late"), said("user", "c")]
    assert [message["role"] for message in chat(*turns)] == ["user", "assistant", "user"]
    assert chat(*turns[:1], said("system", "now")) == [said("user", "a"), said("system", "now")]
    assert chat(*turns[:1], said("system", "now"), said("assistant", "b"), said("user", "c"))[1] == said("system", "now")
    assert chat(*turns[:1], said("system", "now"), model="claude-sonnet-5")[0]["content"][1]["text"] == "<system-reminder>\nnow\n</system-reminder>"


def test_a_last_message_of_the_assistant() -> None:
    turns = (said("user", "a"), said("assistant", "Sure: \n"))
    assert chat(*turns, model="claude-sonnet-4-5") == [said("user", "a"), said("assistant", "Sure:")]
    assert chat(*turns)[1:] == [said("assistant", "Sure: \n"), said("user", "(Go on exactly where your last message ends.)")]
    thinking = chat(*turns, model="claude-sonnet-4-5", reasoning={"enabled": True}, max_tokens=9000)
    assert thinking[-1]["role"] == "user"
    for host, member in (("api.mistral.ai", "prefix"), ("api.moonshot.ai", "partial")):
        request = {"model": "m", "max_tokens": 9, "messages": list(turns)}
        assert translate(request, "messages", "chat", host=host).request["messages"][-1][member] is True


def test_blank_text_is_left_out() -> None:
    assert chat(said("user", "a"), said("assistant", " \n"), said("user", "\t"), said("user", "b")) == [said("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])]
    assert chat(said("user", " ")) == [said("user", "(The message is empty.)")]


def test_breakpoints_are_four_at_most() -> None:
    texts = [{"type": "text", "text": str(n), "cache_control": MARK} for n in range(6)]
    request = {"model": "m", "messages": [said("user", texts)], "tools": [{**C_TOOL, "cache_control": MARK}]}
    translated = translate(request, "chat", "messages", host=CLAUDE)
    assert ["cache_control" in block for block in translated.request["messages"][0]["content"]] == [False] * 2 + [True] * 4
    assert "cache_control" not in translated.request["tools"][0]
    assert any("last 4" in note for note in translated.notes)
    texts = [{**texts[0], "cache_control": {**MARK, "ttl": ttl}} for ttl in ("5m", "1h")]
    assert [block["cache_control"] for block in translate({"model": "m", "messages": [said("user", texts)]}, "chat", "messages", host=CLAUDE).request["messages"][0]["content"]] == [MARK, MARK]


def test_breakpoints_of_ours_end_turns() -> None:
    turns = [said("system", "s"), said("user", "a"), said("assistant", "b"), said("user", "c"), said("assistant", "d"), said("user", "e")]
    other = {"type": "function", "function": {"name": "b"}}
    written = translate({"model": "m", "messages": turns, "tools": [C_TOOL, other]}, "chat", "messages", host=CLAUDE).request
    assert [isinstance(message["content"], list) for message in written["messages"]] == [False, False, True, False, True]
    assert ["cache_control" in tool for tool in written["tools"]] == [False, True]
    assert written["system"] == [{"type": "text", "text": "s", "cache_control": MARK}]


def test_what_is_left_of_a_turn() -> None:
    """Reasoning without what followed from it, a tool twice, an image of an unknown type, no limit."""
    thought = {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}
    details = [{"type": "reasoning.text", "text": "Hm", "signature": "c2ln", "format": "anthropic-claude-v1"}]
    turns = [*HI, {"role": "assistant", "content": " ", "reasoning_details": details}, said("user", "b")]
    assert [message["role"] for message in chat(*turns)] == ["user"]
    request = {"model": "m", "max_tokens": 9, "messages": [*HI, said("assistant", [thought, {"type": "text", "text": "a"}]), said("user", "b")]}
    assert translate(request, "messages", "responses", host=OPENAI).request["input"][1]["role"] == "assistant"
    written = translate({"model": "m", "messages": HI, "tools": [C_TOOL, C_TOOL], "max_tokens": -1}, "chat", "messages", host=CLAUDE)
    assert len(written.request["tools"]) == 1 and written.request["max_tokens"] == 32000
    assert any("offered once" in note for note in written.notes)
    (block,) = chat(said("user", [{"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,AAAA"}}]))
    assert block["content"] == "[An image of the type image/svg+xml is left out: Messages takes JPEG, PNG, GIF and WebP]"


def test_tools_are_as_many_as_are_taken() -> None:
    tools = [{"name": f"t{n}", "input_schema": SCHEMA} for n in range(200)]
    used = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t199", "input": {}}]}
    request = {"model": "m", "max_tokens": 9, "tools": tools, "messages": [*HI, used, said("user", "b")]}
    translated = translate(request, "messages", "chat", host=OPENAI)
    names = [tool["function"]["name"] for tool in translated.request["tools"]]
    assert len(names) == 128 and names[-1] == "t199" and names[:3] == ["t0", "t1", "t2"]
    assert any("Of 200 tools 128 are offered" in note for note in translated.notes)
    assert len(translate(request, "messages", "chat", host="llm.example.com").request["tools"]) == 200


def test_mistral_hears_the_assistant_between() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]}
    for content in ([result], [result, {"type": "text", "text": "Go on"}]):
        request = {"model": "m", "max_tokens": 9, "tools": [A_TOOL], "messages": [*HI, said("assistant", [use]), said("user", content)]}
        roles = [message["role"] for message in translate(request, "messages", "chat", host="api.mistral.ai").request["messages"]]
        assert roles == ["user", "assistant", "tool", "assistant", "user"]
