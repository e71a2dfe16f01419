"""Requests for web searches: each API's form, a search alone at an upstream that has none, and searches in the history."""

import json
from typing import Any

import pytest

from tests.support.addon import Log, log, proxy
from tests.support.routed_flows import Routes, post, routed
from tests.support.upstream_answers import JUDGES
from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.requests import translate
from toolmend.requests.strip_envelopes import without_envelopes
from toolmend.requests.web_search import SOURCES, SearchUnavailable

__all__ = ["log", "proxy", "routed"]

CITY = {"type": "approximate", "city": "Rome"}
MESSAGES_TOOL = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8, "allowed_domains": ["e.com"], "user_location": CITY}
OTHER_TOOL = {"name": "read", "input_schema": {"type": "object", "properties": {}}}
NAMED = {"type": "tool", "name": "web_search"}
QUERY = "Perform a web search for the query: weather in Rome"
HI = [{"role": "user", "content": QUERY}]
OURS = envelope(ReasoningState("plain"))

OPENROUTER = {"type": "openrouter:web_search", "parameters": {"allowed_domains": ["e.com"], "user_location": CITY, "max_uses": 8}}
RESPONSES_TOOL = {"type": "web_search", "filters": {"allowed_domains": ["e.com"]}, "user_location": CITY}

