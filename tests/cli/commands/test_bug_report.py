"""`toolmend bug-report`: what is in it, what is not, and that it is shown and searched before it is written."""

import json
import os
import shutil
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import Box, well
from tests.support.paths import FLOWS
from toolmend.cli import main
from toolmend.cli.commands import bug_report
from toolmend.cli.doctor import Finding
from toolmend.cli.launcher import bug_report as report

FIXTURE = FLOWS / "kimi/bare-counter"
SECRET = "correct-horse-battery-staple"
RANDOM = "qX7bT9zLk2Vw4RmN8sYp3HdJ"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with well(tmp_path) as box:
        box.patch.setattr(bug_report, "examine", lambda _: [Finding("ok", f"{Path.home()}/.mitmproxy is there", check="ca")])
        yield box


@pytest.fixture
def flow(box: Box) -> Path:
    """A recording whose prompt nobody is to read."""
    folder = box.folder / "flows/kimi/talk"
    shutil.copytree(FIXTURE, folder)
    request = json.loads((folder / "request.json").read_bytes())
    request["messages"] = [{"role": "user", "content": "Our merger with Umbrella is planned for Friday"}]
    (folder / "request.json").write_text(json.dumps(request))
    return folder


def log(box: Box, text: str) -> None:
    file = box.folder / "home/.local/share/toolmend/proxy.log"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name.removeprefix("toolmend-report/"): archive.read(name) for name in archive.namelist()}


def say(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> tuple[str, str]:
    assert main(["bug-report", *args]) == code
    return tuple(capsys.readouterr())  # type: ignore[return-value]


def test_what_is_in_it(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    log(box, "toolmend: listens to the built-in LLM hosts\n")
    out, err = say(capsys, "--yes", "-o", "report.zip")
    assert out == "report.zip\n"
    files = contents(Path("report.zip"))
    assert [*files] == ["about.json", "doctor.json", "settings.json", "log.txt"]
    for name, data in files.items():
        assert f"{len(data):>9,}  {name} " in err
    assert json.loads(files["about.json"])["packages"]["mitmproxy"]
    assert json.loads(files["doctor.json"])["findings"][0]["text"] == "~/.mitmproxy is there"
    assert files["log.txt"] == b"toolmend: listens to the built-in LLM hosts\n"
    assert stat.S_IMODE(Path("report.zip").stat().st_mode) == 0o600


@pytest.mark.usefixtures("box")
def test_a_name_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = say(capsys, "--yes")
    assert out.startswith("toolmend-report-2")
    assert Path(out.strip()).exists()


@pytest.mark.usefixtures("box")
def test_it_is_shown_first(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        out, err = say(capsys, code=2)
    assert out == ""
    assert err.index("about.json") < err.index("error: this needs a confirmation, but standard input is not a terminal\ntry: toolmend bug-report --yes\n")
    assert list(Path().iterdir()) == []


def test_settings_without_keys(box: Box) -> None:
    box.set(SICK_KEY=SECRET, TOOLMEND_KEEP="7d")
    config = box.folder / "home/.config/toolmend/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        'hosts = ["llm.corp"]\n[[route]]\nfrom = "https://a.example/v1/messages"\nto = "https://b.example/v1/chat/completions"\n'
        'key = "env:SICK_KEY"\n'
    )
    told = report.settings()
    assert told["set"] == {
        "hosts": {"text": "llm.corp", "by": f"{config}:1"},
        "keep": {"text": "7d", "by": "variable TOOLMEND_KEEP"},
    }
    assert told["routes"][0]["credential"] == "env:SICK_KEY"
    assert SECRET not in json.dumps(told)


def test_settings_that_are_wrong(box: Box) -> None:
    box.set(TOOLMEND_KEP="7d")
    assert report.settings()["error"].startswith("no such variable: TOOLMEND_KEP")


def test_secrets_are_taken_out(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    box.set(MY_API_KEY=SECRET)
    log(box, f"one {SECRET} two sk-proj-abcdefghijklmnopqrstuvwx three\n4: GET https://me:hunter2h@h/x?key=hunter2h&a=1\n")
    say(capsys, "--yes", "-o", "report.zip")
    assert contents(Path("report.zip"))["log.txt"] == b"one [REDACTED] two [REDACTED] three\n4: GET https://[REDACTED]@h/x?key=[REDACTED]&a=1\n"


def test_what_looks_like_a_secret_is_refused(box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    log(box, f"one\ntwo {RANDOM}\n")
    out, err = say(capsys, "--yes", "-o", "report.zip", code=1)
    assert out == ""
    assert "error: nothing was written: this looks like a secret:\n  log.txt:2: a string that looks random\n" in err
    assert "\ntry: --allow log.txt:2 if you have checked" in err
    assert RANDOM not in err
    assert not Path("report.zip").exists()
    say(capsys, "--yes", "-o", "report.zip", "--allow", "log.txt:2")
    assert RANDOM.encode() in contents(Path("report.zip"))["log.txt"]


@pytest.mark.usefixtures("box")
def test_a_recording_without_what_was_said(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = say(capsys, str(flow), "--yes", "-o", "report.zip")
    files = contents(Path("report.zip"))
    assert {"recording/meta.json", "recording/request.json", "recording/upstream.sse", "recording/client.sse"} <= {*files}
    joined = b"".join(files.values())
    assert b"Umbrella" not in joined
    assert b"merger" not in joined
    assert "recording/request.json" in err


@pytest.mark.usefixtures("box")
def test_a_recording_with_what_was_said(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(capsys, str(flow), "--with-content", "--yes", "-o", "report.zip")
    assert b"Our merger with Umbrella" in contents(Path("report.zip"))["recording/request.json"]


ERRORS: dict[str, tuple[list[str], int, str]] = {
    "no such recording": (["nothing"], 2, "try: toolmend flows\n"),
    "content of nothing": (["--with-content"], 2, "try: toolmend bug-report --help\n"),
    "no such folder": (["--yes", "-o", "no/such/report.zip"], 3, "try: ls -ld .\n"),
}


@pytest.mark.usefixtures("box")
@pytest.mark.parametrize(("args", "code", "told"), ERRORS.values(), ids=ERRORS)
def test_errors(args: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told in say(capsys, *args, code=code)[1]


def test_a_recording_that_cannot_be_played(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (flow / "meta.json").write_text("{")
    assert "error: this recording cannot be replayed: " in say(capsys, str(flow), code=3)[1]


@pytest.mark.usefixtures("box")
def test_only_the_end_of_a_log() -> None:
    doctor: dict[str, Any] = {}
    files = report.collect(doctor, "".join(f"line {n}\n" for n in range(1000)), {}, {})
    assert files["log.txt"].splitlines()[0] == b"line 800"
    assert "log.txt" not in report.collect(doctor, "", {}, {})
