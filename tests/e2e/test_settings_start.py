"""Settings before a real mitmdump: broken ones stop the start, variables and files are heeded, observe and off leave every byte."""

import gzip
import re
import socket
from pathlib import Path

import pytest

from tests.e2e.clients import LEAK, Serve, Share, Start, ask, chunks, recording
from tests.support.cuts import DEEP
from tests.support.routes import table
from toolmend.cli.launcher.proxy import Mitmdump, ProxyError
from toolmend.recordings.playback.server import Script

BROKEN: dict[str, tuple[dict[str, str], dict[str, str], str, str]] = {
    # name: (options, variables, ./toolmend.toml, what it says)
    "an option that mitmproxy would swallow": ({"toolmend_max_calls": "many"}, {}, "", "toolmend_max_calls: 'many' is not a limit"),
    "a name": ({"toolmend_modes": "observe"}, {}, "", r"no such option: toolmend_modes \(did you mean toolmend_mode\?\)"),
    "another spelling of us": ({"toolmnd_flows": "off"}, {}, "", r"no such option: toolmnd_flows \(did you mean toolmend_flows\?\)"),
    "a rule that is none": ({"toolmend_off": "duplicates"}, {}, "", r"'duplicates' is neither a rule \(did you mean duplicate_call\?\)"),
    "a variable": ({}, {"TOOLMEND_POLICY": "last"}, "", "TOOLMEND_POLICY: no such policy: 'last'"),
    "a variable with a slip": ({}, {"TOOLMEND_POLCY": "first"}, "", r"no such variable: TOOLMEND_POLCY \(did you mean TOOLMEND_POLICY\?\)"),
    "a file with a slip": ({}, {}, 'polcy = "first"\n', r"toolmend.toml:1: polcy is not a setting \(did you mean policy\?\)"),
    "no TOML": ({}, {}, "policy = first\n", "toolmend.toml:1:10: it is not TOML"),
    "a route that nobody named": ({}, {}, table(), r"toolmend.toml:1: \[\[route\]\] is not taken from a file that only lies"),
    "a key that is not there": ({"toolmend_config": "toolmend.toml"}, {}, table(key="env:NO_SUCH_KEY"), "toolmend.toml:4: key: the variable NO_SUCH_KEY is not set"),
}

EACH_KIND = ("an option that mitmproxy would swallow", "a name", "a variable with a slip", "no TOML", "a route that nobody named")
"""One of each way to set something. All sentences are checked without a process in tests/config."""


@pytest.mark.parametrize("name", BROKEN if DEEP else EACH_KIND)
def test_it_refuses_to_start(name: str, confdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, variables, text, sentence = BROKEN[name]
    monkeypatch.chdir(tmp_path)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    if text:
        (tmp_path / "toolmend.toml").write_text(text)
    proxy = Mitmdump({"toolmend_flows": "off", **options}, confdir=confdir)
    with pytest.raises(ProxyError, match=sentence), proxy:
        pass
    assert proxy.returncode == 1


def test_a_value_of_mitmproxys_own_file(tmp_path: Path) -> None:
    """mitmproxy would run on without the addon."""
    (tmp_path / "config.yaml").write_text("toolmend_hosts: true\n")
    proxy = Mitmdump({"toolmend_flows": "off"}, confdir=tmp_path)
    with pytest.raises(ProxyError, match=r"toolmend_hosts is True in mitmproxy's config\.yaml, which is not text"), proxy:
        pass
    assert proxy.returncode == 1


def test_a_number_in_mitmproxys_own_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("toolmend_max_calls: 3\ntoolmend_flows: off\ntoolmend_hosts: [a.example, b.example]\n")
    with Mitmdump({}, confdir=tmp_path) as proxy:
        assert re.search("listens to .*a.example, b.example; dialects: auto; no recordings", proxy.log)


def test_a_route_into_the_proxy_itself(confdir: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = tmp_path / "own.toml"
    file.write_text(table(to=f"http://127.0.0.1:{port}/v1/chat/completions"))
    proxy = Mitmdump({"toolmend_flows": "off", "toolmend_config": str(file), "listen_port": str(port)}, confdir=confdir, ready="never said")
    with pytest.raises(ProxyError, match="is this proxy itself, write where the upstream listens"), proxy:
        pass
    assert proxy.returncode == 1


def test_what_keeps_hosts_away_is_told(start: Start) -> None:
    proxy = start(ignore_hosts="localhost", stream_large_bodies="1m")
    assert "mitmproxy's ignore_hosts excludes localhost, localhost:11434, localhost:1234 and " in proxy.log
    assert "mitmproxy's stream_large_bodies is 1m" in proxy.log


def test_variables_and_files_are_heeded(start: Start, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's file turns the mending off, the project's on again, for one dialect; a variable says where recordings go."""
    (tmp_path / "config" / "toolmend").mkdir(parents=True)
    (tmp_path / "config" / "toolmend" / "config.toml").write_text('dialects = "off"\nmax_calls = 2\n')
    (tmp_path / "toolmend.toml").write_text('dialects = ["kimi_k2"]\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TOOLMEND_FLOWS", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    proxy = start(toolmend_flows="")
    assert f"dialects: kimi_k2; recordings in {tmp_path / 'kept'}" in proxy.log
    upstream = serve(Script(chunks(LEAK)))
    assert b"tool_calls" in ask(proxy, upstream.url).body


@pytest.mark.parametrize("option", [{"toolmend_mode": "observe"}, {"toolmend_off": "localhost"}], ids=["observe", "off"])
def test_every_byte_as_it_came(share: Share, serve: Serve, flows: Path, path: str, option: dict[str, str]) -> None:
    proxy = share(**option)
    before = len(proxy.log)
    upstream = serve(Script(chunks(LEAK), coding="gzip"))
    reply = ask(proxy, upstream.url, path=path, Accept_Encoding="gzip")
    assert upstream.requests[0].header("accept-encoding") == "gzip"
    assert (reply.header("content-encoding"), reply.terminated) == ("gzip", True)
    assert gzip.decompress(reply.body) == LEAK
    kept = recording(flows, path)
    assert (kept.read("upstream.sse"), kept.read("client.sse")) == (LEAK, LEAK)
    observed = "toolmend_mode" in option
    assert kept.meta["rules"] == (["kimi_k2", "finish_reason"] if observed else [])
    assert ("would mend: kimi_k2, finish_reason" in proxy.log[before:]) is observed
    assert ": mended" not in proxy.log[before:]
