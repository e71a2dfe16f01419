"""Exit codes: 0 ok, 1 findings, 2 usage, 3 runtime, 4 configuration, 5 doctor, 130 interrupted; for each command what can befall it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from tests.support.addon import ASK, LEAK, PROSE
from tests.support.paths import ADDON
from tests.support.recordings import keep
from toolmend.cli import COMMANDS, Exit, cli, main
from toolmend.config.option_names import VARIABLES

HERE = [name for name, (module, _) in COMMANDS.items() if (ADDON / f"{module.partition(':')[0].replace('.', '/')}.py").exists()]
"""The commands that are there."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recording, a stream, a file that is right and one that is wrong."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    keep(tmp_path / "flows" / "kimi" / "one", [LEAK])
    (tmp_path / "leak.sse").write_bytes(LEAK)
    (tmp_path / "request.json").write_bytes(ASK)
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "right.toml").write_text('[[route]]\nfrom = "https://a.invalid/v1/messages"\nto = "https://b.example/v1/messages"\n')
    (tmp_path / "wrong.toml").write_text("kep = 1\n")
    (tmp_path / "file").write_text("")
    return tmp_path


FLOWS = ("--flows", "flows")
TABLE: list[tuple[Exit, Sequence[str]]] = [
    (Exit.OK, ["--help"]),
    (Exit.OK, ["--version"]),
    (Exit.OK, []),
    (Exit.USAGE, ["--nonsense"]),
    (Exit.USAGE, ["shwo"]),
    *((Exit.OK, [name, "--help"]) for name in HERE),
    *((Exit.USAGE, [name, "--nonsense"]) for name in HERE if name != "run"),
    # config
    (Exit.OK, ["config", "show"]),
    (Exit.OK, ["config", "check", "right.toml"]),
    (Exit.USAGE, ["config", "shwo"]),
    (Exit.CONFIGURATION, ["config", "check", "wrong.toml"]),
    (Exit.CONFIGURATION, ["config", "check", "none.toml"]),
    (Exit.CONFIGURATION, ["config", "show", "--config", "wrong.toml"]),
    # recordings
    (Exit.OK, ["flows", *FLOWS]),
    (Exit.OK, ["flows", "--flows", "none"]),
    (Exit.USAGE, ["flows", "--flows", "file"]),
    (Exit.USAGE, ["flows", "--since", "whenever"]),
    (Exit.OK, ["show", *FLOWS, "last"]),
    (Exit.USAGE, ["show", *FLOWS, "nothing-of-this-name"]),
    (Exit.USAGE, ["show", *FLOWS]),
    (Exit.OK, ["explain", *FLOWS, "last"]),
    (Exit.USAGE, ["explain", *FLOWS, "nothing-of-this-name"]),
    (Exit.OK, ["export", *FLOWS, "last", "--to", "har", "-o", "out.har"]),
    (Exit.RUNTIME, ["export", *FLOWS, "last", "--to", "har", "-o", "file/out.har"]),
    (Exit.USAGE, ["export", *FLOWS, "last", "--to", "pdf"]),
    (Exit.OK, ["pin", *FLOWS, "last"]),
    (Exit.USAGE, ["pin", *FLOWS, "nothing-of-this-name"]),
    (Exit.OK, ["prune", *FLOWS, "--dry-run"]),
    (Exit.CONFIGURATION, ["prune", *FLOWS, "--keep", "much"]),
    (Exit.USAGE, ["promote", *FLOWS, "nothing-of-this-name", "x/y"]),
    (Exit.USAGE, ["verify", "nothing-of-this-name"]),
    (Exit.USAGE, ["serve", "nothing-of-this-name"]),
    # the mending
    (Exit.OK, ["rewrite", "leak.sse", "--request", "request.json"]),
    (Exit.USAGE, ["rewrite", "none.sse"]),
    (Exit.USAGE, ["rewrite", "leak.sse", "--request", "list.json"]),
    (Exit.USAGE, ["rewrite", "leak.sse", "--chunks", "some"]),
    (Exit.CONFIGURATION, ["rewrite", "leak.sse", "--set", "toolmend_dialect=off"]),
    (Exit.CONFIGURATION, ["rewrite", "leak.sse", "--set", "toolmend_config=wrong.toml"]),
    (Exit.OK, ["translate", "request.json", "--from", "chat", "--to", "messages"]),
    (Exit.USAGE, ["translate", "list.json"]),
    (Exit.USAGE, ["translate", "request.json", "--to", "mesages"]),
    (Exit.CONFIGURATION, ["translate", "request.json", "--config", "wrong.toml"]),
    (Exit.OK, ["providers", "kimi-k2"]),
    (Exit.CONFIGURATION, ["providers", "--config", "wrong.toml"]),
    (Exit.OK, ["routes", "right.toml"]),
    (Exit.OK, ["routes", "right.toml", "https://a.invalid/v1/messages"]),
    (Exit.FINDINGS, ["routes", "right.toml", "https://c.invalid/v1/messages"]),
    (Exit.USAGE, ["routes", "right.toml", "nonsense"]),
    (Exit.CONFIGURATION, ["routes", "wrong.toml"]),
    (Exit.CONFIGURATION, ["routes", "none.toml"]),
]


