"""Tools that an API describes: those that the client runs work with any upstream, and what others did is told in words."""

import json
from typing import Any

import pytest

from tests.support.streams import play
from tests.support.upstream_answers import JUDGES, Asked, speak, tell
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests import RequestError, translate
from toolmend.requests.server_tools import as_text

HI = [{"role": "user", "content": "Hi"}]


def functions(made: Any, upstream: str) -> dict[str, Any]:
    if upstream == "messages":
        return {tool["name"]: tool["input_schema"] for tool in made.request.get("tools", ())}
    tools = [tool.get("function", tool) for tool in made.request.get("tools", ())]
    return {tool["name"]: tool["parameters"] for tool in tools}


@pytest.mark.parametrize("upstream", ["chat", "responses"])
def test_tools_that_a_client_of_messages_runs(upstream: str) -> None:
    types = {"bash_20250124": "bash", "text_editor_20250728": "str_replace_based_edit_tool", "memory_20250818": "memory"}
    tools = [{"type": kind, "name": name} for kind, name in types.items()]
    made = translate({"model": "m", "max_tokens": 99, "messages": HI, "tools": tools}, "messages", upstream)
    offered = functions(made, upstream)
    assert list(offered) == list(types.values())
    assert offered["bash"]["properties"].keys() == {"command", "restart"}
    assert "str_replace" in offered["str_replace_based_edit_tool"]["properties"]["command"]["enum"]
    assert "rename" in offered["memory"]["properties"]["command"]["enum"]
    assert made.notes == ()


SHELLS = [{"type": "local_shell"}, {"type": "shell", "environment": {"type": "local"}}, {"type": "apply_patch"}]
PATCH = {"type": "create_file", "path": "a", "diff": "+b"}
CALLS = {
    "local_shell": ({"command": ["ls"]}, ("local_shell_call", "action", {"type": "exec", "command": ["ls"], "env": {}})),
    "shell": ({"commands": ["ls"]}, ("shell_call", "action", {"commands": ["ls"]})),
    "apply_patch": (PATCH, ("apply_patch_call", "operation", PATCH)),
}


@pytest.mark.parametrize("upstream", ["chat", "messages"])
@pytest.mark.parametrize("name", CALLS)
def test_tools_that_a_client_of_responses_runs(name: str, upstream: str) -> None:
    request = {"model": "m", "stream": True, "input": HI, "tools": SHELLS, "tool_choice": {"type": name}}
    made = translate(request, "responses", upstream)
    assert list(functions(made, upstream)) == ["local_shell", "shell", "apply_patch"]
    assert name in json.dumps(made.request["tool_choice"])
    arguments, (kind, member, value) = CALLS[name]
    parts = [Asked("call_1", name, json.dumps(arguments))]

    def item(body: bytes) -> dict[str, Any]:
        answer = JUDGES["responses"].read(body)
        lines = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]
        (done,) = [line["item"] for line in lines if line["type"] == "response.output_item.done"]
        assert answer.stop_reason == "completed"
        assert lines[-1]["response"]["output"] == [done]
        return done

    for done in (
        item(play(lambda: Pipeline(request, source=upstream, target="responses"), [speak(upstream, parts, "tool_calls")])),
        item(Pipeline(request, source=upstream, target="responses").as_stream(tell(upstream, parts, "tool_calls"))),
    ):
        assert (done["type"], done["call_id"], done["status"], done[member]) == (kind, "call_1", "completed", value)
    back = [
        {**done, "id": "x_1"},
        {"type": f"{kind}_output", "call_id": "call_1", "id": "x_1", "output": "fine"},
    ]
    if name == "local_shell":
        del back[1]["call_id"]
    if name == "shell":
        back[1]["output"] = [{"stdout": "fine", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}]
    written = json.dumps(translate({**request, "input": [*HI, *back]}, "responses", upstream).request["messages"])
    assert written.count("call_1") == 2
    assert "fine" in written
    assert ("Exit code 2" in written) == (name == "shell")
    plain = written.replace("\\", "").replace(" ", "")
    assert json.dumps(arguments, separators=(",", ":")) in plain


def test_a_shell_of_the_provider_is_left_out() -> None:
    tools = [{"type": "shell", "environment": {"type": "container_auto"}}, {"type": "code_interpreter"}]
    made = translate({"model": "m", "input": HI, "tools": tools}, "responses", "chat")
    assert "tools" not in made.request
    assert len(made.notes) == 2


