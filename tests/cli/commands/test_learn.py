"""`toolmend learn`: what is learnt is shown, proven and written."""

import json
from pathlib import Path

import pytest

from tests.support.learning import OFFERED, SEEN, WRITERS
from tests.support.recordings import in_events, keep
from tests.support.streams import stream, tool
from toolmend.cli import main
from toolmend.recordings.fixtures import fixture

REQUEST = {
    "model": "my-model",
    "messages": [],
    "tools": [tool(name, **schema["properties"]) for name, schema in OFFERED.items()],  # type: ignore[arg-type]
}


def test_learn_shows_proves_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    flows = tmp_path / "flows"
    for number, (text, calls) in enumerate(SEEN):
        leak = stream([text + WRITERS["tokens"](calls)])
        keep(flows / f"leak-{number}", in_events(leak), REQUEST, model="my-model", suspects=[{"name": calls[0][0], "why": "x"}])
    keep(flows / "fine", in_events(stream(["Fine."])), REQUEST, model="my-model")
    monkeypatch.setattr(fixture, "home", lambda: tmp_path / "fixtures")
    table = tmp_path / "own.toml"
    args = ["learn", "--suspect", "--name", "acme", "--toml", str(table), "--flows", str(flows), "--promote", "acme/one"]
    assert main(args) == 0, capsys.readouterr()
    said = capsys.readouterr()
    assert 'begin = ["<|tool_start|>"]' in said.out
    assert '# 1: get_weather {"city": "Paris", "days": 2}' in said.out or 'read_file {"path": "a.md", "limit": 3}' in said.out
    assert "# 1 other recordings (1 replayed) and " in said.out
    assert said.err.count("it passes") == len(SEEN)
    assert sorted(folder.name for folder in (tmp_path / "fixtures" / "acme").iterdir()) == ["one", "one-2", "one-3"]
    assert main(["rewrite", str(flows / "leak-0" / "upstream.sse"), "--request", str(flows / "leak-0" / "request.json"), "--set", f"toolmend_config={table}"]) == 0
    assert main(args) == 4, "a dialect of that name is there"
    assert "choose another --name" in capsys.readouterr().err
    assert main(["learn", "--suspect", "--write", "--flows", str(flows)]) == 0


def test_learn_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = tmp_path / "request.json"
    asked.write_text(json.dumps(REQUEST))
    paths = []
    for number, (text, calls) in enumerate(SEEN):
        paths.append(tmp_path / f"{number}.sse")
        paths[-1].write_bytes(stream([text + WRITERS["words"](calls)]))
    words = [*map(str, paths), "--request", str(asked), "--flows", str(tmp_path / "none")]
    assert main(["learn", *words]) == 0
    assert 'separator = [" WITH "]' in capsys.readouterr().out
    paths[0].write_bytes(stream(["Nothing of the kind."]))
    assert main(["learn", *words]) == 1
    assert "nothing was learnt: no offered tool's name stands next to arguments" in capsys.readouterr().err
    assert main(["learn", str(paths[0]), "--flows", str(tmp_path)]) == 2


def test_an_answer_that_would_change_is_a_counterexample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = tmp_path / "request.json"
    asked.write_text(json.dumps(REQUEST))
    paths = []
    for number, (text, calls) in enumerate(SEEN):
        paths.append(tmp_path / f"{number}.sse")
        paths[-1].write_bytes(stream([text + WRITERS["tokens"](calls)]))
    words = ["learn", *map(str, paths), "--request", str(asked), "--flows", str(tmp_path / "flows")]
    keep(tmp_path / "flows" / "near", in_events(stream(["`<|tool_start|>read_file` begins it."])), REQUEST, model="my-model")
    assert main(words) == 0
    assert "(1 replayed)" in capsys.readouterr().out
    leak = stream([WRITERS["tokens"]([("read_file", {"path": "z.md"})])])
    keep(tmp_path / "flows" / "call", in_events(leak), REQUEST, model="my-model")
    assert main(words) == 1
    assert "which has no suspects" in capsys.readouterr().err
