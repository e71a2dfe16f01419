"""Requests of OpenAI Responses, read and written, row by row: docs/dev/wire-apis.md."""

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from tests.support.request_tables.responses import (
    CLAUDE_CODE,
    CODEX,
    FIELDS,
    GRAMMAR,
    NAMESPACE,
    PDF_PART,
    PNG,
    PNG_PART,
    READ,
    SAME,
    SCHEMA,
    TOOLS,
    USER,
    call,
    got,
    output,
    put,
    said,
    use,
)
from toolmend.core import tools
from toolmend.core.reasoning_state import ReasoningState
from toolmend.requests import RequestError
from toolmend.requests.conversation import (
    Conversation,
    Document,
    Format,
    Image,
    Other,
    Reasoning,
    TextPart,
    ThinkingPart,
    Tool,
    ToolChoice,
    ToolResult,
    Turn,
)
from toolmend.requests.estimate import tokens
from toolmend.requests.request_limits import Quirks, quirks_for
from toolmend.requests.responses import api
from toolmend.requests.translate import translate

OURS = quirks_for("responses", "api.openai.com", "gpt-5.2")


@pytest.mark.parametrize(("items", "turns"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_items_there_and_back(items: list[dict[str, Any]], turns: list[Turn]) -> None:
    notes: list[str] = []
    conversation = api.read({"model": "m", "input": items}, notes)
    assert list(conversation.turns) == turns
    assert api.write(conversation, OURS, notes)["input"] == items
    assert notes == []


@pytest.mark.parametrize(("given", "turns"), [case[1:] for case in READ], ids=[case[0] for case in READ])
def test_read(given: Any, turns: list[Turn]) -> None:
    assert list(api.read({"model": "m", "input": given}, []).turns) == turns


TAKES_ALL = replace(OURS, sampling="all", options=(), efforts=("none", "low", "medium", "high"))


@pytest.mark.parametrize(("request_", "conversation"), FIELDS)
def test_fields_there_and_back(request_: dict[str, Any], conversation: dict[str, Any]) -> None:
    notes: list[str] = []
    read = api.read({"model": "m", **request_}, notes)
    assert read == replace(Conversation(model="m", api="responses", include_usage=True), **conversation)
    assert api.write(read, TAKES_ALL, notes) == {"model": "m", "input": [], "store": False, **request_}
    assert notes == []


@pytest.mark.parametrize("items", [case[1] for case in SAME if case[0] != "audio"], ids=[case[0] for case in SAME if case[0] != "audio"])
def test_what_is_written_is_what_the_sdk_takes(items: list[dict[str, Any]]) -> None:
    everything: dict[str, Any] = {"model": "m", "input": items}
    for fields, _ in FIELDS:
        everything |= fields
    everything["tools"] = [*TOOLS, {"type": "web_search"}]
    written = api.write(api.read(everything, []), TAKES_ALL, [])
    del written["stream"]  # another type
    # what the SDK demands of items that it has made itself, clients leave out
    items = [_completed(item) for item in written.pop("input")]
    TypeAdapter(ResponseCreateParamsNonStreaming).validate_python({**written, "input": items}, strict=False)


def _completed(item: dict[str, Any]) -> dict[str, Any]:
    id_ = {"id": "x_1", "status": "completed"}
    if item.get("role") == "assistant":
        return {**id_, **item, "content": [{"annotations": [], **part} for part in item["content"]]}
    more = {"server_label": "a", "approve": True, "approval_request_id": "c"}
    return {**id_, **item, **more} if item["type"].startswith("mcp_") else item


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"previous_response_id": "resp_1"}, "send the whole conversation in `input`"),
        ({"conversation": "conv_1"}, "send the whole conversation"),
        ({"conversation": {"id": "conv_1"}}, "send the whole conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "send the text"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "'msg_1'"),
        ({"input": [{"id": "msg_1"}]}, "'msg_1'"),
        ({"input": 7}, "`input`"),
        ({"input": ["x"]}, "`input`"),
        ({"input": [{"role": "tool", "content": "x"}]}, "'tool'"),
        ({"input": [{"role": "user", "content": 7}]}, "`content`"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": 7}]}]}, "`text`"),
        ({"input": [{"type": "function_call", "call_id": "c", "arguments": "{}"}]}, "`name`"),
        ({"input": [{"type": "function_call", "call_id": "c", "name": "a", "arguments": {}}]}, "`arguments`"),
        ({"input": [output(1, [{"type": "refusal", "refusal": "x"}])]}, "output"),
        ({"tools": {}}, "`tools`"),
        ({"tools": [{"type": "function"}]}, "`name`"),
        ({"tools": [{"type": "function", "name": "a", "parameters": "x"}]}, "`parameters`"),
        ({"tool_choice": {"type": "function"}}, "`name`"),
        ({"text": {"format": {"type": "xml"}}}, "'xml'"),
        ({"include": 7}, "`include`"),
        ({"reasoning": "high"}, "`reasoning`"),
        ({"max_output_tokens": "7"}, "`max_output_tokens`"),
        ({"instructions": []}, "`instructions`"),
    ],
)
def test_errors_say_what_is_wrong(request_: dict[str, Any], says: str) -> None:
    with pytest.raises(RequestError, match=says.replace("`", ".")):
        api.read({"model": "m", **request_}, [])


