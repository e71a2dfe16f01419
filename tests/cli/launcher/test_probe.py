"""The answer to the doctor's probe; through real proxies it is in e2e/test_self_test.py."""

from dataclasses import replace

import pytest
from mitmproxy.test import tflow

from toolmend import __version__
from toolmend.cli.doctor import interception
from toolmend.cli.launcher import probe, sample_stream
from toolmend.cli.launcher.probe import HEADER, HOST, Probe
from toolmend.config.settings import Settings
from toolmend.proxy.addon import Toolmend


def flow_to(host: str) -> tflow.http.HTTPFlow:
    flow = tflow.tflow()
    flow.request.host = host
    return flow


def test_it_is_answered_here_and_not_recorded() -> None:
    toolmend = Toolmend()
    flow = flow_to(HOST)
    Probe(toolmend).request(flow)
    assert flow.response
    assert flow.response.headers[HEADER] == f"{__version__} mend"
    assert sample_stream.fold((flow.response.content or b"").splitlines()) == sample_stream.EXPECTED
    assert toolmend.exchanges[flow].answered


@pytest.mark.parametrize("settings", [{"dialects": ()}, {"mode": "observe"}], ids=["off", "observe"])
def test_as_the_settings_are(settings: dict[str, object]) -> None:
    toolmend = Toolmend()
    toolmend.lifecycle.settings = replace(Settings(), **settings)  # type: ignore[arg-type]
    flow = flow_to(HOST)
    Probe(toolmend).request(flow)
    assert flow.response
    assert sample_stream.fold((flow.response.content or b"").splitlines()).calls == {}


@pytest.mark.parametrize("host", ["toolmend.invalid", "api.openai.com", f"{HOST}.example.com"])
def test_others_are_none(host: str) -> None:
    flow = flow_to(host)
    Probe(Toolmend()).request(flow)
    assert flow.response is None


def test_what_is_read_from_a_file_is_none() -> None:
    flow = flow_to(HOST)
    flow.live = False
    Probe(Toolmend()).request(flow)
    assert flow.response is None


def test_both_sides_have_one_name() -> None:
    assert (interception.HOST, interception.HEADER) == (probe.HOST, probe.HEADER)