ROWS: dict[str, tuple[str, str, str, str, dict[str, Any], dict[str, Any]]] = {
    # client, upstream, host, model, members of the request, members that go upstream (None: absent)
    "Messages to OpenRouter": (
        "messages", "chat", "openrouter.ai", "moonshotai/kimi-k2.5", {"tools": [MESSAGES_TOOL], "tool_choice": NAMED},
        {"tools": [OPENROUTER], "tool_choice": "required", "plugins": None},
    ),
    "one of two tools": (
        "messages", "chat", "openrouter.ai", "moonshotai/kimi-k2.5", {"tools": [{"type": "web_search_20260209", "name": "web_search"}, OTHER_TOOL], "tool_choice": NAMED},
        {"tool_choice": None},
    ),
    "Messages to Groq": (
        "messages", "chat", "api.groq.com", "openai/gpt-oss-120b", {"tools": [{"type": "web_search_20250305", "name": "web_search"}], "tool_choice": NAMED},
        {"tools": [{"type": "browser_search"}], "tool_choice": "required"},
    ),
    "Messages to DashScope": (
        "messages", "chat", "dashscope.aliyuncs.com", "qwen3.5-plus", {"tools": [{"type": "web_search_20250305", "name": "web_search"}], "tool_choice": NAMED},
        {"tools": None, "enable_search": True, "search_options": {"forced_search": True}, "tool_choice": None},
    ),
    "Messages to Z.ai": (
        "messages", "chat", "api.z.ai", "glm-5", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "web_search", "web_search": {"enable": True, "search_result": True}}]},
    ),
    "Messages to a search model": (
        "messages", "chat", "api.openai.com", "gpt-5-search-api", {"tools": [{**MESSAGES_TOOL, "allowed_domains": [], "max_uses": None}], "tool_choice": NAMED},
        {"web_search_options": {"user_location": {"type": "approximate", "approximate": {"city": "Rome"}}}, "tool_choice": None},
    ),
    "Messages to Responses": (
        "messages", "responses", "api.openai.com", "gpt-5.5", {"tools": [MESSAGES_TOOL, OTHER_TOOL], "tool_choice": NAMED},
        {"tool_choice": {"type": "web_search"}, "max_tool_calls": 8, "include": ["reasoning.encrypted_content", SOURCES]},
    ),
    "Responses to Messages": (
        "responses", "messages", "api.anthropic.com", "claude-sonnet-5", {"tools": [{**RESPONSES_TOOL, "external_web_access": True, "search_context_size": "low"}], "tool_choice": {"type": "web_search"}, "max_tool_calls": 3, "include": [SOURCES], "reasoning": {"effort": "none"}},
        {"tools": [{**MESSAGES_TOOL, "max_uses": 3}], "tool_choice": NAMED},
    ),
    "Responses to OpenRouter": (
        "responses", "chat", "openrouter.ai", "qwen/qwen3.5", {"tools": [RESPONSES_TOOL]},
        {"tools": [{**OPENROUTER, "parameters": {"allowed_domains": ["e.com"], "user_location": CITY}}]},
    ),
    "options of Chat to Responses": (
        "chat", "responses", "api.openai.com", "gpt-5.5", {"web_search_options": {"search_context_size": "low", "user_location": {"type": "approximate", "approximate": {"city": "Rome"}}}},
        {"tools": [{"type": "web_search", "user_location": CITY, "search_context_size": "low"}]},
    ),
    "OpenRouter's plugin to Messages": (
        "chat", "messages", "api.anthropic.com", "claude-sonnet-5", {"plugins": [{"id": "web", "max_results": 3}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    ),
    "OpenRouter's tool to Messages": (
        "chat", "messages", "api.anthropic.com", "claude-sonnet-5", {"tools": [{**OPENROUTER, "parameters": {"excluded_domains": ["e.com"]}}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search", "blocked_domains": ["e.com"]}]},
    ),
}  # fmt: skip


def base(client: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 5000, "input" if client == "responses" else "messages": HI, **more}


@pytest.mark.parametrize("name", ROWS)
def test_forms(name: str) -> None:
    client, upstream, host, model, given, wanted = ROWS[name]
    made = translate(base(client, **given), client, upstream, host=host, model=model)
    assert {key: made.request.get(key) for key in wanted} == wanted, made.notes
    assert not [note for note in made.notes if "search" in note], made.notes


def test_domains_without_a_field_are_in_the_prompt() -> None:
    tool = {"type": "web_search_20250305", "name": "web_search", "blocked_domains": ["e.com"]}
    made = translate(base("messages", tools=[tool]), "messages", "responses", host="api.openai.com", model="gpt-5.5")
    assert "no result of these domains: e.com" in made.request["instructions"]
    assert any("in the prompt" in note for note in made.notes)


@pytest.mark.parametrize(("client", "tool", "choice"), [("messages", MESSAGES_TOOL, NAMED), ("responses", RESPONSES_TOOL, {"type": "web_search"})])
def test_a_search_alone_is_not_sent_where_there_is_none(client: str, tool: Any, choice: Any) -> None:
    with pytest.raises(SearchUnavailable, match="search_tool") as caught:
        translate(base(client, tools=[tool], tool_choice=choice), client, "chat", host="api.deepseek.com", model="deepseek-v4")
    assert caught.value.query == "weather in Rome"
    made = translate(base(client, tools=[tool], tool_choice=choice), client, "chat", model="m", facts={"search_tool": "openrouter:web_search"})
    assert made.request["tools"][0]["type"] == "openrouter:web_search"


def test_a_search_among_others_is_left_out() -> None:
    made = translate(base("messages", tools=[MESSAGES_TOOL, OTHER_TOOL]), "messages", "chat", host="api.deepseek.com", model="deepseek-v4")
    assert len(made.request["tools"]) == 1
    assert any("search_tool" in note for note in made.notes)


@pytest.mark.parametrize("stream", [True, False])
def test_the_client_is_told_that_search_is_unavailable(routed: Routes, log: Log, stream: bool) -> None:
    request = base("messages", stream=stream, tools=[MESSAGES_TOOL], tool_choice=NAMED, model="claude-sonnet-4-5")
    flow = post(json.dumps(request).encode())
    routed(to="https://api.deepseek.com/chat/completions", use_model="deepseek-v4").ask(flow)
    assert flow.response
    body = flow.response.content or b""
    answer = JUDGES["messages"].read(body) if stream else JUDGES["messages"].whole(body)
    assert (answer.faults, answer.stop_reason) == ([], "end_turn")
    assert answer.searches == [("weather in Rome", [], "unavailable")]
    assert "No web search" in answer.text
    (warning,) = [text for level, text in log() if level == "WARNING"]
    assert "search_tool" in warning


# the history


def pair(encrypted: str = "enc") -> list[dict[str, Any]]:
    result = {"type": "web_search_result", "url": "https://e.com/x", "title": "E", "encrypted_content": encrypted, "page_age": None}
    return [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [result]},
    ]


def cited(index: str) -> dict[str, Any]:
    citation = {"type": "web_search_result_location", "url": "https://e.com/x", "title": "E", "encrypted_index": index, "cited_text": "sun"}
    return {"type": "text", "text": "It is sunny.", "citations": [citation]}


def said(*blocks: Any) -> list[dict[str, Any]]:
    return [*HI, {"role": "assistant", "content": list(blocks)}, {"role": "user", "content": "And now?"}]


def test_a_search_of_messages_is_an_item() -> None:
    made = translate(base("messages", messages=said(*pair(), cited("i"))), "messages", "responses", host="api.openai.com", model="gpt-5.5")
    item = made.request["input"][1]
    action = {"type": "search", "query": "weather", "queries": ["weather"], "sources": [{"type": "url", "url": "https://e.com/x"}]}
    assert item == {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    failed = [pair()[0], {**pair()[1], "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"}}]
    made = translate(base("messages", messages=said(*failed)), "messages", "responses")
    assert made.request["input"][1]["status"] == "failed"


def test_searches_of_another_upstream_do_not_go_to_anthropic() -> None:
    text = {"type": "text", "text": "It is sunny."}
    assert without_envelopes({"messages": said(*pair(OURS), cited(OURS))}, "messages", "api.anthropic.com") == {"messages": said(text)}
    own = {"messages": said(*pair(), cited("i"))}
    assert without_envelopes(own, "messages", "api.anthropic.com") is own


def test_phases() -> None:
    turns = [
        *HI,
        {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, {"type": "tool_use", "id": "t1", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
        {"role": "assistant", "content": "It is x."},
        {"role": "user", "content": "And now?"},
    ]
    made = translate(base("messages", messages=turns), "messages", "responses", host="api.openai.com", model="gpt-5.5")
    assert [item.get("phase") for item in made.request["input"]] == [None, "commentary", None, None, "final_answer", None]
    made = translate(base("messages", messages=turns), "messages", "responses", host="api.x.ai", model="gpt-5.5")
    assert not any("phase" in item for item in made.request["input"])