def test_where_only_the_providers_tools_are_allowed_no_other_is() -> None:
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]}
    assert api.read({"model": "m", "tools": TOOLS, "tool_choice": choice}, []).tool_choice == ToolChoice("none")


@pytest.mark.parametrize(("upstream", "names"), [("chat", lambda tool: tool["function"]["name"]), ("messages", lambda tool: tool["name"])])
def test_tools_that_are_not_allowed_are_not_offered_elsewhere(upstream: str, names: Any) -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "read"}]}
    translated = translate({"model": "m", "input": "hi", "tools": [*TOOLS, NAMESPACE], "tool_choice": choice}, "responses", upstream)
    assert [names(tool) for tool in translated.request["tools"]] == ["read"]
    assert [name for name in ("read", "apply_patch", "mcp__files__read") if name in translated.tools] == ["read"]


def test_null_says_nothing() -> None:
    names = "instructions input tools tool_choice parallel_tool_calls max_output_tokens temperature top_p reasoning text stream include"
    nulls = dict.fromkeys([*names.split(), "previous_response_id", "conversation", "prompt", "user", "store", "metadata"])
    so_anyway = {"store": False, "background": False, "truncation": "disabled"}
    assert api.read({"model": "m", **so_anyway}, []) == api.read({"model": "m", **nulls}, [])
    assert api.read({"model": "m", **nulls}, []) == Conversation(model="m", api="responses", include_usage=True)


def test_what_only_responses_can_say_stands_in_the_rest() -> None:
    only = {"store": True, "truncation": "auto", "background": True, "prompt_cache_key": "k", "metadata": {"a": "b"}, "max_tool_calls": 3}
    request = {
        "model": "m",
        **only,
        "user": "u",
        "safety_identifier": "s",
        "text": {"verbosity": "low", "format": {"type": "text"}},
        "reasoning": {"effort": "low", "context": "auto"},
        "include": ["reasoning.encrypted_content", "file_search_call.results"],
        "tool_choice": {"type": "web_search_preview"},
    }
    read = api.read(request, [])
    shared = {"prompt_cache_key": "k", "metadata": {"a": "b"}, "safety_identifier": "s", "verbosity": "low"}
    assert read.options == shared
    assert read.rest == {
        **{key: value for key, value in only.items() if key not in shared},
        "reasoning.context": "auto",
        "include": ["file_search_call.results"],
    }
    assert read.tool_choice == ToolChoice("tool", ("web_search",))
    assert api.read({"safety_identifier": "s"}, []).user == "s"
    notes: list[str] = []
    chat = translate({**request, "input": "hi"}, "responses", "chat")
    assert all(any(f"`{key}`" in note for note in chat.notes) for key in (*read.rest, *shared))
    api.write(read, OURS, notes)
    assert notes == []
    api.write(replace(read, api="chat"), OURS, notes)
    assert [note.partition("`")[2].partition("`")[0] for note in notes] == list(read.rest)


def test_namespaces_are_flat_and_told_once() -> None:
    read = api.read(
        {
            "tools": [{"type": "function", "name": "read", "parameters": None}, NAMESPACE],
            "tool_choice": {"type": "function", "name": "read", "namespace": "mcp__files"},
            "input": [{**call(), "namespace": "mcp__files"}, call(2)],
        },
        [],
    )
    assert read.tools == (
        Tool("read"),
        Tool("mcp__files__read", "mcp__files: Files of the user.\n\nReads.", SCHEMA),
        Tool("mcp__files__write", kind="custom"),
    )
    assert read.tool_choice == ToolChoice("tool", ("mcp__files__read",))
    assert read.turns == (Turn("assistant", (use(1, "mcp__files__read"), use(2))),)


