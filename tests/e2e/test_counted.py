"""Metrics of a real mitmdump: fetched over HTTP as Prometheus does, and spans as a collector gets them."""

import os
import shutil
import socket
import time
from pathlib import Path

import pytest

from tests.e2e.clients import LEAK, PROSE, Serve, Start, ask, chunks, eventually
from tests.support.telemetry import attributes_of, fetch, spans_of
from toolmend.cli.launcher.process import free_port
from toolmend.cli.launcher.proxy import Mitmdump, ProxyError, addon_path
from toolmend.recordings.playback.server import Script

ADDRESS = r"Prometheus finds metrics at http://127\.0\.0\.1:(\d+)/metrics"
COUNTS = """
import time

def toolmend_events(event):
    kind = type(event).__name__
    print("told of", kind, getattr(event, "state", ""), flush=True)
    if "fails" in event.about.model:
        raise ValueError(kind)
    time.sleep(3600)
"""


def port_of(proxy: Mitmdump) -> int:
    return int(proxy.wait_for(ADDRESS)[1])


def samples(proxy: Mitmdump, finished: int) -> dict[str, float]:
    """What is counted when so many streams are over; without labels but those beside the stream's."""

    def look() -> dict[str, float] | None:
        found: dict[str, float] = {}
        for name, value in fetch(port_of(proxy)).items():
            bare, _, labels = name.partition("{")
            kept = [label for label in labels.rstrip("}").split(",") if label.partition("=")[0] in ("state", "rule", "type")]
            key = " ".join([bare, *kept])
            found[key] = found.get(key, 0) + value
        over = sum(value for name, value in found.items() if name.startswith("toolmend_streams_finished_total"))
        return found if over >= finished else None

    return eventually(look)


def test_prometheus(start: Start, serve: Serve) -> None:
    proxy = start(toolmend_metrics="0")
    cut = LEAK[: LEAK.index(b"tool_call_argument_begin")]
    bodies = chunks(LEAK), chunks(PROSE, 0.05), chunks(cut)
    upstream = serve(Script(bodies[0]), Script(bodies[1]), Script(bodies[2], end="drop"))
    for _ in bodies:
        ask(proxy, upstream.url)
    found = samples(proxy, 3)
    assert found["toolmend_streams_started_total"] == 3
    assert found["toolmend_streams_finished_total state=complete"] == 2
    assert found["toolmend_streams_finished_total state=upstream_error"] == 1
    assert found["toolmend_received_bytes_total"] == sum(len(data) for body in bodies for _, data in body)
    assert found["toolmend_tool_calls_total"] >= 1
    assert found["toolmend_rules_fired_total rule=kimi_k2"] >= 1
    assert (found["toolmend_tokens_total type=input"], found["toolmend_tokens_total type=output"]) == (20, 10)
    assert found["toolmend_time_to_first_token_seconds_count"] == 3
    assert found["toolmend_response_seconds_sum"] > 0.05
    assert found["toolmend_metrics_dropped_total"] == 0
    assert "Traceback" not in proxy.log


def test_a_recording_that_is_lost(start: Start, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "flows").mkdir()
    proxy = start(toolmend_metrics="0")
    (tmp_path / "flows").rmdir()
    (tmp_path / "flows").write_text("no folder")
    upstream = serve(Script(chunks(LEAK)), Script(chunks(LEAK)))
    for _ in range(2):
        assert ask(proxy, upstream.url).terminated
    eventually(lambda: samples(proxy, 2)["toolmend_recordings_lost_total"] == 2 or None)


def test_a_script_that_blocks_or_raises(start: Start, serve: Serve, tmp_path: Path) -> None:
    script = tmp_path / "counts.py"
    script.write_text(COUNTS)
    proxy = start([addon_path(), script], toolmend_metrics="0")
    upstream = serve(Script(chunks(LEAK)))
    for _ in range(3):
        assert ask(proxy, upstream.url).terminated
    assert samples(proxy, 3)["toolmend_tool_calls_total"] == 3
    proxy.wait_for("told of StreamStarted")
    assert proxy.log.count("told of") == 1


