"""`toolmend promote`, `verify` and `explain`: a recording on its way to a fixture, as a user types it."""

import json
from pathlib import Path

import pytest

from tests.support.commands import here, run
from toolmend.cli import main

__all__ = ["here"]

KEY = "sk-ant-api03-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9"


def test_from_recording_to_fixture(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "promote kimi-no moonshot/issue-17")
    assert out == "flows/moonshot/issue-17\n"
    assert err == "it passes; rules applied: kimi_k2, finish_reason\ntry: toolmend verify flows/moonshot/issue-17\n"
    out, err = run(capsys, "verify")
    assert out.startswith("1 passed, 0 failed, in ")
    assert err == ""
    out, _ = run(capsys, "promote irregular second --into flows --minimise")
    assert out == "flows/localhost/second\n"
    assert run(capsys, "verify flows/localhost")[0].startswith("1 passed, 0 failed, in ")
    assert run(capsys, "verify flows recorded kimi-no")[0].startswith("4 passed, 0 failed, in ")
    assert sorted(path.name for path in (here / "flows").iterdir()) == ["localhost", "moonshot"]


@pytest.mark.parametrize("case", ["../x", "a/b/c", "Issue 17", "", "/etc", "a/..", ".hidden", "a//b", "x/", "-x"])
def test_a_name_that_is_none(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["promote", "kimi-no", "--", case]) == 2
    assert f"error: {case!r} is not a case's name" in capsys.readouterr().err
    assert not (here / "flows").exists()


def test_nothing_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "promote kimi-no x")
    _, err = run(capsys, "promote irregular x", 3)
    assert err == "error: the fixture flows/localhost/x already exists\ntry: another name, or remove it: rm -r flows/localhost/x\n"
    assert json.loads(Path("flows/localhost/x/meta.json").read_text())["rules"] == ["kimi_k2", "finish_reason"]


def test_a_secret_is_refused_and_not_said(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_TOKEN", '"Beijing"')
    _, err = run(capsys, "promote kimi-no x", 1)
    assert err == (
        "error: nothing was written: this looks like a secret:\n"
        "  client.sse:5 (choices.0.delta.tool_calls.0.function.arguments): the value of $WEATHER_TOKEN\n"
        "  upstream.sse:13 (choices.0.delta.content): the value of $WEATHER_TOKEN\n"
        "try: --minimise, or --allow client.sse:5 --allow upstream.sse:13 if you have checked that it is not one\n"
    )
    assert not (here / "flows").exists()
    run(capsys, "promote kimi-no x --allow client.sse:5 --allow upstream.sse:13")
    _, err = run(capsys, "promote kimi-no y --minimise")
    assert "note: the stream has " in err
    request = Path("recorded/2026-11-20/kimi-no-section/request.json")
    asked = json.loads(request.read_text())
    asked["messages"][0]["content"] = f"my key is {KEY[:5]}\\u00{ord(KEY[5]):02x}{KEY[6:]}"
    request.write_text(json.dumps(asked))
    out, err = run(capsys, "promote kimi-no z", 1)
    assert "request.json:messages[0].content: a key that begins with sk-, written with \\u" in err
    assert KEY[5:15] not in out + err
    assert not list(here.rglob("z"))


@pytest.mark.parametrize("command", ["promote {} x", "verify {}", "explain {}"])
def test_no_such_recording(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run(capsys, command.format("nix"), 2)
    assert err.startswith("error: no such recording: 'nix' in recorded\ntry: toolmend flows")


@pytest.mark.parametrize("command", ["promote {} x", "explain {}"])
def test_one_that_cannot_be_played(command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "recorded/2026-11-20/kimi-no-section/upstream.sse").unlink()
    _, err = run(capsys, command.format("kimi-no"), 3)
    assert err.startswith("error: this recording cannot be replayed: ")
    assert run(capsys, "verify kimi-no", 1)[0].startswith("FAILED recorded/2026-11-20/kimi-no-section: [Errno 2]")


def test_a_folder_that_cannot_be_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "flows").write_text("")
    _, err = run(capsys, "promote kimi-no x", 3)
    assert err == "error: flows/localhost/x cannot be written: Not a directory\ntry: ls -ld flows\n"
