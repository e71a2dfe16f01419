"""prometheus.py: what a scrape gets, and who may scrape."""

from dataclasses import replace
from http.client import HTTPConnection
from types import SimpleNamespace

import pytest

from tests.support.telemetry import BODY, EXCHANGE, count, events, fetch, metering
from toolmend.cli.launcher.process import free_port
from toolmend.config.targets import Targets, parse
from toolmend.telemetry.events import About, Event, StreamStarted
from toolmend.telemetry.metering import Metering
from toolmend.telemetry.prometheus import MAX_HOSTS, Prometheus

__all__ = ["metering"]


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
