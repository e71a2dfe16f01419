"""commands.py: what mitmproxy's console and mitmweb can ask."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import exceptions
from mitmproxy.addons.view import View
from mitmproxy.test import taddons, tflow

from tests.support.paths import FLOWS
from tests.support.recording_folders import make
from toolmend.proxy.addon import Toolmend
from toolmend.proxy.commands import Commands
from toolmend.recordings.fixtures import fixture
from toolmend.recordings.read import replay
from toolmend.recordings.read.library import entry


class Console:
    """Commands as mitmproxy calls them: by name, with texts."""

    def __init__(self, *addons: object, flows: str) -> None:
        self.commands = Commands()
        self.context = taddons.context(Toolmend(), self.commands, *addons)
        self.context.configure(self.context.master.addons.get("toolmend"), toolmend_flows=flows)

    def __call__(self, name: str, *arguments: str) -> Any:
        return self.context.master.commands.call_strings(f"toolmend.{name}", list(arguments))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "flows"


@pytest.fixture
def console(root: Path) -> Iterator[Console]:
    console = Console(flows=str(root))
    with console.context:
        yield console


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where fixtures go."""
    monkeypatch.setattr(fixture, "home", lambda: tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def recorded(root: Path) -> Path:
    """A recording."""
    folder = root / "2026-11-20" / "183401-kimi-1"
    shutil.copytree(replay.find(FLOWS / "kimi")[0], folder)
    return folder


def test_flows(console: Console, root: Path) -> None:
    head = ["name", "time", "agent", "host", "model", "state", "rules"]
    assert console("flows") == [head]
    make(root, "183401-openrouter-1")
    make(root, "183402-qwen-2", recorded_at="2026-11-20T19:00:00+00:00", model="qwen3", state="upstream_error", rules=[])
    make(root, "torn", "{")
    assert [row[0] for row in console("flows")] == ["name", "183402-qwen-2", "183401-openrouter-1", "torn"]
    (_, row) = console("flows", "KIMI")
    assert (row[0], row[2:]) == (
        "183401-openrouter-1",
        ["Claude Code", "openrouter.ai", "moonshotai/kimi-k2.5", "complete", "kimi_k2, finish_reason"],
    )
    assert [row[5] for row in console("flows", "qwen")] == ["state", "upstream error"]


@pytest.mark.parametrize("case", ["issue-17", "kimi/issue-17"])
def test_promote(console: Console, recorded: Path, home: Path, case: str) -> None:
    said = console("promote", "last", case)
    folder = home / case if "/" in case else home / entry(recorded).provider / case
    assert said.startswith(f"{folder}: rules applied: kimi_k2")
    again = replay.load(folder)
    assert replay.replay(again) == (again.client, again.meta["rules"])
    with pytest.raises(exceptions.CommandError, match="exists"):
        console("promote", recorded.name, case)


@pytest.mark.parametrize(
    ("recording", "case", "error"),
    [
        ("none", "x", "no such recording: 'none'"),
        ("last", "../x", "'../x' is not a case's name"),
        ("last", "a/b/c", "is not a case's name"),
        ("last", "", "is not a case's name"),
        ("last", "A b", "is not a case's name"),
        ("@focus", "x", "mitmdump has no flow list"),
    ],
)
@pytest.mark.usefixtures("recorded")
def test_promote_refuses(console: Console, home: Path, recording: str, case: str, error: str) -> None:
    with pytest.raises(exceptions.CommandError, match=error):
        console("promote", recording, case)
    assert not home.exists()


def test_promote_finds_a_secret(console: Console, recorded: Path, home: Path) -> None:
    request = recorded / "request.json"
    request.write_text(request.read_text().replace("Beijing", "AbC9xYz2kLmN8pQrStUv4WxYzAbC7dEf"))
    with pytest.raises(exceptions.CommandError, match=r"nothing was written: this looks like a secret: request\.json"):
        console("promote", "last", "x")
    assert not home.exists()


def test_promote_of_flows_in_a_view(root: Path, recorded: Path, home: Path) -> None:
    view = View()
    console = Console(view, flows=str(root))
    with console.context:
        one, other = tflow.tflow(resp=True), tflow.tflow(resp=True)
        one.metadata["toolmend"] = {"rules": ["kimi_k2"], "folder": str(recorded), "error": None}
        view.add([one, other])
        console("promote", "@all", "x")
        assert (home / entry(recorded).provider / "x" / "meta.json").exists()
        one.metadata["toolmend"]["folder"] = None
        with pytest.raises(exceptions.CommandError, match="@all selects 0 recordings: select one"):
            console("promote", "@all", "y")


def test_without_recordings() -> None:
    console = Console(flows="off")
    with console.context, pytest.raises(exceptions.CommandError, match="toolmend_flows is off"):
        console("flows")


def test_stats(console: Console) -> None:
    assert console("stats")[0][0] == "since"
    notes: list[dict[str, Any]] = [
        {"rules": ["kimi_k2", "finish_reason"], "folder": None, "error": None},
        {"rules": ["kimi_k2"], "folder": None, "error": "it broke"},
        {"rules": [], "folder": None, "error": None},
    ]
    flows = [tflow.tflow(resp=True) for _ in notes]
    for flow, noted in zip(flows, notes, strict=True):
        flow.metadata["toolmend"] = noted
        console.commands.error(flow)
        console.commands.response(flow)  # mitmproxy may call both
    console.commands.response(tflow.tflow(resp=True))
    assert console("stats")[1:] == [
        ["responses", "3"],
        ["mended", "2"],
        ["went wrong", "1"],
        ["rule finish_reason", "1"],
        ["rule kimi_k2", "2"],
    ]
