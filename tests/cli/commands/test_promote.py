"""`toolmend promote`, `verify` and `explain`: a recording on its way to a fixture, as a user types it."""

import io
import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ADDON, FLOWS
from toolmend.cli import main
from toolmend.pipeline.rules import rule
from toolmend.recordings.read import replay
from toolmend.recordings.read.event_diff import diff

KEY = "sk-ant-api03-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user is: two recordings, and fixtures are in `flows`."""
    for name in ("kimi/no-section", "irregular/equal-ids-no-index"):
        shutil.copytree(FLOWS / name, tmp_path / "recorded" / "2026-11-20" / name.replace("/", "-"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLMEND_FLOWS", "recorded")
    monkeypatch.setattr("toolmend.recordings.fixtures.fixture.home", lambda: Path("flows"))
    for name in list(os.environ):
        if "TOKEN" in name or "KEY" in name or "SECRET" in name:
            monkeypatch.delenv(name)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], line: str, code: int = 0) -> tuple[str, str]:
    assert main(shlex.split(line)) == code
    return capsys.readouterr()


def corrupt(folder: Path) -> None:
    body = (folder / "client.sse").read_bytes()
    assert b'"get_weather"' in body
    (folder / "client.sse").write_bytes(body.replace(b'"get_weather"', b'"got_weather"'))


def test_from_recording_to_fixture(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "promote kimi-no moonshot/issue-17")
    assert out == "flows/moonshot/issue-17\n"
    assert err == "it passes; rules at work: kimi_k2, finish_reason\ntry: toolmend verify flows/moonshot/issue-17\n"
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
    assert err == "error: there is a fixture flows/localhost/x already\ntry: another name, or remove it: rm -r flows/localhost/x\n"
    assert json.loads(Path("flows/localhost/x/meta.json").read_text())["rules"] == ["kimi_k2", "finish_reason"]


