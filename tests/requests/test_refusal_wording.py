"""refused.py: how servers word the refusal of one field, in public reports; what is changed, and that nothing else is."""

import json
from typing import Any

import pytest

from toolmend.requests.edits import apply_edits, edit_of
from toolmend.requests.refusal_rules import RefusedRequest
from toolmend.requests.refused import remedies
from toolmend.requests.request_limits import quirks_for

PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "string", "format": "uri", "pattern": "(?=x)"}},
    "additionalProperties": False,
    "required": ["a"],
}
CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": "", "reasoning_details": [], "tool_calls": [{"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ],
    "tools": [{"type": "function", "function": {"name": "get", "strict": True, "parameters": PARAMETERS}, "cache_control": {"type": "ephemeral"}}],
    "tool_choice": {"type": "function", "function": {"name": "get"}},
    "max_completion_tokens": 128_000,
    "temperature": 1.31,
    "top_p": 0,
    "top_logprobs": 25,
    "logprobs": True,
    "stop": ["a", "b", "c", "d", "e"],
    "user": "u" * 80,
    "store": False,
    "verbosity": "low",
    "service_tier": "flex",
    "reasoning_effort": "xhigh",
    "thinking": {"type": "enabled"},
    "presence_penalty": 0.5,
    "prompt_cache_key": "k",
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {"type": "object"}}},
}
MESSAGES: dict[str, Any] = {
    "model": "m",
    "max_tokens": 128_000,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "citations": [{"type": "page_location"}]}]}],
    "context_management": {"edits": [{"type": "clear_thinking_20251015"}]},
    "temperature": 1,
    "thinking": {"type": "adaptive"},
    "tools": [{"name": "get", "input_schema": {"type": "object", "properties": {"l": {"type": "array", "maxItems": 3}}}}],
}
RESPONSES: dict[str, Any] = {
    "model": "m",
    "input": [{"type": "reasoning", "summary": [], "encrypted_content": "e"}, {"role": "user", "content": "hi"}],
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "max"},
    "tools": [{"type": "function", "name": "get", "parameters": PARAMETERS}],
}
OF = {"chat": CHAT, "messages": MESSAGES, "responses": RESPONSES}


def error(message: str, param: str | None = None, **more: Any) -> Any:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, **more}}


