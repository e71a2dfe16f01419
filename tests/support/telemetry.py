"""An exchange with its telemetry events, and what exporters make of them."""

import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.parser import text_string_to_metric_families

from tests.support.streams import stream
from toolmend.core.background_worker import BackgroundWorker
from toolmend.core.events import Usage
from toolmend.core.exchange_record import ExchangeRecord
from toolmend.recordings.playback.server import Script, Upstream
from toolmend.telemetry.events import About, Event, StreamFinished
from toolmend.telemetry.meter import Meter
from toolmend.telemetry.metering import MAX_UNREAD, Metering

EXCHANGE = ExchangeRecord(
    flow_id="f1",
    provider="openrouter",
    api="chat",
    model="moonshotai/kimi-k2.5",
    method="POST",
    host="openrouter.ai",
    path="/api/v1/chat/completions",
    http_version="HTTP/1.1",
    status=200,
    request_headers=(("authorization", "Bearer sk-canary-0123456789abcdef"),),
    response_headers=(),
    request=b'{"model":"moonshotai/kimi-k2.5","messages":[{"role":"user","content":"the prompt"}]}',
    upstream_request=None,
    stream=True,
    settings={},
    wait_ms=250.0,
)
CALLS = [{"index": n, "id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(2)]
BODY = stream(["the ", "answer", {"tool_calls": CALLS}], finish="tool_calls")

ERROR = b'data: {"error":{"message":"the prompt is bad","type":"overloaded","code":529}}\n\n'


class Clock:
    """Seconds that pass when they are told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def events(
    exchange: ExchangeRecord, *chunks: bytes, state: str = "complete", whole: bool = False, rules: Any = (), errors: Any = ()
) -> list[Event]:
    """What a stream that takes a second a chunk is told as."""
    told: list[Event] = []
    clock = Clock()
    reader: BackgroundWorker[Any] = BackgroundWorker("test", lambda step: step(), print, MAX_UNREAD)
    meter = Meter(reader, told.append, exchange, "kimi", now=clock)
    for chunk in chunks:
        clock.now += 1
        meter.passed(chunk + b"..", chunk, whole=whole)
    clock.now += 1
    meter.finish(state, rules, errors)
    reader.close()
    assert (reader.dropped, reader.failed) == (0, 0)
    return told


def fetch(port: int, host: str = "127.0.0.1") -> dict[str, float]:
    """Every sample: `name{label="value"}`, labels in order."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    text = opener.open(f"http://{host}:{port}/metrics", timeout=20).read().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [plain(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def attributes_of(span: Span) -> dict[str, Any]:
    return {pair.key: plain(pair.value) for pair in span.attributes}


def spans_of(upstream: Upstream) -> list[tuple[dict[str, Any], Span]]:
    """The spans that a collector got, each with its resource's attributes."""
    found = []
    for request in upstream.requests:
        assert (request.method, request.path) == ("POST", "/v1/traces")
        message = ExportTraceServiceRequest.FromString(request.body)
        for part in message.resource_spans:
            resource = {pair.key: plain(pair.value) for pair in part.resource.attributes}
            found += [(resource, span) for scope in part.scope_spans for span in scope.spans]
    return found


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def metering() -> Iterator[Metering]:
    metering = Metering()
    yield metering
    metering.close()


def count(metering: Metering, *addons: object, body: bytes = BODY) -> None:
    meter = metering.meter(addons, lambda: (EXCHANGE, "kimi"))
    if meter:
        meter.passed(body, body)
        meter.finish("complete", ["kimi_k2"], [])


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


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Upstream([Script(headers=(("content-type", "application/x-protobuf"),))]) as upstream:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{upstream.port}")
        yield upstream
