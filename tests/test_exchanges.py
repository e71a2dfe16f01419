"""exchanges.py: what goes along with a call, without an HTTP response; hook.py's tests see it at work."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from mitmproxy.test import taddons, tflow

from patterns.kimi import ONE
from streams import WEATHER, stream
from test_recorder import EXCHANGE
from toolmend.calls import Call
from toolmend.config.settings import Settings
from toolmend.exchanges import Exchanges
from toolmend.recorder import Exchange


@pytest.fixture
def exchanges(tmp_path: Path) -> Iterator[Exchanges]:
    with taddons.context():
        exchanges = Exchanges()
        exchanges.configure(Settings(flows=tmp_path))
        yield exchanges
        exchanges.close()


def about(_: Mapping[str, str]) -> Exchange:
    return EXCHANGE


def test_a_call_from_its_beginning_to_its_end(exchanges: Exchanges) -> None:
    call, flow = Call("chat", "openrouter.ai", model="kimi-k2"), tflow.tflow()
    exchanges.begin(call, about, WEATHER, flow.id, mend=True)
    assert call.pipeline
    assert call.recording
    call.recording.sent(call.pipeline.feed(stream([ONE])) + call.pipeline.close())
    exchanges.end(call, flow, "complete")
    exchanges.close()
    assert flow.metadata["toolmend"]["rules"] == ["kimi_k2", "finish_reason"]
    assert json.loads((call.recording.folder / "message.json").read_bytes())["tool_calls"]
    assert call.errors == []


@pytest.mark.parametrize(("request_", "mend", "dialects"), [(None, True, None), (WEATHER, False, None), (WEATHER, True, ())])
def test_what_is_not_mended_is_recorded(
    exchanges: Exchanges, request_: dict[str, object] | None, mend: bool, dialects: tuple[str, ...] | None
) -> None:
    exchanges.configure(Settings(flows=exchanges.settings.flows, dialects=dialects))
    call = Call("chat", "openrouter.ai")
    exchanges.begin(call, about, request_, "f1", mend=mend)
    assert call.pipeline is None
    assert call.recording


def test_what_cannot_be_set_up_is_told_and_costs_nothing(exchanges: Exchanges) -> None:
    def broken(_: Mapping[str, str]) -> Exchange:
        raise MemoryError

    call, flow = Call("chat", "openrouter.ai"), tflow.tflow()
    exchanges.begin(call, broken, WEATHER, flow.id, mend=True)
    assert call.pipeline
    assert call.recording is None
    exchanges.end(call, flow, "complete")
    assert flow.metadata["toolmend"]["error"] == "not all could be set up: MemoryError"
