"""lifecycle.py: what goes along with a call, without an HTTP response; addon.py's tests see it at work."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.test import taddons, tflow

from tests.patterns.kimi import ONE
from tests.support.recorder import EXCHANGE
from tests.support.streams import WEATHER, stream
from toolmend.config.settings import Settings
from toolmend.core.background_worker import BackgroundWorker
from toolmend.core.exchange_record import ExchangeRecord
from toolmend.proxy.exchange import LlmExchange
from toolmend.proxy.lifecycle import ExchangeLifecycle
from toolmend.telemetry.meter import Meter
from toolmend.telemetry.observers import ObservedResponse, Observers


@pytest.fixture
def exchanges(tmp_path: Path) -> Iterator[ExchangeLifecycle]:
    with taddons.context() as context:
        context.master.should_exit.set()
        exchanges = ExchangeLifecycle()
        exchanges.configure(Settings(flows=tmp_path))
        yield exchanges
        exchanges.close()


def about(_: Mapping[str, str]) -> ExchangeRecord:
    return EXCHANGE


def test_a_call_from_its_beginning_to_its_end(exchanges: ExchangeLifecycle) -> None:
    call, flow = LlmExchange("chat", "openrouter.ai", model="kimi-k2"), tflow.tflow()
    exchanges.begin(call, about, WEATHER, flow.id, mend=True)
    assert call.pipeline
    assert call.recording
    call.recording.passed(b"", call.pipeline.feed(stream([ONE])) + call.pipeline.close())
    exchanges.end(call, flow, "complete")
    exchanges.close()
    assert flow.metadata["toolmend"]["rules"] == ["kimi_k2", "finish_reason"]
    assert json.loads((call.recording.folder / "message.json").read_bytes())["tool_calls"]
    assert call.errors == []


@pytest.mark.parametrize(("request_", "mend", "dialects"), [(None, True, None), (WEATHER, False, None), (WEATHER, True, ())])
def test_what_is_not_mended_is_recorded(
    exchanges: ExchangeLifecycle, request_: dict[str, object] | None, mend: bool, dialects: tuple[str, ...] | None
) -> None:
    exchanges.configure(Settings(flows=exchanges.settings.flows, dialects=dialects))
    call = LlmExchange("chat", "openrouter.ai")
    exchanges.begin(call, about, request_, "f1", mend=mend)
    assert call.pipeline is None
    assert call.recording


def test_a_pipeline_is_made_before_the_answer_begins(exchanges: ExchangeLifecycle) -> None:
    call = LlmExchange("chat", "openrouter.ai")
    exchanges.prepare(call, WEATHER)
    ready = call.pipeline
    assert ready
    assert call.request == {name: value for name, value in WEATHER.items() if name != "messages"}, "a conversation is not kept"
    exchanges.configure(Settings(flows=exchanges.settings.flows, dialects=("qwen3_coder",)))
    exchanges.begin(call, about, call.request, "f1", mend=True)
    assert call.pipeline is ready
    assert b"tool_calls" in call.pipeline.feed(stream([ONE])), "it is mended by the settings of its request"


def test_an_error_needs_no_pipeline(exchanges: ExchangeLifecycle) -> None:
    call = LlmExchange("chat", "openrouter.ai")
    exchanges.prepare(call, WEATHER)
    exchanges.begin(call, about, call.request, "f1", mend=False)
    assert call.pipeline is None


@pytest.mark.parametrize("settings", [{"dialects": ()}, {"policy": "first"}], ids=str)
def test_what_the_answer_decides_is_not_made_before(exchanges: ExchangeLifecycle, settings: dict[str, Any]) -> None:
    exchanges.configure(Settings(flows=exchanges.settings.flows, **settings))
    call = LlmExchange("chat", "openrouter.ai")
    exchanges.prepare(call, WEATHER)
    assert (call.pipeline, call.request) == (None, None)


def test_what_cannot_be_set_up_is_told_and_costs_nothing(exchanges: ExchangeLifecycle) -> None:
    def broken(_: Mapping[str, str]) -> ExchangeRecord:
        raise MemoryError

    call, flow = LlmExchange("chat", "openrouter.ai"), tflow.tflow()
    exchanges.begin(call, broken, WEATHER, flow.id, mend=True)
    assert call.pipeline
    assert call.recording is None
    exchanges.end(call, flow, "complete")
    assert flow.metadata["toolmend"]["error"] == "the set-up is incomplete: MemoryError"


BEGINNING = {"telemetry.observers.Observers.watcher": "watcher", "telemetry.metering.Metering.meter": "meter", "recordings.write.recorder.Recorder.start": "recording"}


@pytest.mark.parametrize("where", BEGINNING)
def test_one_that_cannot_be_had_costs_none_of_the_others(exchanges: ExchangeLifecycle, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(f"toolmend.{where}", fails)
    call = LlmExchange("chat", "openrouter.ai")
    exchanges.begin(call, about, WEATHER, "f1", mend=True)
    assert call.pipeline
    assert bool(call.recording) == (BEGINNING[where] != "recording")
    assert call.errors == ["the set-up is incomplete: MemoryError"]


ENDING = {
    "watcher": ("telemetry.observers.ObservedResponse.close", "the observers did not get the end"),
    "meter": ("telemetry.meter.Meter.finish", "the end was not counted"),
    "recording": ("recordings.write.recorder.LiveRecording.finish", "the recording was not finished"),
}


@pytest.mark.parametrize("name", ENDING)
def test_one_that_fails_at_the_end_is_told_of_and_the_others_end(
    exchanges: ExchangeLifecycle, monkeypatch: pytest.MonkeyPatch, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, what = ENDING[name]
    call, flow = LlmExchange("chat", "openrouter.ai"), tflow.tflow()
    exchanges.begin(call, about, WEATHER, flow.id, mend=True)
    assert call.recording
    ended: list[str] = []
    call.watcher = ObservedResponse(Observers(ended.append), [object()], "chat", flow.id)
    counting: BackgroundWorker[Callable[[], None]] = BackgroundWorker("counts", lambda _: None, ended.append, 1000)
    call.meter = Meter(counting, lambda _: None, about({}), "")
    for each, (place, _) in ENDING.items():
        monkeypatch.setattr(f"toolmend.{place}", fails if each == name else lambda *_, each=each, **__: ended.append(each))
    exchanges.end(call, flow, "complete")
    counting.close()
    assert ended == [each for each in ENDING if each != name]
    assert f"{what}: MemoryError" in caplog.text


def fails(*_: object, **__: object) -> None:
    raise MemoryError
