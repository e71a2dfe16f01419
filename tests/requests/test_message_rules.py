"""message_rules.py: what a request in the client's own API becomes, after a refusal that names no field of it."""

import json
import struct
from base64 import b64encode
from typing import Any

import pytest

from toolmend.requests.edits import apply_edits, edit_of
from toolmend.requests.image_size import size_of
from toolmend.requests.message_rules import with_rules
from toolmend.requests.refusal_rules import RefusedRequest
from toolmend.requests.refused import remedies
from toolmend.requests.request_limits import quirks_for
from toolmend.requests.stand_ins import AS_JSON, CONTINUE, EMPTY, EMPTY_RESULT

USER: dict[str, Any] = {"role": "user", "content": "hi"}
HALF = {"role": "assistant", "content": "The answer is "}
CALL = {"role": "assistant", "content": " ", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": ""}

USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "get", "input": {}}]}
GIVEN = {"type": "tool_result", "tool_use_id": "t", "content": "1"}
LACK = {"type": "tool_result", "tool_use_id": "t", "content": "there is no result of this call.", "is_error": True}
TEXT = {"type": "text", "text": "x"}
FUNCTION = {"type": "function_call", "call_id": "c2", "name": "get", "arguments": "{}"}
DONE = {"type": "function_call_output", "call_id": "c1", "output": "1"}


def png(side: int) -> str:
    return b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", side, 10) + bytes(100)).decode()


def chat_image(side: int) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(side)}"}}


def claude_image(side: int) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(side)}}


NOTE = "[An image is left out: this upstream takes {}.]"

