"""otel_content.py: the content of messages in spans, which is sent only where it is asked for."""

import json
from dataclasses import replace

import pytest

from tests.support.telemetry import BODY, END, EXCHANGE, attributes_of, collector, spans_of
from toolmend.core.fold import Message, fold
from toolmend.pipeline.event_reader import events_of
from toolmend.recordings.playback.server import Upstream
from toolmend.telemetry import otel_names as names
from toolmend.telemetry.otel import Spans
from toolmend.telemetry.otel_content import attributes

__all__ = ["collector"]


ASKED = {
    "model": "kimi-k2.5",
    "api_key": "hunter2-hunter2",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather? My key is hunter2-hunter2."}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c7", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Beijing"}'}}],
        },
        {"role": "tool", "tool_call_id": "c7", "content": "sunny"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
    ],
}
KEY = "sk-ant-" + "x1" * 20


@pytest.mark.parametrize("value", ["", "false", "NO_CONTENT", "event_only"])
def test_content_is_not_sent_unless_it_is_asked_for(value: str) -> None:
    spans = Spans({names.CAPTURE_CONTENT: value})
    assert not hasattr(spans, "render")
    spans.close()


@pytest.mark.parametrize("value", ["true", "TRUE", "SPAN_ONLY", "span_and_event"])
def test_content_that_is_asked_for(collector: Upstream, value: str) -> None:
    spans = Spans({names.CAPTURE_CONTENT: value})
    content = spans.render(EXCHANGE, [fold(events_of("chat", [BODY], stream=True))])
    spans(replace(END, content=content))
    spans.close()
    [(_, span)] = spans_of(collector)
    told = attributes_of(span)
    assert json.loads(told["gen_ai.input.messages"]) == [{"role": "user", "parts": [{"type": "text", "content": "the prompt"}]}]
    assert json.loads(told["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "the answer"},
                {"type": "tool_call", "id": "c0", "name": "f", "arguments": {}},
                {"type": "tool_call", "id": "c1", "name": "f", "arguments": {}},
            ],
            "finish_reason": "tool_calls",
        }
    ]


def test_content_is_redacted() -> None:
    headers = (("authorization", "Bearer plain-secret-of-mine"),)
    exchange = replace(EXCHANGE, request=json.dumps(ASKED).encode(), request_headers=headers)
    echo = f"You sent plain-secret-of-mine, {KEY} and hunter2-hunter2."
    said = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": echo}}]}).encode()
    told = attributes(exchange, [fold(events_of("chat", [said], stream=False))])
    assert json.loads(told["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    assert json.loads(told["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "Weather? My key is [REDACTED]."}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c7", "name": "get_weather", "arguments": {"city": "Beijing"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c7", "response": "sunny"}]},
        {"role": "user", "parts": [{"type": "image"}]},
    ]
    assert json.loads(told["gen_ai.output.messages"])[0]["parts"] == [
        {"type": "text", "content": "You sent [REDACTED], [REDACTED] and [REDACTED]."}
    ]


@pytest.mark.parametrize("request_", [b"", b"[]", b"{", b'{"messages": 7}', b'{"messages": [{"role": 7}]}', b"[" * 5000])
@pytest.mark.parametrize("api", ["chat", "messages", "responses", "gemini"])
def test_a_request_that_cannot_be_read(api: str, request_: bytes) -> None:
    told = attributes(replace(EXCHANGE, api=api, request=request_), [Message()])
    assert json.loads(told["gen_ai.output.messages"]) == [{"role": "assistant", "parts": [], "finish_reason": "stop"}]