def test_tools_that_come_later_are_offered_too() -> None:
    items = [
        {"type": "additional_tools", "role": "developer", "tools": [NAMESPACE]},
        {"type": "additional_tools", "role": "developer", "tools": [NAMESPACE]},
        {"type": "tool_search_output", "call_id": "c", "tools": [{"type": "function", "name": "now", "parameters": None}]},
    ]
    read = api.read({"input": items}, [])
    assert [tool.name for tool in read.tools if isinstance(tool, Tool)] == ["mcp__files__read", "mcp__files__write", "now"]
    assert read.turns == ()


SEARCH = {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": SCHEMA}
SEARCHED: list[dict[str, Any]] = [
    {"type": "tool_search_call", "call_id": "call_1", "execution": "client", "status": "completed", "arguments": {"query": "files"}},
    {"type": "tool_search_output", "call_id": "call_1", "execution": "client", "status": "completed", "tools": [NAMESPACE]},
]


@pytest.mark.parametrize("upstream", ["chat", "messages"])
def test_a_search_for_tools_is_a_function(upstream: str) -> None:
    """Codex keeps the tools of MCP servers back, and what it finds is offered from then on."""
    nothing = [{**SEARCHED[0], "call_id": "call_2", "arguments": '{"query": "mail"}'}, {**SEARCHED[1], "call_id": "call_2", "tools": []}]
    translated = translate({"model": "m", "tools": [SEARCH], "input": [said("user", put("Hi")), *SEARCHED, *nothing]}, "responses", upstream)
    assert list(translated.tools.schemas) == ["tool_search", "mcp__files__read", "mcp__files__write"]
    assert translated.notes == ()
    messages = json.dumps(translated.request["messages"])
    for words in ('\\"query\\":' if upstream == "chat" else '"query":', "Found the tools: mcp__files__read, mcp__files__write", "No tools were found."):
        assert words in messages
    assert "There is no result" not in messages


@pytest.mark.parametrize("tool", [{**SEARCH, "execution": "server"}, {"type": "tool_search"}])
def test_a_search_of_openai_is_left_out(tool: dict[str, Any]) -> None:
    translated = translate({"model": "m", "tools": [tool], "input": "Hi"}, "responses", "chat")
    assert "tools" not in translated.request and ["tool_search" in note for note in translated.notes] == [True]


def test_a_search_gives_way_to_a_tool_of_its_name() -> None:
    own = {"type": "function", "name": "tool_search", "parameters": SCHEMA, "strict": False}
    translated = translate({"model": "m", "tools": [SEARCH, own], "input": "Hi"}, "responses", "chat")
    assert len(translated.request["tools"]) == 1 and ["tool_search" in note for note in translated.notes] == [True]


def test_what_is_left_out_is_told() -> None:
    notes: list[str] = []
    tool = {"type": "function", "name": "a", "parameters": None, "defer_loading": True, "allowed_callers": ["direct"]}
    api.read({"tools": [tool], "input": [call(), output(1, [put("a"), {"type": "input_video"}])]}, notes)
    assert len(notes) == 3 and all(any(word in note for note in notes) for word in ("defer_loading", "allowed_callers", "input_video"))


def write(conversation: Conversation, quirks: Quirks = OURS) -> tuple[dict[str, Any], list[str]]:
    notes: list[str] = []
    return api.write(conversation, quirks, notes), notes


def test_what_the_system_says_first_is_the_instructions() -> None:
    def system(*texts: str) -> Turn:
        return Turn("system", tuple(map(TextPart, texts)))

    written, _ = write(Conversation(turns=(system("a", "b"), system("c"), USER, system("d"))))
    assert written["instructions"] == "a\n\nb\n\nc"
    assert written["input"] == [said("user", put("Read a.py")), said("system", put("d"))]
    written, _ = write(Conversation(turns=(Turn("developer", (TextPart("d"),)), system("a"))))
    assert "instructions" not in written
    assert written["input"] == [said("developer", put("d")), said("system", put("a"))]
    for turns, instructions in (((system("a"), system("b")), "a"), ((system("b"),), None)):  # one of them is asked
        written, _ = write(Conversation(turns=turns))
        assert (written.get("instructions"), written["input"]) == (instructions, [said("system", put("b"))])
    assert write(Conversation(turns=()))[0]["input"] == []


@pytest.mark.parametrize(
    ("conversation", "fields", "note"),
    [
        (Conversation(max_tokens=1), {"max_output_tokens": 16}, "16 instead of 1"),
        (Conversation(stop=("END",)), {}, "stop sequences"),
        (Conversation(top_k=5), {}, "`top_k`"),
        (Conversation(temperature=0.5), {}, "`temperature`"),  # of a model that thinks
        (Conversation(cache={"type": "ephemeral"}), {}, "`cache_control`"),
        (Conversation(tools=(Other("messages", {"type": "web_fetch_20250910", "name": "web_fetch"}),)), {}, "web_fetch"),
        (Conversation(turns=(Turn("user", (Other("messages", {"type": "search_result"}),)),)), {}, "search_result"),
        (Conversation(turns=(Turn("user", (Other("messages", {"type": "search_result", "title": "a"}),)),)), {"input": [said("user", put("a"))]}, ""),
        (Conversation(turns=(Turn("user", (TextPart("a"), Image(file_id="f"))),)), {"input": [said("user", put("a"))]}, "another provider"),
        (Conversation(turns=(Turn("user", (Image(file_id="f"),)),)), {"input": [said("user")]}, "another provider"),  # the turn stays
        (Conversation(turns=(Turn("tool", (ToolResult("call_1", (Document(file_id="f"),)),)),)), {"input": [output(1, "")]}, "another provider"),
        (Conversation(turns=(Turn("user", (TextPart("a"),), name="Ann"),)), {"input": [said("user", put("a"))]}, "`name`"),
        (Conversation(turns=(Turn("assistant", (ThinkingPart("hm", ReasoningState("signature", "x")), TextPart("a"))),)), {"input": [said("assistant", got("a"))]}, "Reasoning"),
        (Conversation(turns=(Turn("assistant", (ThinkingPart("hm", ReasoningState("encrypted", "{")), TextPart("a"))),)), {"input": [said("assistant", got("a"))]}, "Reasoning"),
        (Conversation(turns=(Turn("assistant", (ThinkingPart("hm"), TextPart("a"))),)), {"input": [said("assistant", got("a"))]}, "Reasoning"),
        (Conversation(reasoning=Reasoning(effort="max")), {"reasoning": {"effort": "high"}, "include": ["reasoning.encrypted_content"]}, "high instead of max"),
        (Conversation(reasoning=Reasoning(enabled=True, budget=10_000)), {"reasoning": {"effort": "medium"}, "include": ["reasoning.encrypted_content"]}, ""),
        (Conversation(reasoning=Reasoning(enabled=True)), {"reasoning": {"effort": "medium"}, "include": ["reasoning.encrypted_content"]}, ""),
        (Conversation(reasoning=Reasoning(enabled=False)), {"reasoning": {"effort": "none"}}, ""),
        (Conversation(user="u" * 100), {"user": sha256(b"u" * 100).hexdigest(), "prompt_cache_key": sha256(b"u" * 100).hexdigest()[:32]}, ""),
        (Conversation(format=Format("json_schema", SCHEMA)), {"text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": False}}}, ""),
        (Conversation(tool_choice=ToolChoice("required"), parallel=False), {}, ""),  # nothing to choose from
        *(
            (Conversation(tools=(Tool("now", schema=given),)), {"tools": [{"type": "function", "name": "now", "parameters": taken, "strict": False}]}, "")
            for given, taken in (  # OpenAI refuses an object that does not tell its properties
                (None, None),
                ({}, {"type": "object", "properties": {}}),
                ({"type": "object"}, {"type": "object", "properties": {}}),
                ({"type": "object", "additionalProperties": False}, {"type": "object", "additionalProperties": False, "properties": {}}),
                ({"properties": {"a": {"type": "object"}}}, {"type": "object", "properties": {"a": {"type": "object"}}}),
                ({"type": ["object", "null"]}, {"type": ["object", "null"]}),
            )
        ),
    ],
)
def test_what_is_written_for_others(conversation: Conversation, fields: dict[str, Any], note: str) -> None:
    quirks = replace(OURS, efforts=("none", "low", "medium", "high"), sampling="none")
    written, notes = write(conversation, quirks)
    assert written == {"model": "", "input": [], "store": False, **fields}
    assert (note in notes[0] and len(notes) == 1) if note else notes == []


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((TextPart("no file"),), "Error: no file"),
        ((), "Error: the tool failed"),
        ((PNG,), [put("Error: the tool failed"), PNG_PART]),
        ((TextPart("no"), PNG), [put("Error: no"), PNG_PART]),
    ],
)
def test_a_failed_tool(parts: Any, expected: Any) -> None:
    written, _ = write(Conversation(turns=(Turn("tool", (ToolResult("call_1", parts, is_error=True),)),)))
    assert written["input"] == [output(1, expected)]


