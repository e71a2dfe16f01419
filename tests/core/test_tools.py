"""The tools of a request, in every API."""

from typing import Any

import pytest

from toolmend.core import tools
from toolmend.core.tools import FREEFORM, OF, Tools

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CAPITALS = {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}, "required": ["path"]}
READ = {"type": "function", "name": "read", "parameters": SCHEMA}
PATCH = {"type": "custom", "name": "apply_patch", "format": {"type": "text"}}


def space(name: str, *inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "namespace", "name": name, "description": "", "tools": list(inner)}


CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # chat
    ("chat", {}, {}),
    ("chat", {"tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]}, {"read": SCHEMA}),
    ("chat", {"tools": [{"type": "function", "function": {"name": "now"}}]}, {"now": {}}),
    ("chat", {"tools": [{"type": "custom", "custom": {"name": "apply_patch"}}]}, {"apply_patch": FREEFORM}),
    ("chat", {"functions": [{"name": "read", "parameters": SCHEMA}]}, {"read": SCHEMA}),
    ("chat", {"tools": "none", "functions": [7, {"name": 7}]}, {}),
    # gemini
    ("gemini", {}, {}),
    ("gemini", {"tools": [{"functionDeclarations": [{"name": "read", "parameters": CAPITALS}]}]}, {"read": SCHEMA}),
    ("gemini", {"tools": [{"functionDeclarations": [{"name": "read", "parametersJsonSchema": SCHEMA}]}]}, {"read": SCHEMA}),
    ("gemini", {"tools": {"function_declarations": [{"name": "read", "parameters_json_schema": SCHEMA}]}}, {"read": SCHEMA}),
    ("gemini", {"request": {"tools": [{"functionDeclarations": [{"name": "read", "parameters": SCHEMA}, {"name": 7}]}]}}, {"read": SCHEMA}),
    ("gemini", {"tools": [{"googleSearch": {}}, {"functionDeclarations": [{"name": "now"}]}, 7]}, {"now": {}}),
    # ollama
    ("ollama", {"tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]}, {"read": SCHEMA}),
    # messages
    ("messages", {}, {}),
    ("messages", {"tools": [{"name": "read", "input_schema": SCHEMA}]}, {"read": SCHEMA}),
    ("messages", {"tools": [{"type": "custom", "name": "read", "input_schema": SCHEMA}]}, {"read": SCHEMA}),
    ("messages", {"tools": [{"type": "bash_20250124", "name": "bash"}]}, {"bash": {}}),
    ("messages", {"tools": [{"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}]}, {"str_replace_based_edit_tool": {}}),
    ("messages", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, {}),
    ("messages", {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]}, {}),
    ("messages", {"tools": [{"type": "mcp_toolset", "mcp_server_name": "files"}, None, {"name": None}]}, {}),
    # responses
    ("responses", {}, {}),
    ("responses", {"tools": [READ]}, {"read": SCHEMA}),
    ("responses", {"tools": [{"type": "function", "name": "now", "parameters": None}]}, {"now": {}}),
    ("responses", {"tools": [PATCH]}, {"apply_patch": FREEFORM}),
    ("responses", {"tools": [{"type": "web_search"}, {"type": "computer"}, {"type": "mcp", "server_label": "x", "name": "y"}]}, {}),
    ("responses", {"tools": [READ, space("mcp__files", READ)]}, {"read": SCHEMA, "mcp__files__read": SCHEMA}),
    ("responses", {"tools": [space("functions", READ, PATCH)]}, {"read": SCHEMA, "apply_patch": FREEFORM}),
    ("responses", {"input": "hi", "tools": [READ]}, {"read": SCHEMA}),
    ("responses", {"input": [{"type": "additional_tools", "role": "developer", "tools": [READ]}]}, {"read": SCHEMA}),
    ("responses", {"input": [{"type": "tool_search_output", "tools": [space("crm", READ)]}]}, {"crm__read": SCHEMA}),
    ("responses", {"tools": [{"type": "tool_search", "execution": "client", "parameters": SCHEMA}, READ]}, {"tool_search": SCHEMA, "read": SCHEMA}),
    ("responses", {"tools": [{"type": "tool_search"}, READ]}, {"read": SCHEMA}),  # OpenAI's own
    ("responses", {"tools": [space("crm"), {"type": "namespace", "name": 7, "tools": 7}, {"type": "function", "name": []}]}, {}),
]


@pytest.mark.parametrize(("api", "request_", "schemas"), CASES)
def test_offered(api: str, request_: dict[str, Any], schemas: dict[str, Any]) -> None:
    offered = OF[api](request_)
    assert offered.schemas == schemas
    assert offered.known
    assert offered.offered == bool(schemas)


FORBIDDEN: list[tuple[str, dict[str, Any]]] = [
    ("chat", {"tool_choice": "none"}),
    ("chat", {"function_call": "none"}),
    ("messages", {"tool_choice": {"type": "none"}}),
    ("responses", {"tool_choice": "none"}),
    ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
    ("gemini", {"tool_config": {"function_calling_config": {"mode": "none"}}}),
]
ALLOWED: list[tuple[str, dict[str, Any]]] = [
    ("chat", {"tool_choice": "auto"}),
    ("chat", {"tool_choice": {"type": "function", "function": {"name": "none"}}}),
    ("chat", {"tool_choice": None}),
    ("messages", {"tool_choice": {"type": "any"}}),
    ("responses", {"tool_choice": "required"}),
    ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
    ("gemini", {"toolConfig": 7}),
]
OFFERS = {
    "chat": {"tools": [{"type": "function", "function": {"name": "read"}}]},
    "messages": {"tools": [{"name": "read"}]},
    "responses": {"tools": [READ]},
    "gemini": {"tools": [{"functionDeclarations": [{"name": "read"}]}]},
}


def test_no_call_where_the_request_forbids_it() -> None:
    for api, more in FORBIDDEN:
        assert not OF[api]({**OFFERS[api], **more}).offered, (api, more)
    for api, more in ALLOWED:
        assert OF[api]({**OFFERS[api], **more}).offered, (api, more)


CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "c", "name": "read", "input": {}}


@pytest.mark.parametrize(
    ("api", "request_", "calls"),
    [
        ("chat", {"messages": [{"role": "assistant", "tool_calls": [CALL, CALL]}, {"role": "tool"}, {"role": "assistant", "tool_calls": [CALL]}]}, 3),
        ("messages", {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "text", "text": "x"}, USE, USE]}]}, 2),
        ("messages", {"messages": "none"}, 0),
        ("responses", {"input": [{"type": "function_call"}, {"type": "function_call_output"}, {"type": "custom_tool_call"}, "x"]}, 2),
        ("responses", {"input": "hi"}, 0),
        ("gemini", {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "a"}}, {"text": "b"}, {"functionCall": {}}]}]}, 2),
        ("gemini", {"contents": "hi"}, 0),
    ],
)
def test_calls_so_far(api: str, request_: dict[str, Any], calls: int) -> None:
    assert OF[api](request_).calls_so_far == calls


