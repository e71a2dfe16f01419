"""An answer that a model declines, or a filter stops: why reaches the client, and Codex shows it."""

import json
from typing import Any

import pytest

from tests.support import legal_streams
from tests.support.answers import Answer
from tests.support.cuts import cuts
from tests.support.streams import chunk, event, play
from tests.support.upstream_answers import JUDGES, WEATHER, Text, asked, speak, tell
from toolmend.pipeline.pipeline import Pipeline
from toolmend.pipeline.transformers.refusal import CUT, DECLINED

WHY = "This looks like an attack. 日本"
CODEX = {"client_metadata": {"x-codex-turn-metadata": "{}"}}


def of_messages(*blocks: Any, **details: Any) -> bytes:
    events = legal_streams.messages(*blocks, stop="refusal")
    events[-2]["delta"]["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": WHY, **details}
    return legal_streams.sse(events)


def of_chat(**message: Any) -> bytes:
    deltas = (chunk({"role": "assistant", "content": None, **{name: text[:7] for name, text in message.items()}}), chunk({name: text[7:] for name, text in message.items()}), chunk({}, "content_filter"))
    return b"".join(map(event, deltas)) + b"data: [DONE]\n\n"


def of_responses() -> bytes:
    return legal_streams.sse(legal_streams.responses(legal_streams.refuse(WHY[:5], WHY[5:])))


def read(source: str, target: str, body: bytes, **more: Any) -> Answer:
    numbers = iter(range(1, 10**6))
    make = lambda: Pipeline(asked(target, *WEATHER, **more), source=source, target=target, new_id=lambda: f"call_{next(numbers):032x}")  # noqa: E731
    answer: Answer = JUDGES[target].read(play(make, [body]))
    for cut in cuts(body):
        other = JUDGES[target].read(play(make, cut))
        assert (other.text, other.refusal, other.stop_reason) == (answer.text, answer.refusal, answer.stop_reason)
    whole = JUDGES[target].whole(make().folded(body))
    assert not (answer.faults or whole.faults), (answer.faults, whole.faults)
    assert (whole.text, whole.refusal, whole.stop_reason) == (answer.text, answer.refusal, answer.stop_reason)
    return answer


def said(answer: Answer) -> tuple[str, str, str | None]:
    return answer.text, answer.refusal, answer.stop_reason


def test_why_messages_declines() -> None:
    assert said(read("messages", "chat", of_messages())) == ("", WHY, "content_filter")
    assert said(read("messages", "responses", of_messages())) == ("", WHY, "incomplete/content_filter")
    assert said(read("messages", "responses", of_messages(), **CODEX)) == (WHY, "", "completed")
    begun = of_messages(legal_streams.text("Let me see."))
    assert said(read("messages", "chat", begun)) == ("Let me see.", WHY, "content_filter")
    answer = read("messages", "responses", begun, **CODEX)
    assert (answer.text, answer.stop_reason) == (f"Let me see.{WHY}", "completed")
    assert said(read("messages", "chat", of_messages(explanation=None))) == ("", DECLINED, "content_filter")


def test_the_category_stands_beside_the_reason() -> None:
    out = Pipeline(asked("chat", *WEATHER), source="messages", target="chat").feed(of_messages()).decode()
    last = [json.loads(line[6:])["choices"] for line in out.splitlines() if line.startswith("data: {")]
    told = next(choices[0] for choices in last if choices and choices[0]["finish_reason"])
    assert told["stop_details"] == {"type": "refusal", "category": "cyber", "explanation": WHY}


def test_a_refusal_of_chat() -> None:
    assert said(read("chat", "messages", of_chat(refusal=WHY))) == (WHY, "", "refusal")
    assert said(read("chat", "responses", of_chat(refusal=WHY))) == ("", WHY, "incomplete/content_filter")
    assert said(read("chat", "responses", of_chat(refusal=WHY), **CODEX)) == (WHY, "", "completed")
    assert said(read("chat", "messages", of_chat())) == (DECLINED, "", "refusal")
    out = Pipeline(asked("messages", *WEATHER), source="chat", target="messages").feed(of_chat(refusal=WHY)).decode()
    delta = next(json.loads(line[6:]) for line in out.splitlines() if '"type":"message_delta"' in line)["delta"]
    assert delta["stop_details"] == {"type": "refusal", "category": None, "explanation": WHY}


def test_a_refusal_of_responses() -> None:
    assert said(read("responses", "messages", of_responses())) == (WHY, "", "refusal")
    assert said(read("responses", "chat", of_responses())) == ("", WHY, "stop")


@pytest.mark.parametrize("source", ["chat", "messages"])
def test_a_filter_behind_text(source: str) -> None:
    body = speak(source, [Text("Half of")], "content_filter")
    assert said(read(source, "responses", body)) == ("Half of", "", "incomplete/content_filter")
    answer = read(source, "responses", body, **CODEX)
    assert (answer.text, answer.stop_reason, answer.order) == (f"Half of{CUT}", "completed", ["message"])


@pytest.mark.parametrize("code", ["cyber_policy", "bio_policy", "invalid_prompt", "misalignment_policy_violation"])
def test_a_policy_of_responses_is_an_error(code: str) -> None:
    failed = json.loads(tell("responses", [])) | {"status": "failed", "error": {"code": code, "message": "No."}}
    body = legal_streams.sse([{"type": "response.failed", "sequence_number": 0, "response": failed}])
    answer = JUDGES["messages"].read(play(lambda: Pipeline(asked("messages"), source="responses", target="messages"), [body]))
    assert answer.error == {"type": "invalid_request_error", "message": "No."}


def test_other_reasons_of_responses() -> None:
    for reason, stop in (("max_messages", "end_turn"), ("steered", "end_turn"), ("max_output_tokens", "max_tokens")):
        body = legal_streams.sse(legal_streams.responses(legal_streams.say("Hi"), status="incomplete", reason=reason))
        assert read("responses", "messages", body).stop_reason == stop
    for stop in ("pause_turn", "model_context_window_exceeded"):
        body = legal_streams.sse(legal_streams.messages(legal_streams.text("Hi"), stop=stop))
        assert read("messages", "chat", body).stop_reason == ("stop" if stop == "pause_turn" else "length")
