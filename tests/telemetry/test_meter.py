"""Streams, counted: the events that observers are told, and what Prometheus fetches."""

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from tests.support.telemetry import BODY, CALLS, ERROR, EXCHANGE, events, release
from toolmend.core.background_worker import BackgroundWorker
from toolmend.core.events import Usage
from toolmend.core.fold import Message
from toolmend.telemetry.events import Event, FailedOpen, RuleFired, StreamFinished, StreamStarted
from toolmend.telemetry.meter import MAX_NAME, Meter, MeteredEvents

__all__ = ["release"]

MESSAGES = b"".join(
    f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
    for data in (
        {"type": "message_start", "message": {"id": "msg_1", "model": "claude", "role": "assistant", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 3, "output_tokens": 4}},
        {"type": "message_stop"},
    )
)


def finished(told: list[Event]) -> StreamFinished:
    last = told[-1]
    assert isinstance(last, StreamFinished)
    return last


def test_a_stream() -> None:
    parts = BODY[:30], BODY[30:400], BODY[400:]
    told = events(EXCHANGE, *parts, rules=["kimi_k2", "finish_reason"])
    about = told[0].about if isinstance(told[0], StreamStarted) else None
    assert about
    assert (about.flow_id, about.host, about.api, about.profile, about.status) == ("f1", "openrouter.ai", "chat", "kimi", 200)
    assert told[1:-1] == [RuleFired(about, "kimi_k2"), RuleFired(about, "finish_reason")]
    assert finished(told) == StreamFinished(
        about,
        "complete",
        received=len(BODY) + 6,
        sent=len(BODY),
        seconds=4.25,
        first_byte=0.25,
        first_token=2.25,
        calls=2,
        usage=Usage(10, 5),
        finish_reasons=("tool_calls",),
        rules=("kimi_k2", "finish_reason"),
        response_id="c1",
        response_model="kimi-k2.5",
    )
    assert "the prompt" not in repr(told)
    assert "answer" not in repr(told)
    assert "canary" not in repr(told)


def test_byte_by_byte_the_same() -> None:
    one, many = finished(events(EXCHANGE, BODY)), finished(events(EXCHANGE, *(BODY[at : at + 1] for at in range(len(BODY)))))
    assert many.first_token
    assert replace(many, about=one.about, received=one.received, seconds=one.seconds, first_token=one.first_token) == one


def test_the_api_is_the_client_s() -> None:
    told = finished(events(replace(EXCHANGE, client_api="messages", settings={"upstream": "llm.example:1"}), MESSAGES))
    assert (told.about.api, told.about.upstream_api, told.about.host) == ("messages", "chat", "llm.example:1")
    assert (told.usage, told.calls, told.finish_reasons) == (Usage(3, 4), 0, ("stop",))
    assert (told.response_id, told.response_model) == ("msg_1", "claude")


def test_a_whole_body() -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi", "tool_calls": CALLS}}
    body = {"id": "c9", "model": "m", "choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 8}}
    told = finished(events(replace(EXCHANGE, stream=False), json.dumps(body).encode(), whole=True))
    assert (told.calls, told.usage, told.first_token, told.response_id) == (2, Usage(7, 8), None, "c9")


def test_failures() -> None:
    told = events(EXCHANGE, BODY[:100], state="upstream_error", errors=["the mending failed: KeyError"])
    assert isinstance(told[1], FailedOpen)
    assert told[1].error == "the mending failed: KeyError"
    last = finished(told)
    assert (last.error_type, last.failed_open, last.state) == ("upstream_error", True, "upstream_error")
    assert finished(events(EXCHANGE, BODY, state="client_closed")).error_type == ""
    assert finished(events(EXCHANGE, ERROR)).error_type == "overloaded"
    assert finished(events(replace(EXCHANGE, status=429), b"{}", whole=True)).error_type == "429"
    assert finished(events(EXCHANGE)).sent == 0


@pytest.mark.parametrize("body", [b"", b"data: {\n\n", b'data: {"choices": 7}\n\n', b"\xff" * 99, b'data: {"id":"' + b"x" * 99])
def test_what_cannot_be_read_is_counted(body: bytes) -> None:
    told = finished(events(EXCHANGE, body))
    assert (told.sent, told.usage) == (len(body), None)


def test_an_api_that_is_not_known_is_not_read() -> None:
    told = finished(events(replace(EXCHANGE, api="cohere"), BODY))
    assert (told.sent, told.calls, told.usage) == (len(BODY), None, None)


def test_names_are_short_and_no_keys() -> None:
    model = "sk-ant-0123456789abcdef0123456789" + "x" * 500
    body = BODY.replace(b'"id": "c1"', b'"id": "' + model.encode() + b'"')
    told = finished(events(replace(EXCHANGE, model=model), body))
    assert "sk-ant" not in repr(told)
    assert len(finished(events(replace(EXCHANGE, model="m" * 5000), BODY)).about.model) == MAX_NAME


def test_no_part_of_a_key_stays_where_a_name_is_cut() -> None:
    model = "m" * (MAX_NAME - 12) + "-sk-ant-0123456789abcdef0123456789"
    told = finished(events(replace(EXCHANGE, model=model, host=model), BODY.replace(b"kimi", model.encode())))
    assert "-sk" not in repr(told)


PLACES: dict[str, bytes] = {
    "id": BODY.replace(b'"id": "c1"', b'"id": "a/550e8400-e29b-41d4"'),
    "model": b'data: {"id":"c1","model":"550e8400-e29b-41d4"}\n\n' + BODY,
    "reason": BODY.replace(b'"finish_reason": "tool_calls"', b'"finish_reason": "550e8400-e29b-41d4"'),
    "error": b'data: {"error":{"message":"no","type":"550e8400-e29b-41d4"}}\n\n',
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("at", ["header", "query"])
def test_the_key_that_was_sent_is_not_told_whatever_its_shape(place: str, at: str) -> None:
    assert b"550e8400" in PLACES[place]
    key = "550e8400-e29b-41d4"
    asked = replace(EXCHANGE, request_headers=(("x-api-key", key),)) if at == "header" else replace(EXCHANGE, path=f"/v1?key={key}")
    told = finished(events(asked, PLACES[place]))
    assert "550e" not in repr(told)
    assert "[REDACTED]" in repr(told)


def test_what_finds_no_room_is_not_read(release: threading.Event) -> None:
    told: list[Event] = []
    reader: BackgroundWorker[Any] = BackgroundWorker("test", lambda step: step(), print, 2000)
    reader.put(release.wait, 0)
    meter = Meter(reader, told.append, EXCHANGE, "kimi")
    for _ in range(10):
        meter.passed(BODY, BODY)
    meter.finish("complete", (), ())
    release.set()
    reader.close()
    last = finished(told)
    assert (last.sent, last.calls, last.usage) == (10 * len(BODY), None, None)
    assert reader.dropped == 1


def test_an_error_of_a_codec_ends_the_reading_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = MeteredEvents("chat")
    monkeypatch.setattr(reading, "_event", lambda *_: 1 / 0)
    reading.feed(BODY, 1.0)
    assert reading.fields()["calls"] is None


def test_a_render_is_given_what_was_asked_and_said() -> None:
    reading = MeteredEvents("chat", EXCHANGE, lambda exchange, messages: (exchange, [type(one) for one in messages]))
    reading.feed(BODY, 1.0)
    assert reading.fields()["content"] == (EXCHANGE, [Message])