# the API, the body, the edits joined by ", "
WORDED: list[tuple[str, Any, str]] = [
    # a field under its name at another API
    ("chat", error("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"), "max_completion_tokens <= 8192"),
    ("chat", error("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 65536]"), "max_completion_tokens <= 65536"),
    ("chat", {"message": "This model doesn't support the stopSequences field. Remove stopSequences and try again."}, "stop"),
    ("messages", {"message": "The maximum tokens you requested exceeds the model limit of 64000."}, "max_tokens <= 64000"),
    ("messages", error("Unable to submit request because it has a maxOutputTokens value of 128000 but the supported range is from 1 (inclusive) to 65537 (exclusive)."), "max_tokens <= 65536"),
    ("chat", error("It has a temperature value of 1.31 but the supported range is from 0 (inclusive) to 1 (inclusive)."), "temperature <= 1"),
    # in words
    ("chat", error('think value "xhigh" is not supported for this model'), "reasoning_effort"),
    ("chat", error("Thinking level XHIGH is not supported for this model."), "reasoning_effort"),
    ("chat", error("Unexpected reasoning effort xhigh. Supported types are high (default), medium, and low."), "reasoning_effort in low medium high"),
    ("chat", error('invalid reasoning value: \'xhigh\' (must be "high", "medium", "low")'), "reasoning_effort in low medium high"),
    ("chat", error("`reasoning_effort` must be one of `none` or `default`"), "reasoning_effort in none default"),
    ("chat", error("temperature参数非法。请检查文档。", code="1214"), "temperature"),
    ("chat", error("max_completion_tokens 参数非法：取值范围为 [1, 98304]", code="1210"), "max_completion_tokens <= 98304"),
    ("chat", error("The top_p parameter is illegal. Please check the documentation.", code="1210"), "top_p"),
    ("chat", error("invalid params, temperature should be in (0, 1] (2013)"), "temperature <= 1"),
    ("chat", error("Only one of 'thinking' or 'reasoning_effort' may be specified"), "thinking"),
    ("responses", error("The following tools cannot be used with reasoning.effort 'max': get.", "tools"), "reasoning.effort"),
    # lists of fields
    ("chat", error("litellm.UnsupportedParamsError: x does not support parameters: ['reasoning_effort'], for model=m."), "reasoning_effort"),
    ("chat", error("x does not support parameters: {'logprobs': True, 'top_logprobs': 25}, for model=m."), "logprobs, top_logprobs"),
    ("chat", {"message": "Validation: Unsupported parameter(s): prompt_cache_key, user"}, "prompt_cache_key, user"),
    ("chat", {"message": ["property store should not exist", "property verbosity should not exist"]}, "store, verbosity"),
    # a name that several entries have, and a choice whose field is unknown
    ("chat", error("Extra inputs are not permitted, field: 'cache_control', value: 1"), "tools[].cache_control, messages[].content[].cache_control"),
    ("chat", error("Unsupported parameter: 'tool_choice'", "tool_choice", code="unsupported_parameter"), "tool_choice"),
    ("chat", error("unknown field `tool_choice`, expected one of `model`, `messages`"), "tool_choice"),
    # envelopes of other frameworks
    ("chat", {"errors": {"top_logprobs": ["The field top_logprobs must be between 0 and 20."]}, "title": "One or more validation errors occurred."}, "top_logprobs <= 20"),
    ("chat", {"error_code": "BAD_REQUEST", "message": '{"external_model_error":{"message":"logprobs: extra field not permitted"}}'}, "logprobs"),
    ("chat", {"message": "1 validation error for Request\nreasoning_effort\n Input should be 'low', 'medium' or 'high' [type=enum, input_value='xhigh', input_type=str]"}, "reasoning_effort in low medium high"),
    ("chat", error("json: cannot unmarshal array into Go struct field Request.stop of type string"), "stop"),
    ("chat", error("body/stop must NOT have more than 4 items"), "stop[:4]"),
    ("chat", error("body/user must NOT have more than 64 characters"), "user[:64]"),
    ("chat", [error("Invalid value at 'stop' (Repeated field), maximum 4 entries")], "stop[:4]"),
    ("messages", {"message": "Malformed input request: #/temperature: expected type: Number, found: Null"}, "temperature"),
    # members that have the name of a union's tag, and entries of a list
    ("messages", error("messages.0.content.0.text.citations: Extra inputs are not permitted"), "messages[].content[].citations"),
    ("messages", error("context_management.edits.0: Input tag 'clear_thinking_20251015' found using 'type' does not match any of the expected tags: 'x'"), "context_management.edits"),
    # several problems in one text, a masked path, a reply inside a reply
    ("chat", error('Unknown name "metadata": Cannot find field.\nInvalid JSON payload received. Unknown name "store": Cannot find field.'), "store"),
    ("chat", error("[400]: Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.\nInvalid JSON payload received. Unknown name \"pattern\" at 'tools[0].function_declarations[1].parameters.properties[1].value': Cannot find field."), "tools[].function.parameters ~ -additionalProperties, tools[].function.parameters ~ -pattern"),
    ("chat", error("Invalid JSON payload received. Unknown name \"pattern\" at 'tools[0].function_declarations[38].***.properties[0].value': Cannot find field."), "tools[].function.parameters ~ -pattern"),
    ("chat", error("Provider returned error", metadata={"raw": {"__kind": "OK", "data": json.dumps(error("Unsupported parameter: 'store' is not supported with this model.", "store"))}}), "store"),
    # thinking at hosts that are compatible with Messages
    ("messages", error("thinking is enabled but reasoning_content is missing in assistant tool call message at index 4"), 'thinking = {"type": "disabled"}'),
    ("messages", error("The `content[].thinking` in the thinking mode must be passed back to the API."), 'thinking = {"type": "disabled"}'),
    ("chat", error("'type' must be in [\"adaptive\", \"disabled\", \"auto\"]"), "thinking"),
    # schemas
    ("messages", error("tools.0.custom: For 'array' type, property 'maxItems' is not supported"), "tools[].input_schema ~ -maxItems"),
    ("chat", [error("Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.")], "tools[].function.parameters ~ -additionalProperties"),
    ("chat", [error("* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].format: only 'enum' and 'date-time' are supported")], "tools[].function.parameters ~ -format"),
    ("responses", error("Invalid schema for function 'get': In context=('properties', 'a'), 'format' is not permitted.", "tools[0].parameters", code="invalid_function_parameters"), "tools[].parameters ~ -format"),
    ("responses", error("Invalid schema for function 'get': '(?=x)' is not a 'regex'.", "tools[0].parameters"), "tools[].parameters ~ -pattern"),
    ("chat", error("Invalid schema for response_format 'n': In context=(), 'additionalProperties' is required to be supplied and to be false."), "response_format.json_schema.strict = false"),
    ("chat", error("This model does not support response format `json_schema`.", "response_format"), "response_format"),
    # a fraction beyond a limit that is excluded goes: 0 is not nearer to 1 than to nothing
    ("chat", {"detail": [{"type": "greater_than", "loc": ["body", "top_p"], "msg": "Input should be greater than 0"}]}, "top_p"),
    # sealed content is never set to a word
    ("responses", error("include[0]: Invalid value: 'reasoning.encrypted_content'. Supported values are: 'file_search_call.results'", "include[0]"), "include"),
]