# rules, members of the request, members wanted
RULES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("user_last", {"messages": [USER, HALF]}, {"messages": [USER, HALF, {"role": "user", "content": CONTINUE}]}),
    ("user_last", {"messages": [USER]}, {"messages": [USER]}),
    ("user_last", {"messages": [USER, CALL]}, {"messages": [USER, CALL]}),
    ("user_last", {"input": [USER, HALF]}, {"input": [USER, HALF, {"role": "user", "content": [{"type": "input_text", "text": CONTINUE}]}]}),
    ("no_blank", {"messages": [{"role": "user", "content": " "}, CALL, RESULT]}, {"messages": [{"role": "user", "content": EMPTY}, {**CALL, "content": None}, {**RESULT, "content": EMPTY_RESULT}]}),
    ("no_blank", {"messages": [{"role": "user", "content": [{"type": "text", "text": "\n"}, {"type": "text", "text": "x"}]}]}, {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
    ("no_blank", {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}, {"messages": [{"role": "user", "content": [{"type": "text", "text": EMPTY}]}]}),
    ("no_blank", {"messages": [USER, HALF]}, {"messages": [USER, {"role": "assistant", "content": "The answer is"}]}),
    ("no_blank", {"system": [{"type": "text", "text": ""}], "messages": [USER]}, {"messages": [USER]}),
    ("system_first", {"messages": [{"role": "system", "content": "a"}, {"role": "system", "content": "b"}, USER, {"role": "system", "content": "c"}]},
     {"messages": [{"role": "system", "content": "a\n\nb"}, USER, {"role": "user", "content": "<system-reminder>\nc\n</system-reminder>"}]}),
    ("system_first", {"messages": [USER, CALL, {"role": "system", "content": "c"}, RESULT]}, {"messages": [USER, CALL, RESULT, {"role": "user", "content": "<system-reminder>\nc\n</system-reminder>"}]}),
    ("system_first", {"system": "s", "messages": [USER, {"role": "system", "content": [{"type": "text", "text": "c"}]}]},
     {"system": "s", "messages": [USER, {"role": "user", "content": [{"type": "text", "text": "<system-reminder>\nc\n</system-reminder>"}]}]}),
    ("json_word", {"messages": [USER], "response_format": {"type": "json_object"}}, {"messages": [{"role": "system", "content": AS_JSON}, USER], "response_format": {"type": "json_object"}}),
    ("json_word", {"messages": [{"role": "system", "content": "s"}, USER], "response_format": {"type": "json_object"}}, {"messages": [{"role": "system", "content": f"s\n\n{AS_JSON}"}, USER], "response_format": {"type": "json_object"}}),
    ("json_word", {"messages": [{"role": "user", "content": "as JSON"}], "response_format": {"type": "json_object"}}, {"messages": [{"role": "user", "content": "as JSON"}], "response_format": {"type": "json_object"}}),
    ("json_word", {"messages": [USER]}, {"messages": [USER]}),
    ("json_word", {"input": [USER], "text": {"format": {"type": "json_object"}}}, {"input": [USER], "text": {"format": {"type": "json_object"}}, "instructions": AS_JSON}),
    ("pairs", {"messages": [USER, CALL, USER, RESULT]}, {"messages": [USER, CALL, RESULT, USER]}),
    ("pairs", {"messages": [USER, CALL]}, {"messages": [USER, CALL, {**RESULT, "content": "Error: there is no result of this call."}]}),
    ("pairs", {"messages": [USER, {**RESULT, "content": "r"}, HALF]}, {"messages": [USER, {"role": "user", "content": "Result of a tool:\n\nr"}, HALF]}),
    ("pairs", {"messages": [USER, CALL, RESULT, {**RESULT, "content": "r"}]}, {"messages": [USER, CALL, RESULT, {"role": "user", "content": "Result of a tool:\n\nr"}]}),
    ("pairs", {"messages": [USER, CALL, RESULT]}, {"messages": [USER, CALL, RESULT]}),
    ("pairs", {"messages": [USER, USE, USER]}, {"messages": [USER, USE, {"role": "user", "content": [LACK, {"type": "text", "text": "hi"}]}]}),
    ("pairs", {"messages": [USER, USE, {"role": "user", "content": [TEXT, GIVEN]}]}, {"messages": [USER, USE, {"role": "user", "content": [GIVEN, TEXT]}]}),
    ("pairs", {"messages": [USER, USE, {"role": "assistant", "content": "b"}, {"role": "user", "content": [GIVEN]}]},
     {"messages": [USER, USE, {"role": "user", "content": [LACK]}, {"role": "assistant", "content": "b"}, {"role": "user", "content": [{"type": "text", "text": "Result of a tool:\n\n1"}]}]}),
    ("pairs", {"messages": [USER, USE]}, {"messages": [USER, USE, {"role": "user", "content": [LACK]}]}),
    ("pairs", {"input": [DONE, FUNCTION]}, {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Result of a tool:\n\n1"}]}, FUNCTION, {**DONE, "call_id": "c2", "output": "Error: there is no result of this call."}]}),
    ("pairs", {"input": [FUNCTION, USER, {**DONE, "call_id": "c2"}]}, {"input": [FUNCTION, USER, {**DONE, "call_id": "c2"}]}),
    ("reply_after_tool", {"messages": [USER, CALL, RESULT, USER]}, {"messages": [USER, CALL, RESULT, {"role": "assistant", "content": "OK."}, USER]}),
    ("has_user", {"messages": [{"role": "system", "content": "s"}, HALF]}, {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "(The beginning is left out.)"}, HALF]}),
    ("images_1", {"messages": [{"role": "user", "content": [chat_image(1), chat_image(2)]}]}, {"messages": [{"role": "user", "content": [{"type": "text", "text": NOTE.format("at most 1 images")}, chat_image(2)]}]}),
    ("image_pixels_2000", {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [claude_image(2001), claude_image(2000)]}]}]},
     {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": NOTE.format("images of at most 2000 pixels a side")}, claude_image(2000)]}]}]}),
    ("image_bytes_100", {"input": [{"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": f"data:image/png;base64,{png(5)}"}]}]},
     {"input": [{"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": NOTE.format("images of at most 100 bytes")}]}]}),
    ("image_pixels_5", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,!"}}]}]}, {}),
    ("user_last no_blank system_first json_word images_0 image_pixels_1", {"messages": "odd", "input": "odd"}, {}),
]


@pytest.mark.parametrize(("rules", "given", "wanted"), RULES, ids=[f"{index} {row[0]}" for index, row in enumerate(RULES)])
def test_messages_keep_a_rule(rules: str, given: dict[str, Any], wanted: dict[str, Any]) -> None:
    before = json.dumps(given)
    assert with_rules({"model": "m", **given}, rules.split()) == {"model": "m", **(wanted or given)}
    assert json.dumps(given) == before