def test_a_reload_keeps_the_address(start: Start, serve: Serve, tmp_path: Path) -> None:
    addon = tmp_path / "addon"
    shutil.copytree(addon_path().parent, addon, ignore=shutil.ignore_patterns("__pycache__"))
    proxy = start([addon / "main.py"], toolmend_metrics=f"127.0.0.1:{free_port()}")
    upstream = serve(Script(chunks(LEAK)))
    for times in (1, 2):
        ask(proxy, upstream.url)
        assert samples(proxy, 1)["toolmend_streams_finished_total state=complete"] == 1
        later = time.time() + 5 * times
        os.utime(addon / "main.py", (later, later))
        eventually(lambda times=times: proxy.log.count("toolmend: listens") == times + 1 or None)
    assert "Traceback" not in proxy.log


def test_spans(start: Start, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are sent before mitmdump ends; content is in them only if it was asked for."""
    collector = serve(Script(headers=(("content-type", "application/x-protobuf"),)), tls=False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.port}")
    upstream = serve(Script(chunks(LEAK)))
    proxy = start(toolmend_metrics="otel")
    ask(proxy, upstream.url)
    proxy.wait_for("mended")
    proxy.stop()
    [(resource, span)] = spans_of(collector)
    told = attributes_of(span)
    assert resource["service.name"] == "toolmend"
    assert (told["toolmend.pipeline.rules"], told["gen_ai.response.finish_reasons"]) == (["kimi_k2", "finish_reason"], ["tool_calls"])
    assert (told["gen_ai.usage.input_tokens"], told["server.address"], told["server.port"]) == (10, "localhost", upstream.port)
    assert b"Beijing" not in collector.requests[0].body


def test_spans_with_content(start: Start, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = serve(Script(headers=(("content-type", "application/x-protobuf"),)), tls=False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.port}")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    proxy = start(toolmend_metrics="otel")
    ask(proxy, serve(Script(chunks(LEAK))).url, Authorization="Bearer sk-canary-of-a-key-0123456789")
    proxy.wait_for("mended")
    proxy.stop()
    [(_, span)] = spans_of(collector)
    told = attributes_of(span)
    assert "What is the weather" in told["gen_ai.input.messages"]
    assert '"get_weather"' in told["gen_ai.output.messages"]
    assert b"canary" not in collector.requests[0].body


def test_a_collector_that_is_not_there(start: Start, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{taken.getsockname()[1]}")  # and never answers
        proxy = start(toolmend_metrics="otel")
        upstream = serve(Script(chunks(LEAK)))
        for _ in range(3):
            assert ask(proxy, upstream.url).terminated
        proxy.stop()
        assert proxy.returncode == 0


@pytest.mark.parametrize(
    ("value", "module", "error", "sentence"),
    [
        ("9464", "prometheus_client", "ModuleNotFoundError", r"toolmend_metrics: an address needs prometheus_client, .*install toolmend\[metrics\]"),
        ("otel", "opentelemetry", "ModuleNotFoundError", r"toolmend_metrics: otel needs opentelemetry\S*, .*install toolmend\[otel\]"),
        ("otel", "opentelemetry", "ImportError", r"toolmend_metrics: otel: opentelemetry is damaged.*--no-deps opentelemetry-proto"),
    ],
)
def test_what_is_not_installed_stops_the_start(
    confdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, module: str, error: str, sentence: str
) -> None:
    (tmp_path / f"{module}.py").write_text(f"raise {error}('no {module}', name={module!r})")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    proxy = Mitmdump({"toolmend_metrics": value}, confdir=confdir)
    with pytest.raises(ProxyError, match=sentence), proxy:
        pass
    assert proxy.returncode == 1


def test_a_port_that_is_taken_stops_the_start(confdir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        proxy = Mitmdump({"toolmend_metrics": address}, confdir=confdir)
        with pytest.raises(ProxyError, match=f"toolmend_metrics: it cannot listen at {address}"), proxy:
            pass


def test_without_the_setting_nothing_is_imported(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("prometheus_client", "opentelemetry"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('it is imported')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert start().returncode is None