@pytest.mark.parametrize(
    ("message", "place", "left"),
    [
        ('Only `type:"function"` tools are supported on this endpoint. Built-in tools (web_search, mcp) are not executed here.', "tools.2.type", "function custom"),
        ("Unsupported tool type: web_search", None, "function custom image_generation"),
        ("Unsupported Responses tool type: 'image_generation'", None, "function custom web_search"),
        ("Hosted tool 'web_search' is not supported with gpt-4.1-nano.", None, "function custom image_generation"),
        ("Failed to deserialize: tools[2].type: unknown variant `web_search`, expected one of `function`, `mcp`", None, "function custom image_generation"),
        ("Invalid value: 'web_search'. Supported values are: 'function' and 'image_generation'.", "tools[2].type", "function custom image_generation"),
        ("Unsupported Responses tool type: 'custom'", None, "function custom web_search image_generation"),
        ("Invalid value: 'custom'. Supported values are: 'function' and 'web_search'.", "tools[1].type", "function custom web_search image_generation"),
    ],
)
def test_tools_that_the_upstream_does_not_run_are_removed(message: str, place: str | None, left: str) -> None:
    request = RESPONSES | {"tools": [*RESPONSES["tools"], {"type": "custom", "name": "patch"}, {"type": "web_search"}, {"type": "image_generation"}], "tool_choice": {"type": "web_search"}}
    asked = RefusedRequest(request, "responses", quirks_for("responses", "llm.example", "m"), translated=False)
    edits = [edit_of(edit) for remedy in remedies(400, json.dumps(error(message, place)).encode(), asked) for edit in remedy.edits]
    changed = apply_edits(request, edits, [])
    assert [tool["type"] for tool in changed["tools"]] == left.split()
    assert ("tool_choice" in changed) == ("web_search" in left)


@pytest.mark.parametrize(
    ("message", "understood"),
    [
        ("JSON format issue: expected string at field messages.content got instead array", True),
        ("Invalid type for 'messages[1].content': expected a string, but got an array instead.", True),
        ("[{'type': 'string_type', 'loc': ('body', 'messages', 1, 'content'), 'msg': 'Input should be a valid string', 'input': [{}]}]", True),
        ("messages[1]: invalid type: sequence, expected a string at line 1 column 200", True),
        ("Invalid 'messages[2].content': string too long. Expected a string with maximum length 1048576", False),
        ("Invalid value for 'content': expected a string, got null.", False),
    ],
)
def test_text_parts_become_a_string_where_only_strings_are_accepted(message: str, understood: bool) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    text = {"type": "text", "text": "hi"}
    request = {"model": "m", "thinking": {"type": "enabled"}, "messages": [{"role": "user", "content": [text, text]}, {"role": "user", "content": [text, image]}]}
    asked = RefusedRequest(request, "chat", quirks_for("chat", "llm.example", "m"), translated=False)
    edits = [edit_of(edit) for remedy in remedies(400, json.dumps(error(message)).encode(), asked) for edit in remedy.edits]
    changed = apply_edits(request, edits, [])
    assert changed == request | ({"messages": [{"role": "user", "content": "hi\n\nhi"}, request["messages"][1]]} if understood else {})


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported Responses API input item type: 'additional_tools' None",
        "malformed request: failed to parse JSON for /v1/responses: cannot unmarshal unknown input type: additional_tools",
        "Invalid 'input': value did not match any expected variant",
    ],
)
def test_tools_in_the_input_are_moved_where_the_item_is_unknown(message: str) -> None:
    own, moved = {"type": "function", "name": "a"}, {"type": "custom", "name": "b"}
    user = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    request = {"model": "m", "tools": [own], "input": [{"type": "additional_tools", "role": "developer", "tools": [moved]}, user]}
    quirks = quirks_for("responses", "llm.example", "m")
    (remedy,) = remedies(400, json.dumps(error(message)).encode(), RefusedRequest(request, "responses", quirks, translated=False))
    assert apply_edits(request, map(edit_of, remedy.edits), []) == {"model": "m", "tools": [own, moved], "input": [user]}
    assert remedies(400, json.dumps(error(message)).encode(), RefusedRequest({**request, "input": [user]}, "responses", quirks, translated=False)) == ()


def test_the_keywords_of_one_refusal_are_learnt_together() -> None:
    named = ["additionalProperties", "pattern"]
    message = "\n".join(f"Invalid JSON payload received. Unknown name \"{name}\" at 'tools[0].function_declarations[0].parameters': Cannot find field." for name in named)
    asked = RefusedRequest(CHAT, "chat", quirks_for("chat", "llm.example", "m"), translated=True)
    facts = dict[str, Any]()
    for remedy in remedies(400, json.dumps(error(message)).encode(), asked):
        facts |= remedy.facts
    assert facts == {"schema_lacks": (*asked.quirks.schema_lacks, *named)}