def test_documents() -> None:
    parts = (Document(text="hi", title="a.txt"), Document(data="JVBE", media_type="application/pdf"))
    written, _ = write(Conversation(turns=(Turn("user", parts),)))
    assert written["input"] == [said("user", put("a.txt\n\nhi"), {**PDF_PART, "filename": "document.pdf"})]


def test_a_grammar_of_chat_stands_one_level_higher() -> None:
    grammar = {key: value for key, value in GRAMMAR.items() if key != "type"}
    for given, expected in (({"type": "grammar", "grammar": grammar}, GRAMMAR), ({"type": "grammar", "grammar": 7}, {"type": "grammar", "grammar": 7})):
        written, _ = write(Conversation(tools=(Tool("apply_patch", kind="custom", format=given),)))
        assert written["tools"] == [{"type": "custom", "name": "apply_patch", "format": expected}]


@pytest.mark.parametrize("upstream", ["chat", "messages"])
def test_codex_where_the_system_speaks_once(upstream: str) -> None:
    """The templates of Qwen, Mistral and others refuse a second message of the system, or pass over it."""
    request = translate(CODEX, "responses", upstream, model="qwen3.6", host="127.0.0.1:8000").request
    roles = [message["role"] for message in request["messages"]]
    if upstream == "chat":
        assert request["messages"][0] == {"role": "system", "content": "You are a coding agent.\n\n<permissions>"}
        assert roles[1:] == ["user", "assistant", "tool", "tool", "user", "assistant", "tool", "user"]
    else:
        assert request["system"] == [{"type": "text", "text": "You are a coding agent."}, {"type": "text", "text": "<permissions>"}]
        assert "system" not in roles


