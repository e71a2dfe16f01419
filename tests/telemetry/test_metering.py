"""metering.py: who is told of events, and that a script that fails costs only itself."""

import socket
import threading
from types import SimpleNamespace

import pytest

from tests.support.telemetry import EXCHANGE, count, fetch, metering, release
from toolmend.config.checks import SettingsError
from toolmend.config.targets import Targets
from toolmend.telemetry.events import Event, RecordingLost, RuleFired, StreamFinished, StreamStarted
from toolmend.telemetry.metering import Metering

__all__ = ["metering", "release"]


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


def test_the_port_is_taken(metering: Metering) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(SettingsError, match=f"toolmend_metrics: it cannot listen at 127.0.0.1:{port} .*in use.*another address"):
            metering.configure(Targets(("127.0.0.1", port)))
    metering.configure(Targets(("127.0.0.1", port)))
    assert fetch(port)
