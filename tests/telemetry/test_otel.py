"""Spans, as a collector gets them: over HTTP and OTLP, from the SDK itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from tests.support.telemetry import ABOUT, BODY, END, ERROR, EXCHANGE, attributes_of, collector, events, spans_of
from toolmend.recordings.playback.server import Upstream
from toolmend.telemetry import otel_names as names
from toolmend.telemetry.events import StreamFinished
from toolmend.telemetry.otel import Spans

__all__ = ["collector"]

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