SIZES = [
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 700, 500), (700, 500)),
    (b"GIF89a" + struct.pack("<HH", 700, 500), (700, 500)),
    (b"RIFF\0\0\0\0WEBPVP8X\n\0\0\0\0\0\0\0" + (699).to_bytes(3, "little") + (499).to_bytes(3, "little"), (700, 500)),
    (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 699 | 499 << 14), (700, 500)),
    (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 700, 500), (700, 500)),
    (b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08" + struct.pack(">HH", 500, 700) + bytes(9), (700, 500)),
    (b"\xff\xd8\xff\xe0\0\x04ab", None),
    (b"\x89PNG\r\n\x1a\n", None),
    (b"", None),
    (b"BM", None),
]


def test_sizes_are_read() -> None:
    assert [size_of(data) for data, _ in SIZES] == [size for _, size in SIZES]


# API, the error's words, the edit of a same-API request, the fact of a translated one
LEARNT = [
    ("messages", "This model does not support assistant message prefill. The conversation must end with a user message.", "messages: user_last", "prefill"),
    ("messages", "messages: text content blocks must be non-empty", "messages: no_blank", "blank"),
    ("messages", "messages.2: role 'system' is not supported on this model", "messages: system_first", "system_inside"),
    ("chat", "System message must be at the beginning.", "messages: system_first", "system_inside"),
    ("chat", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.", "messages: json_word", "json_word"),
    ("responses", "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.", "input: json_word", "json_word"),
    ("chat", "Unexpected role 'user' after role 'tool'", "messages: reply_after_tool", "user_after_tool"),
    ("chat", "<400> InternalError.Algo.InvalidParameter: The input messages do not contain elements with the role of user", "messages: has_user", "needs_user"),
    ("chat", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.", "messages: pairs", ""),
    ("responses", "No tool output found for function call call_1.", "input: pairs", ""),
    ("messages", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t", "messages: pairs", ""),
    ("messages", "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels", "messages: image_pixels_2000", ""),
    ("messages", "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", "messages: image_bytes_5242880", ""),
    ("messages", "Too much media: 0 document pages + 103 images > 100", "messages: images_100", ""),
    ("messages", "too many images and documents: 104 + 1 > 100", "messages: images_100", ""),
    ("chat", "Model 'moonshotai/kimi-k2.6' supports at most 1 image per prompt.", "messages: images_1", ""),
]


@pytest.mark.parametrize(("api", "words", "edit", "fact"), LEARNT, ids=[row[2] + row[1][:20] for row in LEARNT])
def test_a_rule_is_learnt(api: str, words: str, edit: str, fact: str) -> None:
    body = json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode()
    request: dict[str, Any] = {"model": "m", "input" if api == "responses" else "messages": [USER]}
    for translated in (False, True):
        asked = RefusedRequest(request, api, quirks_for(api, "llm.example", "m"), translated=translated)
        if edit.endswith("pairs") and translated:  # which are written in order
            assert remedies(400, body, asked) == ()
            continue
        (remedy,) = remedies(400, body, asked)
        assert not remedy.once and remedy.edits == (() if fact and translated else (edit,)) and (not fact or fact in remedy.facts)
        assert apply_edits(request, map(edit_of, remedy.edits), []) is not None


def test_only_messages_have_rules() -> None:
    for text in ("tools: no_blank", "messages[].content: no_blank", "messages: drop_all", "messages: images", "system: user_last"):
        with pytest.raises(ValueError, match="would remove"):
            edit_of(text)


def test_a_tool_that_the_provider_runs_elsewhere_is_left_out() -> None:
    words = "tools.1: Input tag 'web_search_20250305' found using 'type' does not match any of the expected tags: 'custom'"
    body = json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode()
    tools = [{"name": "get", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}]
    request = {"model": "m", "messages": [USER], "tools": tools, "tool_choice": {"type": "tool", "name": "web_search"}}
    (remedy,) = remedies(400, body, RefusedRequest(request, "messages", quirks_for("messages", "llm.example", "m"), translated=False))
    changed = apply_edits(request, map(edit_of, remedy.edits), [])
    assert changed == {"model": "m", "messages": [USER], "tools": tools[:1]}
    for text in ("tools - function", "tools - custom", "tools - bash_20250124", "messages - user"):
        with pytest.raises(ValueError, match="would remove"):
            edit_of(text)