def test_empty_descriptions_are_removed_after_their_refusal() -> None:
    tool = {"type": "function", "name": "a", "description": ""}
    request = {
        "model": "m",
        "tools": [tool, {"type": "namespace", "name": "n", "description": "d", "tools": [tool]}],
        "input": [{"type": "additional_tools", "tools": [tool]}, {"role": "user", "content": ""}],
    }
    message = "Invalid 'input[0].tools[0].description': empty string. Expected a string with minimum length 1, but got an empty string instead."
    quirks = quirks_for("responses", "llm.example", "m")
    refused = RefusedRequest(request, "responses", quirks, translated=False)
    (remedy,) = remedies(400, json.dumps(error(message, "input[0].tools[0].description", code="empty_string")).encode(), refused)
    bare = {"type": "function", "name": "a"}
    assert apply_edits(request, map(edit_of, remedy.edits), []) == {
        "model": "m",
        "tools": [bare, {"type": "namespace", "name": "n", "description": "d", "tools": [bare]}],
        "input": [{"type": "additional_tools", "tools": [bare]}, {"role": "user", "content": ""}],
    }
    chat = {"messages": [], "tools": [{"type": "function", "function": {"name": "a", "description": ""}}]}
    assert apply_edits(chat, [edit_of("messages: described")], [])["tools"] == [{"type": "function", "function": {"name": "a"}}]


def test_response_format_without_a_schema_is_dropped() -> None:
    request = CHAT | {"response_format": {"type": "json_object"}}
    for translated in (False, True):
        asked = RefusedRequest(request, "chat", quirks_for("chat", "llm.example", "m"), translated=translated)
        body = json.dumps({"error": "'response_format.type' must be 'json_schema' or 'text'"}).encode()
        assert [(remedy.edits, dict(remedy.facts)) for remedy in remedies(400, body, asked)] == [(("response_format",), {})]


def test_place_beyond_the_messages_is_no_field() -> None:
    body = {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 2, "user", "name"], "msg": "Extra inputs are not permitted"}]}
    asked = RefusedRequest(CHAT, "chat", quirks_for("chat", "llm.example", "m"), translated=False)
    assert remedies(422, json.dumps(body).encode(), asked) == ()


def test_of_two_objects_one_after_the_other_the_first_is_the_refusal() -> None:
    body = '{"error": {"message": "{\\"detail\\":\\"Unsupported parameter: verbosity\\"} (traceid: d2)"}}{"code": 30001, "success": false}'
    asked = RefusedRequest(CHAT, "chat", quirks_for("chat", "llm.example", "m"), translated=False)
    assert [remedy.edits for remedy in remedies(400, body.encode(), asked)] == [("verbosity",)]


@pytest.mark.parametrize(
    "message",
    [
        "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.0.role'",
        "At body -> messages -> 0 -> role: Input should be 'system', 'user' or 'assistant'",
        "Invalid value: 'developer'. Supported values are: 'system', 'assistant', 'user', 'function', and 'tool'.",
        "Unsupported role: developer",
    ],
)
def test_a_refused_role_is_renamed_and_is_not_taken_for_the_field_user(message: str) -> None:
    request = CHAT | {"messages": [{"role": "developer", "content": "be short"}, *CHAT["messages"]]}
    asked = RefusedRequest(request, "chat", quirks_for("chat", "llm.example", "m"), translated=False)
    (remedy,) = remedies(400, json.dumps(error(message)).encode(), asked)
    changed = apply_edits(request, map(edit_of, remedy.edits), [])
    assert changed["user"] == request["user"]
    assert [message["role"] for message in changed["messages"]] == ["system", "user", "assistant", "tool"]
    assert remedies(400, json.dumps(error(message)).encode(), RefusedRequest(CHAT, "chat", asked.quirks, translated=False)) == ()


@pytest.mark.parametrize(("api", "body", "edits"), WORDED, ids=[f"{index} {edits}" for index, (_, _, edits) in enumerate(WORDED)])
def test_a_wording_is_understood(api: str, body: Any, edits: str) -> None:
    asked = RefusedRequest(OF[api], api, quirks_for(api, "llm.example", "m"), translated=False)
    found = [edit for remedy in remedies(400, json.dumps(body).encode(), asked) for edit in remedy.edits]
    assert ", ".join(found) == edits
    changed = apply_edits(OF[api], map(edit_of, found), [])
    assert changed != OF[api] and all(len(changed[name]) == len(OF[api][name]) for name in ("messages", "input", "tools") if name in OF[api])