@pytest.mark.parametrize(("code", "args"), TABLE, ids=[f"{code.name.lower()} {' '.join(args)}" for code, args in TABLE])
def test_the_code(code: Exit, args: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == code
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    if code not in (Exit.OK, Exit.FINDINGS):
        assert said.err.startswith("error: ")
        assert "unexpected" not in said.err
        assert said.out == ""


SETTINGS_READ = ["flows", "prune", "rewrite", "providers", "routes", "translate", "config"]


@pytest.mark.parametrize("name", SETTINGS_READ)
def test_settings_that_are_wrong(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TOOLMEND_CONFIG", "wrong.toml")
    args = {"rewrite": ["rewrite", "leak.sse"], "translate": ["translate", "request.json"], "config": ["config", "show"]}.get(name, [name])
    assert main(args) == Exit.CONFIGURATION
    assert capsys.readouterr().err.startswith("error: wrong.toml:1: kep is not a setting (did you mean keep?)")


@pytest.mark.parametrize("name", SETTINGS_READ)
def test_a_file_that_nobody_named(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "toolmend.toml").write_text('flows = "/somewhere/else"\n')
    args = {"rewrite": ["rewrite", "leak.sse"], "translate": ["translate", "request.json"], "config": ["config", "show"]}.get(name, [name])
    assert main(args) == Exit.CONFIGURATION
    assert "is not taken from a file that only lies in the working directory" in capsys.readouterr().err


def test_verify_finds(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = keep(place / "cases" / "other", [LEAK], client=PROSE)
    assert main(["verify", str(folder)]) == Exit.FINDINGS
    assert "Traceback" not in capsys.readouterr().err


def test_whatever_is_raised_is_a_runtime_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr("toolmend.cli.commands.flows.list_recordings", fail)
    assert main(["flows", *FLOWS]) == Exit.RUNTIME
    assert capsys.readouterr().err.startswith("error: unexpected ZeroDivisionError: injected\ntry: toolmend --debug flows")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, click.Abort])
def test_interrupted(raised: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr("toolmend.cli.commands.flows.list_recordings", fail)
    assert main(["flows", *FLOWS]) == Exit.INTERRUPTED
    assert capsys.readouterr() == ("", "interrupted\n")


def test_interrupted_by_a_signal() -> None:
    """A command that waits for its input, and Ctrl-C."""
    code = "import sys; from toolmend.cli import main; print('here', file=sys.stderr, flush=True); sys.exit(main(['rewrite', '--jsonl']))"
    command = subprocess.Popen(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ADDON)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with command:
        assert command.stdin and command.stdout and command.stderr
        command.stdin.write(json.dumps({"id": 1, "chunks": ["data: [DONE]\n\n"]}) + "\n")
        command.stdin.flush()
        assert json.loads(command.stdout.readline())["id"] == 1  # it is at work
        command.send_signal(signal.SIGINT)
        assert command.wait(30) == Exit.INTERRUPTED
        assert command.stderr.read() == "here\ninterrupted\n"


def test_help_names_them() -> None:
    text = cli.get_help(click.Context(cli))
    assert "0 success, 1 something was found or differs, 2 wrong usage, 3 failure" in text
    assert "4 wrong configuration, 5 the doctor found a fault, 130 interrupted" in " ".join(text.split())
    assert [code.value for code in Exit][:7] == [0, 1, 2, 3, 4, 5, 130]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("flows --flows flows >/dev/full", Exit.RUNTIME, "error: the output cannot be written: No space left on device\ntry: df -h\n"),
        ("flows --help >/dev/full", Exit.RUNTIME, "error: the output cannot be written: No space left on device\ntry: df -h\n"),
        ("flows --flows flows >&-", Exit.OK, ""),
        ("flows --flows flows <&- >&- 2>&-", Exit.OK, ""),
        ("show nothing --flows flows 2>&-", Exit.USAGE, ""),
        ("show nothing --flows flows 2>/dev/full", Exit.USAGE, ""),
        ("run -- nothing-there 2>/dev/full", 127, ""),
        ("run --set toolmend_flows=off -- sh -c 'echo words >&2; exit 7' 2>/dev/full", 7, ""),
    ],
)
def test_an_output_that_takes_nothing(words: str, code: int, told: str) -> None:
    done = subprocess.run(["/bin/sh", "-c", f'"{sys.executable}" -m toolmend {words}'], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, told)


STREAMS = """
import os, sys
from toolmend.cli.standard_streams import prepare
prepare()
sys.stderr.write("to nobody\\n")
opened = os.open("kept", os.O_CREAT | os.O_WRONLY)
os.system("echo words; echo words >&2; cat")
os.write(opened, b"%d" % opened)
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">&- 2>/dev/full"])
def test_a_closed_descriptor_is_no_files(closed: str, tmp_path: Path) -> None:
    """Python opens the lowest that is free: a recording, say, which what is printed would go into."""
    environ = os.environ | {"PYTHONPATH": str(ADDON)}
    command = ["/bin/sh", "-c", f"'{sys.executable}' -c '{STREAMS}' {closed}"]
    subprocess.run(command, cwd=tmp_path, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert int((tmp_path / "kept").read_text()) > 2


def test_an_encoding_without_the_characters(tmp_path: Path) -> None:
    """LC_ALL=C, where nothing makes UTF-8 of it."""
    shutil.copytree(ADDON.parent / "flows" / "kimi" / "bare-counter", tmp_path / "one")
    environ = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(ADDON)}
    command = [sys.executable, "-m", "toolmend", "show", "last", "--flows", str(tmp_path)]
    done = subprocess.run(command, env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"get_weather" in done.stdout