def test_a_secret_is_refused_and_not_said(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_TOKEN", '"Beijing"')
    _, err = run(capsys, "promote kimi-no x", 1)
    assert err == (
        "error: nothing is written, since this looks like a secret:\n"
        "  client.sse:5 (choices.0.delta.tool_calls.0.function.arguments): the value of $WEATHER_TOKEN\n"
        "  upstream.sse:13 (choices.0.delta.content): the value of $WEATHER_TOKEN\n"
        "try: --minimise, or --allow client.sse:5 --allow upstream.sse:13 where you have read that it is none\n"
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
    assert err.startswith("error: there is no recording 'nix' in recorded\ntry: toolmend flows")


@pytest.mark.parametrize("command", ["promote {} x", "explain {}"])
def test_one_that_cannot_be_played(command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "recorded/2026-11-20/kimi-no-section/upstream.sse").unlink()
    _, err = run(capsys, command.format("kimi-no"), 3)
    assert err.startswith("error: this recording cannot be played: ")
    assert run(capsys, "verify kimi-no", 1)[0].startswith("FAILED recorded/2026-11-20/kimi-no-section: [Errno 2]")


def test_a_folder_that_cannot_be_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "flows").write_text("")
    _, err = run(capsys, "promote kimi-no x", 3)
    assert err == "error: flows/localhost/x cannot be written: Not a directory\ntry: ls -ld flows\n"


def test_a_failure_is_shown_by_event(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "promote kimi-no x")
    corrupt(Path("flows/localhost/x"))
    out, err = run(capsys, "verify", 1)
    lines = out.splitlines()
    assert lines[0] == "FAILED flows/localhost/x: the client gets other bytes, in its recorded chunks"
    assert [line[:4] for line in lines[1:5]] == ["    ", "  - ", "  + ", "    "]
    assert ("got_weather" in lines[2], "get_weather" in lines[3]) == (True, True)
    assert lines[-2] == "note   flows/localhost/x: client.sse was changed since it was made"
    assert lines[-1].startswith("0 passed, 1 failed, in ")
    assert err == "try: toolmend verify flows/localhost/x --update  (if what comes today is right)\n"
    document = json.loads(run(capsys, "verify flows recorded --json", 1)[0])
    assert (document["format"], document["passed"], document["failed"]) == (1, 2, 1)
    told = document["fixtures"][0]
    assert (told["name"], told["passed"], told["how"]) == ("flows/localhost/x", False, "in its recorded chunks")
    recording = replay.load(Path("flows/localhost/x"))
    assert told["diff"] == diff(recording.client, replay.replay(recording)[0])


class Terminal(io.StringIO):
    """Somebody who sits there and answers."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_update_asks(answer: str, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "promote kimi-no x")
    corrupt(Path("flows/localhost/x"))
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    out, err = run(capsys, "verify --update", code)
    assert "From now on expect what comes today?\n  flows/localhost/x\n" in err
    assert ("updated flows/localhost/x" in out, "nothing is changed" in err) == (code == 0, code == 1)
    run(capsys, "verify", code)


def test_update_without_being_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "promote kimi-no x")
    corrupt(Path("flows/localhost/x"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    _, err = run(capsys, "verify --update", 2)
    assert err == "error: nobody is there to be asked\ntry: toolmend verify --update --yes\n"
    out, err = run(capsys, "verify --update --yes")
    assert out.splitlines()[-1] == "updated flows/localhost/x"
    assert run(capsys, "verify --update --yes")[1] == "nothing is to be updated\n"


def test_nothing_to_verify(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "empty").mkdir()
    for line in ("verify", "verify empty"):
        assert "error: there is no fixture in " in run(capsys, line, 2)[1]


def test_a_bar_for_who_waits_at_a_terminal() -> None:
    """On the terminal's side of stderr alone, and gone at the end; the answer is on stdout."""
    code = "import toolmend.cli.progress as p; p.PATIENCE = 0; from toolmend.cli import main; exit(main(['verify', 'recorded']))"
    terminal, other = pty.openpty()
    env = os.environ | {"PYTHONPATH": str(ADDON), "TERM": "xterm", "COLUMNS": "80"}
    done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=other, text=True, check=True)
    os.close(other)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert done.stdout.startswith("2 passed, 0 failed, in ")
    assert "verifying" in shown
    assert "verifying" not in done.stdout


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "explain kimi-no")
    assert err == ""
    assert out.splitlines() == [
        "kimi-no-section: kimi-k2.5 at localhost:39885, complete",
        "",
        "kimi_k2, at events 2 to 11 (0.00 s)",
        "  A tool call that the model wrote into its text, in the markup kimi_k2, became a real tool call.",
        "  Why: The provider did not parse the model's own markup, so the client would have shown it as text and run no tool.",
        "",
        "finish_reason, at events 2 to 11 (0.00 s)",
        f"  {rule('finish_reason').what}",
        f"  Why: {rule('finish_reason').why}",
        "",
        "events 2 to 11 (0.00 s): kimi_k2, finish_reason",
        """  came  text 'Now: <|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Beijing"}<|tool_call_end|>'; finish reason stop""",
        """  went  text 'Now: '; call 0 get_weather (functions.get_weather:0) {"city": "Beijing"}; finish reason tool_calls""",
    ]


def test_explain_what_was_mended_in_form_alone(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(run(capsys, "explain irregular --json")[0])
    assert (document["format"], document["as_recorded"]) == (1, True)
    assert [rule["name"] for rule in document["rules"]] == ["tool_call_index", "tool_call_id"]
    (change,) = document["changes"]
    assert (change["first"], change["last"], change["rules"]) == (2, 3, ["tool_call_index", "tool_call_id"])
    assert '"tool_calls": [{"id": "0"' in change["came"]
    assert '"tool_calls":[{"index":0,"id":"0"' in change["went"]


def test_explain_what_is_not_so_any_more(capsys: pytest.CaptureFixture[str]) -> None:
    corrupt(Path("recorded/2026-11-20/kimi-no-section"))
    out, _ = run(capsys, "explain kimi-no")
    assert "Then the client got something else: this is what the mending of today does.\ntry: toolmend verify recorded/" in out


def test_explain_what_was_not_touched(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, f"explain {shlex.quote(str(FLOWS / 'kimi' / 'prose-about-markers'))}")
    assert out.splitlines()[1:] == ["No rule was at work: the client got what came, byte for byte."]


def test_a_model_does_not_steer_the_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = here / "recorded/2026-11-20/kimi-no-section"
    body = (folder / "upstream.sse").read_bytes()
    assert b'"Now: ' in body
    (folder / "upstream.sse").write_bytes(body.replace(b'"Now: ', b'"\x1b]\\u001b[2J '))
    out, _ = run(capsys, "explain kimi-no")
    assert "\x1b" not in out
