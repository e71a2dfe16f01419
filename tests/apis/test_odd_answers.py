"""Answers that are odd at the top, for a client of another API: without a choice, in several choices, empty, or simply over."""

import json
from typing import Any

import pytest

from tests.support import legal_streams
from tests.support.streams import META, chunk, event, play
from tests.support.upstream_answers import JUDGES, PAIRS, WEATHER, Asked, Text, Thought, asked, speak
from toolmend.pipeline.pipeline import Pipeline

CODEX = {"client_metadata": {"x-codex-turn-metadata": "{}"}}
USAGE = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
DONE = b"data: [DONE]\n\n"


def pipeline(target: str, source: str = "chat", **more: Any) -> Pipeline:
    return Pipeline(asked(target, *WEATHER, **more), source=source, target=target)


def test_no_choice_where_one_token_was_asked_for() -> None:
    whole = json.dumps({**META, "object": "chat.completion", "choices": []}).encode()
    answer = JUDGES["messages"].whole(pipeline("messages", max_tokens=1).message(whole))
    assert (answer.faults, answer.error, answer.stop_reason, answer.text) == ([], None, "max_tokens", "")
    assert JUDGES["messages"].whole(pipeline("messages").message(whole)).error
    empty = event({**META, "object": "chat.completion.chunk", "choices": []})
    counted = event({**META, "object": "chat.completion.chunk", "choices": [], "usage": USAGE})
    for body in (empty + DONE, counted):
        answer = JUDGES["messages"].read(play(lambda: pipeline("messages", max_tokens=1), [body]))
        assert (answer.faults, answer.error, answer.stop_reason) == ([], None, "max_tokens")
    assert JUDGES["messages"].read(play(lambda: pipeline("messages", max_tokens=1), [empty])).error


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_parts_of_one_answer_in_several_choices(target: str) -> None:
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Rome"}'}}
    filters = {**META, "object": "chat.completion.chunk", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    chunks = [filters, chunk({"role": "assistant", "content": "Let me see."}), chunk({"tool_calls": [call]}, index=1), chunk({}, "stop"), chunk({}, "tool_calls", index=1)]
    answer = JUDGES[target].read(play(lambda: pipeline(target), [b"".join(map(event, chunks)) + DONE]))
    assert (answer.faults, answer.text, answer.asked) == ([], "Let me see.", [("get_weather", {"city": "Rome"})])
    assert answer.stop_reason in ("tool_use", "completed")


def test_an_empty_answer_is_an_error_for_codex() -> None:
    body = event(chunk({"role": "assistant", "content": ""})) + event(chunk({}, "stop")) + DONE
    assert JUDGES["responses"].read(play(lambda: pipeline("responses"), [body])).stop_reason == "completed"
    answer = JUDGES["responses"].read(play(lambda: pipeline("responses", **CODEX), [body]))
    assert (answer.faults, answer.stop_reason) == ([], "failed")


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("parts", [[Text("Half")], [Thought("Hm.")], [Text("a"), Asked("call_1", "get_weather", "{}")]])
def test_a_stream_that_simply_ends_is_an_error(source: str, target: str, parts: Any) -> None:
    events = speak(source, parts).split(b"\n\n")
    last = next(at for at, each in enumerate(events) if b'"finish_reason": "' in each or b"message_delta" in each or b"response.completed" in each)
    body = b"\n\n".join(events[:last]) + b"\n\n"
    answer = JUDGES[target].read(play(lambda: pipeline(target, source), [body]))
    assert answer.error
    assert not answer.faults
    assert JUDGES[target].whole(pipeline(target, source).folded(body)).error


@pytest.mark.parametrize("target", ["chat", "messages"])
def test_done_is_no_end_of_responses(target: str) -> None:
    body = legal_streams.sse(legal_streams.responses(legal_streams.say("Half"), status=None)) + DONE
    answer = JUDGES[target].read(play(lambda: pipeline(target, "responses"), [body]))
    assert answer.error
    assert not answer.faults
