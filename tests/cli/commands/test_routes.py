"""`toolmend routes`: the routes of a file, the one that takes a request, and what is wrong with a file."""

import json
from pathlib import Path

import pytest

from tests.support.routes import CHAT, MESSAGES, SECRET, table
from tests.support.terminals import at_terminal
from toolmend.cli import main
from toolmend.proxy.learnt_refusals import RefusalScope, remembered, today
from toolmend.requests.refusal_rules import Remedy


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ROUTE_KEY", SECRET)
    file = tmp_path / "toolmend.toml"
    first = table(model="claude-*", use_model="kimi-k2.5", key="env:ROUTE_KEY")
    file.write_text(first + table(**{"from": "llm.invalid"}, tools="prompt"))
    return str(file)


def say(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert main(["routes", *args]) == code
    out, err = capsys.readouterr()
    assert err == ""
    assert SECRET not in out
    return out


def test_a_file_that_is_right(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, "--check", file) == f"{file} is valid: 2 routes\n"
    assert json.loads(say(capsys, "--check", file, "--json")) == {"format": 1, "routes": 2, "ending": []}


def test_a_model_that_has_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    file.write_text(table(to="https://api.deepseek.com/v1/chat/completions", use_model="deepseek-chat"))
    said = say(capsys, "--check", str(file)).splitlines()
    assert said == [f"{file} is valid: 1 route", f"the route at {file}:1: the model deepseek-chat ended on 2026-07-24: use another one"]
    assert json.loads(say(capsys, "--check", str(file), "--json"))["ending"] == said[1:]


@pytest.mark.parametrize(("text", "count"), [("", "no routes"), (table(), "1 route")])
def test_counts(text: str, count: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    file.write_text(text)
    assert say(capsys, "--check", str(file)) == f"{file} is valid: {count}\n"


def test_a_file_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    file.write_text(table(key=SECRET))
    assert main(["routes", "--check", str(file)]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    right = 'a key is never written here itself, write key = "env:OPENROUTER_API_KEY" or "file:PATH"'
    assert err == f"error: {file}:4: key: {right}\ntry: toolmend config check {file}\n"


def test_all_routes_in_a_pipe(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.split("\t") for line in say(capsys, file).splitlines()] == [
        ["from", "model", "to", "APIs", "asks for", "key", "tools"],
        [MESSAGES, "claude-*", CHAT, "messages to chat", "kimi-k2.5", "env:ROUTE_KEY", "native"],
        ["llm.invalid", "*", CHAT, "as asked to chat", "the same", "none", "prompt"],
    ]


def test_all_routes_as_json(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = json.loads(say(capsys, file, "--json"))["routes"]
    assert first == {
        "where": f"{file}:1",
        "from": MESSAGES,
        "model": "claude-*",
        "to": CHAT,
        "client": "messages",
        "upstream": "chat",
        "use_model": "kimi-k2.5",
        "key": "env:ROUTE_KEY",
        "tools": "native",
    }
    assert (second["client"], second["key"], second["tools"]) == (None, None, "prompt")


def test_the_one_that_takes_a_request(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, file, MESSAGES, "--model", "claude-opus-4-5").splitlines() == [
        f"the route at {file}:1 takes it:",
        f"from      {MESSAGES}",
        "model     claude-*",
        f"to        {CHAT}",
        "APIs      messages to chat",
        "asks for  kimi-k2.5",
        "key       env:ROUTE_KEY",
        "tools     native",
    ]
    assert json.loads(say(capsys, file, "http://llm.invalid:81/v1/responses", "--json"))["route"]["client"] == "responses"


def test_none_takes_a_request(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, file, MESSAGES, "--model", "gpt", code=1) == f"no route takes {MESSAGES} with the model gpt: it is not rerouted\n"
    assert "with no model:" in say(capsys, file, MESSAGES, code=1)
    assert json.loads(say(capsys, file, MESSAGES, "--json", code=1)) == {"format": 1, "route": None}


@pytest.mark.parametrize("url", ["llm.invalid", "https://", "https://a.example:x/", "ftp://a.example/"])
def test_no_url(url: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", file, url]) == 2
    assert capsys.readouterr().err.startswith(f"error: {url!r} is not a URL\ntry: give all of it")


def test_all_routes_at_a_terminal(file: str) -> None:
    text = at_terminal("routes", file, width=250, NO_COLOR="1")
    assert b"\t" not in text
    assert b"\nllm.invalid " in text


def test_what_was_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert say(capsys, "--learnt") == "nothing was learnt from refusals in the last 14 days\n"
    remembered().add(RefusalScope("api.x.ai", "chat", "grok-4"), [Remedy("stop", ("stop[:4]",))], "too\x1blong")
    said = say(capsys, "--learnt")
    assert 'hosts = ["api.x.ai"]\ntakes = { refuses = ["stop[:4]"] }\n' in said and "\x1b" not in said
    (row,) = json.loads(say(capsys, "--learnt", "--json"))["learnt"]
    assert (row["host"], row["path"], row["edits"]) == ("api.x.ai", "stop", ["stop[:4]"])
    assert main(["providers", "grok-4", "--host", "api.x.ai"]) == 0
    assert f"stop[:4]    (learnt on {today()}: too" in capsys.readouterr().out
    assert main(["translate", "--jsonl", "--host", "api.x.ai", "--from", "chat", "--to", "chat", str(asked(tmp_path))]) == 0
    assert json.loads(capsys.readouterr().out)["request"]["stop"] == ["a", "b", "c", "d"]
    assert say(capsys, "--forget") == "forgotten: 1 learnt\n"
    assert json.loads(say(capsys, "--learnt", "--json"))["learnt"] == []


def asked(folder: Path) -> Path:
    file = folder / "request.jsonl"
    file.write_text(json.dumps({"id": 1, "request": {"model": "grok-4", "messages": [], "stop": list("abcdef")}}))
    return file
