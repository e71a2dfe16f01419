"""Whole answers in forms that providers and gateways have sent: nothing of them is lost, and what was meant is what comes out."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.patterns.kimi import ONE
from tests.support.judges import chat_strict
from tests.support.judges import messages as messages_judge
from tests.support.judges import responses as responses_judge
from toolmend.pipeline.pipeline import Pipeline

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
REQUESTS: dict[str, dict[str, Any]] = {
    "chat": {"messages": [], "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]},
    "messages": {"max_tokens": 9, "messages": [], "tools": [{"name": "get_weather", "input_schema": SCHEMA}]},
    "responses": {"input": "hi", "tools": [{"type": "function", "name": "get_weather", "parameters": SCHEMA}]},
}
JUDGES = {"chat": chat_strict.whole, "messages": messages_judge.whole, "responses": responses_judge.whole}
STREAMED = {"chat": chat_strict.read, "messages": messages_judge.read, "responses": responses_judge.read}
CALL = {"city": "Beijing"}
TEXT = json.dumps(CALL)


def chat(finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def messages(content: Any, stop: str | None = "end_turn") -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    return {**head, "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


def responses(*output: dict[str, Any], status: str | None = "completed") -> dict[str, Any]:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": output}
    details = {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    head["usage"] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **details}
    return {**head, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None}


def used(given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": given}


def said(text: str, id_: str = "msg_1", **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": [], **more}]
    return {"type": "message", "id": id_, "role": "assistant", "status": "completed", "content": content}


def called(arguments: str, call_id: str = "call_1") -> dict[str, Any]:
    head = {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": "get_weather"}
    return {**head, "arguments": arguments, "status": "completed"}


def pipeline(source: str, target: str) -> Pipeline:
    return Pipeline({"model": "kimi-k2", **REQUESTS[target]}, source=source, target=target)


def mended(source: str, target: str, body: Mapping[str, Any]) -> Any:
    return json.loads(pipeline(source, target).message(json.dumps(body).encode()))


ODD: dict[str, tuple[str, dict[str, Any], str, list[dict[str, str]]]] = {
    "input as a text": ("messages", messages([used(TEXT)], "tool_use"), "", [CALL]),
    "input as a text in a text": ("messages", messages([used(json.dumps(TEXT))], "tool_use"), "", [CALL]),
    "input as Python has it": ("messages", messages([used("{'city': 'Beijing'}")], "tool_use"), "", [CALL]),
    "input in a fence": ("messages", messages([used(f"```json\n{TEXT}\n```")], "tool_use"), "", [CALL]),
    "input with a tag behind it": ("messages", messages([used(f"{TEXT}</tool_call>")], "tool_use"), "", [CALL]),
    "an empty list for an empty object": ("messages", messages([used([])], "tool_use"), "", [{}]),
    "no input": ("messages", messages([used(None)], "tool_use"), "", [{}]),
    "two objects": ("messages", messages([used(TEXT + '{"city":"Bonn"}')], "tool_use"), "", [CALL, {"city": "Bonn"}]),
    "content as a text": ("messages", messages(f"Look. {ONE}"), "Look. ", [CALL]),
    "texts in the content": ("messages", messages(["Look. ", ONE]), "Look. ", [CALL]),
    "a block without a type": ("messages", messages([{"text": f"Look. {ONE}"}]), "Look. ", [CALL]),
    "content of an item as a text": ("responses", responses({**said(""), "content": f"Look. {ONE}"}), "Look. ", [CALL]),
    "a part as Chat has it": ("responses", responses(said(f"Look. {ONE}", type="text")), "Look. ", [CALL]),
    "two items with one id": ("responses", responses(said("Look. "), said("Well. ")), "Look. Well. ", []),
    "two calls with one id": ("responses", responses(called(TEXT), called('{"city":"Bonn"}', "call_2")), "", [CALL, {"city": "Bonn"}]),
    "no finish reason": ("chat", chat(None, content=f"Look. {ONE}"), "Look. ", [CALL]),
    "no finish reason, and no call": ("chat", chat(None, content="Look. "), "Look. ", []),
    "an empty finish reason": ("chat", chat("", content="Look. "), "Look. ", []),
}


@pytest.mark.parametrize("target", REQUESTS)
@pytest.mark.parametrize("name", ODD)
def test_what_was_meant(name: str, target: str) -> None:
    source, body, text, calls = ODD[name]
    data = json.dumps(body).encode()
    answers = [JUDGES[target](pipeline(source, target).message(data))]
    if source != target:
        answers.append(STREAMED[target](pipeline(source, target).as_stream(data)))
    for answer in answers:
        assert (answer.text, [call.value for call in answer.calls]) == (text, calls)
        assert answer.error is None
        assert answer.faults == []


@pytest.mark.parametrize("given", ['{"city": "Bei', 5, "[1]"], ids=str)
def test_a_call_that_cannot_be_read_is_as_it_came(given: Any) -> None:
    body = messages([used(given), {"type": "text", "text": ONE}], "tool_use")
    assert mended("messages", "messages", body)["content"][0] == used(given)
    assert mended("messages", "chat", body)["error"]


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_an_answer_that_is_not_there_yet(status: str) -> None:
    body = responses(called(""), status=status)
    assert mended("responses", "chat", body)["error"]
    assert mended("responses", "responses", body) == json.loads(json.dumps(body))


def test_what_no_event_tells_of_other_items_stays() -> None:
    cited = said("Hi", annotations=[{"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 2}])
    empty = [{"type": "reasoning", "id": f"rs_{place}", "summary": []} for place in range(2)]
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    whole = mended("responses", "responses", responses(empty[0], cited, said(f"Look. {ONE}", "msg_2"), search, empty[1]))
    first, second, third, _, *rest = whole["output"]
    assert [first, second, *rest] == [empty[0], cited, search, empty[1]]
    assert third["content"][0]["text"] == "Look. "


@pytest.mark.parametrize("target", ["chat", "messages"])
def test_a_raw_line_end_in_a_text(target: str) -> None:
    data = json.dumps(chat(content=f"a@{ONE}")).encode().replace(b"@", b"\n")
    answer = JUDGES[target](pipeline("chat", target).message(data))
    assert (answer.text, [call.value for call in answer.calls], answer.error) == ("a\n", [CALL], None)
    plain = json.dumps(chat(content="a@")).encode().replace(b"@", b"\n")
    assert pipeline("chat", "chat").message(plain) is plain


def test_a_keep_alive_is_no_error_of_a_stream_that_was_cut() -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    body = f"data: {json.dumps(chunk)}\n\n: OPENROUTER PROCESSING\n\n".encode()
    assert "PROCESSING" not in pipeline("chat", "messages").folded(body).decode()


def test_content_in_parts_stays_where_something_else_is_mended() -> None:
    """As Mistral's models cite, and others draw."""
    parts = [{"type": "text", "text": "Hi"}, {"type": "reference", "reference_ids": [1]}, {"type": "image_url", "image_url": {"url": "u"}}]
    told = mended("chat", "chat", {**chat(content=parts), "usage": {}})
    assert told["usage"] is None
    assert told["choices"][0]["message"]["content"] == parts
