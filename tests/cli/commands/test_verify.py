"""`toolmend verify`: fixtures played once more."""

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import corrupt, here, run
from tests.support.paths import ADDON
from toolmend.recordings.read import replay
from toolmend.recordings.read.event_diff import diff

__all__ = ["here"]


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
    assert err == "try: toolmend verify flows/localhost/x --update  (if the current output is right)\n"
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
    assert "Expect the current output from now on?\n  flows/localhost/x\n" in err
    assert ("updated flows/localhost/x" in out, "nothing was changed" in err) == (code == 0, code == 1)
    run(capsys, "verify", code)


def test_update_without_being_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "promote kimi-no x")
    corrupt(Path("flows/localhost/x"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    _, err = run(capsys, "verify --update", 2)
    assert err == "error: this needs a confirmation, but standard input is not a terminal\ntry: toolmend verify --update --yes\n"
    out, err = run(capsys, "verify --update --yes")
    assert out.splitlines()[-1] == "updated flows/localhost/x"
    assert run(capsys, "verify --update --yes")[1] == "nothing to update\n"


def test_nothing_to_verify(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "empty").mkdir()
    for line in ("verify", "verify empty"):
        assert "error: no fixture in " in run(capsys, line, 2)[1]


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