def test_what_other_agents_say_reaches_an_upstream_that_knows_of_one() -> None:
    """Codex has its history of them in an item of its own; where they write to each other in code, that is told."""
    text, sealed = put("It is in b.py"), {"type": "encrypted_content", "encrypted_content": "gAA"}
    items = [{"type": "agent_message", "author": "/lead/a", "recipient": "/lead", "content": [part]} for part in (text, sealed)]
    translated = translate({"model": "m", "input": [said("user", put("Hi")), *items]}, "responses", "chat", host="127.0.0.1:8000")
    head = "Message from /lead/a to /lead:"
    assert translated.request["messages"] == [{"role": "user", "content": f"Hi\n\n{head}\n\nIt is in b.py\n\n{head}"}]
    assert [note for note in translated.notes if "encrypted_content" in note]


def test_what_the_system_shows_later_on_is_shown_by_the_user() -> None:
    given = [said("user", put("Hi")), said("developer", put("Look"), PNG_PART)]
    request = translate({"model": "m", "input": given}, "responses", "chat", host="127.0.0.1:8000").request
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}
    reminder = "<system-reminder>\nLook\n</system-reminder>"
    assert request["messages"] == [{"role": "user", "content": [*({"type": "text", "text": text} for text in ("Hi", reminder)), shown]}]


