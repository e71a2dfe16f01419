"""refused.py: what a refusal of an upstream names, in the envelopes of many hosts, and what is changed for it."""

import json
from typing import Any

import pytest

from tests.support.agent_requests import AGENTS
from tests.support.refusals import CHAT, OF, asked
from tests.support.strict_upstream import refusal
from tests.support.upstream_hosts import UPSTREAMS
from toolmend.requests import RequestError, translate
from toolmend.requests.edits import apply_edits, edit_of
from toolmend.requests.refusal_rules import RefusedRequest, Remedy
from toolmend.requests.refused import remedies, shown_text
from toolmend.requests.request_limits import quirks_for


def openai(message: str, param: str | None = None, code: str | None = None) -> Any:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def anthropic(message: str) -> Any:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_1"}


def mistral(*loc: Any, kind: str = "extra_forbidden", msg: str = "Extra inputs are not permitted") -> Any:
    return {"object": "error", "message": {"detail": [{"type": kind, "loc": list(loc), "msg": msg, "input": "secret of the user"}]}, "type": "invalid_request_error", "param": None, "code": None}


# the API, the body, the edits; or the facts where there are any
FIELDS: list[tuple[str, Any, Any]] = [
    # dropped, in every envelope
    ("chat", openai("Unsupported parameter: 'store' is not supported with this model.", "store", "unsupported_parameter"), "store"),
    ("chat", openai("Unrecognized request argument supplied: seed"), "seed"),
    ("chat", openai("Unrecognized request arguments supplied: seed, service_tier"), "seed service_tier"),
    ("chat", {"detail": "Unsupported parameter: metadata"}, "metadata"),
    ("responses", {"detail": "Unsupported parameter: truncation"}, "truncation"),
    ("responses", openai("Unknown parameter: 'input[0].content[0].cache_control'.", "input[0].content[0].cache_control", "unknown_parameter"), "input[].content[].cache_control"),
    ("responses", openai("Unknown parameter: 'input[1].status'.", "input[1].status", "unknown_parameter"), "input[].status"),
    ("responses", {"error": {"message": "Unsupported parameter: 'reasoning.summary' is not supported with the 'm' model.", "param": "reasoning.summary", "code": "unsupported_parameter"}}, "reasoning.summary"),
    ("messages", anthropic("service_tier: Extra inputs are not permitted"), "service_tier"),
    ("messages", anthropic("system.0.cache_control.ephemeral.scope: Extra inputs are not permitted"), "system[].cache_control.scope"),
    ("messages", {"message": "tools.0.custom.defer_loading: Extra inputs are not permitted"}, "tools[].defer_loading"),
    ("messages", {"message": "The model returned the following errors: context_management: Extra inputs are not permitted"}, "context_management"),
    ("messages", {"message": 'The model returned the following errors: {"type":"error","error":{"type":"invalid_request_error","message":"metadata.user_id: Extra inputs are not permitted"}}'}, "metadata.user_id"),
    ("chat", [{"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "store": Cannot find field.', "status": "INVALID_ARGUMENT", "details": [{"@type": "x", "fieldViolations": [{"description": 'Invalid JSON payload received. Unknown name "store": Cannot find field.'}]}]}}], "store"),
    ("chat", [{"error": {"code": 400, "message": "Invalid JSON payload received. Unknown name \"reasoning_content\" at 'messages[2]': Cannot find field.", "status": "INVALID_ARGUMENT"}}], "messages[].reasoning_content"),
    ("chat", mistral("body", "messages", 2, "assistant", "reasoning_content"), "messages[].reasoning_content"),
    ("chat", mistral("body", "messages", 1, "user", "name"), "messages[].name"),
    ("chat", {"object": "Error", "detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}], "message": [], "type": "invalid_request_error", "code": 3001}, "seed"),
    ("chat", {"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted", "type": "value_error.extra"}, {"loc": ["body", "user"], "msg": "extra fields not permitted", "type": "value_error.extra"}]}, "seed user"),
    ("chat", {"code": "Client specified an invalid argument", "error": "Model m does not support parameter reasoningEffort."}, "reasoning_effort"),
    ("chat", {"code": "Client specified an invalid argument", "error": "Argument not supported on this model: presencePenalty"}, "presence_penalty"),
    ("chat", openai("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]"), "messages[].reasoning_content"),
    ("chat", openai("property 'store' is unsupported, did you mean 'stop'?"), "store"),
    ("chat", {"message": "body.seed: property 'body.seed' is unsupported", "type": "invalid_request_error", "param": "validation_error", "code": "wrong_api_format"}, "seed"),
    ("chat", {"message": "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported", "type": "invalid_request_error", "param": "validation_error", "code": "wrong_api_format"}, "messages[].reasoning_content"),
    ("chat", {"error": {"object": "error", "type": "invalid_request_error", "message": "Extra inputs are not permitted, field: 'stream_options', value: {'include_usage': True}"}}, "stream_options"),
    ("chat", {"object": "error", "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'logprobs'), 'msg': 'Extra inputs are not permitted', 'input': True}]", "type": "BadRequestError", "param": None, "code": 400}, "logprobs"),
    ("chat", {"error": {"message": "Failed to deserialize the JSON body into the target type: unknown field `metadata`, expected one of `model`, `messages` at line 1 column 8", "type": "invalid_request_error"}}, "metadata"),
    ("chat", {"type": "urn:x:unprocessable-entity", "title": "Unprocessable Entity", "status": 422, "detail": "body -> seed\n  Extra inputs are not permitted (type=extra_forbidden)"}, "seed"),
    ("chat", {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": '{"error":{"message":"Unsupported parameter: \'logprobs\'","param":"logprobs","code":"unsupported_parameter"}}', "provider_name": "OpenAI"}}}, "logprobs"),
    ("chat", {"error": {"message": 'litellm.BadRequestError: OpenAIException - {"error":{"message":"Unknown parameter: \'store\'.","param":"store","code":"unknown_parameter"}}'}}, "store"),
    ("chat", {"error": {"message": "Unknown parameter: 'store'. (request id: 2026) (request id: 2027)", "type": "new_api_error"}}, "store"),
    ("chat", {"error": {"message": "<400> InternalError.Algo.InvalidParameter: The parameter `logprobs` is not supported by this model.", "type": "x", "param": None, "code": "invalid_parameter_error"}}, "logprobs"),
    ("chat", "create() got an unexpected keyword argument 'metadata'", "metadata"),
    ("chat", {"error": "Additional properties are not allowed ('seed', 'user' were unexpected)"}, "seed user"),
    ("chat", {"error": {"message": "Unrecognized key(s) in object: 'seed'"}}, "seed"),
    ("chat", openai("`temperature` is not supported with this model."), "temperature"),
    ("chat", openai("Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value"), "temperature"),
    ("chat", openai("invalid temperature: only 1 is allowed for this model"), "temperature"),
    ("chat", {"error": {"message": "tools is not allowed with logprobs; please remove `logprobs`"}}, "logprobs"),
    ("chat", openai("tools[0].function.strict: unsupported", "tools[0].function.strict"), "tools[].function.strict"),
    ("chat", openai("frequency_penalty and presence_penalty are not supported for reasoning models"), "presence_penalty"),
    ("chat", openai("cache_control is not permitted here", "messages.1.content.0.cache_control"), "messages[].content[].cache_control"),
    ("messages", anthropic("`top_k` must be unset when thinking is enabled or in adaptive mode."), "top_k"),
    ("messages", anthropic("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."), "temperature"),
    # renamed and moved
    ("chat", openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"), "max_tokens -> max_completion_tokens"),
    ("chat", openai("Unsupported parameter: 'reasoning_effort'. In the Responses API, this parameter has moved to 'reasoning.effort'. Try again with the new parameter."), "reasoning_effort -> reasoning.effort"),
    ("chat", openai("Unsupported parameter: 'store'. Use 'messages' instead.", "store"), "store"),
    # words
    ("chat", openai("Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low', 'medium', and 'high'.", "reasoning_effort", "unsupported_value"), "reasoning_effort in low medium high"),
    ("responses", openai("Unsupported value: 'minimal' is not supported with the 'm' model. Supported values are: 'low', 'medium', and 'high'.", "reasoning.effort", "unsupported_value"), "reasoning.effort in low medium high"),
    ("chat", openai("Invalid value: 'flex'. Supported values are: 'auto' and 'default'.", "service_tier", "invalid_value"), "service_tier in auto default"),
    ("chat", {"object": "error", "message": "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'xhigh', 'ctx': {'expected': \"'low', 'medium' or 'high'\"}}]", "type": "Bad Request", "code": 400}, "reasoning_effort in low medium high"),
    ("chat", {"error": {"message": "Failed to deserialize the JSON body into the target type: reasoning_effort: unknown variant `xhigh`, expected one of `low`, `high`, `max` at line 1 column 90"}}, "reasoning_effort in low high max"),
    ("messages", {"error": {"message": 'output_config.effort "max" is not supported by model M; supported values: [medium]', "code": "invalid_reasoning_effort"}}, "output_config.effort in medium"),
    ("chat", {"detail": [{"type": "enum", "loc": ["body", "reasoning_effort"], "msg": "Input should be 'none' or 'high'", "input": "xhigh"}]}, "reasoning_effort in none high"),
    ("chat", {"error": {"message": "reasoning_effort must be one of: low, medium, high", "param": "reasoning_effort"}}, "reasoning_effort in low medium high"),
    # limits
    ("messages", anthropic("max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-x"), "max_tokens <= 64000"),
    ("chat", openai("max_tokens is too large: 128000. This model supports at most 16384 completion tokens, whereas you provided 128000.", "max_tokens", "invalid_value"), "max_tokens <= 16384"),
    ("chat", {"error": {"message": "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", "type": "invalid_request_error"}}, "max_tokens <= 8192"),
    ("chat", {"error": {"message": "`max_tokens` must be less than or equal to `40960`, the maximum value for `max_tokens` is less than the `context_window` for this model"}}, "max_tokens <= 40960"),
    ("chat", {"detail": [{"type": "less_than_equal", "loc": ["body", "presence_penalty"], "msg": "Input should be less than or equal to 2", "ctx": {"le": 2}}]}, "presence_penalty <= 2"),
    ("responses", openai("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 4 instead.", "max_output_tokens", "integer_below_min_value"), "max_output_tokens >= 16"),
    ("messages", anthropic("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"), "thinking.budget_tokens >= 1024"),
    ("chat", openai("Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead.", "stop", "array_above_max_length"), "stop[:4]"),
    ("chat", openai("Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.", "user", "string_above_max_length"), "user[:64]"),
    ("responses", openai("Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.", "prompt_cache_key", "string_above_max_length"), "prompt_cache_key[:64]"),
]
FACTS: list[tuple[str, Any, dict[str, Any]]] = [
    ("messages", anthropic("`temperature` is deprecated for this model."), {"sampling": "none"}),
    ("messages", anthropic('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'), {"thinking_kinds": ("adaptive",)}),
    ("messages", anthropic("This model does not support the effort parameter."), {"efforts": ()}),
    ("messages", anthropic("Thinking may not be enabled when tool_choice forces tool use."), {"forced_choice": "unless_thinking"}),
    ("messages", anthropic('tool_choice: type "tool" and "any" are not supported for this model'), {"forced_choice": "never"}),
    ("messages", anthropic("This model does not support assistant message prefill. The conversation must end with a user message."), {"prefill": ""}),
    ("messages", anthropic("messages.2: role 'system' is not supported on this model"), {"system_inside": False}),
    ("messages", anthropic("tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"), {"schema_rules": ("valid", "root", "names")}),
    ("messages", anthropic("`temperature` and `top_p` cannot both be specified for this model. Please use only one."), {"sampling": "one"}),
    ("messages", anthropic("tools.0: Input tag 'web_search_20250305' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom'"), {"search_tool": ""}),
    ("messages", anthropic("tools.0.custom.input_schema.properties.seed.format: Extra inputs are not permitted"), {"schema_lacks": ("format",)}),
    ("chat", openai("Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead.", "reasoning_effort"), {"effort_with_tools": "omit"}),
    ("chat", openai("Invalid schema for function 'get': In context=(), 'required' is required to be supplied and to be an array including every key in properties.", "tools[0].function.parameters", "invalid_function_parameters"), {"strict": False}),
    ("chat", {"error": {"message": "Thinking mode does not support this tool_choice"}}, {"forced_choice": "unless_thinking", "thinking": "thinking"}),
    ("chat", {"error": {"message": "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode", "code": "invalid_parameter_error"}}, {"forced_choice": "unless_thinking", "thinking": "enable_thinking"}),
    ("chat", {"error": {"message": "tool_choice 'specified' is incompatible with thinking enabled"}}, {"forced_choice": "unless_thinking"}),
    ("chat", {"error": {"message": "The `reasoning_content` in the thinking mode must be passed back to the API."}}, {"needs_replay": True}),
    ("chat", {"error": {"message": "This response_format type is unavailable now"}}, {"json_schema": False}),
    ("chat", {"object": "error", "message": "Unexpected role 'user' after role 'tool'", "type": "invalid_request_error"}, {"user_after_tool": False}),
    ("chat", {"object": "error", "message": "System message must be at the beginning.", "type": "BadRequestError"}, {"system_inside": False}),
    ("chat", {"error": {"message": "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"}}, {"named_choice": False}),
    ("chat", {"error": {"message": "Unsupported JSON schema fields: {'minItems'}", "param": "response_format", "type": "invalid_request_error"}}, {"schema_lacks": ("minItems",)}),
    ("responses", {"detail": "System messages are not allowed"}, {"developer": "only"}),
]
ONCE: list[tuple[str, Any, str]] = [
    ("messages", anthropic("messages.1.content.0: Invalid `signature` in `thinking` block"), "messages[].content - redacted_thinking thinking"),
    ("responses", openai("Item 'rs_1' of type 'reasoning' was provided without its required following item.", "input"), "input - reasoning"),
    ("messages", anthropic("tool_choice.type: Input should be 'auto' or 'none'"), "tool_choice"),
    ("chat", openai("Invalid value for 'tool_choice': 'required' is not supported.", "tool_choice"), "tool_choice in auto none"),
    ("messages", anthropic("A maximum of 4 blocks with cache_control may be provided. Found 5."), "**.cache_control"),
]
NOTHING: list[tuple[str, Any, int]] = [
    ("chat", openai("Unsupported parameter: 'store'", "store"), 401),
    ("chat", openai("Unsupported parameter: 'store'", "store"), 403),
    ("chat", openai("Unsupported parameter: 'store'", "store"), 404),
    ("chat", openai("Unsupported parameter: 'store'", "store"), 413),
    ("chat", openai("Unsupported parameter: 'store'", "store"), 429),
    ("chat", openai("Unsupported parameter: 'store'", "store"), 500),
    ("chat", openai("The response was filtered: seed", "prompt", "content_filter"), 400),
    ("chat", openai("This model's maximum context length is 1000 tokens, however you requested 9000 (max_tokens)", "messages", "context_length_exceeded"), 400),
    ("chat", "Bad Request", 400),
    ("chat", "400 Bad Request", 400),
    ("chat", {"error": {"message": "Bad Request"}}, 400),
    ("chat", {"message": "Input validation error", "type_": "invalid_request_error"}, 400),
    ("chat", openai('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'), 400),
    ("chat", openai("Failed to call a function.", None, "tool_use_failed"), 400),
    ("chat", openai("Unknown parameter: 'messages'.", "messages", "unknown_parameter"), 400),
    ("chat", openai("Unknown parameter: 'messages[1].content'.", "messages[1].content", "unknown_parameter"), 400),
    ("chat", openai("Unknown parameter: 'messages[2].tool_calls'.", "messages[2].tool_calls", "unknown_parameter"), 400),
    ("chat", openai("Unknown parameter: 'messages[2].tool_calls[0].function.name'.", "messages[2].tool_calls[0].function.name", "unknown_parameter"), 400),
    ("chat", openai("Unknown parameter: 'tools'.", "tools", "unknown_parameter"), 400),
    ("chat", openai("Unknown parameter: 'tools[0].function.name'.", "tools[0].function.name", "unknown_parameter"), 400),
    ("chat", openai("Unsupported parameter: 'model'", "model"), 400),
    ("chat", openai("Unknown parameter: 'nowhere'.", "nowhere", "unknown_parameter"), 400),
    ("messages", anthropic("messages.0.content.0.text: Extra inputs are not permitted"), 400),
    ("messages", anthropic("system: Extra inputs are not permitted"), 400),
    ("messages", anthropic("max_tokens: Extra inputs are not permitted"), 400),
    ("messages", anthropic("messages.1.content.1.input.seed: Extra inputs are not permitted"), 400),
    ("chat", openai("m does not support tools", None), 400),
    ("chat", openai("The model `m-1` does not exist", "model"), 400),
]


def found(api: str, body: Any, status: int = 400, **more: Any) -> tuple[Remedy, ...]:
    raw = body if isinstance(body, str) else json.dumps(body)
    return remedies(status, raw.encode(), asked(api, **more))


def test_a_field_is_changed(subtests: pytest.Subtests) -> None:
    for api, body, expected in FIELDS:
        with subtests.test(expected, body=str(body)[:60]):
            edits = [edit for remedy in found(api, body) for edit in remedy.edits]
            several = expected.split() if all(name in CHAT for name in expected.split()) else [expected]
            assert edits == several
            changed = apply_edits(OF[api], map(edit_of, edits), [])
            assert changed != OF[api]
            for name in ("model", "messages", "input", "system", "instructions"):
                assert len(changed.get(name) or "") == len(OF[api].get(name) or "")


def test_facts_are_learnt(subtests: pytest.Subtests) -> None:
    for api, body, expected in FACTS:
        with subtests.test(str(body)[:90]):
            (remedy,) = found(api, body)
            assert {name: remedy.facts.get(name) for name in expected} == expected and not remedy.once


def test_some_is_changed_once(subtests: pytest.Subtests) -> None:
    for api, body, edit in ONCE:
        with subtests.test(edit):
            (remedy,) = found(api, body)
            assert remedy.edits == (edit,) and remedy.once


def test_a_choice_is_an_object_in_messages() -> None:
    (remedy,) = found("messages", anthropic('tool_choice: type "tool" and "any" are not supported for this model'))
    assert remedy.edits == ()
    (remedy,) = found("messages", anthropic('tool_choice: type "tool" and "any" are not supported for this model'), translated=False)
    assert remedy.edits == ("tool_choice",)


def test_nothing_is_learnt(subtests: pytest.Subtests) -> None:
    for api, body, status in NOTHING:
        with subtests.test(str(body)[:90], status=status):
            assert found(api, body, status) == ()


def test_no_value_is_kept() -> None:
    body = json.dumps(openai("Invalid value: 'my secret plan'. Supported values are: 'low' and 'high'. Got input: sk-abcdefgh12345", "reasoning_effort")).encode()
    words = shown_text(body, asked("chat"))
    assert "secret plan" not in words and "sk-abc" not in words and "'low'" in words
    assert shown_text(b"", asked("chat")) == ""


def test_strict_upstreams_teach() -> None:
    """An upstream that no table knows refuses what a known one does: what is learnt of it, refusal by refusal, gets the request through."""
    right, wrong = 0, []
    for api, host, model in UPSTREAMS:
        for name, (client, request) in AGENTS.items():
            if client == api:
                continue
            facts: dict[str, Any] = {}
            edits: list[str] = []
            sent = learning(client, api, request, facts, edits)
            while sent and (refused := refusal(api, host, model, sent)):
                known = RefusedRequest(sent, api, quirks_for(api, "llm.example", "mine", facts))
                for remedy in remedies(refused.status, json.dumps(refused.body).encode(), known):
                    facts |= remedy.facts
                    edits += remedy.edits
                before, sent = sent, learning(client, api, request, facts, edits)
                again = sent and refusal(api, host, model, sent)
                if sent == before or (again and again == refused):
                    wrong.append((name, host, refused))
                    break
                right += 1
    mine = [row for row in wrong if "model:" not in str(row[2].body)]  # which stays, whoever refuses it
    assert right > 400 and len(mine) < 0.06 * right, mine


def learning(client: str, api: str, request: dict[str, Any], facts: dict[str, Any], edits: list[str]) -> Any:
    try:
        made = translate(request, client, api, host="llm.example", model="mine", facts=facts, edits=edits)
    except RequestError:
        return None
    return json.loads(json.dumps(made.request))
