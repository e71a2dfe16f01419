"""Streams, counted: the events that observers are told, and what Prometheus fetches."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.client import HTTPConnection
from types import SimpleNamespace

import pytest

from tests.support.telemetry import BODY, CALLS, ERROR, EXCHANGE, events, fetch
from toolmend.cli.launcher.process import free_port
from toolmend.config.checks import SettingsError
from toolmend.config.targets import Targets, parse
from toolmend.core.background_worker import BackgroundWorker
from toolmend.core.events import Usage
from toolmend.core.fold import Message
from toolmend.telemetry.events import About, Event, FailedOpen, RecordingLost, RuleFired, StreamFinished, StreamStarted
from toolmend.telemetry.meter import MAX_NAME, Meter, MeteredEvents
from toolmend.telemetry.metering import Metering
from toolmend.telemetry.prometheus import MAX_HOSTS, Prometheus

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
    reader: BackgroundWorker[Callable[[], None]] = BackgroundWorker("test", lambda step: step(), print, 2000)
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


def test_nobody_counts() -> None:
    metering = Metering()
    before = {*threading.enumerate()}
    assert metering.meter([object()], lambda: pytest.fail("nobody asked")) is None
    metering.lost("disk")
    metering.close()
    assert {*threading.enumerate()} <= before


def test_a_script_is_told(metering: Metering) -> None:
    told: list[Event] = []
    script = SimpleNamespace(toolmend_events=told.append)
    append = script.toolmend_events
    count(metering, object(), script, SimpleNamespace(toolmend_events="no function"), SimpleNamespace(toolmend_events=append))
    metering.lost("the disk is full")
    metering.close()
    assert [type(event) for event in told] == [StreamStarted, RuleFired, StreamFinished, RecordingLost]
    assert told[-1] == RecordingLost("the disk is full")


def test_who_raises_or_blocks_costs_nothing_but_itself(metering: Metering, release: threading.Event) -> None:
    told: list[Event] = []
    done = threading.Event()

    def hear(event: Event) -> None:
        told.append(event)
        if len(told) == 30:
            done.set()

    def fail(_: Event) -> None:
        raise ValueError

    addons = [SimpleNamespace(toolmend_events=one) for one in (lambda _: release.wait(), fail, hear)]
    for _ in range(10):
        count(metering, *addons)
    assert done.wait(20)
    assert sum(isinstance(event, StreamFinished) for event in told) == 10
    release.set()


def test_what_cannot_be_told_is_not_counted(metering: Metering, caplog: pytest.LogCaptureFixture) -> None:
    script = SimpleNamespace(toolmend_events=print)
    assert metering.meter([script], lambda: (EXCHANGE, str(1 // 0))) is None
    assert caplog.messages == ["toolmend: a stream is not counted: ZeroDivisionError"]


def test_a_script_that_is_gone_is_told_no_more(metering: Metering) -> None:
    told: list[Event] = []
    other: list[Event] = []
    one, two = SimpleNamespace(toolmend_events=told.append), SimpleNamespace(toolmend_events=other.append)
    meter = metering.meter([one], lambda: (EXCHANGE, "kimi"))
    assert meter
    count(metering, two)
    meter.finish("complete", (), ())
    metering.close()
    assert StreamFinished not in map(type, told)
    assert list(map(type, other)).count(StreamFinished) == 2


STREAM = "api=chat,host=openrouter.ai,profile=kimi"
COUNTED = {
    f"toolmend_streams_started_total{{{STREAM}}}": 1,
    f"toolmend_streams_finished_total{{{STREAM},state=complete}}": 1,
    f"toolmend_received_bytes_total{{{STREAM}}}": len(BODY),
    f"toolmend_sent_bytes_total{{{STREAM}}}": len(BODY),
    f"toolmend_tool_calls_total{{{STREAM}}}": 2,
    f"toolmend_tokens_total{{{STREAM},type=input}}": 10,
    f"toolmend_tokens_total{{{STREAM},type=output}}": 5,
    f"toolmend_rules_fired_total{{{STREAM},rule=kimi_k2}}": 1,
    f"toolmend_time_to_first_byte_seconds_sum{{{STREAM}}}": 0.25,
    f"toolmend_time_to_first_token_seconds_count{{{STREAM}}}": 1,
    f"toolmend_response_seconds_count{{{STREAM}}}": 1,
    "toolmend_recordings_lost_total": 1,
    "toolmend_metrics_dropped_total": 0,
}


def test_prometheus(metering: Metering) -> None:
    """Over HTTP, as Prometheus does; then elsewhere; then not at all."""
    first, second = free_port(), free_port()
    told: list[Event] = []
    script = SimpleNamespace(toolmend_events=told.append)
    metering.configure(Targets(("127.0.0.1", first)))
    count(metering, script)
    metering.lost("disk")
    while len(told) < 4 or fetch(first)["toolmend_recordings_lost_total"] < 1:
        pass
    found = fetch(first)
    assert {name: found[name] for name in COUNTED} == COUNTED
    assert not any("prompt" in name or "k2.5" in name for name in found)
    metering.configure(Targets(("127.0.0.1", second)))
    assert fetch(second)["toolmend_recordings_lost_total"] == 0
    with pytest.raises(OSError, match="refused"):
        fetch(first)
    metering.configure(Targets())
    with pytest.raises(OSError, match="refused"):
        fetch(second)


def test_the_port_is_taken(metering: Metering) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(SettingsError, match=f"toolmend_metrics: it cannot listen at 127.0.0.1:{port} .*in use.*another address"):
            metering.configure(Targets(("127.0.0.1", port)))
    metering.configure(Targets(("127.0.0.1", port)))
    assert fetch(port)


def test_it_listens_on_loopback_unless_it_is_told_otherwise() -> None:
    for text in ("0", ":0"):
        address = parse("m", text).address
        assert address
        prometheus = Prometheus(address, lambda: 0)
        assert prometheus._server.server_address == ("127.0.0.1", prometheus.port)
        prometheus.close()


@pytest.mark.parametrize(
    ("alone", "host", "status"),
    [
        *((True, host, 200) for host in ("localhost:9464", "127.0.0.1:9464", "[::1]:9464", "box", "host.docker.internal")),
        *((True, host, 403) for host in ("evil.example.com:9464", "127.0.0.1.nip.io")),
        (False, "metrics.corp.example.com:9464", 200),  # it was told to be there for others
    ],
)
def test_a_page_whose_name_leads_here_reads_nothing(monkeypatch: pytest.MonkeyPatch, alone: bool, host: str, status: int) -> None:
    if not alone:
        monkeypatch.setattr("toolmend.telemetry.prometheus.LOOPBACK", ("::1",))
    prometheus = Prometheus(("127.0.0.1", 0), lambda: 0)
    try:
        connection = HTTPConnection("127.0.0.1", prometheus.port)
        connection.request("GET", "/metrics", headers={"Host": host})
        response = connection.getresponse()
        assert (response.status, b"toolmend_" in response.read()) == (status, status == 200)
        connection.close()
    finally:
        prometheus.close()


def test_labels_are_bounded() -> None:
    prometheus = Prometheus(("127.0.0.1", 0), lambda: 0)
    about = About("f", 0.0, "h", "p", "chat", "chat", "m", "kimi", 200, stream=True)
    try:
        for n in range(3 * MAX_HOSTS):
            prometheus(StreamStarted(replace(about, host=f'h{n}"\n{{', model=f"m{n}")))
        found = [name for name in fetch(prometheus.port) if name.startswith("toolmend_streams_started_total")]
        assert len(found) == MAX_HOSTS + 1
        assert fetch(prometheus.port)["toolmend_streams_started_total{api=chat,host=other,profile=kimi}"] == 2 * MAX_HOSTS
    finally:
        prometheus.close()


def test_a_host_that_is_no_utf8_costs_no_metrics() -> None:
    """A client writes what it likes into its Host header, and the name stays among the labels."""
    prometheus = Prometheus(("127.0.0.1", 0), lambda: 0)
    for event in events(replace(EXCHANGE, host="\udcff.corp.example")):
        prometheus(event)
    assert fetch(prometheus.port)["toolmend_streams_started_total{api=chat,host=?.corp.example,profile=kimi}"] == 1
    prometheus.close()


def test_a_render_is_given_what_was_asked_and_said() -> None:
    reading = MeteredEvents("chat", EXCHANGE, lambda exchange, messages: (exchange, [type(one) for one in messages]))
    reading.feed(BODY, 1.0)
    assert reading.fields()["content"] == (EXCHANGE, [Message])