def test_codex_at_a_chat_upstream() -> None:
    translated = translate(CODEX, "responses", "chat", model="deepseek-chat", host="api.deepseek.com")
    messages = translated.request["messages"]
    assert [message["role"] for message in messages] == ["system", "system", "user", "assistant", "tool", "tool", "assistant", "tool", "user"]
    first = next(message for message in messages if message["role"] == "assistant")
    assert first["reasoning_content"] == "hm"
    assert [(entry["id"], entry["function"]["name"]) for entry in first["tool_calls"]] == [("call_1", "shell"), ("call_2", "mcp__files__read")]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ["call_1", "call_2", "call_3"]
    patch = next(entry for message in messages for entry in message.get("tool_calls", ()) if entry["id"] == "call_3")
    assert json.loads(patch["function"]["arguments"]) == {"input": "*** Begin Patch\n"}
    tools = {tool["function"]["name"]: tool["function"] for tool in translated.request["tools"]}
    assert list(tools) == ["shell", "apply_patch", "mcp__files__read", "mcp__files__write"]
    assert tools["apply_patch"]["parameters"]["required"] == ["input"]
    assert "Edits files." in tools["apply_patch"]["description"] and "start: /.+/" in tools["apply_patch"]["description"]
    assert translated.custom == {"apply_patch", "mcp__files__write"}
    assert any("web_search" in note for note in translated.notes)
    assert translated.tools.calls_so_far == 3


def test_codex_at_a_messages_upstream() -> None:
    translated = translate(CODEX, "responses", "messages", model="claude-sonnet-4-5", host="api.anthropic.com")
    request = translated.request
    assert [block["text"] for block in request["system"]] == ["You are a coding agent.", "<permissions>"]
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    asked, called, results, patched, thanked = (message["content"] for message in request["messages"])
    assert [block["text"] for block in asked] == ["<environment_context>", "Fix a.py"]
    assert [block["type"] for block in called] == ["tool_use", "tool_use", "text"]
    assert [(block["type"], block["tool_use_id"]) for block in results] == [("tool_result", "call_1"), ("tool_result", "call_2")]
    assert [block["type"] for block in results[1]["content"]] == ["text", "image"]
    assert patched[0]["input"] == {"input": "*** Begin Patch\n"}
    assert [block["type"] for block in thanked] == ["tool_result", "text"]
    assert [tool["name"] for tool in request["tools"]] == ["shell", "apply_patch", "mcp__files__read", "mcp__files__write", "web_search"]
    assert any("easoning" in note for note in translated.notes)


def test_claude_code_at_a_responses_upstream() -> None:
    translated = translate(CLAUDE_CODE, "messages", "responses", model="gpt-5.2", host="api.openai.com")
    written = dict(translated.request)
    assert written["instructions"] == "You are Claude Code.\n\nBe brief."
    assert written["input"] == [
        said("user", put("<system-reminder>x</system-reminder>"), put("Look")),
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAA"},
        said("assistant", got("I look.")),
        {"type": "function_call", "call_id": "toolu_1", "name": "Read", "arguments": '{"path":"a.png"}'},
        {"type": "function_call", "call_id": "toolu_2", "name": "Bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "toolu_1", "output": [PNG_PART]},
        {"type": "function_call_output", "call_id": "toolu_2", "output": "Error: no"},
        said("user", put("Go on")),
    ]
    assert [tool["strict"] for tool in written["tools"]] == [False, False]
    assert written["tool_choice"] == "auto" and written["parallel_tool_calls"] is False
    assert written["max_output_tokens"] == 32000
    assert written["reasoning"] == {"effort": "high", "summary": "auto"} and written["include"] == ["reasoning.encrypted_content"]
    assert written["store"] is False and written["stream"] is True and written["user"] == "user_1"
    assert [note for note in translated.notes if "cache_control" not in note] == []
    del written["stream"]
    TypeAdapter(ResponseCreateParamsNonStreaming).validate_python({**written, "input": list(map(_completed, written["input"]))})


def spoilt(value: Any) -> Iterator[Any]:
    """The value with each part of it replaced by what does not belong there."""
    yield from (None, 7, "x", True, [], {}, [7], {"type": 7}, {"type": ["x"]})
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: other} for other in spoilt(inner))
            yield {name: other for name, other in value.items() if name != key}
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in spoilt(inner))


@pytest.mark.parametrize("upstream", ["chat", "messages"])
def test_whatever_is_wrong_is_told_to_the_client(upstream: str) -> None:
    wrong: list[str] = []
    for request in spoilt(CODEX):
        try:
            translated = translate(request, "responses", upstream)
        except RequestError as error:
            wrong.append(str(error))
        else:
            json.dumps(translated.request)
        if isinstance(request, dict):
            assert tools.of_responses(request).known and tokens(request, "responses") > 0
    assert len(wrong) > 500 and all(wrong)
