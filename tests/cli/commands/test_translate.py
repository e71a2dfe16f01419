"""`toolmend translate`: what a route would send for a client's request, for people and as lines for checks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.addon import log, proxy
from tests.support.paths import ADDON
from tests.support.routed_flows import UPSTREAMS, Routes, post, routed
from toolmend.cli import Exit, main

__all__ = ["log", "proxy", "routed"]

REQUEST = {
    "model": "claude-opus-4-8",
    "max_tokens": 100,
    "tools": [{"name": "mcp.files/read", "input_schema": {"type": "object", "properties": {}}}],
    "top_k": 5,
    "messages": [{"role": "user", "content": "Hi"}],
}
GOOD = {"id": 1, "request": REQUEST, "from": "messages", "to": "chat", "host": "llm.example.com", "model": "other"}
BAD = {
    "no JSON": b"{",
    "no object": b"[]",
    "not UTF-8": b'{"request": "\xff"}',
    "no request": b"{}",
    "no such API": b'{"request": {}, "from": "chta"}',
    "a host that is a number": b'{"request": {}, "host": 1}',
    "too deep": b"[" * 200_000,
}


def test_each_line_is_answered_in_order() -> None:
    command = [sys.executable, "-c", "from toolmend.cli import main; main(['translate', '--jsonl'])"]
    env = {"PYTHONPATH": str(ADDON)}
    given = b"".join(line + b"\n" + json.dumps(GOOD).encode() + b"\n" for line in BAD.values())
    done = subprocess.run(command, input=given, capture_output=True, env=env, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == 2 * len(BAD)
    for bad, good in zip(answers[::2], answers[1::2], strict=True):
        assert bad["error"] and bad["request"] is None
        assert (good["id"], good["error"]) == (1, None)
        assert good["request"]["model"] == "other"
        assert good["request"]["tools"][0]["function"]["name"] == "mcp_files_read"
        assert good["notes"] == ["`top_k` is left out: this model takes none"]
    assert done.stderr == b""


def test_a_person_sees_the_request_and_the_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "request.json").write_text(json.dumps(REQUEST))
    words = ["--from", "messages", "--to", "chat", "--host", "llm.example.com"]
    assert main(["translate", str(tmp_path / "request.json"), *words]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["messages"] == [{"role": "user", "content": "Hi"}]
    assert "`top_k` is left out" in shown.err
    assert "The tool mcp.files/read is called mcp_files_read" in shown.err


def test_one_api_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "request.json").write_text(json.dumps({**REQUEST, "temperature": 0.5, "store": None}))
    assert main(["translate", str(tmp_path / "request.json"), "--from", "messages", "--host", "api.anthropic.com"]) == 0
    assert json.loads(capsys.readouterr().out) == {**REQUEST, "temperature": 0.5, "store": None}


@pytest.mark.parametrize(
    ("request_", "words", "code"),
    [
        ("{", "", Exit.USAGE),
        ("[]", "", Exit.USAGE),
        ('{"n": 2}', "--from chat --to messages", Exit.USAGE),
        ("{}", "--from chta", Exit.USAGE),
        ("{}", "--config none.toml", Exit.CONFIGURATION),
    ],
)
def test_what_cannot_be_translated(request_: str, words: str, code: Exit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "request.json").write_text(request_)
    assert main(["translate", str(tmp_path / "request.json"), *words.split()]) == code
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ") and "unexpected" not in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_it_is_what_a_route_sends(upstream: str, routed: Routes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flow = post(json.dumps(REQUEST).encode())
    routed(to=UPSTREAMS[upstream][0]).ask(flow)
    (tmp_path / "request.json").write_text(json.dumps(REQUEST))
    words = f"--from messages --to {upstream} --host {flow.request.host} --model kimi-k2.5"
    assert main(["translate", str(tmp_path / "request.json"), *words.split()]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(flow.request.content or b"")
