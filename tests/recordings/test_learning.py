"""Dialects that are inferred from recordings: what is learnt reads texts that were not seen, and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.recordings import in_events, keep
from tests.support.streams import stream, tool
from toolmend.cli import main
from toolmend.config.dialect_tables import dialects
from toolmend.core.tools import Tools
from toolmend.recordings.fixtures import fixture
from toolmend.recordings.learning import NothingLearnt, Sample, learn, played

type Calls = list[tuple[str, dict[str, Any]]]

S, N = {"type": "string"}, {"type": "integer"}
OFFERED = {
    "read_file": {"type": "object", "properties": {"path": S, "limit": N}, "required": ["path"], "additionalProperties": False},
    "bash": {"type": "object", "properties": {"command": S, "timeout": N}, "required": ["command"]},
    "get_weather": {"type": "object", "properties": {"city": S, "days": N}, "required": ["city"]},
}
TOOLS = Tools(OFFERED)


def raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def each(one: Callable[[str, dict[str, Any], int], str], between: str = "\n", around: tuple[str, str] = ("", "")) -> Callable[[Calls], str]:
    return lambda calls: around[0] + between.join(one(name, given, n) for n, (name, given) in enumerate(calls)) + around[1]


def pairs(form: str, given: dict[str, Any], between: str = "") -> str:
    return between.join(form.format(k=key, K=key.upper(), v=raw(value), j=json.dumps(raw(value))) for key, value in given.items())


WRITERS = {
    "tokens": each(lambda n, a, _: f"<|tool_start|>{n}<|tool_args|>{json.dumps(a)}<|tool_stop|>", ""),
    "tokens in a wrapper": each(lambda n, a, _: f"<|act|>{n}<|in|>{json.dumps(a)}<|/act|>", "", ("<|acts|>", "<|/acts|>")),
    "elements": each(lambda n, a, _: f'<action tool="{n}">\n{pairs('<arg key="{k}">{v}</arg>\n', a)}</action>'),
    "elements named after keys": each(lambda n, a, _: f"<do><what>{n}</what>{pairs('<{k}>{v}</{k}>', a)}</do>"),
    "elements in a wrapper": each(lambda n, a, _: f'<step name="{n}">{pairs('<p n="{k}">{v}</p>', a)}</step>', "\n", ("<plan>\n", "\n</plan>")),
    "attributes": each(lambda n, a, _: f'<use tool="{n}" {pairs("{k}={j}", a, " ")}/>'),
    "lines": each(lambda n, a, _: f"TOOL: {n}\n{pairs('{K}: {v}\n', a)}END"),
    "an envelope": each(lambda n, a, _: f"<run>{json.dumps({'fn': n, 'with': a})}</run>"),
    "an envelope in the open": each(lambda n, a, _: json.dumps({"action_name": n, "action_args": a})),
    "envelopes in an array": lambda calls: f"<calls>{json.dumps([{'func': n, 'kwargs': a} for n, a in calls])}</calls>",
    "ids": each(lambda n, a, i: f'<invoke_tool id="t{i * 7 + 13}" fn="{n}">{json.dumps(a)}</invoke_tool>'),
    "numbers": each(lambda n, a, i: f"[[CALL {n} #{i + 1}]]{json.dumps(a)}[[/CALL]]"),
    "a namespace": each(lambda n, a, _: f"⟦tools/{n}⟧{json.dumps(a)}⟦end⟧"),
    "ends named after tools": each(lambda n, a, _: f"<|{n}|>{json.dumps(a)}<|end_{n}|>"),
    "words": each(lambda n, a, _: f"CALL {n} WITH {json.dumps(a)}"),
    "tokens around values": each(lambda n, a, _: f"<|fn|>{n}<|/fn|>{pairs('<|k|>{k}<|v|>{v}<|/v|>', a)}<|done|>"),
}
SEEN: list[tuple[str, Calls]] = [
    ("I will read it.\n", [("read_file", {"path": "a.md", "limit": 3})]),
    ("", [("bash", {"command": "ls -la", "timeout": 5}), ("read_file", {"path": "src/b.py"})]),
    ("Let me look at the weather first.\n\n", [("get_weather", {"city": "Paris", "days": 2})]),
]
UNSEEN: list[tuple[str, Calls]] = [
    ("", [("bash", {"command": 'echo "a < b" && ls'})]),
    ("Ok.\n", [("get_weather", {"city": "東京", "days": 9}), ("bash", {"command": "{}", "timeout": 1}), ("read_file", {"path": "x y"})]),
]


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_learnt_reads_what_was_not_seen(name: str) -> None:
    write = WRITERS[name]
    fields = learn([Sample(text + write(calls), TOOLS) for text, calls in SEEN], "acme")
    (dialect,) = dialects("learnt", "", [fields])
    for text, calls in UNSEEN:
        found, stays = played(dialect, text + write(calls), TOOLS)
        assert (found, stays.strip()) == (calls, text.strip())
    one = write([("read_file", {"path": "a.md"})])
    for near in (one.replace("read_file", "delete_file"), one[:-1], f"As in `{one}` here.", f"```\n{one}\n```", one.replace("path", "file").replace("PATH", "FILE")):
        assert played(dialect, near, TOOLS) == ([], near)


@pytest.mark.parametrize(
    "text",
    ["Fine, all is done.", "I called read_file with a path.", '**read_file** {"path": "a.md"}', '- read_file {"path": "a.md"}', 'read_file {"path": "a.md"}'],
)
def test_nothing_is_learnt_of_what_is_ambiguous(text: str) -> None:
    with pytest.raises(NothingLearnt):
        learn([Sample(text, TOOLS), Sample(text.replace("a.md", "b.md"), TOOLS)])


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
    assert "# 1 other recordings and " in said.out
    assert "it passes" in said.err
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
