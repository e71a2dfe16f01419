"""Spans, as a collector gets them: over HTTP and OTLP, from the SDK itself."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from tests.support.telemetry import BODY, ERROR, EXCHANGE, attributes_of, events, spans_of
from toolmend.core.events import Usage
from toolmend.core.fold import Message, fold
from toolmend.pipeline.event_reader import events_of
from toolmend.recordings.playback.server import Script, Upstream
from toolmend.telemetry import otel_names as names
from toolmend.telemetry.events import About, StreamFinished
from toolmend.telemetry.otel import Spans
from toolmend.telemetry.otel_content import attributes

ABOUT = About("f1", 1_700_000_000.5, "openrouter.ai", "mistral", "chat", "chat", "m-1", "kimi", 200, stream=True)
END = StreamFinished(
    ABOUT,
    "complete",
    received=10,
    sent=20,
    seconds=2.5,
    first_byte=0.25,
    first_token=0.5,
    calls=1,
    usage=Usage(100, 7, 60, 30, 3),
    finish_reasons=("tool_calls",),
    rules=("kimi_k2",),
    response_id="c1",
    response_model="m-1-0711",
)
TOLD = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "mistral_ai",
    "gen_ai.request.model": "m-1",
    "gen_ai.request.stream": True,
    "gen_ai.response.id": "c1",
    "gen_ai.response.model": "m-1-0711",
    "gen_ai.response.finish_reasons": ["tool_calls"],
    "gen_ai.response.time_to_first_chunk": 0.25,
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 7,
    "gen_ai.usage.cache_read.input_tokens": 60,
    "gen_ai.usage.cache_creation.input_tokens": 30,
    "gen_ai.usage.reasoning.output_tokens": 3,
    "server.address": "openrouter.ai",
    "http.response.status_code": 200,
    "toolmend.api": "chat",
    "toolmend.profile": "kimi",
    "toolmend.state": "complete",
    "toolmend.pipeline.rules": ["kimi_k2"],
    "toolmend.received_bytes": 10,
    "toolmend.sent_bytes": 20,
    "toolmend.time_to_first_token": 0.5,
    "toolmend.failed_open": False,
}
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


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Upstream([Script(headers=(("content-type", "application/x-protobuf"),))]) as upstream:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{upstream.port}")
        yield upstream


def exported(collector: Upstream, *told: Any, environ: Mapping[str, str] | None = None) -> list[tuple[dict[str, Any], Span]]:
    spans = Spans(environ or {})
    for event in told:
        spans(event)
    spans.close()
    return spans_of(collector)


def test_a_span(collector: Upstream) -> None:
    [(resource, span)] = exported(collector, END)
    assert span.name == "chat m-1"
    assert span.kind == Span.SPAN_KIND_CLIENT
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (1_700_000_000_500_000_000, 1_700_000_003_000_000_000)
    assert attributes_of(span) == TOLD
    assert span.status.code == 0
    assert resource["service.name"] == "toolmend"


def test_what_is_not_known_is_not_told(collector: Upstream) -> None:
    bare = StreamFinished(replace(ABOUT, model="", host="[::1]:8000", provider="vllm"), "client_closed", 0, 0, 1.0, 0.1)
    [(_, span)] = exported(collector, bare)
    told = attributes_of(span)
    assert span.name == "chat"
    assert (told["server.address"], told["server.port"], told["gen_ai.provider.name"]) == ("::1", 8000, "vllm")
    assert not [name for name in told if name.startswith(("gen_ai.usage", "gen_ai.response.i", "gen_ai.request.model", "error"))]


def test_an_error(collector: Upstream) -> None:
    [(_, span)] = exported(collector, replace(END, error_type="overloaded", failed_open=True))
    assert span.status.code == 2
    assert (attributes_of(span)["error.type"], attributes_of(span)["toolmend.failed_open"]) == ("overloaded", True)


def test_of_a_real_stream_without_a_word_of_it(collector: Upstream) -> None:
    told = [*events(EXCHANGE, BODY, rules=["kimi_k2"]), *events(EXCHANGE, ERROR)]
    first, second = (span for _, span in exported(collector, *told))
    assert attributes_of(first)["gen_ai.usage.output_tokens"] == 5
    assert attributes_of(second)["error.type"] == "overloaded"
    sent = b"".join(request.body for request in collector.requests)
    assert b"prompt" not in sent
    assert b"answer" not in sent
    assert b"canary" not in sent


def test_half_a_character_costs_no_span(collector: Upstream) -> None:
    """One in a model's name ends the export of all that are sent with it."""
    half = replace(EXCHANGE, model="\ud800-model", request=b'{"model":"\\ud800-model"}')
    odd = b'data: {"id":"\\ud800","model":"\\udfff","choices":[{"index":0,"delta":{"content":"\\ud800"},"finish_reason":"\\ud800"}]}\n\n'
    wrong = b'data: {"error":{"message":"x","type":"\\ud800"}}\n\n'
    told = [*events(half, odd), *events(half, wrong), END]
    assert [span.name for _, span in exported(collector, *told)] == ["chat ?-model", "chat ?-model", "chat m-1"]


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


def test_the_names_are_those_of_the_conventions() -> None:
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_") and isinstance(value, str)}
    ours = {value for name, value in vars(names).items() if isinstance(value, str) and value.startswith("gen_ai.") and name.isupper()}
    assert ours
    assert ours <= known


def test_a_tracer_provider_that_is_there_is_used(collector: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, given = InMemorySpanExporter(), TracerProvider()
    given.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", given)
    spans = Spans({})
    spans(END)
    spans.close()
    assert [span.name for span in exporter.get_finished_spans()] == ["chat m-1"]
    assert collector.requests == []