def test_only_chat_has_functions_without_tools() -> None:
    assert OF["chat"]({"functions": [{"name": "read"}]}).legacy
    assert not OF["chat"]({"tools": [{"type": "function", "function": {"name": "read"}}]}).legacy
    assert not OF["messages"]({}).legacy and not OF["responses"]({}).legacy


@pytest.mark.parametrize(
    ("given", "flat"),
    [
        ([], {}),
        ([READ, space("functions", READ)], {}),
        ([space("mcp__files", READ, PATCH)], {"mcp__files__read": ("mcp__files", "read"), "mcp__files__apply_patch": ("mcp__files", "apply_patch")}),
        ([space("mcp__files__", READ)], {"mcp__files__read": ("mcp__files__", "read")}),
        ([space("a", READ), space("b", READ), READ], {"a__read": ("a", "read"), "b__read": ("b", "read")}),
        # two that would have one name
        ([space("a", READ), space("a__", READ)], {"a__read": ("a", "read"), "a__read_": ("a__", "read")}),
        ([space("a", READ), {**READ, "name": "a__read"}], {"a__read_": ("a", "read")}),
        ([space("a", READ), space("functions", {**READ, "name": "a__read"})], {"a__read_": ("a", "read")}),
    ([space("a", READ), space("a", READ)], {"a__read": ("a", "read")}),
    ],
)
def test_namespaces(given: list[Any], flat: dict[str, tuple[str, str]]) -> None:
    assert tools.namespaces({"tools": given}) == flat
    assert set(flat) <= set(OF["responses"]({"tools": given}).schemas)


def test_what_a_call_may_name() -> None:
    offered = OF["responses"]({"tools": [READ, PATCH]})
    assert "read" in offered and "write" not in offered and "write" in tools.UNKNOWN
    assert offered.properties("apply_patch") == {"input": {"type": "string"}}
    assert offered.fitting({"path": "a"}) == ["read"]
    assert offered.fitting({"input": "a"}) == ["apply_patch"]
    assert offered.fitting({}) == []
    assert Tools().offered is False