@pytest.mark.parametrize(("client", "kind"), [("messages", "computer_20251124"), ("responses", "computer_use_preview")])
def test_a_computer_needs_its_own_api(client: str, kind: str) -> None:
    members = {"input" if client == "responses" else "messages": HI, "max_tokens": 9}
    with pytest.raises(RequestError, match=kind):
        translate({"model": "m", **members, "tools": [{"type": kind, "name": "computer"}]}, client, "chat")


def test_deferred_tools_are_offered() -> None:
    tools = [
        {"name": "DeferredToolPlaceholder", "input_schema": {"type": "object"}, "defer_loading": True},
        {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}, "defer_loading": True, "input_examples": [{"path": "a"}]},
    ]
    made = translate({"model": "m", "max_tokens": 9, "messages": HI, "tools": tools}, "messages", "chat")
    (tool,) = made.request["tools"]
    assert tool["function"]["description"] == 'Reads.\n\nExamples of arguments:\n{"path":"a"}'
    assert made.notes == ("`defer_loading` of a tool is left out",)


BLOCKS: list[tuple[dict[str, Any], str]] = [
    ({"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {"code": "1+1"}}, "Ran code_execution: 1+1"),
    ({"type": "code_execution_tool_result", "tool_use_id": "s", "content": {"stdout": "2", "stderr": ""}}, "2"),
    ({"type": "web_fetch_tool_result", "content": {"url": "https://e.com", "content": {"title": "E", "source": {"data": "text"}}}}, "https://e.com\nE\ntext"),
    ({"type": "mcp_tool_use", "name": "find", "input": {"a": 1}}, 'Called find: {"a":1}'),
    ({"type": "mcp_tool_result", "content": [{"type": "text", "text": "x"}]}, "x"),
    ({"type": "code_interpreter_call", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]}, "Ran code: 1+1\n2"),
    ({"type": "file_search_call", "queries": ["q"], "results": [{"filename": "a", "text": "b"}]}, "Searched files for: q\na\nb"),
    ({"type": "mcp_call", "name": "find", "arguments": "{}", "output": "x"}, "Called find: {}\nx"),
    ({"type": "image_generation_call", "result": "aGk=", "revised_prompt": "A cat"}, "Made an image: A cat"),
    ({"type": "mcp_list_tools", "tools": []}, ""),
    ({"type": "server_tool_use", "name": "web_search", "input": {"query": "q"}}, ""),
]


@pytest.mark.parametrize(("block", "text"), BLOCKS)
def test_what_the_providers_tools_did_is_text(block: dict[str, Any], text: str) -> None:
    assert as_text(block) == text


def test_nothing_of_the_history_vanishes_in_silence() -> None:
    item = {"type": "code_interpreter_call", "id": "ci_1", "code": "1+1", "outputs": None}
    for upstream in ("chat", "messages"):
        made = translate({"model": "m", "input": [*HI, item, {"role": "user", "content": "So?"}]}, "responses", upstream)
        assert "Ran code: 1+1" in json.dumps(made.request)
    made = translate({"model": "m", "input": [*HI, {"type": "mcp_list_tools", "tools": []}]}, "responses", "chat")
    assert len(made.notes) == 1


def test_tools_that_the_system_adds_and_removes() -> None:
    def tool(name: str) -> dict[str, Any]:
        return {"name": name, "input_schema": {"type": "object"}}

    changes = [
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool("c")}},
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "a"}},
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "b"}},
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "b"}},
    ]
    messages = [*HI, {"role": "system", "content": changes}]
    made = translate({"model": "m", "max_tokens": 9, "messages": messages, "tools": [tool("a"), tool("b")]}, "messages", "chat")
    assert list(functions(made, "chat")) == ["c", "b"]
    assert made.notes == ()
    assert len(made.request["messages"]) == 1


def test_a_configuration_that_changes() -> None:
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}, "text": {"format": {"type": "text"}}}
    request = {"model": "m", "input": [*HI, update], "reasoning": {"effort": "high"}, "text": {"format": {"type": "json_object"}}}
    made = translate(request, "responses", "chat")
    assert made.request["reasoning_effort"] == "low"
    assert "response_format" not in made.request
    assert made.notes == ()
